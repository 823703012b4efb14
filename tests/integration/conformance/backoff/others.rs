//! Recordings of general retry libraries: Rust, Node and Python.

use super::bands::added_second;
use super::*;

fn from(growth: Growth, cap: Duration, jitter: Jitter) -> Backoff {
    Backoff { growth, cap, jitter, rules: Rules::PLAIN }
}

fn exponential(base: Duration, factor: f64) -> Growth {
    Growth::Exponential { base, factor, start: 0 }
}

fn added(most: f64) -> Jitter {
    Jitter::Added { most: seconds(most), grows: Duration::ZERO, clipped: false }
}

fn cap_last() -> Rules {
    Rules { order: CapOrder::JitterThenCap, ..Rules::PLAIN }
}

#[test]
fn backon_delays() {
    let cases = trace::cases("backon/delays.json");
    let ns = |value: f64| Duration::from_nanos(value as u64);
    let of = |builder: &str| {
        let case = cases.iter().find(|case| case["builder"] == builder);
        each(&case.unwrap_or_else(|| panic!("no {builder}"))["delays_ns"], ns)
    };
    let plain = from(exponential(SECOND, 2.0), SECOND.scale(60.0), Jitter::None);
    agrees("default", &plain, &[], &of("ExponentialBuilder::default()"), 0);
    agrees("12", &plain, &[], &of("ExponentialBuilder, max_times 12"), 0);
    let endless = from(exponential(SECOND, 2.0), Duration::MAX, Jitter::None);
    let waits = of("ExponentialBuilder, without_max_delay, max_times 80");
    agrees("no cap", &endless, &[], &waits[..33], 0);
    let slow = from(
        Growth::Stepped { base: SECOND, factor: 1.5, unit: Duration::from_nanos(1) },
        SECOND.scale(60.0),
        Jitter::None,
    );
    agrees("1.5", &slow, &[], &of("ExponentialBuilder, factor 1.5, max_times 15"), 1);
    let high = from(exponential(SECOND.scale(10.0), 2.0), SECOND, Jitter::None)
        .with_rules(Rules { first: First::Uncapped, ..Rules::PLAIN });
    agrees("once", &high, &[], &of("ExponentialBuilder, min 10 s, max 1 s, max_times 4"), 0);
    // The cap is passed once: 89 s under 60 s, 5.5 s under 5 s.
    let fibonacci = |base: Duration, cap| from(Growth::Fibonacci { base }, cap, Jitter::None);
    let long = fibonacci(SECOND, SECOND.scale(89.0));
    agrees("fibonacci", &long, &[], &of("FibonacciBuilder, max_times 15"), 0);
    let short = fibonacci(ms(100.0), ms(5_500.0));
    let waits = of("FibonacciBuilder, min 100 ms, max 5 s, max_times 15");
    agrees("short fibonacci", &short, &[], &waits, 0);
}

#[test]
fn backon_seeded_jitter() {
    let cases = trace::cases("backon/delays.json");
    for seed in 1..=3 {
        let of = |kind: &str| {
            let name = |case: &&Value| {
                let builder = case["builder"].as_str().expect("recorded");
                builder.starts_with(kind) && builder.contains(&format!("seed {seed}"))
            };
            each(&cases.iter().find(name).expect("recorded")["delays_ns"], |ns| {
                Duration::from_nanos(ns as u64)
            })
        };
        // What is drawn for a constant second is the uniform number itself.
        let constant = of("ConstantBuilder");
        let uniforms: Vec<_> = constant.iter().map(|wait| wait.as_secs_f64() - 1.0).collect();
        let once = from(exponential(SECOND, 2.0), SECOND.scale(60.0), Jitter::AddedShare(1.0));
        let n = uniforms.len();
        // Their numbers have 32 bits.
        agrees("exponential", &once, &uniforms, &of("ExponentialBuilder")[..n], 2_000);
        let fibonacci = from(Growth::Fibonacci { base: SECOND }, Duration::MAX, added_second());
        agrees("fibonacci", &fibonacci, &uniforms, &of("FibonacciBuilder")[..n], 100);
    }
}

/// `retry` sorts its list, and so async-retry on top of it; p-retry does not.
#[test]
fn node_retry_p_retry_and_async_retry() {
    let mut compared = 0;
    for file in ["retry", "p-retry", "async-retry"] {
        for case in trace::cases(&format!("npm-others/{file}.json")) {
            let options = &case["options"];
            let number = |key: &str| options[key].as_f64();
            let waits = case.get("delays_ms").unwrap_or(&case["waits_ms"]);
            let waits = each(waits, ms);
            let odd = number("factor") == Some(0.0)
                || number("minTimeout") == Some(0.0)
                || options.get("maxRetryTime").is_some()
                || options.get("forever").is_some()
                || case.get("attempts_made").is_none() && case.get("delays_ms").is_none();
            if odd || waits.is_empty() {
                continue; // Their own reading of 0, and limits in time.
            }
            let uniforms = trace::numbers(&case["uniforms"]);
            let base = ms(number("minTimeout").unwrap_or(1_000.0));
            let jitter = if uniforms.is_empty() { Jitter::None } else { Jitter::AddedShare(1.0) };
            let cap = number("maxTimeout").map_or(Duration::MAX, ms);
            let rules = Rules { rounding: Rounding::Nearest(MS), ..cap_last() };
            let growth = exponential(base, number("factor").unwrap_or(2.0));
            let backoff = from(growth, cap, jitter).with_rules(rules);
            let mut ours: Vec<_> = (1..)
                .zip(&waits)
                .map(|(retry, _)| {
                    let u = uniforms.get(retry as usize - 1).copied().unwrap_or(0.5);
                    backoff.wait(retry, &mut Past::new(), draw(u))
                })
                .collect();
            if file != "p-retry" {
                ours.sort_unstable();
            }
            assert_eq!(ours, waits, "{file} {options}");
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn bullmq_builtin_strategies() {
    for case in trace::cases("npm-others/bullmq.json") {
        let options = &case["options"];
        let (base, share) = (trace::number(&options["delay"]), options["jitter"].as_f64());
        if case.get("attempts_made").is_some() {
            continue; // Very late: theirs grows to Infinity.
        }
        let growth = if options["type"] == "fixed" {
            Growth::Constant(ms(base))
        } else {
            exponential(ms(base), 2.0)
        };
        let (jitter, rounding) = match share {
            Some(share) if share > 0.0 => (Jitter::Down(share), Rounding::Down(MS)),
            _ => (Jitter::None, Rounding::Nearest(MS)),
        };
        let backoff =
            from(growth, Duration::MAX, jitter).with_rules(Rules { rounding, ..Rules::PLAIN });
        let waits = each(&case["delays_ms"], ms);
        // Just below 1 a sum of floats is rounded up to the end of the window.
        if base.fract() == 0.0 && case["script"] != "almost_one" {
            agrees(&options.to_string(), &backoff, &trace::numbers(&case["uniforms"]), &waits, 0);
        }
    }
}

#[test]
fn got_default_and_capped_before_the_noise() {
    let mut compared = 0;
    for case in trace::cases("npm-others/got.json") {
        let (changes, uniforms) = (&case["changes"], trace::numbers(&case["uniforms"]));
        if uniforms.is_empty() || case["error"].get("hint").is_some() {
            continue; // Not retried, or under a hint.
        }
        let cap = changes["backoffLimit"].as_f64().map_or(Duration::MAX, ms);
        let noise = changes["noise"].as_f64().unwrap_or(100.0) / 1e3;
        let backoff = from(exponential(SECOND, 2.0), cap, added(noise));
        let waits = each(&case["delays_ms"], ms);
        agrees(&case["name"].to_string(), &backoff, &uniforms, &waits[..uniforms.len()], 2);
        compared += 1;
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn celery_countdowns_in_whole_seconds() {
    for case in trace::cases("python-others/celery.json") {
        let (factor, most) = (trace::number(&case["factor"]), trace::number(&case["maximum"]));
        let full = case["full_jitter"] == true;
        let jitter = if full { Jitter::Full } else { Jitter::None };
        let backoff = from(exponential(seconds(factor), 2.0), seconds(most), jitter)
            .with_rules(Rules { grain: Grain::WholeWithEnd(SECOND), ..Rules::PLAIN });
        let countdowns = each(&case["countdowns_s"], seconds);
        if full {
            agrees("celery", &backoff, &trace::numbers(&case["uniforms"]), &countdowns, 0);
        } else {
            let retries = trace::numbers(&case["retries"]);
            for (retries, theirs) in retries.into_iter().zip(countdowns) {
                assert_eq!(backoff.window(retries as u32 + 1), theirs, "{factor} {retries}");
            }
        }
    }
}

#[test]
fn google_api_core_full_jitter() {
    for case in trace::cases("python-others/google-api-core.json") {
        let Some(settings) = case.get("settings") else { continue };
        let of = |key: &str, default: f64| settings[key].as_f64().unwrap_or(default);
        let growth = exponential(seconds(of("initial", 1.0)), of("multiplier", 2.0));
        let backoff = from(growth, seconds(of("maximum", 60.0)), Jitter::Full);
        let waits = each(&case["waits_s"], seconds);
        agrees(&settings.to_string(), &backoff, &trace::numbers(&case["uniforms"]), &waits, 2);
    }
}

#[test]
fn python_backoff_generators() {
    for case in trace::cases("python-others/backoff.json") {
        let wait = case["wait"].as_str().expect("recorded");
        let (growth, cap) = match wait {
            "expo()" => (exponential(SECOND, 2.0), Duration::MAX),
            "expo(max_value=60)" => (exponential(SECOND, 2.0), seconds(60.0)),
            "expo(base=3, factor=0.5, max_value=100)" => {
                (exponential(seconds(0.5), 3.0), seconds(100.0))
            }
            "fibo()" => (Growth::Fibonacci { base: SECOND }, Duration::MAX),
            "fibo(max_value=50)" => (Growth::Fibonacci { base: SECOND }, seconds(50.0)),
            "constant(2)" => (Growth::Constant(seconds(2.0)), Duration::MAX),
            _ => continue,
        };
        let of = |jitter| from(growth.clone(), cap, jitter);
        agrees(wait, &of(Jitter::None), &[], &each(&case["values_s"], seconds), 0);
        let waits = each(&case["full_jitter_s"], seconds);
        let uniforms: Vec<_> = waits
            .iter()
            .zip(trace::numbers(&case["values_s"]))
            .map(|(wait, window)| wait.as_secs_f64() / window)
            .collect();
        agrees(wait, &of(Jitter::Full), &uniforms, &waits, 2);
    }
}

#[test]
fn urllib3_nothing_first_then_doubling() {
    for case in trace::cases("urllib3/backoff.json") {
        let retry = &case["retry"];
        let of = |key: &str, default: f64| retry[key].as_f64().unwrap_or(default);
        let jitter = of("backoff_jitter", 0.0);
        let growth = exponential(seconds(of("backoff_factor", 0.0)), 2.0);
        let backoff = from(growth, seconds(of("backoff_max", 120.0)), added(jitter))
            .with_rules(Rules { first: First::Fixed(Duration::ZERO), ..cap_last() });
        let uniforms = after_a_first(trace::numbers(&case["uniforms"]));
        let waits = each(&case["delays_s"], seconds);
        agrees(&retry.to_string(), &backoff, &uniforms, &waits, 2);
    }
    for case in trace::cases("urllib3/backoff-far.json") {
        let factor = trace::number(&case["retry"]["backoff_factor"]);
        let backoff = from(exponential(seconds(factor), 2.0), seconds(120.0), Jitter::None)
            .with_rules(Rules { first: First::Fixed(Duration::ZERO), ..cap_last() });
        let delays = case["delays_s"].as_array().expect("recorded");
        for (errors, theirs) in trace::numbers(&case["retries"]).into_iter().zip(delays) {
            // Where a float overflows theirs raises, and ours stays at the cap.
            let theirs = theirs.as_f64().unwrap_or(120.0);
            let ours = backoff.wait(errors as u32, &mut Past::new(), Draw::MIDDLE);
            assert!(trace::agree(ours, seconds(theirs), 1), "{factor} {errors}: {ours}");
        }
    }
}

/// A strategy of tenacity as written in Python.
fn tenacity(strategy: &str) -> Option<Backoff> {
    let none = Duration::MAX;
    let uniform = |low, high| {
        Growth::Drawn(
            stormlab::random::Distribution::uniform(seconds(low), seconds(high)).expect("recorded"),
        )
    };
    let floor = |least| Rules { floor: seconds(least), ..Rules::PLAIN };
    let twice = |base| exponential(seconds(base), 2.0);
    Some(match strategy {
        "wait_none()" => Backoff::NONE,
        "wait_fixed(3)" => from(Growth::Constant(seconds(3.0)), none, Jitter::None),
        "wait_random(1, 4)" => from(uniform(1.0, 4.0), none, Jitter::None),
        "wait_incrementing(start=1, increment=2, max=20)" => {
            let growth = Growth::Linear { base: SECOND, step: seconds(2.0) };
            from(growth, seconds(20.0), Jitter::None)
        }
        "wait_incrementing()" => {
            let growth = Growth::Linear { base: Duration::ZERO, step: seconds(100.0) };
            from(growth, none, Jitter::None)
        }
        "wait_exponential()" => from(twice(1.0), none, Jitter::None),
        "wait_exponential(multiplier=1, min=4, max=10)" => {
            from(twice(1.0), seconds(10.0), Jitter::None).with_rules(floor(4.0))
        }
        "wait_exponential(multiplier=0.1, exp_base=3, max=60)" => {
            from(exponential(seconds(0.1), 3.0), seconds(60.0), Jitter::None)
        }
        "wait_exponential(multiplier=0, max=60)" => from(twice(0.0), seconds(60.0), Jitter::None),
        "wait_exponential(multiplier=1, max=64)" => from(twice(1.0), seconds(64.0), Jitter::None),
        "wait_exponential(multiplier=1, min=5, max=3)" => {
            from(twice(1.0), seconds(3.0), Jitter::None).with_rules(floor(5.0))
        }
        "wait_random_exponential()" => from(twice(1.0), none, Jitter::Full),
        "wait_random_exponential(multiplier=0.5, max=60)" => {
            from(twice(0.5), seconds(60.0), Jitter::Full)
        }
        "wait_random_exponential(multiplier=1, min=2, max=30)" => {
            from(twice(1.0), seconds(30.0), Jitter::From(seconds(2.0)))
        }
        "wait_exponential_jitter()" => from(twice(1.0), none, added(1.0)).with_rules(cap_last()),
        "wait_exponential_jitter(initial=1, max=10, jitter=5)" => {
            from(twice(1.0), seconds(10.0), added(5.0)).with_rules(cap_last())
        }
        "wait_exponential_jitter(initial=0.5, max=30, exp_base=1.5, jitter=0)" => {
            from(exponential(seconds(0.5), 1.5), seconds(30.0), added(0.0)).with_rules(cap_last())
        }
        "wait_fixed(3) + wait_random(0, 2)" => {
            from(Growth::Constant(seconds(3.0)), none, added(2.0))
        }
        "wait_chain(fixed 1 ×3, fixed 2 ×5, fixed 5)" => {
            let waits = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 5.0].map(seconds).to_vec();
            from(Growth::Table { waits, ends: false }, none, Jitter::None)
        }
        _ => return None,
    })
}

#[test]
fn tenacity_waits_near_and_far() {
    let mut compared = 0;
    for case in trace::cases("tenacity/waits.json") {
        let strategy = case["strategy"].as_str().expect("recorded");
        let Some(backoff) = tenacity(strategy) else { continue };
        let waits = each(&case["waits_s"], seconds);
        agrees(strategy, &backoff, &trace::numbers(&case["uniforms"]), &waits, 4);
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
    for case in trace::cases("tenacity/waits-far.json") {
        let Some(backoff) = tenacity(case["strategy"].as_str().expect("recorded")) else {
            continue;
        };
        let waits = case["waits_s"].as_array().expect("recorded");
        for (retry, theirs) in trace::numbers(&case["retries"]).into_iter().zip(waits) {
            let ours = backoff.wait(retry as u32, &mut Past::new(), Draw::MIDDLE);
            // Theirs has no bound but a float's; ours has the longest span, or half of it.
            let theirs = theirs.as_f64().map_or(Duration::MAX, seconds);
            let endless = theirs == Duration::MAX && ours.as_nanos() >= u64::MAX / 2 - 1;
            assert!(
                endless || trace::agree(ours, theirs, 4),
                "{} {retry}: {ours}",
                case["strategy"]
            );
        }
    }
}
