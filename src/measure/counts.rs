//! Attempts per request, goodput, loss and waste over the parts of one run.
//!
//! Every number is a ratio of two integer sums, formed once at the end.

use std::ops::Range;

use crate::measure::outcome::Amplification;
use crate::measure::outcome::EffectCounts;
use crate::measure::record::Reason;
use crate::measure::record::Series;
use crate::measure::timeline::Timeline;
use crate::measure::timeline::Totals;

/// Amplification is not reported below that many births: a handful of requests would speak.
const ENOUGH_BIRTHS: u64 = 100;

/// Attempts that reached each service, by window.
pub(super) fn attempts(series: &Series, services: usize) -> Vec<Totals> {
    (0..services)
        .map(|id| Totals::of(series.service(id).map(|window| u64::from(window.offered()))))
        .collect()
}

/// Attempts at one service per request born and not shed.
pub(super) fn amplification(
    timeline: &Timeline,
    series: &Series,
    service: usize,
    attempts: &Totals,
    lifted: usize,
    width: usize,
) -> Amplification {
    let ratio = |stretch: Range<usize>| {
        let births = timeline.offered.over(stretch.clone());
        (births >= ENOUGH_BIRTHS).then(|| attempts.over(stretch) as f64 / births as f64)
    };
    let starts = timeline.zero..(timeline.end + 1).saturating_sub(width);
    let peak = starts.filter_map(|start| ratio(start..start + width)).reduce(f64::max);
    let mut by_reason = [0; Reason::COUNT];
    for window in series.service(service).skip(timeline.zero) {
        for (sum, count) in by_reason.iter_mut().zip(window.by_reason()) {
            *sum += u64::from(count);
        }
    }
    Amplification {
        whole: ratio(timeline.zero..timeline.end),
        peak,
        after_trigger: ratio(lifted..timeline.end),
        by_reason,
    }
}

/// What the writes to a service came to, from window `zero` on.
pub(super) fn effects(series: &Series, service: usize, zero: usize) -> EffectCounts {
    let windows = series.service(service).skip(zero);
    let counts = windows.map(|window| EffectCounts {
        effects: window.effects.into(),
        duplicates: window.duplicate_effects.into(),
        duplicated: window.duplicated.into(),
        replays: window.replays.into(),
        conflicts: window.conflicts.into(),
        mismatches: window.mismatches.into(),
    });
    counts.sum()
}

/// `ok` verdicts ÷ offered requests over a stretch, at most 1; `None` when nothing was offered.
pub(super) fn goodput_ratio(timeline: &Timeline, stretch: Range<usize>) -> Option<f64> {
    let offered = timeline.offered.over(stretch.clone());
    (offered > 0).then(|| (timeline.ok.over(stretch) as f64 / offered as f64).min(1.0))
}

/// Of the requests born in the windows from `from` on that ended: the share lost.
pub(super) fn lost_share(series: &Series, from: usize) -> Option<f64> {
    let populations = (series.populations.len() / series.windows.max(1)).max(1);
    let rows = series.populations.iter().skip(from.saturating_mul(populations));
    let (ok, lost) = rows.fold((0_u64, 0_u64), |(ok, lost), window| {
        (ok + u64::from(window.born_ok), lost + u64::from(window.born_lost))
    });
    (ok + lost > 0).then(|| lost as f64 / (ok + lost) as f64)
}

/// Worker time wasted ÷ worker time busy, all services, from time 0.
pub(super) fn wasted_share(series: &Series, zero: usize) -> Option<f64> {
    let services = (series.services.len() / series.windows.max(1)).max(1);
    let rows = series.services.iter().skip(zero.saturating_mul(services));
    let (wasted, busy) = rows.fold((0_u128, 0_u128), |(wasted, busy), window| {
        (wasted + u128::from(window.wasted_ns), busy + u128::from(window.busy_ns))
    });
    (busy > 0).then(|| (wasted as f64 / busy as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use crate::measure::record::PopulationWindow;
    use crate::units::Duration;
    use crate::units::SECOND;

    use super::*;
    use crate::measure::record::ServiceWindow;

    /// Oracle D-2, a hundred requests of each kind: attempts 1, 3, 2, 1, 4, the last one lost.
    #[test]
    fn the_fixed_trace_gives_the_published_numbers() {
        let attempts_of = [1, 3, 2, 1, 4].map(|attempts: u32| 100 * attempts);
        let population = |ok| PopulationWindow {
            born: 100,
            ok,
            born_ok: ok,
            born_lost: 100 - ok,
            ..PopulationWindow::default()
        };
        let service = |attempts| ServiceWindow {
            first: 100,
            retry_after_timeout: attempts - 100,
            busy_ns: 160 * SECOND,
            wasted_ns: 40 * SECOND,
            ..ServiceWindow::default()
        };
        let series = Series {
            window: Duration::from_secs(1),
            warm_up_windows: 0,
            windows: 5,
            populations: [100, 100, 100, 100, 0].map(population).to_vec(),
            services: attempts_of.map(service).to_vec(),
            edges: Vec::new(),
            queues: Vec::new(),
            backlog: vec![0; 5],
        };
        let timeline = Timeline::new(&series);
        let attempts = &attempts(&series, 1)[0];
        let found = amplification(&timeline, &series, 0, attempts, 4, 1);
        assert_eq!(found.whole, Some(2.2));
        assert_eq!(found.peak, Some(4.0));
        assert_eq!(found.after_trigger, Some(4.0));
        assert_eq!(found.by_reason, [500, 600, 0, 0, 0]); // Retry share 6/11.
        assert_eq!(goodput_ratio(&timeline, 0..5), Some(0.8));
        assert_eq!(lost_share(&series, 0), Some(0.2));
        assert_eq!(lost_share(&series, 4), Some(1.0));
        assert_eq!(wasted_share(&series, 0), Some(0.25));
    }
}
