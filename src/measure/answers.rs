//! What one run answers to the questions of a scenario's expectations.
//!
//! Every answer is formed from counts and integer sums of the record; `None`: the run has nothing
//! to say, such as the latency of failures where nothing failed.

use crate::measure::counts;
use crate::measure::jobs::JobRecord;
use crate::measure::record::Cause;
use crate::measure::record::DeadLetter;
use crate::measure::record::RunRecord;
use crate::measure::record::Verdicts;
use crate::measure::timeline::Timeline;
use crate::measure::timeline::Totals;
use crate::policy::outcome::Class;
use crate::scenario::model::AskedVerdict;
use crate::scenario::model::Expectation;
use crate::scenario::model::ExpectedMeasure;
use crate::scenario::model::JobQuestion;
use crate::scenario::model::Model;
use crate::scenario::model::Question;
use crate::scenario::model::ServiceId;
use crate::scenario::model::Statistic;
use crate::stats::histogram::Histogram;
use crate::units::SECOND;

/// The answers of a run of a variant, one for each expectation; `None` where another variant or
/// no single run is spoken of.
pub fn answers(
    expectations: &[Expectation],
    variant: usize,
    model: &Model,
    record: &RunRecord,
) -> Vec<Option<f64>> {
    let of = |expectation: &Expectation| match &expectation.measure {
        ExpectedMeasure::PerRun(question) if expectation.variant == variant => {
            answer(question, model, record)
        }
        _ => None,
    };
    expectations.iter().map(of).collect()
}

/// What a run answers to one question.
pub fn answer(question: &Question, model: &Model, record: &RunRecord) -> Option<f64> {
    match question {
        Question::Attempts { service, from, to } => {
            let timeline = Timeline::new(&record.series);
            let from = timeline.window_of(from.unwrap_or_default());
            let to = to.map_or(timeline.end, |to| timeline.window_of(to));
            Some(attempts(record, *service).over(from..to) as f64)
        }
        Question::MostAttempts { service, within } => {
            let timeline = Timeline::new(&record.series);
            let width = timeline.windows_in(*within).max(1);
            let attempts = attempts(record, *service);
            let starts = timeline.zero..(timeline.end + 1).saturating_sub(width);
            starts.map(|start| attempts.over(start..start + width)).max().map(|most| most as f64)
        }
        Question::Effects(service) => {
            let zero = record.series.warm_up_windows.min(record.series.windows);
            let all = service.map_or(0..model.services.len(), |id| id..id + 1);
            let effects = all.map(|id| counts::effects(&record.series, id, zero).effects);
            Some(effects.sum::<u64>() as f64)
        }
        Question::Ended { verdict, population, cause } => {
            let verdicts = verdicts(record, *population);
            let failed: u64 = verdicts.failed.iter().sum();
            let hits = match verdict {
                AskedVerdict::Ok => verdicts.ok,
                AskedVerdict::Late => verdicts.late,
                AskedVerdict::Failed => cause.map_or(failed, |name| caused(&verdicts, name)),
            };
            share(hits, verdicts.ok + verdicts.late + failed)
        }
        Question::Unanswered { population } => {
            let verdicts = verdicts(record, *population);
            share(verdicts.open, verdicts.born)
        }
        Question::Latency { population, at, failed } => {
            let latencies = match population {
                Some(id) => record.latencies.get(*id)?.of(*failed),
                None if *failed => &record.latency_failed,
                None => &record.latency_ok,
            };
            statistic(latencies, *at)
        }
        Question::Rejected { service, class } => {
            Some(rejected(model, record, *service, *class) as f64)
        }
        Question::Jobs { queue, of } => of_jobs(record.jobs.get(*queue)?, *of),
    }
}

fn share(hits: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| hits as f64 / of as f64)
}

fn attempts(record: &RunRecord, service: ServiceId) -> Totals {
    Totals::of(record.series.service(service).map(|window| u64::from(window.offered())))
}

fn verdicts(record: &RunRecord, population: Option<usize>) -> Verdicts {
    match population {
        Some(id) => record.verdicts.get(id).copied().unwrap_or_default(),
        None => record.verdicts.iter().copied().sum(),
    }
}

fn caused(verdicts: &Verdicts, name: &str) -> u64 {
    let of = Cause::ALL.iter().filter(|cause| cause.name() == name);
    of.map(|cause| verdicts.failed[*cause as usize]).sum()
}

/// In seconds; `None` of nothing.
fn statistic(nanos: &Histogram, at: Statistic) -> Option<f64> {
    let found = match at {
        Statistic::Mean => nanos.mean(),
        Statistic::Max => nanos.max().map(|max| max as f64),
        Statistic::Quantile(share) => nanos.quantile(share.get()),
    };
    found.map(|nanos| nanos / SECOND as f64)
}

/// What the jobs of a queue answer.
fn of_jobs(jobs: &JobRecord, of: JobQuestion) -> Option<f64> {
    let JobRecord { counts, spans } = jobs;
    let seconds = |nanos: u64| nanos as f64 / SECOND as f64;
    let dead = |name: &str| {
        let reasons = DeadLetter::ALL.iter().filter(|reason| reason.name() == name);
        reasons.map(|reason| counts.dead[*reason as usize]).sum()
    };
    match of {
        JobQuestion::DeliveredShare => counts.per_job(counts.done),
        JobQuestion::DeadLetters(reason) => {
            Some(reason.map_or_else(|| counts.all_dead(), dead) as f64)
        }
        JobQuestion::Executions => counts.per_job(counts.executions),
        JobQuestion::ExecutionsPerDeadLetter => counts.executions_per_dead_letter(),
        JobQuestion::UselessShare => counts.useless_share(),
        JobQuestion::StorageWrites => counts.per_job(counts.storage_writes()),
        JobQuestion::Lateness(at) => statistic(&spans.lateness, at),
        JobQuestion::ToDeadLetter(at) => statistic(&spans.to_dead_letter, at),
        JobQuestion::ClaimLag(at) => statistic(&spans.claim_lag, at),
        JobQuestion::FirstDeadLetter => counts.first_dead_ns.map(seconds),
        JobQuestion::OldestDue => Some(seconds(counts.oldest_due_ns)),
        JobQuestion::Suspended => Some(counts.suspended as f64),
        JobQuestion::Suspensions => Some(counts.suspensions as f64),
        JobQuestion::AtRest => Some((counts.at_rest + counts.parked) as f64),
        JobQuestion::MostAtRest => Some(counts.most_at_rest as f64),
    }
}

/// Rejections on every edge to a service, from time 0.
fn rejected(model: &Model, record: &RunRecord, service: ServiceId, class: Option<Class>) -> u64 {
    let series = &record.series;
    let towards = model.edges.iter().enumerate().filter(|(_, edge)| edge.target == service);
    let windows = towards.flat_map(|(id, _)| series.edge(id).skip(series.warm_up_windows));
    let count = windows.map(|window| {
        let (breaker, bulkhead, throttle) =
            (window.rejected_by_breaker, window.rejected_by_bulkhead, window.rejected_by_throttle);
        u64::from(match class {
            Some(Class::BreakerOpen) => breaker,
            Some(Class::BulkheadFull) => bulkhead,
            Some(_) => throttle,
            None => return u64::from(breaker) + u64::from(bulkhead) + u64::from(throttle),
        })
    });
    count.sum()
}

#[cfg(test)]
mod tests;
