//! The windows of one run as sums that any stretch of it can be read from.
//!
//! Recovery is judged on thousands of overlapping stretches. Running totals make each of them two
//! look-ups, so judging a run costs one pass over its windows, however long the stretches are.
//!
//! Invariant: a stretch is half-open, `[from, until)`, and counted in windows from the start of
//! the run; everything is an integer until a ratio is formed.

use std::ops::Range;

use crate::measure::record::PopulationWindow;
use crate::measure::record::Series;
use crate::units::Duration;

/// Running totals of a count: entry `i` is the sum over the windows before `i`.
pub(super) struct Totals(Vec<u64>);

impl Totals {
    /// The totals of the counts in order.
    pub(super) fn of(counts: impl Iterator<Item = u64>) -> Self {
        let mut sum = 0_u64;
        let rest = counts.map(|count| {
            sum += count;
            sum
        });
        Self(std::iter::once(0).chain(rest).collect())
    }

    /// The sum over a stretch.
    pub(super) fn over(&self, stretch: Range<usize>) -> u64 {
        if stretch.is_empty() { 0 } else { self.0[stretch.end] - self.0[stretch.start] }
    }
}

/// What is asked about all requests of a run, by window.
pub(super) struct Timeline {
    window: u64, // Nanoseconds, at least 1.
    /// The window that begins at time 0.
    pub(super) zero: usize,
    /// Windows in all: the end of what was measured.
    pub(super) end: usize,
    /// Requests born and not shed by the operator.
    pub(super) offered: Totals,
    /// Requests answered in time, by the moment of the verdict.
    pub(super) ok: Totals,
}

impl Timeline {
    /// All populations of a run together.
    pub(super) fn new(series: &Series) -> Self {
        let populations = (series.populations.len() / series.windows.max(1)).max(1);
        let rows = || series.populations.chunks_exact(populations);
        let offered = |row: &[_]| row.iter().map(offered).sum();
        Self {
            window: series.window.as_nanos().max(1),
            zero: series.warm_up_windows.min(series.windows),
            end: series.windows,
            offered: Totals::of(rows().map(offered)),
            ok: Totals::of(rows().map(|row| row.iter().map(|window| u64::from(window.ok)).sum())),
        }
    }

    /// The window that holds the moment `at` after time 0, or the end of the run.
    pub(super) fn window_of(&self, at: Duration) -> usize {
        self.zero.saturating_add(whole(at.as_nanos() / self.window)).min(self.end)
    }

    /// The first window that begins at `at` after time 0 or later, or the end of the run.
    pub(super) fn window_from(&self, at: Duration) -> usize {
        self.zero.saturating_add(self.windows_in(at)).min(self.end)
    }

    /// How many windows cover a span.
    pub(super) fn windows_in(&self, span: Duration) -> usize {
        whole(span.as_nanos().div_ceil(self.window))
    }

    /// The start of a window since time 0; zero for windows of the warm-up.
    pub(super) fn start_of(&self, window: usize) -> Duration {
        Duration::from_nanos((window.saturating_sub(self.zero) as u64).saturating_mul(self.window))
    }
}

/// Requests of one population in one window that were born and not shed.
fn offered(window: &PopulationWindow) -> u64 {
    u64::from(window.born).saturating_sub(u64::from(window.shed))
}

/// A count of windows as an index.
fn whole(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// The first index in `from..=last` at which `need` entries in a row are true.
pub(super) fn sustained(good: &[bool], from: usize, need: usize, last: usize) -> Option<usize> {
    let mut streak = 0;
    for (index, good) in good.iter().enumerate().skip(from) {
        streak = if *good { streak + 1 } else { 0 };
        let start = index + 1 - streak;
        if start > last {
            return None;
        }
        if streak >= need.max(1) {
            return Some(start);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_streak_must_be_long_enough_and_begin_in_time() {
        #[track_caller]
        fn check(good: &str, from: usize, need: usize, last: usize, expected: Option<usize>) {
            let good: Vec<_> = good.chars().map(|sign| sign == '+').collect();
            assert_eq!(sustained(&good, from, need, last), expected);
        }
        check("--+++-++++", 0, 3, 9, Some(2));
        check("--+++-++++", 0, 4, 9, Some(6));
        check("--+++-++++", 3, 3, 9, Some(6)); // What came before does not count.
        check("--+++-++++", 0, 4, 5, None); // It begins too late.
        check("--+++-++++", 0, 5, 9, None);
        check("", 0, 1, 9, None);
    }

    #[test]
    fn totals_answer_for_any_stretch() {
        let totals = Totals::of([3, 0, 4].into_iter());
        assert_eq!(totals.over(0..3), 7);
        assert_eq!(totals.over(1..2), 0);
        #[expect(clippy::reversed_empty_ranges, reason = "an empty stretch is what is asked for")]
        let backwards = totals.over(2..1);
        assert_eq!(backwards, 0);
    }
}
