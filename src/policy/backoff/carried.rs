//! Means and medians of waits that depend on the wait before.

use super::Backoff;
use super::First;
use super::Jitter;
use super::Past;
use super::Recall;
use super::Rounding;
use super::growth::power;
use crate::random::Keys;
use crate::random::Purpose;
use crate::random::rising;
use crate::units::Duration;

/// Sequences that are drawn where no closed form is known: their mean is good to about 1 %.
const SEQUENCES: u64 = 1 << 14;
/// A sequence has settled by then, or reached the end of the range.
const SETTLED: u32 = 60;
/// Points along each of the two curves behind a wait of decorrelated jitter V2.
const POINTS: u32 = 512;
/// On a grid, the cap may lie so many bases away.
const FINE_ENOUGH: u64 = 400;

/// The mean wait before retry `retry`.
pub(super) fn mean(backoff: &Backoff, retry: u32) -> Duration {
    if backoff.jitter == Jitter::DecorrelatedV2 {
        let waits = v2_waits(backoff, retry);
        let sum: f64 = waits.iter().map(|wait| wait.as_nanos() as f64).sum();
        return Duration::from_nanos_f64(sum / waits.len() as f64);
    }
    let base = backoff.growth.base();
    let plain = backoff.rules.floor.is_zero()
        && backoff.rules.rounding == Rounding::None
        && !matches!(backoff.rules.first, First::Fixed(_));
    if plain && backoff.bounds(retry).1 < backoff.cap {
        // No wait so far can have met the cap.
        let steps = i64::from(retry) - 1;
        let factor = match backoff.jitter {
            Jitter::Decorrelated => 2.0 * power(1.5, i64::from(retry)) - 1.0,
            Jitter::Monotone => power(2.0, steps),
            Jitter::Compounding => power(2.0, steps * (steps - 1) / 2),
            _ => power(backoff.growth.factor(), steps),
        };
        return base.scale(factor);
    }
    let is_on_grid = backoff.jitter == Jitter::Decorrelated
        && backoff.rules.recall == Recall::Capped
        && backoff.cap.as_nanos() / FINE_ENOUGH <= base.as_nanos();
    if plain && is_on_grid {
        return decorrelated_mean(base, backoff.cap, retry);
    }
    let waits = drawn_waits(backoff, retry);
    let sum: f64 = waits.iter().map(|wait| wait.as_nanos() as f64).sum();
    Duration::from_nanos_f64(sum / waits.len() as f64)
}

/// The median wait before retry `retry`.
pub(super) fn median(backoff: &Backoff, retry: u32) -> Duration {
    let mut waits = match backoff.jitter {
        Jitter::DecorrelatedV2 => v2_waits(backoff, retry),
        _ => drawn_waits(backoff, retry),
    };
    let middle = waits.len() / 2;
    *waits.select_nth_unstable(middle).1
}

/// The waits before retry `retry` of decorrelated jitter V2, for evenly spaced pairs of draws.
fn v2_waits(backoff: &Backoff, retry: u32) -> Vec<Duration> {
    let points = |from: u32| {
        let curve = move |i: u32| {
            let t = f64::from(from) + (f64::from(i) + 0.5) / f64::from(POINTS);
            rising(backoff.growth.factor(), t)
        };
        (0..POINTS).map(curve).collect::<Vec<_>>()
    };
    let before = if retry < 2 { vec![0.0] } else { points(retry - 2) };
    let waits = points(retry - 1);
    let wait = |(curve, before): (f64, f64)| {
        let wait = match curve - before {
            height if height.is_finite() => backoff.on_curve(height),
            _ if backoff.growth.base().is_zero() => Duration::ZERO,
            _ => Duration::MAX,
        };
        backoff.finish(wait.min(backoff.cap))
    };
    let pairs = waits.iter().flat_map(|curve| before.iter().map(move |before| (*curve, *before)));
    pairs.map(wait).collect()
}

/// Waits before retry `retry` of sequences under the same draws each time.
fn drawn_waits(backoff: &Backoff, retry: u32) -> Vec<Duration> {
    const KEYS: Keys = Keys::new(0, 0);
    let sequence = |number| {
        let mut past = Past::new();
        let mut wait = Duration::ZERO;
        for k in 1..=retry.min(SETTLED) {
            wait = backoff.wait(k, &mut past, KEYS.draw(Purpose::Backoff, number, k));
        }
        wait
    };
    (0..SEQUENCES).map(sequence).collect()
}

/// The mean of delay `retry` under decorrelated jitter whose cap is met: the distribution of the
/// delay is carried forward on a grid. It settles within a few dozen retries.
fn decorrelated_mean(base: Duration, cap: Duration, retry: u32) -> Duration {
    const CELLS: usize = 4_000;
    if base >= cap {
        return cap;
    }
    let (low, high) = (base.as_nanos() as f64, cap.as_nanos() as f64);
    let width = (high - low) / CELLS as f64;
    let middle = |cell: usize| low + (cell as f64 + 0.5) * width;
    // Shares of the delay in each cell, and exactly at the cap; before the first, all at base.
    let (mut shares, mut at_cap) = (vec![0.0; CELLS], 0.0);
    let mut sources = vec![(low, 1.0)];
    for _ in 0..retry.min(SETTLED) {
        let mut density = vec![0.0; CELLS + 1];
        at_cap = 0.0;
        for &(previous, share) in &sources {
            let per_cell = share * width / (3.0 * previous - low);
            let reached = ((3.0 * previous - low) / width).min(CELLS as f64);
            let (whole, rest) = (reached as usize, reached.fract());
            density[0] += per_cell;
            density[whole] -= per_cell * (1.0 - rest);
            if whole < CELLS {
                density[whole + 1] -= per_cell * rest;
            }
            at_cap += share - per_cell * reached;
        }
        let mut running = 0.0;
        for (share, change) in shares.iter_mut().zip(&density) {
            running += change;
            *share = running;
        }
        sources = shares.iter().enumerate().map(|(i, share)| (middle(i), *share)).collect();
        sources.push((high, at_cap));
    }
    let inside: f64 = shares.iter().enumerate().map(|(i, share)| middle(i) * share).sum();
    Duration::from_nanos_f64(inside + high * at_cap)
}
