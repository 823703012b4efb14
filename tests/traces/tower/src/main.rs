//! Records tower: its retry budget and its exponential backoff, under tokio's paused clock and a
//! scripted generator.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{json, Value};
use tower::retry::backoff::{Backoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::util::rng::Rng;

/// The generator of the other recorders (mulberry32), or a constant.
#[derive(Clone)]
enum Script {
    Constant(f64),
    Seed(u32),
}

impl Script {
    fn next(&mut self) -> f64 {
        match self {
            Script::Constant(u) => *u,
            Script::Seed(a) => {
                *a = a.wrapping_add(0x6d2b_79f5);
                let mut t = *a;
                t = (t ^ (t >> 15)).wrapping_mul(t | 1);
                t ^= t.wrapping_add((t ^ (t >> 7)).wrapping_mul(t | 61));
                f64::from(t ^ (t >> 14)) / 4_294_967_296.0
            }
        }
    }
}

impl Rng for Script {
    fn next_u64(&mut self) -> u64 {
        ((self.next() * (1u64 << 53) as f64) as u64) << 11
    }
}

fn write(file: &str, head: Value, cases: Vec<Value>) {
    let mut out = String::from("{\n");
    for (key, value) in head.as_object().expect("an object") {
        writeln!(out, " {}: {value},", json!(key)).expect("to a string");
    }
    out.push_str(" \"cases\": [\n");
    for (at, case) in cases.iter().enumerate() {
        let mut case = case.clone();
        let steps = case.as_object_mut().expect("an object").remove("steps");
        let mut line = case.to_string();
        if let Some(Value::Array(steps)) = steps {
            line.pop();
            let steps: Vec<String> = steps.iter().map(|step| format!("   {step}")).collect();
            write!(line, ",\"steps\":[\n{}\n  ]}}", steps.join(",\n")).expect("to a string");
        }
        let comma = if at + 1 < cases.len() { "," } else { "" };
        writeln!(out, "  {line}{comma}").expect("to a string");
    }
    out.push_str(" ]\n}\n");
    let folder = std::env::var("TRACES_OUT").expect("TRACES_OUT");
    std::fs::write(format!("{folder}/{file}"), out).expect("writable");
}

/// The private numbers of a budget, as its `Debug` shows them.
fn shown(budget: &TpsBudget, field: &str) -> i64 {
    let text = format!("{budget:?}");
    let from = text.find(field).expect("field") + field.len() + 2;
    let text = &text[from..];
    text[..text.find([',', ' ']).expect("end")].parse().expect("a number")
}

#[derive(Clone, Copy)]
enum Op {
    Deposit,
    Withdraw,
}

async fn trace(name: &str, ttl_ms: u64, min_per_sec: u32, ratio: f32, ops: &[(u64, Op)]) -> Value {
    let budget = TpsBudget::new(Duration::from_millis(ttl_ms), min_per_sec, ratio);
    let start_balance = shown(&budget, "balance");
    let mut now = 0;
    let mut steps = Vec::new();
    for &(at_us, op) in ops {
        tokio::time::advance(Duration::from_micros(at_us - now)).await;
        now = at_us;
        let at_ms = at_us as f64 / 1000.0;
        let step = match op {
            Op::Deposit => {
                budget.deposit();
                json!([at_ms, "deposit", null, shown(&budget, "balance")])
            }
            Op::Withdraw => {
                let allowed = budget.withdraw();
                json!([at_ms, "withdraw", allowed, shown(&budget, "balance")])
            }
        };
        steps.push(step);
    }
    json!({"name": name, "ttl_ms": ttl_ms, "min_per_sec": min_per_sec, "ratio": f64::from((ratio * 1e6).round()) / 1e6,
        "deposit": shown(&budget, "deposit"), "withdraw": shown(&budget, "withdraw"), "start_balance": start_balance, "steps": steps})
}

async fn budgets() {
    let mut effective = Vec::new();
    for ratio in [
        0.0f32, 0.01, 0.1, 0.2, 0.25, 0.3, 0.33, 0.4, 0.5, 0.6, 0.7, 0.9, 1.0, 1.5, 2.0, 3.0, 10.0,
        600.0, 1000.0,
    ] {
        for (ttl_ms, min_per_sec) in [(10_000u64, 10u32), (1_500, 3)] {
            let budget = TpsBudget::new(Duration::from_millis(ttl_ms), min_per_sec, ratio);
            let (deposit, withdraw, start) =
                (shown(&budget, "deposit"), shown(&budget, "withdraw"), shown(&budget, "balance"));
            let mut at_once = 0;
            while at_once < 2_000 && budget.withdraw() {
                at_once += 1;
            }
            effective.push(json!({"ratio": (f64::from(ratio) * 1e6).round() / 1e6, "ttl_ms": ttl_ms, "min_per_sec": min_per_sec,
                "deposit": deposit, "withdraw": withdraw, "start_balance": start, "withdrawals_at_once": at_once}));
        }
    }
    write(
        "budget-settings.json",
        json!({"library": "tower", "version": "0.5.3",
        "records": "what TpsBudget makes of its settings, and how many withdrawals a fresh one allows at one moment",
        "fields": {"ratio": "retry_percent", "deposit, withdraw, start_balance": "tokens, as Debug shows them",
            "withdrawals_at_once": "counted up to 2000"}}),
        effective,
    );

    use Op::{Deposit, Withdraw};
    let mut cases = Vec::new();
    let every = |from: u64, step: u64, n: u64, op: Op| (0..n).map(move |i| (from + i * step, op));

    // Ten slots of 1 s; events that fall exactly on their borders, and just beside.
    let mut ops: Vec<_> = every(0, 1_000_000, 25, Deposit).collect();
    ops.extend(every(25_000_000, 1_000_000, 12, Withdraw));
    cases.push(trace("deposits_on_the_slot_borders", 10_000, 0, 1.0, &ops).await);
    let mut ops: Vec<_> = every(0, 1_001_000, 25, Deposit).collect();
    ops.extend(every(25_025_000, 1_001_000, 12, Withdraw));
    cases.push(trace("deposits_just_past_the_slot_borders", 10_000, 0, 1.0, &ops).await);
    let mut ops: Vec<_> = every(0, 999_000, 25, Deposit).collect();
    ops.extend(every(24_975_000, 999_000, 12, Withdraw));
    cases.push(trace("deposits_just_before_the_slot_borders", 10_000, 0, 1.0, &ops).await);
    cases.push(
        trace(
            "steady_deposits_of_10_per_s",
            10_000,
            0,
            0.2,
            &every(0, 100_100, 250, Deposit).collect::<Vec<_>>(),
        )
        .await,
    );
    cases.push(
        trace(
            "steady_deposits_of_10_per_s_on_the_borders",
            10_000,
            0,
            0.2,
            &every(0, 100_000, 250, Deposit).collect::<Vec<_>>(),
        )
        .await,
    );
    // A reserve that is drained, and asked again and again until it is back.
    let mut ops: Vec<_> = every(0, 0, 22, Withdraw).collect();
    ops.extend(every(130_000, 130_000, 120, Withdraw));
    cases.push(trace("drained_reserve_asked_every_130_ms", 10_000, 2, 0.2, &ops).await);
    let mut ops: Vec<_> = every(0, 0, 22, Withdraw).collect();
    ops.extend(every(1_000_000, 1_000_000, 25, Withdraw));
    cases.push(trace("drained_reserve_asked_on_the_borders", 10_000, 2, 0.2, &ops).await);
    // The conventional use: a deposit for a success, a withdrawal for a failure.
    for (name, ttl_ms, min, ratio, seed, scale, failing) in [
        ("random_1", 10_000, 10, 0.2, 1, 120_000.0, 0.5),
        ("random_2", 1_000, 1, 0.1, 2, 40_000.0, 0.3),
        ("random_3", 60_000, 0, 0.5, 3, 900_000.0, 0.4),
        ("random_4", 5_000, 0, 2.0, 4, 100_000.0, 0.7),
    ] {
        let mut script = Script::Seed(seed);
        let mut at = 0u64;
        let ops: Vec<_> = (0..220)
            .map(|i| {
                at += if i % 50 == 49 { ttl_ms * 400 } else { (script.next() * scale) as u64 };
                let bad =
                    script.next() < if (i / 40) % 2 == 0 { failing / 4.0 } else { failing * 1.6 };
                (at, if bad { Withdraw } else { Deposit })
            })
            .collect();
        cases.push(trace(name, ttl_ms, min, ratio, &ops).await);
    }
    write(
        "budget.json",
        json!({"library": "tower", "version": "0.5.3", "records": "deposits and withdrawals of a TpsBudget under a virtual clock",
        "fields": {"ttl_ms, min_per_sec, ratio": "arguments of TpsBudget::new", "deposit, withdraw": "tokens a deposit gives, a withdrawal takes",
            "steps": "[at_ms, operation, allowed, balance]: the balance after it, as Debug shows it: writer + slots + reserve, without expiring anything"}}),
        cases,
    );
}

async fn backoffs() {
    let mut cases = Vec::new();
    for (min_ms, max_ms, jitter) in [
        (50u64, u64::MAX, 0.99),
        (50, 10_000, 0.99),
        (100, 1_000, 0.5),
        (100, 1_000, 0.0),
        (1_000, 60_000, 0.5),
        (1_000, 60_000, 1.0),
        (1_000, 1_000, 0.5),
        (250, 30_000, 2.0),
        (1_500, 100_000, 0.99),
        (0, 1_000, 0.5),
    ] {
        for (script, rng) in [
            ("tiny", Script::Constant(1.0 / (1u64 << 53) as f64)),
            ("half", Script::Constant(0.5)),
            ("almost_one", Script::Constant(1.0 - 1.0 / (1u64 << 53) as f64)),
            ("seed_1", Script::Seed(1)),
        ] {
            if jitter == 0.0 && script != "half" {
                continue;
            }
            let mut replay = rng.clone();
            let mut backoff = ExponentialBackoffMaker::new(
                Duration::from_millis(min_ms),
                Duration::from_millis(max_ms),
                jitter,
                rng,
            )
            .expect("valid")
            .make_backoff();
            let mut delays = Vec::new();
            let mut uniforms = Vec::new();
            for _ in 0..36 {
                let sleep = backoff.next_backoff();
                let nanos = (sleep.deadline() - tokio::time::Instant::now()).as_nanos();
                delays.push(u64::try_from(nanos).unwrap_or(u64::MAX));
                if jitter > 0.0 {
                    uniforms.push(replay.next());
                }
            }
            let max = if max_ms == u64::MAX { json!("u64::MAX") } else { json!(max_ms) };
            cases.push(json!({"min_ms": min_ms, "max_ms": max, "jitter": jitter, "script": script, "delays_ns": delays, "uniforms": uniforms}));
        }
    }
    write(
        "backoff.json",
        json!({"library": "tower", "version": "0.5.3", "records": "ExponentialBackoff: the sleep before retry 1 … 36",
        "fields": {"min_ms, max_ms, jitter": "arguments of ExponentialBackoffMaker::new", "uniforms": "what the generator gave, one a retry (none without jitter)",
            "delays_ns": "duration of the sleep, in ns; beyond 30 years or so tokio itself shortens it"}}),
        cases,
    );
}

fn main() {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("runtime")
        .block_on(async {
            budgets().await;
            backoffs().await;
        });
}
