//! The webhook chapter: schedules by text and by code, outages, hints (W4, W6 to W8, W10 to W13, W15,
//! W16, W22, W23, W33, W39, W40).

use stormlab::policy::backoff::Past;
use stormlab::policy::hint::Hint;
use stormlab::policy::stack::Policy;
use stormlab::units::Draw;
use stormlab::units::Duration;

use super::*;

const MIN: f64 = 60.0;
const HOUR: f64 = 3_600.0;
/// The producer as its text has it, with jitter and without.
const EQUAL: &str = "{ preset: webhook-producer }";
const NONE: &str = "{ preset: webhook-producer, retry: { jitter: none } }";

/// Requests at a steady rate for as long as the receiver is away, and what became of them.
fn outage(policy: &str, hours: f64, events: u32) -> Told {
    let seconds = (hours * HOUR) as u64;
    let rate = f64::from(events) / hours;
    let arrivals = format!(
        "{{ schedule: {{ process: constant, rates: [{{ rate: {rate}/h }}, {{ at: {seconds}s, rate: 0/s }}] }} }}"
    );
    refused_for(system(policy, &arrivals, WELL), seconds)
}

/// The density of the life of an event, in cells of a twentieth of a minute: the sum of its waits,
/// each even over its bounds. Exact but for the width of a cell.
fn life(backoff: &Backoff, retries: u32) -> Vec<f64> {
    const CELL: f64 = 3.0;
    let mut density = vec![1.0];
    for retry in 1..=retries {
        let (low, high) = bounds(backoff, retry);
        let (from, width) = ((low / CELL).round() as usize, ((high - low) / CELL).round() as usize);
        let mut sums = vec![0.0];
        for share in &density {
            sums.push(sums[sums.len() - 1] + share);
        }
        let len = density.len();
        density = (0..len + from + width)
            .map(|i| {
                let upper = (i + 1).saturating_sub(from).min(len);
                let lower = (i + 1).saturating_sub(from + width).min(len);
                (sums[upper] - sums[lower]) / width as f64
            })
            .collect();
    }
    density
}

/// Mean and deviation of a life, and the share of an outage's events that outlive it, in hours.
fn of_life(density: &[f64], outage_h: f64) -> (f64, f64, f64) {
    // Each of fifteen waits lies in the middle of its cell.
    let at = |cell: usize| (cell as f64 + 7.5) * 3.0 / HOUR;
    let sum = |of: &dyn Fn(f64) -> f64| {
        density.iter().enumerate().map(|(cell, share)| share * of(at(cell))).sum::<f64>()
    };
    let mean = sum(&|life| life);
    let deviation = sum(&|life| (life - mean) * (life - mean)).sqrt();
    (mean, deviation, sum(&|life| (outage_h - life).max(0.0)) / outage_h)
}

#[test]
fn w6_the_table_of_the_text() {
    let told = run(&system(NONE, &burst(1), &failing("unavailable")), 1);
    let mut at = vec![0.0];
    for wait in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].into_iter().chain([60.0; 9]) {
        at.push(at[at.len() - 1] + wait * MIN);
    }
    assert_eq!(told.reached, at);
    assert_eq!(told.ends, [(0.0, 603.0 * MIN, false)]);
}

/// The code's delays are shifted by one, or by two where its counter begins at 1.
#[test]
fn w7_the_code_waits_longer_than_the_text() {
    for (preset, first, sum) in [
        ("webhook-producer", 1.0, 603.0),
        ("webhook-producer-code", 2.0, 662.0),
        ("webhook-producer-code-from-1", 4.0, 720.0),
    ] {
        let backoff = backoff(&format!("{{ preset: {preset} }}"));
        is(preset, bounds(&backoff, 1).1, first * MIN);
        is(preset, summed(&backoff, 15).1, sum * MIN);
        is(preset, summed(&backoff, 15).0, sum / 2.0 * MIN);
    }
}

/// The text says that equal jitter keeps the average: it takes a quarter off, and full jitter half.
#[test]
fn w8_equal_jitter_takes_a_quarter_off() {
    let text =
        |jitter: &str| format!("{{ preset: webhook-producer, retry: {{ jitter: {jitter} }} }}");
    for (jitter, low, share) in [("equal", 0.5, 0.75), ("full", 0.0, 0.5)] {
        let backoff = backoff(&text(jitter));
        for (retry, window) in [(1, 1.0), (4, 8.0), (7, 60.0), (15, 60.0)] {
            is(jitter, bounds(&backoff, retry).0, low * window * MIN);
            is(jitter, backoff.mean(retry).as_secs_f64(), share * window * MIN);
            let most = Draw::new(1.0 - 1e-9).expect("below one");
            let wait = backoff.wait(retry, &mut Past::new(), most).as_secs_f64();
            assert!(wait < window * MIN, "the upper end is excluded: {wait}");
        }
    }
}

#[test]
fn w10_events_that_fail_together_come_back_together_without_jitter() {
    let free = ", bulkhead: null, order: [breaker, retry]";
    let text =
        |jitter| format!("{{ preset: webhook-producer, retry: {{ jitter: {jitter} }}{free} }}");
    let told = refused_for(system(&text("none"), &burst(1_000), WELL), 30);
    assert_eq!((told.at(60.0), told.reached.len()), (1_000, 2_000));
    let told = refused_for(system(&text("equal"), &burst(1_000), WELL), 20);
    assert_eq!(told.between(30.0, 60.0), 1_000);
    // 33.3 in a second, on average: no second has twice as many.
    let most = (30..60).map(|s| told.between(f64::from(s), f64::from(s + 1))).max();
    assert!(most < Some(60), "{most:?}");
    let told = refused_for(system(&text("full"), &burst(1_000), WELL), 1);
    // Half of them before any of equal jitter; four standard errors are 63. Those of the first
    // second come before the receiver is back, and once more.
    let early = told.between(1.0, 30.0);
    assert!((430..570).contains(&early), "{early}");
}

/// Eight retries, says the text, cover about two hours: eight attempts do.
#[test]
fn w11_eight_attempts_cover_two_hours_and_eight_retries_three() {
    let (plain, equal) = (backoff(NONE), backoff(EQUAL));
    for (retries, most, average) in [(7, 123.0, 92.25), (8, 183.0, 137.25)] {
        is("without jitter", summed(&plain, retries).1, most * MIN);
        is("mean with", mean_of(&equal, retries), average * MIN);
    }
}

fn mean_of(backoff: &Backoff, retries: u32) -> f64 {
    (1..=retries).map(|retry| backoff.mean(retry).as_secs_f64()).sum()
}

#[test]
fn w12_a_short_outage_recovers_quickly() {
    let told = refused_for(system(EQUAL, &burst(4_000), WELL), 5);
    // Ten at once for each receiver, and no time at all at it.
    assert_eq!(told.reached.len(), 2 * 4_000);
    assert!(told.ends.iter().all(|(_, end, ok)| *ok && (30.0..60.0).contains(end)));
    // A deviation of 8.7 s: 0.6 are four standard errors.
    near("mean", told.mean_latency(), 45.0, 0.6);
}

#[test]
fn w12_a_two_hour_outage_is_not_hammered() {
    let told = refused_for(system(NONE, &burst(1), WELL), 7_200);
    assert_eq!((told.ends[0], told.reached.len()), ((0.0, 123.0 * MIN, true), 8));
    for (policy, attempts, late) in [(NONE, 7.0, 21.0), (EQUAL, 7.5, 19.0)] {
        let told = outage(policy, 2.0, 7_200);
        assert_eq!(told.lost(), 0.0);
        let each = told.reached.len() as f64 / told.ends.len() as f64;
        near("attempts", each, attempts, 0.05);
        let after: Vec<_> = told.ends.iter().map(|(_, end, _)| (end - 2.0 * HOUR) / MIN).collect();
        near("minutes after the return", mean(&after), late, 0.5);
    }
}

/// Five attempts of the table end after 15 min, and sixteen outlast six hours.
#[test]
fn w13_stopping_early_loses_a_six_hour_outage() {
    let five = |jitter: &str| {
        format!("{{ preset: webhook-producer, retry: {{ max_attempts: 5, jitter: {jitter} }} }}")
    };
    near("five", outage(&five("none"), 6.0, 3_600).lost(), 345.0 / 360.0, 0.001);
    near("five with jitter", outage(&five("equal"), 6.0, 3_600).lost(), 348.75 / 360.0, 0.002);
    for policy in [NONE, EQUAL] {
        assert_eq!(outage(policy, 6.0, 3_600).lost(), 0.0, "{policy}");
    }
    let life = life(&backoff(EQUAL), 15);
    is("all of it", life.iter().sum(), 1.0);
    // About one in ten thousand of the events of the first moment (W13 has "below" that).
    let short: f64 = life[..6 * 1_200 - 8].iter().sum();
    near("P(life < 6 h)", short, 1.08e-4, 3e-6);
}

#[test]
fn w15_sixteen_attempts_take_about_ten_hours_at_most() {
    assert_eq!(summed(&backoff(NONE), 15), (603.0 * MIN, 603.0 * MIN));
    let equal = backoff(EQUAL);
    let (low, high) = summed(&equal, 15);
    near("least", low / HOUR, 5.03, 0.006);
    near("most", high / HOUR, 10.05, 1e-9);
    let (mean, deviation, _) = of_life(&life(&equal, 15), 12.0);
    near("mean", mean, 7.5375, 1e-3);
    near("deviation in minutes", deviation * 60.0, 26.5, 0.05);
    // The age of 72 h never binds: with it and without it every event has the same life.
    let attempts_only = "{ preset: webhook-producer, retry: { max_elapsed: null } }";
    let ends = |policy| run(&system(policy, &burst(50), &failing("unavailable")), 9).ends;
    assert_eq!(ends(EQUAL), ends(attempts_only));
}

/// Shares of events lost, by the life of an event and by runs.
#[test]
fn w16_sixteen_attempts_do_not_outlast_a_weekend() {
    let equal = life(&backoff(EQUAL), 15);
    for (hours, with, without) in [(8.0, 6.0, 0.0), (12.0, 37.0, 16.0), (60.0, 87.0, 83.0)] {
        let exact = 100.0 * of_life(&equal, hours).2;
        near("of the source, with jitter", exact, with, 0.6);
        near("with jitter", 100.0 * outage(EQUAL, hours, 4_000).lost(), exact, 1.0);
        let exact = 100.0 * f64::max(hours - 10.05, 0.0) / hours;
        near("of the source, without", exact, without, 0.6);
        near("without jitter", 100.0 * outage(NONE, hours, 1_000).lost(), exact, 0.11);
    }
    // With the age alone, as the worker's code has it (W17), nothing of a weekend is lost.
    let age = "{ preset: webhook-producer, retry: { max_attempts: unlimited } }";
    let told = outage(age, 60.0, 500);
    assert_eq!(told.lost(), 0.0);
    // And a receiver that is gone for good costs each event 77 attempts without jitter, 101 with.
    let ends = |jitter: &str| {
        let text = format!(
            "{{ preset: webhook-producer, retry: {{ max_attempts: unlimited, jitter: {jitter} }} }}"
        );
        let told = run(&system(&text, &burst(400), &failing("unavailable")), 3);
        let last = told.ends.iter().map(|it| it.1).fold(0.0, f64::max);
        assert!(last <= 72.0 * HOUR && last > 71.0 * HOUR, "{last}");
        told.reached.len() as f64 / 400.0
    };
    is("without", ends("none"), 77.0);
    near("with", ends("equal"), 101.0, 1.0);
}

/// The share of retries that come before the receiver's word.
fn early(policy: &Policy, hint_min: f64, retry: u32) -> f64 {
    const DRAWS: u64 = 40_000;
    let it = policy.retry.as_ref().expect("it retries");
    let asked = Duration::from_secs((hint_min * MIN) as u64);
    let keys = Keys::new(22, 0);
    let wait = |call| {
        let draw = keys.draw(Purpose::Backoff, call, retry);
        let hint = Some(Hint::After(asked));
        it.hint.wait(&it.backoff, retry, &mut Past::new(), hint, draw).expect("it waits")
    };
    (0..DRAWS).filter(|call| wait(*call) < asked).count() as f64 / DRAWS as f64
}

/// The code draws its own wait once to compare it and again to use it: a quarter of the retries come
/// before a hint of 45 min. Drawn once, none does.
#[test]
fn w22_a_wait_that_is_drawn_twice_comes_before_the_hint() {
    let (text, code) = (policy(EQUAL), policy("{ preset: webhook-producer-code }"));
    for (hint, share) in
        [(30.0, 0.0), (35.0, 5.0 / 36.0), (45.0, 0.25), (55.0, 5.0 / 36.0), (60.0, 0.0)]
    {
        let found = early(&code, hint, 9);
        if share == 0.0 {
            assert_eq!(found, 0.0, "a hint of {hint} min");
        }
        // Four standard errors.
        near("drawn twice", found, share, 0.009);
        assert_eq!(early(&text, hint, 9), 0.0, "drawn once");
    }
}

/// Sixty seconds are the whole base of the first retry, so the hint wins and all jitter is gone.
#[test]
fn w23_a_hint_of_60_s_brings_a_herd() {
    let server = "{ workers: 1000, work: 0s, retry_after: { rate_limited: 60s },
                    errors: { class: rate_limited, share: 100% } }";
    let told = run(&system(EQUAL, &burst(500), server), 1);
    assert_eq!((told.at(0.0), told.at(60.0), told.between(0.1, 60.0)), (500, 500, 0));
    // The code's first retry has a base of two minutes, and most of its jitter survives.
    let told = run(&system("{ preset: webhook-producer-code }", &burst(500), server), 1);
    assert_eq!(told.at(60.0), 0);
}

/// W4: a receiver that answers what is not on the list of successes gets every event 16 times. W39:
/// and no more than that, whatever fails. W33: the 101st permanent failure pauses it.
#[test]
fn w4_w33_w39_attempts_are_bounded() {
    for class in ["protocol", "internal", "not_found", "timeout"] {
        let told = run(&system(EQUAL, &burst(20), &failing(class)), 1);
        assert_eq!(told.reached.len(), 20 * 16, "{class}");
    }
    let code = "{ preset: webhook-producer-code }";
    let told = run(
        &system(
            code,
            "{ schedule: { rates: [{ rate: 1/s }, { at: 1h, rate: 0/s }] } }",
            &failing("gone"),
        ),
        1,
    );
    assert_eq!(told.reached.len(), 101);
}

/// Called doubling, the courier's gaps grow five- and sixfold; his fifth visit is after 66 min.
#[test]
fn w40_the_courier_gives_up_after_five_visits() {
    let courier = "{ preset: courier }";
    let told = run(&system(courier, &burst(1), &failing("unavailable")), 1);
    assert_eq!(told.reached, [0.0, 1.0, 6.0, 36.0, 66.0].map(|at| at * MIN));
    let ends = |outage| refused_for(system(courier, &burst(1), WELL), outage).ends[0].2;
    assert!(ends(66 * 60) && !ends(66 * 60 + 1));
}
