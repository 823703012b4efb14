//! Of one run: did a storm start, when did it end, did it outlast its trigger?
//!
//! A run has recovered at the first moment from which its goodput stays in its band for the whole
//! hold time; one good stretch is not recovery. A run that ends before this is seen is *censored*:
//! its recovery time is known to be longer, and nothing else. It is then `recovering` when its
//! backlog falls fast enough to empty, and `stuck` otherwise.
//!
//! Where a scenario has no trigger, and in control runs, trouble is the run's own: recovery counts
//! from the first stretch that fails. The baseline of a scenario without a trigger is the start of
//! its measured time.
//!
//! Invariant: a run is unaffected or recovered if and only if its recovery time was seen.
//! Source: docs/model.md, "Judging a run".

use std::ops::Range;

use crate::measure::baseline::Baseline;
use crate::measure::counts;
use crate::measure::outcome::RunClass;
use crate::measure::outcome::RunOutcome;
use crate::measure::outcome::Survival;
use crate::measure::record::RunRecord;
use crate::measure::timeline::Timeline;
use crate::measure::timeline::sustained;
use crate::measure::trend::Trend;
use crate::scenario::model::Model;
use crate::scenario::model::RecoverySettings;
use crate::units::Duration;

/// The least baseline goodput ratio of a healthy run.
const HEALTHY_RATIO: f64 = 0.95;
/// A backlog must reach its baseline within that many times the time simulated since the trigger.
const PATIENCE: f64 = 10.0;

/// Judges a run of `model`.
pub fn judge(model: &Model, record: &RunRecord) -> RunOutcome {
    assess(model, record, model.trigger_span().map(|(_, lifted)| lifted))
}

/// Judges a run of the control twin of `model` by the criteria of `model`: same baseline, same
/// moment from which it is watched.
pub fn judge_control(model: &Model, record: &RunRecord) -> RunOutcome {
    let outcome = assess(model, record, None);
    RunOutcome { recovery_after_action: None, ..outcome }
}

/// Judges a run that was disturbed until `lifted`, or not at all.
fn assess(model: &Model, record: &RunRecord, lifted: Option<Duration>) -> RunOutcome {
    let series = &record.series;
    let timeline = Timeline::new(series);
    let recovery = &model.run.recovery;
    let span = model.trigger_span();
    let began = span.map_or(Duration::ZERO, |(began, _)| began);
    let baseline_span = baseline_span(&timeline, recovery, span.map(|(began, _)| began));
    let baseline = Baseline::new(&timeline, series, recovery, baseline_span);
    let width = timeline.windows_in(recovery.window).max(1);
    let attempts = counts::attempts(series, model.services.len());

    let goodput = baseline.goodput_holds(&timeline, width);
    let watched = timeline.window_of(began);
    let first_failure = (watched..goodput.len()).find(|start| !goodput[*start]);
    let from =
        lifted.unwrap_or_else(|| first_failure.map_or(began, |start| timeline.start_of(start)));
    let search = Search { timeline: &timeline, recovery, width };
    let goodput_recovery = search.stretches(&goodput, from, from);
    let drain = search.boundaries(&baseline.backlog_holds(series), from, from);
    let headline = |since: Duration, from: Duration| {
        if model.waits_for_ever() {
            search.boundaries(&baseline.backlog_holds(series), from, since)
        } else {
            search.stretches(&goodput, from, since)
        }
    };
    let seen_to_end = timeline.end >= search.end_of_hold(timeline.window_from(from));
    let unaffected = first_failure.is_none() && seen_to_end && baseline.ratio > Some(0.0);
    let mut survival = headline(from, from);
    let class = if unaffected {
        survival = Survival { time_s: 0.0, happened: true };
        RunClass::Unaffected
    } else if survival.happened {
        RunClass::Recovered
    } else if is_draining(&timeline, &series.backlog, baseline.backlog_p99(), from) {
        RunClass::Recovering
    } else {
        RunClass::Stuck
    };
    let first_action = model.operator.iter().map(|action| action.at).min();
    // What had come back by itself is not to the credit of those who act afterwards. Goodput over
    // w may be back in its band a part of w, the tolerance, before it is back in truth.
    let back_before = |at: Duration| {
        let back = from.saturating_add(Duration::from_secs_f64(survival.time_s));
        let early = recovery.window.scale(baseline.tolerance);
        let last = timeline.window_of(at).checked_sub(width);
        let fell_again = !model.waits_for_ever()
            && last.is_some_and(|last| {
                last >= timeline.window_from(back) && goodput.get(last) == Some(&false)
            });
        survival.happened && back.saturating_add(early) < at && !fell_again
    };
    let down_at_action = first_action.filter(|at| !unaffected && !back_before(*at));
    let parts = parts(&timeline, span);
    RunOutcome {
        replication: record.replication,
        ending: record.ending,
        class,
        recovery: survival,
        goodput_recovery: if unaffected { survival } else { goodput_recovery },
        recovery_after_action: down_at_action.map(|at| headline(at, from.max(at))),
        amplification_recovery: search.stretches(
            &baseline.amplification_holds(&timeline, &attempts, width),
            from,
            from,
        ),
        drain,
        first_failure_s: first_failure.map(|start| timeline.start_of(start).as_secs_f64()),
        good_at_end: goodput.last().copied().unwrap_or(false),
        baseline_ratio: baseline.ratio,
        tolerance: baseline.tolerance,
        healthy: unaffected && baseline.ratio >= Some(HEALTHY_RATIO),
        amplification: attempts
            .iter()
            .enumerate()
            .map(|(service, attempts)| {
                let after = parts[2].start;
                counts::amplification(&timeline, series, service, attempts, after, width)
            })
            .collect(),
        effects: (0..model.services.len())
            .map(|service| counts::effects(series, service, timeline.zero))
            .collect(),
        deferred: record.deferred.clone(),
        goodput_ratio: parts.map(|part| counts::goodput_ratio(&timeline, part)),
        lost_share: counts::lost_share(series, watched),
        wasted_share: counts::wasted_share(series, timeline.zero),
        verdicts: record.verdicts.iter().copied().sum(),
        populations: record.verdicts.clone(),
        jobs: record.jobs.iter().map(|queue| queue.counts).collect(),
        answers: Vec::new(),
        events: record.events,
        fingerprint: record.fingerprint,
    }
}

/// The windows that give the baseline: whole ones before the first trigger and after the warm-up.
fn baseline_span(
    timeline: &Timeline,
    recovery: &RecoverySettings,
    began: Option<Duration>,
) -> Range<usize> {
    match began {
        Some(began) => {
            let until = timeline.window_of(began);
            timeline.window_from(began.saturating_sub(recovery.baseline)).min(until)..until
        }
        None => timeline.zero..timeline.window_of(recovery.baseline),
    }
}

/// The windows before the first trigger, during the triggers, and after the last one.
fn parts(timeline: &Timeline, span: Option<(Duration, Duration)>) -> [Range<usize>; 3] {
    let (zero, end) = (timeline.zero, timeline.end);
    match span {
        Some((began, lifted)) => {
            let (began, lifted) = (timeline.window_of(began), timeline.window_from(lifted));
            [zero..began, began..lifted, lifted..end]
        }
        None => [zero..end, end..end, end..end],
    }
}

/// Does the backlog fall fast enough, over the last quarter of the run and over its last half, as
/// far as they lie after the trigger? A swing fills a quarter now and then, and its half shows it.
fn is_draining(timeline: &Timeline, backlog: &[u32], goal: f64, lifted: Duration) -> bool {
    let lifted = timeline.window_from(lifted);
    let measured = timeline.end - timeline.zero;
    let since = (timeline.end - lifted) as f64;
    [measured / 4, measured / 2].into_iter().all(|length| {
        let from = (timeline.end - length).max(lifted);
        Trend::of(&backlog[from..]).is_some_and(|trend| trend.reaches(goal, PATIENCE * since))
    })
}

/// Looks for the first moment from which a criterion holds for the whole hold time.
struct Search<'a> {
    timeline: &'a Timeline,
    recovery: &'a RecoverySettings,
    width: usize,
}

impl Search<'_> {
    /// The end of the hold that begins at a window.
    fn end_of_hold(&self, start: usize) -> usize {
        start.saturating_add(self.timeline.windows_in(self.recovery.hold).max(self.width))
    }

    /// For a criterion of stretches: `good[i]` speaks of the stretch that begins at window `i`.
    /// Looks from `from` on and counts from `since`.
    fn stretches(&self, good: &[bool], from: Duration, since: Duration) -> Survival {
        let need = self.end_of_hold(0) - self.width + 1;
        self.first(good, need, from, since)
    }

    /// For a criterion of moments: `good[i]` speaks of the moment at which window `i` begins.
    fn boundaries(&self, good: &[bool], from: Duration, since: Duration) -> Survival {
        self.first(good, self.end_of_hold(0) + 1, from, since)
    }

    fn first(&self, good: &[bool], need: usize, from: Duration, since: Duration) -> Survival {
        let hold = self.end_of_hold(0);
        let span = |at: usize| self.timeline.start_of(at).saturating_sub(since).as_secs_f64();
        let limit = self.timeline.end.saturating_sub(hold);
        let start = self.timeline.window_from(from);
        match sustained(good, start, need, limit) {
            Some(at) => Survival { time_s: span(at), happened: true },
            None => Survival { time_s: span(limit), happened: false },
        }
    }
}

#[cfg(test)]
mod tests;
