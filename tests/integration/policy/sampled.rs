//! Oracles by sampled sequences: bounds that no draw passes, and what the closed
//! forms of `cases::delays` do not say.

use stormlab::policy::backoff::Jitter;
use stormlab::units::Duration;

use crate::policy::column;
use crate::policy::doubling;
use crate::policy::mean_and_deviation;
use crate::policy::ms;
use crate::policy::near;
use crate::policy::totals;
use crate::policy::waits;
use crate::policy::within;

/// The value that this share of `values` does not exceed.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(share * values.len() as f64) as usize]
}

/// No value is above `most`, and some come near it.
#[track_caller]
fn reaches_but_never_passes(what: &str, values: &[f64], most: f64) {
    let largest = values.iter().copied().fold(0.0, f64::max);
    assert!(largest <= most * (1.0 + 1e-6), "{what}: {largest} is above {most}");
    assert!(largest > 0.99 * most, "{what}: {largest} does not come near {most}");
}

#[test]
fn r11_a_million_sequences_of_decorrelated_jitter_v2() {
    let backoff = doubling(ms(1_000), Duration::MAX, Jitter::DecorrelatedV2);
    let rows = waits(&backoff, 1_000_000, 6);
    let medians = [0.897_404_9, 1.139_074, 2.018_138, 4.006_286, 8.003_358, 16.002_9];
    let means = [0.871_115_7, 1.158_145, 2.077_915, 4.127_598, 8.246_449, 16.489_19];
    let most = [1.377_182, 2.837_25, 4.325_917, 8.583_657, 17.148_08, 34.288_3];
    for i in 0..6 {
        let values = column(&rows, i);
        within("mean", mean_and_deviation(&values).0, means[i], 0.01);
        reaches_but_never_passes("retry", &values, most[i]);
        within("median", quantile(values, 0.5), medians[i], 0.01);
    }
    within("mean total", mean_and_deviation(&totals(&rows)).0, 32.970_41, 0.01);
}

#[test]
fn r12_the_total_of_five_retries_of_decorrelated_jitter_v2() {
    let backoff = doubling(ms(500), Duration::MAX, Jitter::DecorrelatedV2);
    let sums = totals(&waits(&backoff, 1_000_000, 5));
    within("mean", mean_and_deviation(&sums).0, 8.240_612, 0.01);
    reaches_but_never_passes("total", &sums, 11.425_59);
    within("95th percentile", quantile(sums, 0.95), 11.036_26, 0.02);
}

#[test]
fn r15_the_total_of_three_waits_with_a_second_added_to_each() {
    let added = Jitter::Added { most: ms(1_000), grows: Duration::ZERO, clipped: false };
    let backoff = doubling(ms(3_000), Duration::MAX, added);
    let sums = totals(&waits(&backoff, 100_000, 3));
    let (mean, deviation) = mean_and_deviation(&sums);
    near("mean", mean, 22.5, 0.02);
    near("deviation", deviation, 0.5, 0.02);
    assert!(sums.iter().all(|sum| (21.0..24.0).contains(sum)), "outside of 21 to 24 s");
}
