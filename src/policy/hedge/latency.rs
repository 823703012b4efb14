//! When a request is late: a percentile of recent latencies.
//!
//! Latencies fall into cells that grow with them, eight to each doubling, and are taken to lie evenly
//! in each: the percentile is less than an eighth off. At the end of every window the percentile is taken anew, and the cells
//! are emptied; before the end of the first window there is none, and nobody hedges.
//!
//! Invariant: the percentile of a window is one of its latencies, or at most an eighth more.
//! Source: Finagle @1faf2c9 `BackupRequestFilter`: sends after the (1 − extra load) percentile, and
//! pays from a budget of that share, which a hedge has beside this. It keeps three windows of 10 s
//! and looks at all of them every 3 s.

use serde::Serialize;

use crate::units::Duration;
use crate::units::SimTime;

/// Cells to each doubling.
const FINE: u64 = 8;
const CELLS: usize = 62 * FINE as usize;

/// The settings of a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PercentileConfig {
    /// Which, in thousandths: 950 is the 95th percentile.
    pub per_mille: u32,
    /// How long latencies are gathered before it is taken anew.
    pub window: Duration,
    /// With fewer than so many the old one stays.
    pub minimum: u32,
}

/// Recent latencies, and the percentile of the window before.
#[derive(Clone, Debug)]
pub struct Percentile {
    cells: [u32; CELLS],
    count: u32,
    ends_at: SimTime,
    estimate: Option<Duration>,
}

impl PercentileConfig {
    /// Nothing heard yet.
    pub fn start(&self, now: SimTime) -> Percentile {
        Percentile { cells: [0; CELLS], count: 0, ends_at: now + self.window, estimate: None }
    }
}

impl Percentile {
    /// An answer came after `latency`.
    pub fn record(&mut self, config: &PercentileConfig, now: SimTime, latency: Duration) {
        if now >= self.ends_at {
            self.end_window(config, now);
        }
        let cell = &mut self.cells[cell(latency)];
        *cell = cell.saturating_add(1);
        self.count = self.count.saturating_add(1);
    }

    /// The percentile of the last full window.
    pub const fn estimate(&self) -> Option<Duration> {
        self.estimate
    }

    fn end_window(&mut self, config: &PercentileConfig, now: SimTime) {
        if self.count >= config.minimum.max(1) {
            let wanted = u64::from(self.count) * u64::from(config.per_mille.min(1_000));
            let wanted = wanted.div_ceil(1_000).max(1);
            let mut below = 0;
            for (index, count) in self.cells.iter().enumerate() {
                let with = below + u64::from(*count);
                if with >= wanted {
                    self.estimate = Some(within(index, wanted - below, u64::from(*count)));
                    break;
                }
                below = with;
            }
        }
        self.cells = [0; CELLS];
        self.count = 0;
        self.ends_at = now + config.window;
    }
}

/// Small latencies have a cell each; from then on the first four bits decide.
fn cell(latency: Duration) -> usize {
    let nanos = latency.as_nanos();
    if nanos < FINE {
        return nanos as usize;
    }
    let doublings = u64::from(nanos.ilog2()) - u64::from(FINE.ilog2());
    (doublings * FINE + (nanos >> doublings)) as usize
}

/// Where the `nth` of `count` latencies of a cell lies, if they lie evenly.
fn within(cell: usize, nth: u64, count: u64) -> Duration {
    let first = cell.checked_sub(1).map_or(0, |below| upper_end(below).as_nanos());
    let width = u128::from(upper_end(cell).as_nanos() - first);
    let share = width * u128::from(nth) / u128::from(count.max(1));
    Duration::from_nanos(first + share as u64)
}

/// The longest latency of a cell.
fn upper_end(cell: usize) -> Duration {
    let cell = cell as u64;
    if cell < 2 * FINE {
        return Duration::from_nanos(cell);
    }
    let doublings = cell / FINE - 1;
    let first = (cell % FINE + FINE) << doublings;
    Duration::from_nanos(first + ((1 << doublings) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentile_is_that_of_the_window_before() {
        let window = Duration::from_secs(1);
        let config = PercentileConfig { per_mille: 950, window, minimum: 100 };
        let mut latencies = config.start(SimTime::ZERO);
        for ms in 1..=100 {
            latencies.record(&config, SimTime::ZERO, Duration::from_millis(ms));
        }
        assert_eq!(latencies.estimate(), None);
        let second = SimTime::ZERO + window;
        latencies.record(&config, second, Duration::from_secs(9));
        let estimate = latencies.estimate().expect("a window has ended").as_millis_f64();
        assert!((95.0..95.0 * 1.125).contains(&estimate), "{estimate}");
        let before = latencies.estimate();
        latencies.record(&config, second + window, Duration::from_secs(9));
        assert_eq!(latencies.estimate(), before, "one latency is too few");
    }

    #[test]
    fn every_latency_has_a_cell_and_its_end_is_near() {
        let mut last = 0;
        for nanos in (0..200).chain((8..64).flat_map(|p| [(1 << p) - 1, 1 << p, (1 << p) + 1])) {
            let (cell, end) = (cell(Duration::from_nanos(nanos)), |c| upper_end(c).as_nanos());
            assert!(cell < CELLS && cell >= last, "{nanos} in {cell}");
            assert!(end(cell) >= nanos && end(cell) - nanos <= nanos / 8, "{nanos}");
            last = cell;
        }
        assert_eq!(upper_end(cell(Duration::MAX)), Duration::MAX);
    }
}
