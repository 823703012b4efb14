//! Queues of jobs as meant, as text.

use crate::lint::meant::Lines;
use crate::lint::meant_policy::retry;
use crate::scenario::defaults;
use crate::scenario::model::ClaimOrder;
use crate::scenario::model::Counter;
use crate::scenario::model::CounterScope;
use crate::scenario::model::Destinations;
use crate::scenario::model::ErrorsOf;
use crate::scenario::model::JobQueue;
use crate::scenario::model::JobsMeanwhile;
use crate::scenario::model::Model;
use crate::scenario::model::Refused;
use crate::scenario::model::ReplayWindow;
use crate::scenario::model::Requeue;
use crate::scenario::model::Returns;
use crate::scenario::model::WhenFullyInFlight;
use crate::scenario::model::WorkerErrors;
use crate::units::Duration;
use crate::units::Share;

/// All queues of a scenario.
pub(super) fn queues(out: &mut Lines, model: &Model) {
    if !model.queues.is_empty() {
        out.open(0, "queues");
    }
    for it in &model.queues {
        queue(out, it);
    }
}

fn queue(out: &mut Lines, it: &JobQueue) {
    out.open(1, &it.name);
    out.put_or(2, "processes", (it.processes, defaults::PROCESSES), it.processes);
    out.put(2, "workers", it.workers);
    claim(out, it);
    out.put_or(2, "lease", (it.lease, defaults::LEASE), span(it.lease));
    retry(out, &it.retry);
    out.put_or(2, "refused", (it.refused, defaults::REFUSED), refused(it.refused));
    if it.destinations != Destinations::default() {
        destinations(out, &it.destinations);
    }
    if let Some(errors) = &it.worker_errors {
        worker_errors(out, errors);
    }
    if let Some(it) = &it.counter {
        counter(out, it);
    }
    let requeue = match it.requeue {
        Requeue::CompareAndSet => "compare_and_set",
        Requeue::Blind => "blind",
    };
    out.put_or(2, "requeue", (it.requeue, defaults::REQUEUE), requeue);
    out.put_or(2, "elsewhere", (it.elsewhere, defaults::ELSEWHERE), it.elsewhere);
    out.put_or(2, "signed_once", (it.signed_once, defaults::SIGNED_ONCE), it.signed_once);
}

/// A span, or no limit.
fn span(it: Option<Duration>) -> String {
    it.map_or("unlimited".to_owned(), |span| span.to_string())
}

fn claim(out: &mut Lines, it: &JobQueue) {
    let (it, default) = (it.claim, defaults::CLAIM);
    out.open(2, "claim");
    out.put_or(3, "every", (it.every, default.every), it.every);
    out.put_or(3, "batch", (it.batch, default.batch), it.batch);
    out.put_or(3, "prefetch", (it.prefetch, default.prefetch), it.prefetch);
    let order = match it.order {
        ClaimOrder::OldestDue => "oldest_due",
        ClaimOrder::NewestDue => "newest_due",
    };
    out.put_or(3, "order", (it.order, default.order), order);
    if let Some(rate) = it.rate {
        out.put(3, "rate", rate);
    }
    let idles = it.idles_when_open;
    out.put_or(3, "idles_when_open", (idles, default.idles_when_open), idles);
}

/// What a refusal by the policy does, on one line.
pub(super) fn refused(it: Refused) -> String {
    match it {
        Refused::Fails => "fails".to_owned(),
        Refused::DeadLetter => "dead_letter".to_owned(),
        Refused::Postpone { after, consumes_attempt } => {
            format!("{{ postpone: {{ after: {after}, consumes_attempt: {consumes_attempt} }} }}")
        }
    }
}

fn destinations(out: &mut Lines, it: &Destinations) {
    out.open(2, "destinations");
    let in_flight = it.in_flight.map_or("unlimited".to_owned(), |count| count.to_string());
    out.put_or(3, "in_flight", (it.in_flight, None), in_flight);
    let when_full = match it.when_full {
        WhenFullyInFlight::Returns => "returns",
        WhenFullyInFlight::HoldsWorker => "holds_worker",
    };
    out.put_or(3, "when_full", (it.when_full, WhenFullyInFlight::default()), when_full);
    if let Some(rate) = it.rate {
        out.put(3, "rate", format!("{{ rate: {}, burst: {} }}", rate.rate, rate.burst));
    }
    if let Some(suspend) = it.suspend {
        out.open(3, "suspend");
        out.put_or(4, "on", (suspend.on, defaults::SUSPENDS), format!("[{}]", suspend.on));
        out.put(4, "at", suspend.at);
        out.put_or(4, "lasts", (suspend.lasts, None), span(suspend.lasts));
        let jobs = match suspend.jobs {
            JobsMeanwhile::Wait => "wait",
            JobsMeanwhile::DeadLetter => "dead_letter",
        };
        out.put_or(4, "jobs", (suspend.jobs, defaults::JOBS_MEANWHILE), jobs);
    }
}

fn worker_errors(out: &mut Lines, it: &WorkerErrors) {
    out.open(2, "worker_errors");
    out.put(3, "share", it.share);
    let of = match it.of {
        ErrorsOf::Attempts => "executions",
        ErrorsOf::Requests => "jobs",
    };
    out.put_or(3, "of", (it.of, defaults::ERRORS_OF), of);
    let returns = match it.returns {
        Returns::Due(pause) => pause.to_string(),
        Returns::WithLease => "with_lease".to_owned(),
    };
    out.put_or(3, "returns", (it.returns, defaults::RETURNS), returns);
    let consumes = it.consumes_attempt;
    out.put_or(3, "consumes_attempt", (consumes, defaults::CONSUMES_ATTEMPT), consumes);
}

fn counter(out: &mut Lines, it: &Counter) {
    out.open(2, "counter");
    out.put_or(3, "scope", (it.scope, defaults::COUNTER_SCOPE), scope(it.scope));
    out.put(3, "gives_up_at", it.gives_up_at);
    out.put_or(3, "ttl", (it.ttl, None), span(it.ttl));
    out.put_or(3, "without_ttl", (it.without_ttl, Share::ZERO), it.without_ttl);
}

/// What a counter counts, as it is written.
pub(super) fn scope(it: CounterScope) -> &'static str {
    match it {
        CounterScope::Job => "job",
        CounterScope::JobStep => "job_step",
        CounterScope::Entity => "entity",
        CounterScope::Nodes => "nodes",
        CounterScope::NewId => "new_id",
    }
}

/// How old a signature may be.
pub(super) fn replay_window(out: &mut Lines, it: &ReplayWindow) {
    let ReplayWindow { lasts, answer } = it;
    out.put(2, "replay_window", format!("{{ lasts: {lasts}, answer: {answer} }}"));
}
