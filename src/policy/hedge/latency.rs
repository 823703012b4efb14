//! When a request is late: a percentile of recent latencies, and what hedges may cost in all.
//!
//! Latencies fall into cells that grow with them (eight to each doubling, so the percentile is at
//! most an eighth too long). At the end of every window the percentile is taken anew, and the cells
//! are emptied; before the end of the first window there is none, and nobody hedges.
//!
//! Invariant: hedges ≤ `share` × requests + `saved / 1000`, at every moment.
//! Source: Finagle `BackupRequestFilter`: sends after the (1 − extra load) percentile, and pays
//! from a budget of that share. By its documentation.

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
                below += u64::from(*count);
                if below >= wanted {
                    self.estimate = Some(upper_end(index));
                    break;
                }
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

/// A bound on the extra load of hedges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtraLoadConfig {
    /// What a request pays in, in thousandths of a hedge: 50 is 5 % of extra load.
    pub share_milli: u32,
    /// The most that can be saved up; also what there is at the start.
    pub saved_milli: u32,
}

/// What may still be hedged, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtraLoad(u32);

impl ExtraLoadConfig {
    /// Full.
    pub const fn start(&self) -> ExtraLoad {
        ExtraLoad(self.saved_milli)
    }
}

impl ExtraLoad {
    /// A request is sent.
    pub fn deposit(&mut self, config: &ExtraLoadConfig) {
        self.0 = self.0.saturating_add(config.share_milli).min(config.saved_milli.max(1_000));
    }

    /// May a hedge be sent? If so, it is paid.
    #[must_use]
    pub const fn withdraw(&mut self) -> bool {
        let paid = self.0 >= 1_000;
        if paid {
            self.0 -= 1_000;
        }
        paid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn hedges_are_a_share_of_requests(steps in vec(any::<bool>(), 0..2_000), share in 1u32..500) {
            let config = ExtraLoadConfig { share_milli: share, saved_milli: 3_000 };
            let (mut budget, mut requests, mut hedges) = (config.start(), 0u64, 0u64);
            for request in steps {
                if request {
                    budget.deposit(&config);
                    requests += 1;
                } else if budget.withdraw() {
                    hedges += 1;
                }
                prop_assert!(hedges * 1_000 <= requests * u64::from(share) + 3_000);
            }
        }
    }
}
