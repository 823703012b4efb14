//! Laws that hold for every system, held against systems that nobody thought of.
//!
//! A few hundred random systems in the ordinary test; as many as `STORMLAB_CASES` says where it
//! is set. Whoever makes the engine wrong in a way that no named test knows should fail here.

mod generator;
mod waits;
mod witness;

use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use stormlab::engine;
use stormlab::engine::observe::Cause;
use stormlab::engine::observe::WaitEnd;
use stormlab::lint;
use stormlab::measure::record::Ending;
use stormlab::measure::record::RunRecord;
use stormlab::measure::recorder::Recorder;
use stormlab::measure::simulate;
use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::deferred::Consumer;
use stormlab::policy::deferred::ReadKind;
use stormlab::policy::stack::CallerScope;
use stormlab::policy::stack::Policy;
use stormlab::policy::throttle::rate::WhenEmpty;
use stormlab::scenario;
use stormlab::scenario::model::Caller;
use stormlab::scenario::model::Deed;
use stormlab::scenario::model::Deferred;
use stormlab::scenario::model::Idempotency;
use stormlab::scenario::model::MadeOnce;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::Operation;
use stormlab::scenario::model::Remembers;
use stormlab::stats::histogram::Histogram;
use stormlab::units::Duration;
use witness::Both;
use witness::Witness;

use generator::Case;

fn cases() -> u32 {
    const ORDINARY: u32 = 300;
    std::env::var("STORMLAB_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(ORDINARY)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        failure_persistence: None, // Systems change with the generator; a bug gets a test by name.
        ..ProptestConfig::default()
    })]

    /// The audit holds, the record agrees with what was told, and no law is broken.
    #[test]
    fn every_law_holds_for_every_system(case in generator::cases()) {
        check(&case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases() / 3,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// The scenario as meant is a scenario again, and means the same.
    #[test]
    fn every_system_can_be_written_as_it_is_meant(case in generator::cases()) {
        let parse = |text: &str| match scenario::parse("test.yaml", text.as_bytes()) {
            Ok(scenario) => scenario,
            Err(problems) => {
                let problems: String = problems.iter().map(ToString::to_string).collect();
                panic!("{problems}\n{text}")
            }
        };
        let scenario = parse(&case.written());
        // Runs so short have no recovery that could be judged, and none that may be written.
        let mut meant: serde_json::Value =
            serde_json::from_str(&lint::effective(&scenario)).expect("it is JSON");
        let _ = meant["run"].as_object_mut().and_then(|run| run.remove("recovery"));
        let again = parse(&meant.to_string());
        let [old, new] = [&scenario, &again].map(|it| &it.variants[0].model);
        assert_eq!(old.policies, new.policies);
        assert_eq!(old.services, new.services);
        assert_eq!(old.populations, new.populations);
        assert_eq!(old.queues, new.queues);
        let replies = |model: &Model| -> Vec<_> {
            model.edges.iter().map(|edge| edge.deferred.clone()).collect()
        };
        assert_eq!(replies(old), replies(new));
    }
}

/// A word of the language that no system is made of is a word that no law is held for.
#[test]
fn systems_are_made_of_every_strategy() {
    const SYSTEMS: usize = 400;
    let mut runner = TestRunner::deterministic();
    let all: Vec<_> = (0..SYSTEMS)
        .map(|_| {
            let tree = generator::cases().new_tree(&mut runner).expect("nothing is rejected");
            format!("{:?}", tree.current())
        })
        .collect();
    let missing: Vec<_> = generator::WORDS
        .iter()
        .filter(|word| !all.iter().any(|system| system.contains(**word)))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn check(case: &Case) {
    let model = &case.model;
    let stop = AtomicBool::new(false);
    let mut both = Both { recorder: Recorder::new(model), witness: Witness::new(model) };
    let report = engine::observe(model, case.seed, 0, &stop, &mut both).expect("the audit holds");
    let record = both.recorder.into_record(0, report.clone());
    let witness = both.witness;

    let again = simulate(model, case.seed, 0, &stop).expect("the audit holds");
    assert!(record == again, "the same run twice");

    witness.close(&report);
    check_verdicts(model, &record, &witness);
    check_windows(model, &record, &witness);
    check_attempts(model, &record, &witness);
    check_budgets(model, &witness);
    check_effects(model, &record, &witness);
    check_deferred(model, &record, &witness);
    check_latencies(&record.latency_ok);
    check_latencies(&record.latency_failed);
}

/// born = ok + late + failed + open, from the end of the warm-up and in all.
fn check_verdicts(model: &Model, record: &RunRecord, witness: &Witness) {
    for (id, verdicts) in record.verdicts.iter().enumerate() {
        let over = verdicts.ok + verdicts.late + verdicts.failed.iter().sum::<u64>();
        assert_eq!(verdicts.born, over + verdicts.open, "population {id}");
        if model.run.warm_up.is_zero() {
            assert_eq!(verdicts.born, witness.born[id]);
            assert_eq!([verdicts.ok, verdicts.late], [witness.ok[id], witness.late[id]]);
            assert_eq!(verdicts.failed, witness.failed[id]);
            assert_eq!(verdicts.open, witness.open(id));
        }
        if model.populations[id].deadline.is_none() && !sets(model) {
            assert_eq!(verdicts.late, 0);
        }
    }
    let answered: u64 = record.verdicts.iter().map(|verdicts| verdicts.ok).sum();
    assert_eq!(record.latency_ok.count(), answered);
}

/// Sums over windows are totals, and nothing is busier, fuller or more broken than it can be.
fn check_windows(model: &Model, record: &RunRecord, witness: &Witness) {
    let series = &record.series;
    let width = series.window.as_nanos();
    let planned = (model.run.warm_up.as_nanos() + model.run.horizon.as_nanos()) / width;
    if record.ending == Ending::Complete {
        assert_eq!(series.windows as u64, planned);
    }
    for id in 0..model.populations.len() {
        let sum = |of: fn(&stormlab::measure::record::PopulationWindow) -> u32| {
            series.population(id).map(|window| u64::from(of(window))).sum::<u64>()
        };
        assert_eq!(sum(|window| window.born), witness.born[id]);
        let shed = witness.failed[id][Cause::Shed as usize];
        let failed = witness.failed[id].iter().sum::<u64>() - shed;
        assert_eq!(sum(|window| window.shed), shed);
        assert_eq!(sum(|window| window.ok), witness.ok[id]);
        assert_eq!(sum(|window| window.late), witness.late[id]);
        assert_eq!(sum(|window| window.failed), failed);
        assert_eq!(sum(|window| window.born_ok), witness.ok[id]);
        assert_eq!(sum(|window| window.born_lost), witness.late[id] + failed);
        for window in series.population(id) {
            assert!(window.born >= window.shed + window.born_ok + window.born_lost);
        }
    }
    for (id, service) in model.services.iter().enumerate() {
        let of = &witness.services[id];
        let sum = |of: fn(&stormlab::measure::record::ServiceWindow) -> u32| {
            series.service(id).map(|window| u64::from(of(window))).sum::<u64>()
        };
        assert_eq!(sum(|window| window.first), of.first);
        assert_eq!(sum(|window| window.retries()), of.retries);
        assert_eq!(sum(|window| window.refused), of.refused);
        assert_eq!(sum(|window| window.completed_ok + window.completed_error), of.answered);
        assert_eq!(sum(|window| window.removed), of.removed);
        assert_eq!(sum(|window| window.crashes), of.crashes);
        let workers = u64::from(service.replicas) * u64::from(most_workers(model, id));
        for window in series.service(id) {
            assert!(window.busy_ns <= workers * width, "service {id}: {window:?}");
            assert!(window.waiting <= window.present && window.replicas_up <= service.replicas);
        }
        let wasted: u64 = series.service(id).map(|window| window.wasted_ns).sum();
        assert_eq!(wasted, of.wasted_ns);
    }
    for (id, edge) in model.edges.iter().enumerate() {
        let calls: u64 = series.edge(id).map(|window| u64::from(window.calls)).sum();
        assert_eq!(calls, witness.edges[id].calls);
        assert!(series.edge(id).all(|window| window.breakers_open <= window.breakers));
        if let Caller::Population(population) = edge.caller
            && model.populations[population].queue.is_none()
        {
            let shed = witness.failed[population][Cause::Shed as usize];
            assert_eq!(calls, witness.born[population] - shed);
        }
    }
}

/// Attempts are what calls and retries make of them: no more than were begun, none without cause.
fn check_attempts(model: &Model, record: &RunRecord, witness: &Witness) {
    for id in 0..model.services.len() {
        let service = &witness.services[id];
        let into =
            || model.edges.iter().zip(&witness.edges).filter(move |(edge, _)| edge.target == id);
        let calls: u64 = into().map(|(_, told)| told.calls).sum();
        // A job that is executed again begins a call of its own, which is no first one.
        let of_job = |caller| match caller {
            Caller::Population(id) => model.populations[id].queue.is_some(),
            Caller::Service(_) => false,
        };
        let plain = into()
            .all(|(edge, _)| !is_nested(&model.policies[edge.policy]) && !of_job(edge.caller));
        if plain && !sets(model) {
            let granted: u64 = into().map(|(_, told)| told.backed_off).sum();
            assert!(service.first <= calls, "service {id}: {} of {calls}", service.first);
            assert!(service.retries <= granted, "service {id}: {} of {granted}", service.retries);
        }
        let present =
            record.series.service(id).last().map_or(0, |window| u64::from(window.present));
        assert_eq!(
            service.first + service.retries,
            service.refused + service.answered + service.removed + present,
            "service {id}"
        );
    }
    if sets(model) {
        return;
    }
    for (id, edge) in model.edges.iter().enumerate() {
        let told = &witness.edges[id];
        let policy = &model.policies[edge.policy];
        if let (Some(most), false) = (policy.max_attempts(), is_nested(policy)) {
            assert!(told.backed_off <= told.calls * u64::from(most - 1), "edge {id}");
        }
        let has = |of: fn(&Policy) -> bool| waits::parts(policy).any(of);
        assert!(has(|it| it.breaker.is_some()) || told.broken == 0);
        assert!(has(|it| it.bulkhead.is_some()) || told.crowded == 0);
        assert!(has(|it| it.throttle.is_some()) || told.throttled == 0);
        assert!(has(|it| it.attempt_timeout.is_some()) || told.timed_out == 0);
        assert!(has(has_budget) || told.denied == 0);
    }
    check_amplification(model, witness);
}

/// No more attempts reach a service than its callers' policies make of their calls.
fn check_amplification(model: &Model, witness: &Witness) {
    for (id, service) in witness.services.iter().enumerate() {
        let into = model.edges.iter().zip(&witness.edges).filter(|(edge, _)| edge.target == id);
        let most = into
            .map(|(edge, told)| Some(told.calls * most_attempts(&model.policies[edge.policy])?))
            .sum::<Option<u64>>();
        let found = service.first + service.retries;
        assert!(most.is_none_or(|most| found <= most), "service {id}: {found} of {most:?}");
    }
}

/// The product over a policy and those inside it; `None`: without limit.
fn most_attempts(policy: &Policy) -> Option<u64> {
    waits::parts(policy)
        .map(|part| {
            let hedged = part.hedge.as_ref().map_or(1, |hedge| hedge.config.max_attempts);
            Some(u64::from(part.max_attempts()?) * u64::from(hedged))
        })
        .product()
}

fn has_budget(policy: &Policy) -> bool {
    let of_retry = policy.retry.as_ref().is_some_and(|retry| retry.budget.is_some());
    of_retry || policy.hedge.as_ref().is_some_and(|hedge| hedge.budget.is_some())
}

/// Is one attempt of it more than what is simply sent?
fn is_nested(policy: &Policy) -> bool {
    policy.hedge.is_some() || policy.inner.is_some()
}

/// Retries under a budget that can be counted from outside: what was paid in, or saved up, or may
/// be under way at once.
fn check_budgets(model: &Model, witness: &Witness) {
    if sets(model) {
        return;
    }
    for (id, policy) in model.policies.iter().enumerate() {
        let Some(scoped) = policy.retry.as_ref().and_then(|retry| retry.budget) else { continue };
        if is_nested(policy) {
            continue; // Retries of those inside are told of along the same edge.
        }
        let edges = || model.edges.iter().zip(&witness.edges).filter(|(edge, _)| edge.policy == id);
        let states: u64 = edges()
            .map(|(edge, _)| match (scoped.per.caller, edge.caller) {
                (CallerScope::Caller, Caller::Population(id)) => {
                    u64::from(model.populations[id].size)
                }
                (CallerScope::Caller, Caller::Service(id)) => {
                    u64::from(model.services[id].replicas)
                }
                _ => 1,
            })
            .sum();
        let retries: u64 = edges().map(|(_, told)| told.backed_off).sum();
        let calls: u64 = edges().map(|(_, told)| told.calls).sum();
        let seconds = witness.last_at.as_nanos() / 1_000_000_000 + 1;
        let most = match scoped.config {
            BudgetConfig::Ratio { ratio_milli, floor_milli_per_s, start_milli, .. } => {
                let income = u64::from(floor_milli_per_s) * seconds;
                // Whatever it is paid for, there is no more of it than calls and retries.
                let paid_in = (calls + retries) * u64::from(ratio_milli);
                states * (u64::from(start_milli) + income) + paid_in
            }
            BudgetConfig::Rate(rate) if rate.when_empty == WhenEmpty::Refuse => {
                states * (u64::from(rate.burst) * 1_000 + u64::from(rate.milli_per_s) * seconds)
            }
            BudgetConfig::ClientRatio { share_milli, window: Duration::MAX } => {
                calls * u64::from(share_milli) + states * 1_000
            }
            BudgetConfig::Concurrent { limit } => {
                let under_way: u32 = edges().map(|(_, told)| told.most_backing_off).sum();
                let most = states * u64::from(limit);
                assert!(u64::from(under_way) <= most, "policy {id}: {under_way} of {most}");
                continue;
            }
            _ => continue,
        };
        assert!(retries * 1_000 <= most, "policy {id}: {retries} retries, {most} thousandths");
    }
}

/// Effects are of writes, a second one follows a first, and a key that is always the same and never
/// forgotten lets no second one through.
fn check_effects(model: &Model, record: &RunRecord, witness: &Witness) {
    for (id, service) in model.services.iter().enumerate() {
        let told = &witness.services[id];
        let sum = |of: fn(&stormlab::measure::record::ServiceWindow) -> u32| {
            record.series.service(id).map(|window| u64::from(of(window))).sum::<u64>()
        };
        let (first, all): (u64, u64) =
            (told.effects.get(&1).copied().unwrap_or(0), told.effects.values().sum());
        assert_eq!(sum(|window| window.effects), all);
        assert_eq!(sum(|window| window.duplicate_effects), all - first);
        assert_eq!(sum(|window| window.duplicated), *told.effects.get(&2).unwrap_or(&0));
        assert_eq!(sum(|window| window.replays), told.replays);
        assert_eq!(sum(|window| window.conflicts), told.conflicts);
        assert_eq!(sum(|window| window.mismatches), told.mismatches);
        let counts: Vec<_> = told.effects.values().rev().collect();
        assert!(counts.is_sorted(), "service {id}: {:?}", told.effects);
        assert!(told.effects.keys().copied().eq(1..=told.effects.len() as u32), "service {id}");
        let known = told.replays + told.conflicts + told.mismatches;
        assert!(known <= told.answered);
        assert!(service.idempotency.is_some() || known == 0);
        let operations =
            || model.edges.iter().filter(|edge| edge.target == id).map(|edge| edge.operation);
        let keyed = |operation: Operation| {
            let made = MadeOnce::Request;
            operation == Operation::Read || operation == Operation::Write(Some(made))
        };
        assert!(operations().any(Operation::writes) || all == 0);
        const DAY: Duration = Duration::from_secs(86_400);
        // A failure below forgets the key of a handler that has taken effect.
        let keeps = |it: &Idempotency| {
            it.kept_for == DAY
                && it.lasts == DAY
                && (service.calls.is_empty() || it.remembers == Remembers::Answers)
        };
        if operations().all(keyed) && service.idempotency.as_ref().is_some_and(keeps) {
            assert_eq!(all, first, "service {id}");
        }
    }
}

/// Of a result that was written the wait ends at most once; of destructive reads it is handed out at
/// most once; and only a consumer that tells failures from nothing misreads none.
fn check_deferred(model: &Model, record: &RunRecord, witness: &Witness) {
    for (id, counts) in record.deferred.iter().enumerate() {
        let told = &witness.services[id];
        let of = |why: WaitEnd| told.wait_ends[why as usize];
        if model.run.warm_up.is_zero() {
            assert_eq!(
                (counts.written, counts.misread, counts.destroyed, counts.ends),
                (told.written, told.misread, told.destroyed, told.wait_ends)
            );
        }
        let read = of(WaitEnd::Done) + of(WaitEnd::Failed) + of(WaitEnd::FalseSuccess);
        let ended = read + of(WaitEnd::Overwritten) + of(WaitEnd::Unread);
        assert!(ended <= told.written, "service {id}: {told:?}");
        let calls = || {
            let edges = model.edges.iter().filter(|edge| edge.target == id);
            edges.filter_map(|edge| edge.deferred.as_ref())
        };
        let typed = |it: &Deferred| matches!(it.consumer, Consumer::Typed | Consumer::RejectList);
        assert!(read + told.destroyed <= told.written, "service {id}: {told:?}");
        assert!(!calls().all(typed) || told.misread == 0 || sets(model), "service {id}");
        assert!(calls().any(|_| true) || sets(model) || told.written == 0, "service {id}");
        let plain = |it: &Deferred| it.read == ReadKind::Plain;
        assert!(!calls().all(plain) || told.destroyed == 0 || sets(model), "service {id}");
    }
}

fn check_latencies(histogram: &Histogram) {
    let quantiles: Vec<_> =
        (1..100).filter_map(|percent| histogram.quantile(f64::from(percent) / 100.0)).collect();
    assert!(quantiles.is_sorted(), "percentiles rise");
    assert!(quantiles.iter().all(|quantile| quantile.is_finite()));
    assert!(quantiles.is_empty() == (histogram.count() == 0));
}

/// Does the operator change settings while it runs?
fn sets(model: &Model) -> bool {
    model.operator.iter().any(|action| matches!(action.what, Deed::Set { .. }))
}

/// The most workers that a replica of a service ever has.
fn most_workers(model: &Model, service: usize) -> u32 {
    let changed = model.operator.iter().filter_map(|action| match &action.what {
        Deed::Set { model, .. } => Some(model.services[service].workers),
        _ => None,
    });
    changed.chain([model.services[service].workers]).max().unwrap_or(0)
}
