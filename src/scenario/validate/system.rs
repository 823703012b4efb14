//! `clients`, `services` and `links`: who calls whom, without circles, over which network.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::policy::stack::Policy;
use crate::random::Distribution;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::file::MOST_ENTITIES;
use crate::scenario::file::RatePoint;
use crate::scenario::file::Written;
use crate::scenario::file::WrittenArrivals;
use crate::scenario::file::WrittenLink;
use crate::scenario::model::Answer;
use crate::scenario::model::Arrivals;
use crate::scenario::model::Burst;
use crate::scenario::model::Caller;
use crate::scenario::model::Deferred;
use crate::scenario::model::Edge;
use crate::scenario::model::JobQueue;
use crate::scenario::model::Link;
use crate::scenario::model::OpenArrivals;
use crate::scenario::model::Operation;
use crate::scenario::model::Population;
use crate::scenario::model::Queue;
use crate::scenario::model::RateSegment;
use crate::scenario::model::RunSettings;
use crate::scenario::model::Service;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::scenario::validate::Names;
use crate::scenario::validate::graph::check_product;
use crate::scenario::validate::graph::without_circles;
use crate::scenario::validate::policies::no_policy;
use crate::scenario::validate::queues;
use crate::units::Duration;
use crate::units::Rate;

/// Replicas of all services together: each has its own queue and counters.
const MOST_REPLICAS: u64 = 100_000;
/// Clients of all populations together: each may have its own state.
const MOST_CLIENTS: u64 = 100_000_000;

/// The parts of a model that name one another.
pub(super) struct System {
    pub(super) populations: Vec<Population>,
    pub(super) queues: Vec<JobQueue>,
    pub(super) services: Vec<Service>,
    pub(super) edges: Vec<Edge>,
    pub(super) policies: Vec<Policy>,
}

/// A call whose names are found.
pub(super) struct Found {
    pub(super) caller: Caller,
    pub(super) target: usize,
    pub(super) policy: usize,
    pub(super) operation: Operation,
    pub(super) answers: Vec<Answer>,
    pub(super) deferred: Option<Deferred>,
    pub(super) place: Place,
}

pub(super) fn system(
    written: &Written<'_>,
    names: &Names<'_>,
    run: &RunSettings,
    mut policies: Vec<Policy>,
    problems: &mut Problems,
) -> Option<System> {
    check_counts(written, problems);
    for client in &written.clients {
        if names.services.get(&client.name.value).is_some() {
            problems.push_with(
                client.name.place,
                format!("{} is the name of a service, too", quoted(&client.name.value)),
                "give the population another name: links and results name both",
            );
        }
    }
    // The policy of callers that name none comes last, and only where it is needed.
    let nothing = policies.len();
    let mut resolve = |caller,
                       to: Option<&Spanned<String>>,
                       policy: Option<&Spanned<String>>,
                       operation: Option<Spanned<Operation>>,
                       deferred: Option<&Deferred>,
                       place,
                       problems: &mut Problems| {
        let target = to.and_then(|to| names.services.find(to, problems));
        let policy = match policy {
            None => Some(nothing),
            Some(policy) if policy.value == defaults::NO_POLICY => Some(nothing),
            Some(policy) => names.policies.find(policy, problems),
        };
        if policy == Some(nothing) && policies.len() == nothing {
            policies.push(no_policy());
        }
        let operation = operation.map_or(defaults::OPERATION, |operation| operation.value);
        let answers = Vec::new();
        let (target, policy, deferred) = (target?, policy?, deferred.cloned());
        Some(Found { caller, target, policy, operation, answers, deferred, place })
    };
    let mut found = Vec::new();
    for (i, client) in written.clients.iter().enumerate() {
        let (calls, policy) = (client.it.calls.as_ref(), client.it.policy.as_ref());
        let (caller, place) = (Caller::Population(i), client.name.place);
        let (operation, reply) = (client.it.operation, client.it.reply.as_ref());
        found.push(resolve(caller, calls, policy, operation, reply, place, problems));
    }
    let mut calls = Vec::new();
    for (i, service) in written.services.iter().enumerate() {
        let first = found.len();
        for call in &service.it.calls {
            let place = call.to.as_ref().map_or(call.place, |to| to.place);
            let (to, policy) = (call.to.as_ref(), call.policy.as_ref());
            let (caller, reply) = (Caller::Service(i), call.reply.as_ref());
            let made = resolve(caller, to, policy, call.operation, reply, place, problems);
            found.push(made.map(|made| Found { answers: call.answers.clone(), ..made }));
        }
        calls.push((first..found.len()).collect::<Vec<_>>());
    }
    let resolved: Vec<&Found> = found.iter().flatten().collect();
    if let Some(order) = without_circles(&resolved, written, problems) {
        check_product(&resolved, &order, &policies, written, problems);
    }
    let links = links(written, names, &resolved, problems);

    let queues = queues::queues(written, problems);
    let feeds = queues::feeds(written, names, problems);

    let populations: Vec<_> = written
        .clients
        .iter()
        .enumerate()
        .filter_map(|(i, client)| {
            let queue = feeds.get(i).copied().flatten();
            Some(Population {
                name: client.name.value.clone(),
                size: client.it.population.map_or(defaults::POPULATION, |size| size.value),
                arrivals: arrivals(client.it.arrivals.as_ref()?, run.warm_up),
                calls: i,
                deadline: client.it.deadline.map(|deadline| deadline.value),
                queue,
            })
        })
        .collect();
    let services: Vec<_> = written
        .services
        .iter()
        .zip(calls)
        .filter_map(|(named, calls)| {
            let service = &named.it;
            Some(Service {
                name: named.name.value.clone(),
                replicas: service.replicas.map_or(defaults::REPLICAS, |n| n.value),
                workers: service.workers?.value,
                holds_worker: service.holds_worker.map_or(defaults::HOLDS_WORKER, |b| b.value),
                queue: service.queue.unwrap_or(Queue {
                    limit: defaults::QUEUE_LIMIT,
                    order: defaults::QUEUE_ORDER,
                    when_full: defaults::WHEN_FULL,
                    drop_expired: defaults::DROP_EXPIRED,
                    codel: None,
                }),
                cancellation: service.cancellation.map_or(defaults::CANCELLATION, |c| c.value),
                work: service.work.as_ref()?.value.clone(),
                errors: service.errors,
                retry_after: service.retry_after.clone(),
                calls,
                overload: service.overload,
                balance: service.balance.map_or(defaults::BALANCE, |balance| balance.value),
                idempotency: service.idempotency,
                replay_window: service.replay_window,
            })
        })
        .collect();
    let whole = populations.len() == written.clients.len()
        && services.len() == written.services.len()
        && queues.len() == written.queues.len()
        && resolved.len() == found.len();
    if !whole {
        return None; // What is missing has been noted.
    }
    let edges = resolved
        .iter()
        .map(|found| Edge {
            caller: found.caller,
            target: found.target,
            policy: found.policy,
            operation: found.operation,
            answers: found.answers.clone(),
            deferred: found.deferred.clone(),
            link: links
                .get(&key(found.caller, found.target))
                .cloned()
                .unwrap_or_else(|| link(None, &written.default_link)),
        })
        .collect();
    Some(System { populations, queues, services, edges, policies })
}

fn check_counts(written: &Written<'_>, problems: &mut Problems) {
    let Some(first) = written.services.first() else { return };
    let calls: usize = written.services.iter().map(|service| service.it.calls.len()).sum();
    let entities = 2 * written.clients.len()
        + written.services.len()
        + written.queues.len()
        + calls
        + written.policies.len()
        + written.links.len()
        + written.triggers.len()
        + written.operator.len();
    if entities > MOST_ENTITIES {
        problems.push_with(
            first.name.place,
            format!("the scenario has {entities} entities; {MOST_ENTITIES} are allowed"),
            "a model of so many parts can be made smaller",
        );
    }
    let replicas: u64 = written
        .services
        .iter()
        .map(|service| service.it.replicas.map_or(1, |replicas| u64::from(replicas.value)))
        .sum();
    if replicas > MOST_REPLICAS {
        problems.push_with(
            first.name.place,
            format!("the services have {replicas} replicas; {MOST_REPLICAS} are allowed"),
            "fewer replicas with more `workers` each come close",
        );
    }
    let clients: u64 = written
        .clients
        .iter()
        .map(|client| client.it.population.map_or(1, |size| u64::from(size.value)))
        .sum();
    if clients > MOST_CLIENTS {
        let place = written.clients.first().map_or(first.name.place, |client| client.name.place);
        let problem = format!("there are {clients} clients; {MOST_CLIENTS} are allowed");
        problems.push_with(place, problem, "a smaller `population` with the same rate comes close");
    }
}

/// Moments of the file count from the end of the warm-up, those of the model from its start.
fn arrivals(written: &WrittenArrivals, warm_up: Duration) -> Arrivals {
    match written {
        WrittenArrivals::Users { think } => Arrivals::Closed { think: think.clone() },
        WrittenArrivals::Open { process, points, bursts } => Arrivals::Open(OpenArrivals {
            process: *process,
            segments: segments(points, warm_up),
            bursts: bursts
                .iter()
                .map(|burst| Burst { at: warm_up.saturating_add(burst.at), ..*burst })
                .collect(),
        }),
    }
}

fn segments(points: &[RatePoint], warm_up: Duration) -> Vec<RateSegment> {
    let mut rate = points.first().map_or(Rate::default(), |point| point.rate);
    let mut from = Duration::ZERO;
    let mut segments = Vec::new();
    for point in points.iter().skip(1) {
        let at = warm_up.saturating_add(point.at);
        if at > from {
            segments.push(RateSegment { from, until: at, start: rate, end: rate });
        }
        from = at;
        if !point.ramp.is_zero() {
            let until = at.saturating_add(point.ramp);
            segments.push(RateSegment { from, until, start: rate, end: point.rate });
            from = until;
        }
        rate = point.rate;
    }
    segments.push(RateSegment { from, until: Duration::MAX, start: rate, end: rate });
    segments
}

/// A pair of a link: populations first, so that the order is total.
type Pair = (bool, usize, usize);

fn key(caller: Caller, target: usize) -> Pair {
    match caller {
        Caller::Population(i) => (false, i, target),
        Caller::Service(i) => (true, i, target),
    }
}

fn link(own: Option<&WrittenLink>, default: &WrittenLink) -> Link {
    let latency = own.and_then(|link| link.latency.as_ref()).or(default.latency.as_ref());
    let loss = own.and_then(|link| link.loss).or(default.loss);
    Link {
        latency: latency
            .map_or_else(|| Distribution::constant(defaults::LATENCY), |it| it.value.clone()),
        loss: loss.map_or(defaults::LOSS, |loss| loss.value),
    }
}

/// The links of single pairs.
fn links(
    written: &Written<'_>,
    names: &Names<'_>,
    calls: &[&Found],
    problems: &mut Problems,
) -> BTreeMap<Pair, Link> {
    let known: BTreeSet<Pair> = calls.iter().map(|call| key(call.caller, call.target)).collect();
    let mut links = BTreeMap::new();
    for named in &written.links {
        let place = named.name.place;
        let Some((from, to)) = named.name.value.split_once("->") else {
            problems.push_with(
                place,
                "a link is named by its ends",
                "write `default`, or a pair as `\"orders -> database\"`",
            );
            continue;
        };
        let (from, to) = (from.trim(), to.trim());
        let caller = match (names.clients.get(from), names.services.get(from)) {
            (Some(client), _) => Some(Caller::Population(client)),
            (None, Some(service)) => Some(Caller::Service(service)),
            (None, None) => {
                let all: Vec<_> =
                    names.clients.names.iter().chain(&names.services.names).copied().collect();
                reader::unknown(place, "caller", from, &all, problems);
                None
            }
        };
        let to = Spanned { value: to.to_owned(), place };
        let (Some(caller), Some(target)) = (caller, names.services.find(&to, problems)) else {
            continue;
        };
        let pair = key(caller, target);
        if !known.contains(&pair) {
            problems.push_with(
                place,
                format!("{} does not call {}", quoted(from), quoted(&to.value)),
                "a link belongs to a call; the same link carries its answers",
            );
        }
        if links.insert(pair, link(Some(&named.it), &written.default_link)).is_some() {
            problems.push_with(place, "this link is described twice", "keep one of the two");
        }
    }
    links
}
