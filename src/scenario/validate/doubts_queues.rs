//! Doubts about queues of jobs: jobs that are held, lost or claimed for ever, and settings that do
//! nothing. What waits and counters come to is in `doubts_jobs`.

use crate::policy::outcome::Class;
use crate::policy::stack::Policy;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::model::Caller;
use crate::scenario::model::Deed;
use crate::scenario::model::Destinations;
use crate::scenario::model::Effect;
use crate::scenario::model::ErrorsOf;
use crate::scenario::model::JobQueue;
use crate::scenario::model::Model;
use crate::scenario::model::Population;
use crate::scenario::model::QueueId;
use crate::scenario::model::Refused;
use crate::scenario::model::Returns;
use crate::scenario::model::Service;
use crate::scenario::model::Stop;
use crate::scenario::model::WhenFullyInFlight;
use crate::scenario::node::Node;
use crate::scenario::validate::doubts::place;
use crate::scenario::validate::doubts_jobs;
use crate::units::Duration;
use crate::units::Rate;
use crate::units::Share;

/// A queue, where it is written, and who feeds it.
pub(super) struct Seen<'m> {
    pub(super) id: QueueId,
    pub(super) queue: &'m JobQueue,
    pub(super) name: String,
    pub(super) model: &'m Model,
    tree: &'m Node,
    written: Option<&'m Node>,
}

impl<'m> Seen<'m> {
    /// The place of a setting of the queue.
    pub(super) fn at(&self, keys: &[&str]) -> Place {
        place(self.written, keys)
    }

    /// Is the setting written down?
    fn says(&self, keys: &[&str]) -> bool {
        let mut at = self.written;
        for key in keys {
            at = at.and_then(|it| it.get(key));
        }
        at.is_some_and(|it| !it.is_null())
    }

    /// The populations whose requests are its jobs.
    pub(super) fn populations(&self) -> impl Iterator<Item = &'m Population> {
        let id = self.id;
        self.model.populations.iter().filter(move |population| population.queue == Some(id))
    }

    /// The policies under which its jobs are executed.
    pub(super) fn policies(&self) -> impl Iterator<Item = &'m Policy> {
        let model = self.model;
        self.populations().map(move |population| model.policy_of(population.calls))
    }

    /// The services that its jobs call.
    pub(super) fn services(&self) -> impl Iterator<Item = &'m Service> {
        let model = self.model;
        self.populations().map(move |it| &model.services[model.edges[it.calls].target])
    }
}

/// Doubts about the queues of one system; `tree` is where it is written.
pub(super) fn of_queues(model: &Model, tree: &Node, doubts: &mut Problems) {
    for (id, queue) in model.queues.iter().enumerate() {
        let written = tree.get("queues").and_then(|all| all.get(&queue.name));
        let seen = Seen { id, queue, name: quoted(&queue.name), model, tree, written };
        of_leases(&seen, doubts);
        of_worker_errors(&seen, doubts);
        of_refusals(&seen, doubts);
        of_rates(&seen, doubts);
        of_destinations(&seen, doubts);
        of_idle_settings(&seen, doubts);
        doubts_jobs::of_waits(&seen, doubts);
        doubts_jobs::of_counter(&seen, doubts);
        doubts_jobs::of_keys(&seen, doubts);
    }
    of_signatures(model, tree, doubts);
    for action in &model.operator {
        if let Deed::Resume(id) = action.what
            && model.queues[id].destinations.suspend.is_none()
        {
            let problem = format!(
                "{} never suspends a destination: `resume` does nothing",
                quoted(&model.queues[id].name)
            );
            let help = "set `destinations: { suspend: { at: 101 } }`";
            doubts.push_with(deed_place(tree, &model.queues[id].name), problem, help);
        }
    }
}

/// The longest that one attempt under a policy may take; `None` where nothing ends it.
pub(super) fn longest_attempt(policy: &Policy) -> Option<Duration> {
    let spans = policy.nested().flat_map(|it| {
        let attempt = it.attempt_timeout.as_ref().map(|timeout| timeout.longest(1));
        [attempt, it.timeout]
    });
    spans.flatten().min()
}

/// A claim that ends before the attempt does, and one that never ends [W30].
fn of_leases(seen: &Seen<'_>, doubts: &mut Problems) {
    if let Some(lease) = seen.queue.lease
        && let Some(attempt) = seen.policies().filter_map(longest_attempt).max()
        && lease <= attempt
    {
        let problem = format!(
            "an attempt may take {attempt}, and {} leases a job for {lease}: it is due again while it \
             is executed, and is executed twice",
            seen.name
        );
        let help = "make `lease` longer than a whole execution, waits for a worker included";
        doubts.push_with(seen.at(&["lease"]), problem, help);
    }
    let problem = || {
        format!("{} has no `lease`: the jobs of a worker that dies are held for ever", seen.name)
    };
    let help = "set a `lease` longer than an execution, as `lease: 5min`";
    let with_lease = seen.queue.worker_errors.is_some_and(|it| it.returns == Returns::WithLease);
    if seen.queue.lease.is_none() && with_lease {
        doubts.push_with(seen.at(&["worker_errors", "returns"]), problem(), help);
    }
    let crash = |effect: Effect| match effect {
        Effect::Stop { queue, how, .. } => queue == seen.id && how == Stop::Crash,
        _ => false,
    };
    if seen.queue.lease.is_none() && seen.model.triggers.iter().any(|it| crash(it.effect)) {
        let items = seen.tree.get("triggers").map(Node::items).unwrap_or_default();
        let is_it = |node: &&Node| {
            node.get("queue").is_some_and(|it| it.is_text(&seen.queue.name))
                && node.get("effect").is_some_and(|it| it.get("crash").is_some())
        };
        doubts.push_with(place(items.iter().find(is_it), &["effect"]), problem(), help);
    }
}

/// A job that always fails its worker is the oldest due for ever [W30].
fn of_worker_errors(seen: &Seen<'_>, doubts: &mut Problems) {
    let Some(errors) = seen.queue.worker_errors else { return };
    if errors.of == ErrorsOf::Requests
        && errors.share != Share::ZERO
        && errors.returns == Returns::Due(Duration::ZERO)
        && !errors.consumes_attempt
    {
        let problem = format!(
            "a job of {} that always fails its worker comes back with the due time and the attempts \
             it had: it is claimed at once, again and again",
            seen.name
        );
        let help = "give it a pause, as `returns: 1min`, or let it cost an attempt with \
                    `consumes_attempt: true`";
        doubts.push_with(seen.at(&["worker_errors"]), problem, help);
    }
}

/// The refusals that a policy can make.
fn refusals(policy: &Policy) -> impl Iterator<Item = Class> {
    policy.nested().flat_map(|it| {
        [
            it.breaker.map(|_| Class::BreakerOpen),
            it.bulkhead.map(|_| Class::BulkheadFull),
            it.throttle.map(|_| Class::Throttled),
        ]
        .into_iter()
        .flatten()
    })
}

/// What an open breaker does to jobs [K16, K23].
fn of_refusals(seen: &Seen<'_>, doubts: &mut Problems) {
    let first = seen.policies().find_map(|policy| Some((policy, refusals(policy).next()?)));
    let Some((policy, class)) = first else {
        if seen.says(&["refused"]) && seen.queue.refused != Refused::Fails {
            let problem = format!("nothing refuses a job of {}: `refused` does nothing", seen.name);
            let help =
                "jobs are refused by a `breaker`, a `bulkhead` or a `throttle` of the policy";
            doubts.push_with(seen.at(&["refused"]), problem, help);
        }
        return;
    };
    let unheard = seen.policies().flat_map(refusals).find(|it| !seen.queue.retry.on.contains(*it));
    match (seen.queue.refused, unheard) {
        (Refused::Postpone { after, .. }, _) => {
            let problem = format!(
                "what {} refuses comes back to {} after exactly {after}: without jitter all of it \
                 asks again in step",
                quoted(&policy.name),
                seen.name
            );
            let help = format!(
                "name `{class}` in `retry: on` with `refused: fails`, whose waits have jitter, where \
                 that may cost an attempt"
            );
            doubts.push_with(seen.at(&["refused"]), problem, help);
        }
        (Refused::Fails, Some(class)) if seen.queue.repeats() => {
            let problem = format!(
                "`retry: on` of {} does not name `{class}`: a job that its policy refuses is dead at \
                 once, though nothing was executed",
                seen.name
            );
            let help = "set `refused: { postpone: { after: 5s } }`, or name the refusal in `on`";
            doubts.push_with(seen.at(&["retry", "on"]), problem, help);
        }
        _ => {}
    }
}

/// A rate as people write it.
fn in_words(rate: f64) -> String {
    Rate::per_second(rate).map_or("no end".to_owned(), |rate| rate.to_string())
}

/// More jobs come in than are claimed, in good health.
fn of_rates(seen: &Seen<'_>, doubts: &mut Problems) {
    let of_queue = |i: &usize| seen.model.populations[*i].queue == Some(seen.id);
    let fed = (0..seen.model.populations.len()).filter(of_queue);
    let rate: f64 = fed.map(|i| seen.model.healthy_rate(i)).sum();
    let claims = seen.queue.claims_per_second();
    if rate > claims {
        let problem = format!(
            "{} of jobs come in, and {} claims at most {}: it grows without end",
            in_words(rate),
            seen.name,
            in_words(claims)
        );
        let help = "each look takes at most `batch` jobs, and no more than there is room for: raise \
                    `claim: batch` and `prefetch` or `workers`, or look more often";
        doubts.push_with(seen.at(&["claim"]), problem, help);
    }
}

/// A destination that is thought of, and gets as much as there is [W32].
fn of_destinations(seen: &Seen<'_>, doubts: &mut Problems) {
    let it = seen.queue.destinations;
    if it != Destinations::default() && it.rate.is_none() && seen.populations().any(|p| p.size > 1)
    {
        let problem = format!(
            "no destination of {} has a limit of its rate: when one comes back it gets all that has \
             waited for it at once",
            seen.name
        );
        let help = "set a generous one, as `destinations: { rate: 10/s }`";
        doubts.push_with(seen.at(&["destinations"]), problem, help);
    }
    if it.in_flight.is_none() && it.when_full == WhenFullyInFlight::HoldsWorker {
        let problem = "no destination is ever full: `when_full` does nothing";
        let help = "set `in_flight`, as `in_flight: 10`";
        doubts.push_with(seen.at(&["destinations", "when_full"]), problem, help);
    }
}

/// Settings that can do nothing.
fn of_idle_settings(seen: &Seen<'_>, doubts: &mut Problems) {
    let queue = seen.queue;
    if queue.elsewhere && queue.processes == 1 {
        let problem = format!("{} has one process: `elsewhere` does nothing", seen.name);
        let help = "give the queue more `processes`";
        doubts.push_with(seen.at(&["elsewhere"]), problem, help);
    }
    let breaks = |policy: &Policy| policy.nested().any(|it| it.breaker.is_some());
    if queue.claim.idles_when_open && !seen.policies().any(breaks) {
        let problem =
            format!("no breaker opens for a job of {}: `idles_when_open` does nothing", seen.name);
        let help = "set a `breaker` in the policy of those who feed the queue";
        doubts.push_with(seen.at(&["claim", "idles_when_open"]), problem, help);
    }
    if queue.signed_once && !seen.services().any(|it| it.replay_window.is_some()) {
        let problem = format!(
            "nobody looks at the age of the signatures of {}: `signed_once` does nothing",
            seen.name
        );
        let help = "set a `replay_window` of the service that is called";
        doubts.push_with(seen.at(&["signed_once"]), problem, help);
    }
}

/// A service that looks at signatures nobody sends.
fn of_signatures(model: &Model, tree: &Node, doubts: &mut Problems) {
    for (id, service) in model.services.iter().enumerate() {
        let signed = model.edges.iter().any(|edge| match edge.caller {
            Caller::Population(of) => edge.target == id && model.populations[of].queue.is_some(),
            Caller::Service(_) => false,
        });
        if service.replay_window.is_some() && !signed {
            let written = tree.get("services").and_then(|all| all.get(&service.name));
            let problem = format!(
                "no job is sent to {}: its `replay_window` does nothing",
                quoted(&service.name)
            );
            let help = "signatures are those of jobs: a population that calls it names a `queue`";
            doubts.push_with(place(written, &["replay_window"]), problem, help);
        }
    }
}

/// Where a queue is resumed.
fn deed_place(tree: &Node, queue: &str) -> Place {
    let items = tree.get("operator").map(Node::items).unwrap_or_default();
    let is_it = |node: &&Node| node.get("resume").is_some_and(|it| it.is_text(queue));
    place(items.iter().find(is_it), &["resume"])
}
