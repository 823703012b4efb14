//! What a run looked like before its trigger, and whether a stretch looks like that again.
//!
//! Three criteria, each asked of every stretch of the recovery window's length: goodput against
//! its baseline ratio, amplification against its baseline at every service at once, and the
//! backlog against its baseline 99th percentile. The tolerance is widened to three standard
//! errors of counting noise, which must not be read as a relapse.
//!
//! Stretches in which nothing was offered (a pause in the schedule, everything shed, every client
//! of a closed loop waiting) say nothing: for them the verdict of the stretch before stands.
//!
//! Source: docs/model.md, "Judging a run".

use std::ops::Range;

use crate::measure::record::Series;
use crate::measure::timeline::Timeline;
use crate::measure::timeline::Totals;
use crate::scenario::model::RecoverySettings;

/// What a run looked like before its trigger.
pub(super) struct Baseline {
    /// `ok` verdicts ÷ offered requests, at most 1; `None` when nothing was offered.
    pub(super) ratio: Option<f64>,
    /// How far below the baseline still counts as recovered.
    pub(super) tolerance: f64,
    /// 99 % of the windows end with a backlog of at most this.
    backlog_p99: u32,
    /// Windows of the stretch.
    span: Range<usize>,
}

impl Baseline {
    /// The baseline of the stretch `span`, judged with `recovery`.
    pub(super) fn new(
        timeline: &Timeline,
        series: &Series,
        recovery: &RecoverySettings,
        span: Range<usize>,
    ) -> Self {
        let offered = timeline.offered.over(span.clone());
        let ratio = (offered > 0)
            .then(|| (timeline.ok.over(span.clone()) as f64 / offered as f64).min(1.0));
        // Births expected in one recovery window, if they go on as they were.
        let expected =
            offered as f64 * timeline.windows_in(recovery.window) as f64 / span.len().max(1) as f64;
        let noise = if expected > 0.0 { 3.0 * (2.0 / expected).sqrt() } else { 0.0 };
        Self {
            ratio,
            tolerance: recovery.tolerance.get().max(noise),
            backlog_p99: nearest_rank_p99(&series.backlog[span.clone()]),
            span,
        }
    }

    /// Does goodput meet its criterion over the stretch that begins at each window?
    pub(super) fn goodput_holds(&self, timeline: &Timeline, width: usize) -> Vec<bool> {
        // Nothing succeeded before: there is no good state that could come back.
        let floor =
            self.ratio.filter(|ratio| *ratio > 0.0).map(|ratio| (1.0 - self.tolerance) * ratio);
        judge_stretches(timeline, width, |stretch, offered| {
            floor.is_some_and(|floor| timeline.ok.over(stretch) as f64 >= floor * offered)
        })
    }

    /// Does every service see no more attempts per request than before, in each stretch?
    pub(super) fn amplification_holds(
        &self,
        timeline: &Timeline,
        attempts: &[Totals],
        width: usize,
    ) -> Vec<bool> {
        let before = timeline.offered.over(self.span.clone()) as f64;
        let ceilings: Vec<(&Totals, f64)> = attempts
            .iter()
            .map(|totals| (totals, totals.over(self.span.clone()) as f64 / before))
            .filter(|(_, baseline)| *baseline > 0.0)
            .map(|(totals, baseline)| (totals, baseline * (1.0 + self.tolerance)))
            .collect();
        judge_stretches(timeline, width, |stretch, offered| {
            before > 0.0
                && ceilings.iter().all(|(totals, ceiling)| {
                    totals.over(stretch.clone()) as f64 <= ceiling * offered
                })
        })
    }

    /// Is the backlog at each boundary between windows what it was? Entry `i` speaks of the
    /// moment at which window `i` begins; there is one entry more than windows.
    pub(super) fn backlog_holds(&self, series: &Series) -> Vec<bool> {
        let before_start = std::iter::once(true);
        before_start
            .chain(series.backlog.iter().map(|backlog| *backlog <= self.backlog_p99))
            .collect()
    }

    /// The 99th percentile of the backlog.
    pub(super) fn backlog_p99(&self) -> f64 {
        f64::from(self.backlog_p99)
    }
}

/// Asks `holds` of every stretch of `width` windows in which something was offered.
fn judge_stretches(
    timeline: &Timeline,
    width: usize,
    mut holds: impl FnMut(Range<usize>, f64) -> bool,
) -> Vec<bool> {
    let starts = (timeline.end + 1).saturating_sub(width.max(1));
    let mut last = false;
    (0..starts)
        .map(|start| {
            let stretch = start..start + width;
            let offered = timeline.offered.over(stretch.clone());
            if offered > 0 {
                last = holds(stretch, offered as f64);
            }
            last
        })
        .collect()
}

/// The smallest value that at least 99 % of the values do not exceed; zero for none.
fn nearest_rank_p99(values: &[u32]) -> u32 {
    let mut values = values.to_vec();
    let rank = (values.len() * 99).div_ceil(100).max(1) - 1;
    if values.is_empty() { 0 } else { *values.select_nth_unstable(rank).1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentile_is_a_value_that_occurred() {
        #[track_caller]
        fn check(values: &[u32], expected: u32) {
            assert_eq!(nearest_rank_p99(values), expected);
        }
        check(&[], 0);
        check(&[7], 7);
        check(&(1..=100).collect::<Vec<_>>(), 99);
        check(&(1..=200).rev().collect::<Vec<_>>(), 198);
        check(&[1, 1, 1, 50], 50); // Four values cannot tell 99 % from all.
    }
}
