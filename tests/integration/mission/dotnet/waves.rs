//! N7 to N14: a thousand clients that fail in one instant, and when they come back.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use stormlab::measure::simulate;
use stormlab::policy::backoff::Past;
use stormlab::units::Draw;

use crate::mission::dotnet::lived;
use crate::mission::dotnet::reached;
use crate::mission::dotnet::variant;

/// Attempts by the second at which they come, where all come at few instants.
fn instants(name: &str) -> Vec<(String, usize)> {
    let mut counts = BTreeMap::new();
    for at in reached(&lived("-waves", name), "dependency") {
        *counts.entry(format!("{at:06.3}")).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// [N10] All thousand again after 1 s, then 2 s, then 4 s. [N8] Constant and linear schedules.
/// [N7] Three retries at once are over before anything can have changed.
#[test]
fn n10_without_jitter_all_come_together() {
    let thousand = |at: &[&str]| -> Vec<(String, usize)> {
        at.iter().map(|at| ((*at).to_owned(), 1_000)).collect()
    };
    assert_eq!(instants("base"), thousand(&["00.000", "01.000", "03.000", "07.000"]));
    assert_eq!(instants("constant"), thousand(&["00.000", "01.000", "02.000", "03.000"]));
    assert_eq!(instants("linear"), thousand(&["00.000", "01.000", "03.000", "06.000"]));
    assert_eq!(instants("at-once"), [("00.000".to_owned(), 4_000)]);
}

/// Retries in each second after the failure, and in the fullest tenth of a second after the first
/// attempts: means of 40 runs.
fn stream(name: &str) -> (Vec<f64>, f64) {
    const RUNS: u32 = 40;
    let model = variant("-waves", name);
    let mut tenths = vec![0.0; 200];
    for replication in 0..RUNS {
        let record = simulate(&model, model.run.seed, replication, &AtomicBool::new(false))
            .expect("the audit holds");
        let after = record.series.service(0).skip(100).map(|it| f64::from(it.retries()));
        for (sum, count) in tenths.iter_mut().zip(after) {
            *sum += count / f64::from(RUNS);
        }
    }
    let largest = tenths.iter().copied().fold(0.0, f64::max);
    (tenths.chunks(10).map(|second| second.iter().sum()).collect(), largest)
}

/// [N11, a slip] "A few hundred per second" holds for Polly's jitter at a base of 1 s, and not for
/// the article's own 500 ms, where the thousand are back within 3 s. The waits add up to f(t) alone,
/// so what is expected is the law of f, counted on a grid. The tolerance is four standard errors of
/// a count of some hundreds over 40 runs; the fullest bin is that of the means.
#[test]
fn n11_with_jitter_they_come_as_a_stream() {
    #[track_caller]
    fn check(name: &str, seconds: &[f64], bin: f64) {
        let (found, largest) = stream(name);
        for (second, (found, expected)) in found.iter().zip(seconds).enumerate() {
            assert!((found - expected).abs() < 15.0, "{name}: second {second}: {found:.1}");
        }
        assert!((largest - bin).abs() < 6.0, "{name}: {largest:.1}");
    }
    check("jitter", &[611.8, 894.9, 572.7, 411.2, 320.2, 189.1], 109.0);
    check("as-listed", &[1_506.7, 984.0, 509.3, 0.0], 215.3);
}

/// [N12, a slip] Means for base d are 0.87, 1.16, 2.08 and 4.13 d, not 1, 2, 4, 8 d; first waits
/// crowd toward their upper end. [N13] The cap of 10 s never binds: the longest wait is 2.163 s.
#[test]
fn n12_polly_keeps_neither_the_mean_nor_an_even_spread() {
    let model = variant("-waves", "as-listed");
    let retry = model.policies[0].retry.as_ref().expect("it retries");
    // Every draw on a grid: the mean and the shares of the law, without chance.
    const STEPS: u32 = 100_000;
    let first: Vec<f64> = (0..STEPS)
        .map(|step| {
            let draw = Draw::from_bits(((u64::from(step) << 32) / u64::from(STEPS)) << 32);
            retry.backoff.wait(1, &mut Past::new(), draw).as_secs_f64()
        })
        .collect();
    let share = |low: f64, high: f64| {
        first.iter().filter(|it| (low..high).contains(*it)).count() as f64 / f64::from(STEPS)
    };
    assert!((share(0.0, 0.1) - 0.0201).abs() < 0.001, "{}", share(0.0, 0.1));
    assert!((share(0.4, 0.5) - 0.2153).abs() < 0.001, "{}", share(0.4, 0.5));
    for (retry_number, expected) in [(1, 0.87), (2, 1.16), (3, 2.08), (4, 4.13)] {
        let mean = retry.backoff.mean(retry_number).as_secs_f64() / 0.5;
        assert!((mean - expected).abs() < 0.01, "{retry_number}: {mean}");
    }
    let longest = (1..=3).map(|k| retry.backoff.bounds(k).1.as_secs_f64()).fold(0.0, f64::max);
    assert!((longest - 2.163).abs() < 0.001, "{longest}");
}
