//! Watches a run and remembers what must come out even.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use stormlab::engine::RunReport;
use stormlab::engine::observe::Cause;
use stormlab::engine::observe::Deferral;
use stormlab::engine::observe::EdgeLevel;
use stormlab::engine::observe::JobEnd;
use stormlab::engine::observe::Observer;
use stormlab::engine::observe::QueueLevel;
use stormlab::engine::observe::Reason;
use stormlab::engine::observe::Return;
use stormlab::engine::observe::ServiceLevel;
use stormlab::engine::observe::Verdict;
use stormlab::engine::observe::WaitEnd;
use stormlab::measure::recorder::Recorder;
use stormlab::policy::outcome::Class;
use stormlab::scenario::model::Action;
use stormlab::scenario::model::Deed;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::Requeue;
use stormlab::scenario::model::Trigger;
use stormlab::units::Duration;
use stormlab::units::SimTime;

use super::waits;

/// Counted at a service.
#[derive(Clone, Debug, Default)]
pub(super) struct Service {
    pub(super) first: u64,
    pub(super) retries: u64,
    pub(super) refused: u64,
    pub(super) answered: u64,
    pub(super) removed: u64,
    pub(super) crashes: u64,
    pub(super) wasted_ns: u64,
    /// Effects by how often their request and call had taken effect then, from the first.
    pub(super) effects: BTreeMap<u32, u64>,
    pub(super) replays: u64,
    pub(super) conflicts: u64,
    pub(super) mismatches: u64,
    /// Of deferred results.
    pub(super) written: u64,
    pub(super) misread: u64,
    pub(super) destroyed: u64,
    pub(super) wait_ends: [u64; WaitEnd::COUNT],
    /// Attempts inside, by the moment they arrived.
    inside: BTreeMap<SimTime, u64>,
    /// The stays of those that are over.
    stayed: u128,
    /// The engine's own integral.
    present_ns: u128,
    busy_ns: u128,
    /// Work done, and the most that workers were ever bound by calls.
    worked_ns: u128,
    present: u64,
}

/// Counted on the caller's side of an edge.
#[derive(Clone, Debug, Default)]
pub(super) struct Edge {
    pub(super) calls: u64,
    pub(super) backed_off: u64,
    pub(super) timed_out: u64,
    pub(super) denied: u64,
    pub(super) broken: u64,
    pub(super) crowded: u64,
    pub(super) throttled: u64,
    /// At the end of any window.
    pub(super) most_backing_off: u32,
    backing_off_ns: u128,
}

/// Seen of a queue of jobs.
#[derive(Clone, Debug, Default)]
struct JobsSeen {
    stored: u64,
    ended: u64,
    suspended: u32,
}

/// What a run told.
pub(super) struct Witness<'m> {
    model: &'m Model,
    pub(super) born: Vec<u64>,
    pub(super) ok: Vec<u64>,
    pub(super) late: Vec<u64>,
    pub(super) failed: Vec<[u64; Cause::ALL.len()]>,
    pub(super) services: Vec<Service>,
    pub(super) edges: Vec<Edge>,
    queues: Vec<JobsSeen>,
    pub(super) last_at: SimTime,
    /// Services that keep their workers and settings.
    steady: Vec<bool>,
    /// Requests without a verdict: population and birth.
    unanswered: BTreeMap<(usize, SimTime), u64>,
    /// The waits that a retry along an edge may have, under each policy that the edge ever has.
    waits: Vec<Vec<RangeInclusive<Duration>>>,
}

impl<'m> Witness<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        let populations = model.populations.len();
        Self {
            model,
            born: vec![0; populations],
            ok: vec![0; populations],
            late: vec![0; populations],
            failed: vec![[0; Cause::ALL.len()]; populations],
            services: vec![Service::default(); model.services.len()],
            edges: vec![Edge::default(); model.edges.len()],
            queues: vec![JobsSeen::default(); model.queues.len()],
            last_at: SimTime::ZERO,
            steady: (0..model.services.len()).map(|id| is_steady(model, id)).collect(),
            unanswered: BTreeMap::new(),
            waits: (0..model.edges.len()).map(|edge| waits::of_edge(model, edge)).collect(),
        }
    }

    /// Requests of a population without a verdict.
    pub(super) fn open(&self, population: usize) -> u64 {
        self.unanswered.iter().filter(|((of, _), _)| *of == population).map(|(_, n)| n).sum()
    }

    /// What must hold when the run is over.
    pub(super) fn close(&self, report: &RunReport) {
        let mut open = BTreeMap::new();
        for request in &report.open {
            *open.entry(*request).or_insert(0) += 1;
        }
        assert_eq!(open, self.unanswered, "who was born and has no verdict is open");
        for (id, service) in self.services.iter().enumerate() {
            let still: u128 = service
                .inside
                .iter()
                .map(|(at, count)| {
                    u128::from(self.last_at.since(*at).as_nanos()) * u128::from(*count)
                })
                .sum();
            assert_eq!(service.present_ns, service.stayed + still, "Little's law at service {id}");
            assert_eq!(service.inside.values().sum::<u64>(), service.present, "service {id}");
            // A worker is busy at least with the work that it has done.
            assert!(service.busy_ns >= service.worked_ns, "service {id}");
        }
    }

    /// The clock never goes back.
    fn at(&mut self, now: SimTime) {
        assert!(now >= self.last_at, "from {:?} back to {now:?}", self.last_at);
        self.last_at = now;
    }

    fn leaves(&mut self, now: SimTime, service: usize, arrived_at: SimTime) {
        self.at(now);
        let of = &mut self.services[service];
        of.stayed += u128::from(now.since(arrived_at).as_nanos());
        take(&mut of.inside, arrived_at, "nobody inside arrived then");
    }
}

/// Does nobody take workers away from a service, nor change its settings?
fn is_steady(model: &Model, id: usize) -> bool {
    let taken = |trigger: &Trigger| match trigger.effect {
        Effect::Workers { service, .. } => service == id,
        _ => false,
    };
    let set = |action: &Action| matches!(action.what, Deed::Set { .. });
    !model.triggers.iter().any(taken) && !model.operator.iter().any(set)
}

/// One less of a key.
fn take<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K, otherwise: &str) {
    let count = counts.get_mut(&key).expect(otherwise);
    *count -= 1;
    if *count == 0 {
        counts.remove(&key);
    }
}

impl Observer for Witness<'_> {
    fn born(&mut self, now: SimTime, population: usize, shed: bool) {
        self.at(now);
        self.born[population] += 1;
        if shed {
            self.failed[population][Cause::Shed as usize] += 1;
        } else {
            *self.unanswered.entry((population, now)).or_insert(0) += 1;
        }
    }

    fn ended(&mut self, now: SimTime, population: usize, born_at: SimTime, verdict: Verdict) {
        self.at(now);
        take(&mut self.unanswered, (population, born_at), "a request ended twice, or unborn");
        match verdict {
            Verdict::Ok => self.ok[population] += 1,
            Verdict::Late => self.late[population] += 1,
            Verdict::Failed(cause) => {
                assert_ne!(cause, Cause::Shed);
                self.failed[population][cause as usize] += 1;
            }
        }
    }

    fn call_began(&mut self, now: SimTime, edge: usize) {
        self.at(now);
        self.edges[edge].calls += 1;
    }

    fn rejected(&mut self, now: SimTime, edge: usize, class: Class) {
        self.at(now);
        match class {
            Class::BreakerOpen => self.edges[edge].broken += 1,
            Class::BulkheadFull => self.edges[edge].crowded += 1,
            Class::Throttled => self.edges[edge].throttled += 1,
            other => panic!("no policy rejects with {other}"),
        }
    }

    fn denied(&mut self, now: SimTime, edge: usize) {
        self.at(now);
        self.edges[edge].denied += 1;
    }

    fn timed_out(&mut self, now: SimTime, edge: usize) {
        self.at(now);
        self.edges[edge].timed_out += 1;
    }

    fn backs_off(&mut self, now: SimTime, edge: usize, wait: Duration) {
        self.at(now);
        self.edges[edge].backed_off += 1;
        let in_bounds = self.waits[edge].iter().any(|bounds| bounds.contains(&wait));
        assert!(in_bounds, "edge {edge}: no retry waits for {wait}");
    }

    fn reached(&mut self, now: SimTime, service: usize, reason: Reason) {
        self.at(now);
        let of = &mut self.services[service];
        if reason == Reason::First {
            of.first += 1
        } else {
            of.retries += 1
        }
        *of.inside.entry(now).or_insert(0) += 1;
    }

    fn refused(&mut self, now: SimTime, service: usize, _class: Option<Class>) {
        self.leaves(now, service, now);
        self.services[service].refused += 1;
    }

    fn started(&mut self, now: SimTime, service: usize, arrived_at: SimTime) {
        self.at(now);
        assert!(self.services[service].inside.contains_key(&arrived_at));
    }

    fn worked(&mut self, now: SimTime, service: usize, span: Duration, wasted: bool) {
        self.at(now);
        let of = &mut self.services[service];
        of.worked_ns += u128::from(span.as_nanos());
        of.wasted_ns += if wasted { span.as_nanos() } else { 0 };
    }

    fn answered(&mut self, now: SimTime, service: usize, arrived_at: SimTime, _ok: bool) {
        self.leaves(now, service, arrived_at);
        self.services[service].answered += 1;
    }

    fn enqueued(&mut self, now: SimTime, queue: usize, _population: usize) {
        self.at(now);
        self.queues[queue].stored += 1;
    }

    fn claimed(&mut self, now: SimTime, _queue: usize, due_at: SimTime) {
        self.at(now);
        assert!(due_at <= now, "a job is claimed before it is due");
    }

    fn returned(&mut self, now: SimTime, queue: usize, why: Return, due_at: SimTime) {
        self.at(now);
        let may_be_past = !matches!(why, Return::Retry | Return::Postponed);
        assert!(may_be_past || due_at >= now, "a job put back for the past");
        assert!(why != Return::LeaseEnded || self.model.queues[queue].lease.is_some());
    }

    fn job_ended(&mut self, now: SimTime, end: &JobEnd) {
        self.at(now);
        assert!(end.failed_at.is_none_or(|at| end.born_at <= at && at <= now));
        let most = self.model.queues[end.queue].retry.max_attempts;
        let is_bounded = self.model.queues[end.queue].counter.is_none()
            && self.model.queues[end.queue].lease.is_none();
        if let (true, Some(most)) = (is_bounded, most) {
            assert!(end.executions <= most, "{} executions of at most {most}", end.executions);
        }
        self.queues[end.queue].ended += 1;
    }

    fn suspended(&mut self, now: SimTime, queue: usize, is: bool) {
        self.at(now);
        let suspended = &mut self.queues[queue].suspended;
        *suspended = if is { *suspended + 1 } else { *suspended - 1 };
    }

    fn queues_at_window_end(&mut self, now: SimTime, queues: &[QueueLevel]) {
        self.at(now);
        for ((level, told), model) in queues.iter().zip(&self.queues).zip(&self.model.queues) {
            assert_eq!(level.suspended, told.suspended);
            assert!(level.due <= level.at_rest);
            let workers = u64::from(model.processes) * u64::from(model.workers);
            assert!(level.executing <= workers, "{} of {workers} workers", level.executing);
            if model.requeue == Requeue::CompareAndSet {
                let there = level.at_rest + level.parked + level.claimed;
                assert_eq!(there, told.stored - told.ended, "a job is lost, or there twice");
            }
        }
    }

    fn removed(&mut self, now: SimTime, service: usize, arrived_at: SimTime) {
        self.leaves(now, service, arrived_at);
        self.services[service].removed += 1;
    }

    fn took_effect(&mut self, now: SimTime, service: usize, times: u32) {
        self.at(now);
        *self.services[service].effects.entry(times).or_insert(0) += 1;
    }

    fn replayed(&mut self, now: SimTime, service: usize) {
        self.at(now);
        self.services[service].replays += 1;
    }

    fn conflicted(&mut self, now: SimTime, service: usize) {
        self.at(now);
        self.services[service].conflicts += 1;
    }

    fn mismatched(&mut self, now: SimTime, service: usize) {
        self.at(now);
        self.services[service].mismatches += 1;
    }

    fn deferred(&mut self, now: SimTime, service: usize, what: Deferral) {
        self.at(now);
        let service = &mut self.services[service];
        match what {
            Deferral::Written { .. } => service.written += 1,
            Deferral::Misread => service.misread += 1,
            Deferral::Destroyed => service.destroyed += 1,
            Deferral::Ended { why, .. } => service.wait_ends[why as usize] += 1,
        }
    }

    fn crashed(&mut self, now: SimTime, service: usize) {
        self.at(now);
        self.services[service].crashes += 1;
        let overload = self.model.services[service].overload.expect("it can crash");
        assert!(overload.crashes_at.is_some());
    }

    fn window_ends(&mut self, now: SimTime, services: &[ServiceLevel], edges: &[EdgeLevel]) {
        self.at(now);
        for (id, level) in services.iter().enumerate() {
            let of = &mut self.services[id];
            of.present_ns += u128::from(level.present_ns);
            of.busy_ns += u128::from(level.busy_ns);
            of.present = u64::from(level.present);
            assert!(level.waiting_ns <= level.present_ns && level.busy_ns <= level.present_ns);
            let model = &self.model.services[id];
            let is_steady = self.steady[id];
            if is_steady && model.replicas == 1 && level.waiting > 0 {
                assert_eq!(level.busy, model.workers, "service {id} idles beside its queue");
            }
            if let (true, Some(limit)) = (is_steady, model.queue.limit) {
                assert!(level.waiting <= limit * model.replicas);
            }
        }
        for (of, level) in self.edges.iter_mut().zip(edges) {
            of.backing_off_ns += u128::from(level.backing_off_ns);
            of.most_backing_off = of.most_backing_off.max(level.backing_off);
        }
    }
}

/// A recorder and a witness of the same run.
pub(super) struct Both<'m> {
    pub(super) recorder: Recorder,
    pub(super) witness: Witness<'m>,
}

impl Observer for Both<'_> {
    fn born(&mut self, now: SimTime, population: usize, shed: bool) {
        self.recorder.born(now, population, shed);
        self.witness.born(now, population, shed);
    }
    fn ended(&mut self, now: SimTime, population: usize, born_at: SimTime, verdict: Verdict) {
        self.recorder.ended(now, population, born_at, verdict);
        self.witness.ended(now, population, born_at, verdict);
    }
    fn call_began(&mut self, now: SimTime, edge: usize) {
        self.recorder.call_began(now, edge);
        self.witness.call_began(now, edge);
    }
    fn rejected(&mut self, now: SimTime, edge: usize, class: Class) {
        self.recorder.rejected(now, edge, class);
        self.witness.rejected(now, edge, class);
    }
    fn denied(&mut self, now: SimTime, edge: usize) {
        self.recorder.denied(now, edge);
        self.witness.denied(now, edge);
    }
    fn timed_out(&mut self, now: SimTime, edge: usize) {
        self.recorder.timed_out(now, edge);
        self.witness.timed_out(now, edge);
    }
    fn backs_off(&mut self, now: SimTime, edge: usize, wait: Duration) {
        self.recorder.backs_off(now, edge, wait);
        self.witness.backs_off(now, edge, wait);
    }
    fn reached(&mut self, now: SimTime, service: usize, reason: Reason) {
        self.recorder.reached(now, service, reason);
        self.witness.reached(now, service, reason);
    }
    fn refused(&mut self, now: SimTime, service: usize, class: Option<Class>) {
        self.recorder.refused(now, service, class);
        self.witness.refused(now, service, class);
    }
    fn started(&mut self, now: SimTime, service: usize, arrived_at: SimTime) {
        self.recorder.started(now, service, arrived_at);
        self.witness.started(now, service, arrived_at);
    }
    fn worked(&mut self, now: SimTime, service: usize, span: Duration, wasted: bool) {
        self.recorder.worked(now, service, span, wasted);
        self.witness.worked(now, service, span, wasted);
    }
    fn answered(&mut self, now: SimTime, service: usize, arrived_at: SimTime, ok: bool) {
        self.recorder.answered(now, service, arrived_at, ok);
        self.witness.answered(now, service, arrived_at, ok);
    }
    fn took_effect(&mut self, now: SimTime, service: usize, times: u32) {
        self.recorder.took_effect(now, service, times);
        self.witness.took_effect(now, service, times);
    }
    fn replayed(&mut self, now: SimTime, service: usize) {
        self.recorder.replayed(now, service);
        self.witness.replayed(now, service);
    }
    fn conflicted(&mut self, now: SimTime, service: usize) {
        self.recorder.conflicted(now, service);
        self.witness.conflicted(now, service);
    }
    fn mismatched(&mut self, now: SimTime, service: usize) {
        self.recorder.mismatched(now, service);
        self.witness.mismatched(now, service);
    }
    fn enqueued(&mut self, now: SimTime, queue: usize, population: usize) {
        self.recorder.enqueued(now, queue, population);
        self.witness.enqueued(now, queue, population);
    }
    fn claimed(&mut self, now: SimTime, queue: usize, due_at: SimTime) {
        self.recorder.claimed(now, queue, due_at);
        self.witness.claimed(now, queue, due_at);
    }
    fn executed(&mut self, now: SimTime, queue: usize, nth: u32) {
        self.recorder.executed(now, queue, nth);
    }
    fn returned(&mut self, now: SimTime, queue: usize, why: Return, due_at: SimTime) {
        self.recorder.returned(now, queue, why, due_at);
        self.witness.returned(now, queue, why, due_at);
    }
    fn job_ended(&mut self, now: SimTime, end: &JobEnd) {
        self.recorder.job_ended(now, end);
        self.witness.job_ended(now, end);
    }
    fn reopened(&mut self, now: SimTime, queue: usize, put_back: bool) {
        self.recorder.reopened(now, queue, put_back);
    }
    fn suspended(&mut self, now: SimTime, queue: usize, is: bool) {
        self.recorder.suspended(now, queue, is);
        self.witness.suspended(now, queue, is);
    }
    fn stale_signature(&mut self, now: SimTime, service: usize) {
        self.recorder.stale_signature(now, service);
    }
    fn queues_at_window_end(&mut self, now: SimTime, queues: &[QueueLevel]) {
        self.recorder.queues_at_window_end(now, queues);
        self.witness.queues_at_window_end(now, queues);
    }
    fn deferred(&mut self, now: SimTime, service: usize, what: Deferral) {
        self.recorder.deferred(now, service, what);
        self.witness.deferred(now, service, what);
    }
    fn removed(&mut self, now: SimTime, service: usize, arrived_at: SimTime) {
        self.recorder.removed(now, service, arrived_at);
        self.witness.removed(now, service, arrived_at);
    }
    fn crashed(&mut self, now: SimTime, service: usize) {
        self.recorder.crashed(now, service);
        self.witness.crashed(now, service);
    }
    fn window_ends(&mut self, now: SimTime, services: &[ServiceLevel], edges: &[EdgeLevel]) {
        self.recorder.window_ends(now, services, edges);
        self.witness.window_ends(now, services, edges);
    }
}
