//! `queues`: where jobs wait, who works on them, when they come again and when they are given up.

use crate::policy::outcome::ClassSet;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::amounts::span_or_unlimited;
use crate::scenario::file::policies::WrittenRetry;
use crate::scenario::file::policies::read_classes;
use crate::scenario::file::policies::read_retry;
use crate::scenario::file::services::MOST_REPLICAS;
use crate::scenario::file::services::MOST_WORKERS;
use crate::scenario::model::Claim;
use crate::scenario::model::ClaimOrder;
use crate::scenario::model::Counter;
use crate::scenario::model::CounterScope;
use crate::scenario::model::DeliveryRate;
use crate::scenario::model::Destinations;
use crate::scenario::model::ErrorsOf;
use crate::scenario::model::JobsMeanwhile;
use crate::scenario::model::Refused;
use crate::scenario::model::Requeue;
use crate::scenario::model::Returns;
use crate::scenario::model::Suspend;
use crate::scenario::model::WhenFullyInFlight;
use crate::scenario::model::WorkerErrors;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::units::Duration;
use crate::units::Share;

/// Jobs that one look at the table may take, or that may wait in a process.
const MOST_CLAIMED: u32 = 1_000_000;
const MOST_FAILURES: u32 = 1_000_000;

const ORDERS: [(&str, ClaimOrder); 2] =
    [("oldest_due", ClaimOrder::OldestDue), ("newest_due", ClaimOrder::NewestDue)];
const WHEN_FULL: [(&str, WhenFullyInFlight); 2] =
    [("returns", WhenFullyInFlight::Returns), ("holds_worker", WhenFullyInFlight::HoldsWorker)];
const MEANWHILE: [(&str, JobsMeanwhile); 2] =
    [("wait", JobsMeanwhile::Wait), ("dead_letter", JobsMeanwhile::DeadLetter)];
const OF: [(&str, ErrorsOf); 2] =
    [("executions", ErrorsOf::Attempts), ("jobs", ErrorsOf::Requests)];
const SCOPES: [(&str, CounterScope); 5] = [
    ("job", CounterScope::Job),
    ("job_step", CounterScope::JobStep),
    ("entity", CounterScope::Entity),
    ("nodes", CounterScope::Nodes),
    ("new_id", CounterScope::NewId),
];
const REQUEUES: [(&str, Requeue); 2] =
    [("compare_and_set", Requeue::CompareAndSet), ("blind", Requeue::Blind)];

/// A queue of jobs as written.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenQueue {
    pub(in crate::scenario) processes: Option<Spanned<u32>>,
    pub(in crate::scenario) workers: Option<Spanned<u32>>,
    pub(in crate::scenario) claim: Claim,
    pub(in crate::scenario) lease: Option<Duration>,
    pub(in crate::scenario) retry: Option<Spanned<WrittenRetry>>,
    pub(in crate::scenario) refused: Option<Spanned<Refused>>,
    pub(in crate::scenario) destinations: Destinations,
    pub(in crate::scenario) worker_errors: Option<WorkerErrors>,
    pub(in crate::scenario) counter: Option<Spanned<Counter>>,
    pub(in crate::scenario) requeue: Option<Spanned<Requeue>>,
    pub(in crate::scenario) elsewhere: Option<Spanned<bool>>,
    pub(in crate::scenario) signed_once: Option<Spanned<bool>>,
}

pub(super) fn read(node: &Node, problems: &mut Problems) -> Option<WrittenQueue> {
    let mut fields = Fields::open(node, "a queue of jobs", problems)?;
    let queue = WrittenQueue {
        processes: fields.get("processes", problems, reader::count(1, MOST_REPLICAS)),
        workers: fields.need(
            "workers",
            "how many jobs a process executes at once; nobody can guess it",
            problems,
            reader::count(1, MOST_WORKERS),
        ),
        claim: fields
            .take("claim")
            .and_then(|node| read_claim(node, problems))
            .unwrap_or(defaults::CLAIM),
        lease: fields.get("lease", problems, span_or_unlimited).and_then(finite),
        retry: fields.get("retry", problems, read_retry_of_jobs),
        refused: fields.get("refused", problems, read_refused),
        destinations: fields
            .take("destinations")
            .and_then(|node| read_destinations(node, problems))
            .unwrap_or_default(),
        worker_errors: fields
            .take("worker_errors")
            .and_then(|node| read_worker_errors(node, problems)),
        counter: fields.get("counter", problems, read_counter),
        requeue: fields.get("requeue", problems, reader::word(&REQUEUES)),
        elsewhere: fields.get("elsewhere", problems, reader::switch),
        signed_once: fields.get("signed_once", problems, reader::switch),
    };
    fields.close(problems);
    Some(queue)
}

/// `unlimited` is no limit.
fn finite(span: Spanned<Duration>) -> Option<Duration> {
    (span.value != Duration::MAX).then_some(span.value)
}

/// `{ every: 1s, batch: 100 }`.
fn read_claim(node: &Node, problems: &mut Problems) -> Option<Claim> {
    let mut fields = Fields::open(node, "`claim`", problems)?;
    let every = fields.get("every", problems, reader::positive_span);
    let batch = fields.get("batch", problems, reader::count(1, MOST_CLAIMED));
    let prefetch = fields.get("prefetch", problems, reader::count(0, MOST_CLAIMED));
    let order = fields.get("order", problems, reader::word(&ORDERS));
    let rate = fields.get("rate", problems, reader::positive_rate);
    let idles = fields.get("idles_when_open", problems, reader::switch);
    fields.close(problems);
    let default = defaults::CLAIM;
    Some(Claim {
        every: every.map_or(default.every, |span| span.value),
        batch: batch.map_or(default.batch, |count| count.value),
        prefetch: prefetch.map_or(default.prefetch, |count| count.value),
        order: order.map_or(default.order, |word| word.value),
        rate: rate.map(|rate| rate.value),
        idles_when_open: idles.map_or(default.idles_when_open, |switch| switch.value),
    })
}

/// As the `retry` of a policy; what repetitions may cost in all is no matter of a queue.
fn read_retry_of_jobs(node: &Node, problems: &mut Problems) -> Option<WrittenRetry> {
    let retry = read_retry(node, problems)?;
    if let Some(budget) = node.get("budget").filter(|budget| !budget.is_null()) {
        problems.push_with(
            budget.anchor(),
            "a queue has no `budget` of retries: a job that waits costs nobody anything",
            "limit what a destination gets by `destinations: { rate: 10/s }`, or set the `budget` in \
             the policy",
        );
    }
    Some(retry)
}

/// `fails`, `dead_letter` or `{ postpone: { after: 5s } }`.
fn read_refused(node: &Node, problems: &mut Problems) -> Option<Refused> {
    if let Value::Map(_) = &node.value {
        let mut fields = Fields::open(node, "`refused`", problems)?;
        let help = "as `{ postpone: { after: 5s, consumes_attempt: false } }`";
        let found = fields.need("postpone", help, problems, read_postpone);
        fields.close(problems);
        return found.map(|found| found.value);
    }
    if node.is_text("postpone") {
        problems.push_with(
            node.place,
            "`postpone` needs a value",
            "as `{ postpone: { after: 5s, consumes_attempt: false } }`",
        );
        return None;
    }
    reader::word(&[("fails", Refused::Fails), ("dead_letter", Refused::DeadLetter)])(node, problems)
}

fn read_postpone(node: &Node, problems: &mut Problems) -> Option<Refused> {
    let mut fields = Fields::open(node, "`postpone`", problems)?;
    let help = "how long, as `5s`";
    let after = fields.need("after", help, problems, reader::positive_span);
    let consumes = fields.get("consumes_attempt", problems, reader::switch);
    fields.close(problems);
    let consumes_attempt = consumes.map_or(defaults::CONSUMES_ATTEMPT, |switch| switch.value);
    Some(Refused::Postpone { after: after?.value, consumes_attempt })
}

fn read_destinations(node: &Node, problems: &mut Problems) -> Option<Destinations> {
    let mut fields = Fields::open(node, "`destinations`", problems)?;
    let in_flight = fields.get("in_flight", problems, reader::count_or_unlimited(1, MOST_WORKERS));
    let when_full = fields.get("when_full", problems, reader::word(&WHEN_FULL));
    let rate = fields.get("rate", problems, read_rate);
    let suspend = fields.get("suspend", problems, read_suspend);
    fields.close(problems);
    Some(Destinations {
        in_flight: in_flight.and_then(|count| count.value),
        when_full: when_full.map_or(WhenFullyInFlight::default(), |word| word.value),
        rate: rate.map(|rate| rate.value),
        suspend: suspend.map(|suspend| suspend.value),
    })
}

/// `10/s`, or `{ rate: 10/s, burst: 20 }`.
fn read_rate(node: &Node, problems: &mut Problems) -> Option<DeliveryRate> {
    let burst = defaults::DELIVERY_BURST;
    if !matches!(node.value, Value::Map(_)) {
        return Some(DeliveryRate { rate: reader::positive_rate(node, problems)?, burst });
    }
    let mut fields = Fields::open(node, "a destination's `rate`", problems)?;
    let help = "executions per second, as `10/s`";
    let rate = fields.need("rate", help, problems, reader::positive_rate);
    let at_once = fields.get("burst", problems, reader::count(1, MOST_WORKERS));
    fields.close(problems);
    Some(DeliveryRate { rate: rate?.value, burst: at_once.map_or(burst, |count| count.value) })
}

fn read_suspend(node: &Node, problems: &mut Problems) -> Option<Suspend> {
    let mut fields = Fields::open(node, "`suspend`", problems)?;
    let on = fields.get("on", problems, |node, problems| {
        let on = read_classes(node, problems)?;
        if on == ClassSet::NONE {
            problems.push_with(
                node.place,
                "no failure suspends: `on` names none",
                "name the failures, as `on: permanent`, or leave `suspend` out",
            );
        }
        Some(on)
    });
    let help = "which failure in a row suspends, as 101 for more than 100";
    let at = fields.need("at", help, problems, reader::count(1, MOST_FAILURES));
    let lasts = fields.get("lasts", problems, span_or_unlimited);
    let jobs = fields.get("jobs", problems, reader::word(&MEANWHILE));
    fields.close(problems);
    Some(Suspend {
        on: on.map_or(defaults::SUSPENDS, |on| on.value),
        at: at?.value,
        lasts: lasts.and_then(finite),
        jobs: jobs.map_or(defaults::JOBS_MEANWHILE, |word| word.value),
    })
}

/// `{ share: 0.1%, of: executions, returns: 30s }`.
fn read_worker_errors(node: &Node, problems: &mut Problems) -> Option<WorkerErrors> {
    let mut fields = Fields::open(node, "`worker_errors`", problems)?;
    let share = fields.need("share", "how many end so, as `0.1%`", problems, reader::share);
    let of = fields.get("of", problems, reader::word(&OF));
    let returns = fields.get("returns", problems, read_returns);
    let consumes = fields.get("consumes_attempt", problems, reader::switch);
    fields.close(problems);
    Some(WorkerErrors {
        share: share?.value,
        of: of.map_or(defaults::ERRORS_OF, |of| of.value),
        returns: returns.map_or(defaults::RETURNS, |returns| returns.value),
        consumes_attempt: consumes.map_or(defaults::CONSUMES_ATTEMPT, |switch| switch.value),
    })
}

/// `with_lease`, or by how much its due time is put off.
fn read_returns(node: &Node, problems: &mut Problems) -> Option<Returns> {
    match &node.value {
        Value::Scalar { text, .. } if text == "with_lease" => Some(Returns::WithLease),
        Value::Scalar { text, .. } if text.starts_with(|c: char| c.is_alphabetic()) => {
            reader::word(&[("with_lease", Returns::WithLease)])(node, problems)
        }
        _ => reader::span(node, problems).map(Returns::Due),
    }
}

fn read_counter(node: &Node, problems: &mut Problems) -> Option<Counter> {
    let mut fields = Fields::open(node, "a queue's `counter`", problems)?;
    let scope = fields.get("scope", problems, reader::word(&SCOPES));
    let help = "the count at which a job is given up, as 2 for one retry";
    let gives_up_at = fields.need("gives_up_at", help, problems, reader::count(1, MOST_FAILURES));
    let ttl = fields.get("ttl", problems, span_or_unlimited).and_then(finite);
    let without_ttl = fields.get("without_ttl", problems, reader::share);
    fields.close(problems);
    if let (None, Some(share)) = (ttl, without_ttl)
        && share.value != Share::ZERO
    {
        problems.push_with(
            share.place,
            "no counter is ever without a `ttl` that none of them has",
            "set a `ttl`, or leave `without_ttl` out",
        );
    }
    Some(Counter {
        scope: scope.map_or(defaults::COUNTER_SCOPE, |scope| scope.value),
        gives_up_at: gives_up_at?.value,
        ttl,
        without_ttl: without_ttl.map_or(Share::ZERO, |share| share.value),
    })
}
