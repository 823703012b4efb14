//! Records backon: the delays of its builders, exact without jitter, seeded and bounded with it.

use std::fmt::Write as _;
use std::time::Duration;

use backon::{BackoffBuilder, ConstantBuilder, ExponentialBuilder, FibonacciBuilder};
use serde_json::{json, Value};

fn write(file: &str, head: Value, cases: &[Value]) {
    let mut out = String::from("{\n");
    for (key, value) in head.as_object().expect("an object") {
        writeln!(out, " {}: {value},", json!(key)).expect("to a string");
    }
    let lines: Vec<String> = cases.iter().map(|case| format!("  {case}")).collect();
    write!(out, " \"cases\": [\n{}\n ]\n}}\n", lines.join(",\n")).expect("to a string");
    let folder = std::env::var("TRACES_OUT").expect("TRACES_OUT");
    std::fs::write(format!("{folder}/{file}"), out).expect("writable");
}

fn nanos(delay: Duration) -> Value {
    u64::try_from(delay.as_nanos()).map_or_else(|_| json!(delay.as_secs_f64() * 1e9), |n| json!(n))
}

fn delays(backoff: impl Iterator<Item = Duration>, most: usize) -> Vec<Value> {
    backoff.take(most).map(nanos).collect()
}

/// Least and greatest of each delay over many seeds.
fn bounds<B: Iterator<Item = Duration>>(make: impl Fn(u64) -> B, retries: usize) -> Value {
    let mut low = vec![Duration::MAX; retries];
    let mut high = vec![Duration::ZERO; retries];
    for seed in 0..20_000 {
        for (at, delay) in make(seed).take(retries).enumerate() {
            low[at] = low[at].min(delay);
            high[at] = high[at].max(delay);
        }
    }
    json!({"seeds": 20_000, "least_ns": low.into_iter().map(nanos).collect::<Vec<_>>(), "most_ns": high.into_iter().map(nanos).collect::<Vec<_>>()})
}

fn main() {
    let s = Duration::from_secs;
    let ms = Duration::from_millis;
    let mut cases = Vec::new();
    let mut add = |builder: &str, delays: Vec<Value>| {
        cases.push(json!({"builder": builder, "retries": delays.len(), "delays_ns": delays}));
    };
    let exponential = ExponentialBuilder::default;
    add("ExponentialBuilder::default()", delays(exponential().build(), 50));
    add("ExponentialBuilder, max_times 12", delays(exponential().with_max_times(12).build(), 50));
    add(
        "ExponentialBuilder, without_max_times, 40 taken",
        delays(exponential().without_max_times().build(), 40),
    );
    add(
        "ExponentialBuilder, min 100 ms, factor 3, max 5 s, max_times 10",
        delays(
            exponential()
                .with_min_delay(ms(100))
                .with_factor(3.0)
                .with_max_delay(s(5))
                .with_max_times(10)
                .build(),
            50,
        ),
    );
    add(
        "ExponentialBuilder, factor 1.5, max_times 15",
        delays(exponential().with_factor(1.5).with_max_times(15).build(), 50),
    );
    add(
        "ExponentialBuilder, without_max_delay, max_times 80",
        delays(exponential().without_max_delay().with_max_times(80).build(), 80),
    );
    add(
        "ExponentialBuilder, min 10 s, max 1 s, max_times 4",
        delays(
            exponential().with_min_delay(s(10)).with_max_delay(s(1)).with_max_times(4).build(),
            50,
        ),
    );
    add(
        "ExponentialBuilder, total_delay 10 s, max_times 20",
        delays(exponential().with_total_delay(Some(s(10))).with_max_times(20).build(), 50),
    );
    add("ExponentialBuilder, max_times 0", delays(exponential().with_max_times(0).build(), 50));
    add("ConstantBuilder::default()", delays(ConstantBuilder::default().build(), 50));
    add(
        "ConstantBuilder, delay 250 ms, max_times 5",
        delays(ConstantBuilder::default().with_delay(ms(250)).with_max_times(5).build(), 50),
    );
    add("FibonacciBuilder::default()", delays(FibonacciBuilder::default().build(), 50));
    add(
        "FibonacciBuilder, max_times 15",
        delays(FibonacciBuilder::default().with_max_times(15).build(), 50),
    );
    add(
        "FibonacciBuilder, min 100 ms, max 5 s, max_times 15",
        delays(
            FibonacciBuilder::default()
                .with_min_delay(ms(100))
                .with_max_delay(s(5))
                .with_max_times(15)
                .build(),
            50,
        ),
    );
    for seed in [1, 2, 3] {
        add(
            &format!("ExponentialBuilder, with_jitter, seed {seed}, max_times 10"),
            delays(
                exponential().with_jitter().with_jitter_seed(seed).with_max_times(10).build(),
                50,
            ),
        );
        add(
            &format!("ConstantBuilder, with_jitter, seed {seed}, max_times 5"),
            delays(
                ConstantBuilder::default()
                    .with_jitter()
                    .with_jitter_seed(seed)
                    .with_max_times(5)
                    .build(),
                50,
            ),
        );
        add(
            &format!("FibonacciBuilder, with_jitter, seed {seed}, max_times 12"),
            delays(
                FibonacciBuilder::default()
                    .with_jitter()
                    .with_jitter_seed(seed)
                    .with_max_times(12)
                    .build(),
                50,
            ),
        );
    }
    let head = |records: &str| {
        json!({"library": "backon", "version": "1.6.0", "records": records,
        "fields": {"builder": "what was set; the rest is default", "delays_ns": "in ns; entry r−1 is before retry r", "retries": "delays until the builder ended",
            "least_ns, most_ns": "over the seeds, entry r−1 for retry r"}})
    };
    write("delays.json", head("delays of each builder; the seeds are those of fastrand"), &cases);

    let bounded = [
        json!({"builder": "ExponentialBuilder, with_jitter, max_times 10", "bounds": bounds(|seed| exponential().with_jitter().with_jitter_seed(seed).with_max_times(10).build(), 10)}),
        json!({"builder": "ExponentialBuilder, with_jitter, min 100 ms, max 1 s, max_times 8", "bounds": bounds(|seed| exponential().with_jitter().with_jitter_seed(seed).with_min_delay(ms(100)).with_max_delay(s(1)).with_max_times(8).build(), 8)}),
        json!({"builder": "ConstantBuilder, with_jitter, max_times 3", "bounds": bounds(|seed| ConstantBuilder::default().with_jitter().with_jitter_seed(seed).build(), 3)}),
        json!({"builder": "FibonacciBuilder, with_jitter, max_times 12", "bounds": bounds(|seed| FibonacciBuilder::default().with_jitter().with_jitter_seed(seed).with_max_times(12).build(), 12)}),
    ];
    write("jitter-bounds.json", head("least and greatest delay over many seeds"), &bounded);
}
