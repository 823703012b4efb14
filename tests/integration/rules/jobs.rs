//! R14 to R17: jobs are claimed when due, executed under a lease, put back, and given up.
//!
//! The ids in brackets are those of the rules and figures that the source systems state.

mod executions;

use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::scenario::model::Claim;
use stormlab::scenario::model::ClaimOrder;
use stormlab::scenario::model::Counter;
use stormlab::scenario::model::CounterScope;
use stormlab::scenario::model::DeliveryRate;
use stormlab::scenario::model::Destinations;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Errors;
use stormlab::scenario::model::ErrorsOf;
use stormlab::scenario::model::JobQueue;
use stormlab::scenario::model::JobsMeanwhile;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::Refused;
use stormlab::scenario::model::ReplayWindow;
use stormlab::scenario::model::Requeue;
use stormlab::scenario::model::Returns;
use stormlab::scenario::model::Stop;
use stormlab::scenario::model::Suspend;
use stormlab::scenario::model::WhenFullyInFlight;
use stormlab::scenario::model::WorkerErrors;
use stormlab::units::Duration;
use stormlab::units::Rate;
use stormlab::units::Share;

use crate::lab::Diary;
use crate::lab::diary;
use crate::lab::model;
use crate::lab::with_trigger;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Waits of 3, 6 and 12 s, four executions.
const FOUR: &str = "{ max_attempts: 4, backoff: { exponential: { base: 3s, factor: 2 } }, \
                    on: [transient, internal] }";

/// Jobs of one type, ten receivers that take 100 ms, a queue that is looked at every 10 ms.
fn jobs(arrivals: &str, policy: &str, retry: &str, receivers: &str) -> Model {
    let mut model = model(&format!(
        "
run: {{ horizon: 200s, warm_up: 0s, window: 1s }}
clients: {{ mail: {{ population: 10, arrivals: {arrivals}, calls: receivers, policy: p }} }}
policies: {{ p: {policy}, retry: {{ retry: {retry} }} }}
services: {{ receivers: {receivers} }}
"
    ));
    let retry = model.policies.iter().find_map(|policy| policy.retry.clone()).expect("a retry");
    model.queues.push(JobQueue {
        name: "queue".into(),
        processes: 1,
        workers: 50,
        claim: Claim {
            every: Duration::from_millis(10),
            batch: 100,
            prefetch: 0,
            order: ClaimOrder::OldestDue,
            rate: None,
            idles_when_open: false,
        },
        lease: None,
        retry,
        refused: Refused::Postpone { after: secs(5), consumes_attempt: false },
        destinations: Destinations::default(),
        worker_errors: None,
        counter: None,
        requeue: Requeue::CompareAndSet,
        elsewhere: false,
        signed_once: false,
    });
    model.populations[0].queue = Some(0);
    model
}

const PLAIN: &str = "{ attempt_timeout: 10s }";
const RECEIVERS: &str = "{ replicas: 10, workers: 100, work: 100ms }";
const ONE: &str = "{ burst: { count: 1, at: 5ms } }";

fn one(retry: &str) -> Model {
    jobs(ONE, PLAIN, retry, RECEIVERS)
}

fn refusing(model: Model, lasts_ms: u64) -> Model {
    with_trigger(model, 0, lasts_ms, Effect::Refuse(0))
}

fn failing(model: Model, lasts_ms: u64, class: Class) -> Model {
    let errors = Errors { class, share: Share::ONE, of: ErrorsOf::Attempts };
    with_trigger(model, 0, lasts_ms, Effect::Errors { service: 0, errors })
}

fn over(diary: &Diary) -> Vec<&str> {
    diary.lines(&["over"])
}

/// [W26] A job is claimed at the next look, executed, and done; its request ends with it.
#[test]
fn r14_a_job_is_claimed_at_the_next_look() {
    let diary = diary(&one(FOUR));
    assert_eq!(
        diary.lines(&["queue"]),
        [
            "5ms queue stored",
            "10ms queue claimed due 5ms",
            "110ms queue executed 1",
            "110ms queue over done executions 1",
        ]
    );
    assert_eq!(diary.lines(&["ended"]), ["110ms mail ended ok after 105ms"]);
}

/// [K1, K11, P8] Waits of 3, 6 and 12 s: executions at 0, 3, 9 and 21 s, then the dead letters.
#[test]
fn r17_a_failure_waits_in_the_queue_and_is_given_up_after_its_attempts() {
    let diary = diary(&refusing(one(FOUR), 100_000));
    assert_eq!(diary.moments_ms(&["reached"]), [10.0, 3010.0, 9010.0, 21010.0]);
    assert_eq!(over(&diary), ["21010ms queue over attempts executions 4"]);
    assert_eq!(diary.lines(&["ended"]), ["21010ms mail ended attempts after 21.005s"]);
    assert_eq!(diary.count(&["reached", "after-refusal"]), 3);
}

/// [K2] A failure of a class that is not tried again is a dead letter at once.
#[test]
fn r17_a_permanent_failure_is_executed_once() {
    let diary = diary(&failing(one(FOUR), 100_000, Class::Rejected));
    assert_eq!(over(&diary), ["110ms queue over permanent executions 1"]);
    assert_eq!(diary.lines(&["ended"]), ["110ms mail ended not_retried after 105ms"]);
}

/// [W15, W17] Who waits longer than the age allows is given up without waiting.
#[test]
fn r17_a_job_is_given_up_by_age() {
    let aged = "{ max_attempts: 4, backoff: { exponential: { base: 3s, factor: 2 } }, \
                max_elapsed: 15s }";
    let diary = diary(&refusing(one(aged), 100_000));
    assert_eq!(over(&diary), ["9010ms queue over age executions 3"]);
    assert_eq!(diary.lines(&["ended"]), ["9010ms mail ended time after 9.005s"]);
}

/// [X10] A wait holds no worker: one worker serves another job meanwhile.
#[test]
fn r17_a_wait_holds_no_worker() {
    let mut model = jobs(
        "[{ burst: { count: 1, at: 5ms } }, { burst: { count: 1, at: 1s } }]",
        PLAIN,
        FOUR,
        RECEIVERS,
    );
    model.queues[0].workers = 1;
    let diary = diary(&refusing(model, 500));
    assert_eq!(diary.moments_ms(&["executed"]), [10.0, 1100.0, 3110.0]);
}

/// [K16, D36] An open breaker refuses three times and 15 s long, and no attempt is used up.
#[test]
fn r16_an_open_breaker_postpones_without_an_attempt() {
    let breaker = "{ breaker: { consecutive: 1, open_for: 14s } }";
    let model = |refused| {
        let mut model = jobs(ONE, breaker, FOUR, RECEIVERS);
        model.queues[0].refused = refused;
        refusing(model, 500)
    };
    let postponed = |consumes_attempt| Refused::Postpone { after: secs(5), consumes_attempt };
    let free = diary(&model(postponed(false)));
    assert_eq!(free.moments_ms(&["reached"]), [10.0, 18010.0]);
    assert_eq!(free.count(&["returned", "Postponed"]), 3);
    assert_eq!(over(&free), ["18110ms queue over done executions 2"]);

    let counted = diary(&model(postponed(true)));
    assert_eq!(over(&counted), ["13010ms queue over attempts executions 1"]);

    let dead = diary(&model(Refused::DeadLetter));
    assert_eq!(over(&dead), ["3010ms queue over refused executions 1"]);
    assert_eq!(dead.lines(&["ended"]), ["3010ms mail ended breaker after 3.005s"]);
}

/// [W33, W34] A row of permanent failures suspends, a success would end the row, and jobs wait.
#[test]
fn r17_a_row_of_permanent_failures_suspends_a_destination() {
    let suspended = |jobs_meanwhile, lasts| {
        let mut model = jobs("{ constant: 1/s }", PLAIN, FOUR, RECEIVERS);
        model.populations[0].size = 1;
        model.queues[0].destinations = Destinations {
            suspend: Some(Suspend { on: ClassSet::PERMANENT, at: 3, lasts, jobs: jobs_meanwhile }),
            ..Destinations::default()
        };
        diary(&failing(model, 100_000, Class::Gone))
    };
    let waits = suspended(JobsMeanwhile::Wait, None);
    assert_eq!(waits.count(&["over", "permanent"]), 3);
    assert_eq!(waits.count(&["reached"]), 3);
    assert_eq!(waits.count(&["suspended"]), 1);
    let dead = suspended(JobsMeanwhile::DeadLetter, None);
    assert_eq!(dead.count(&["over", "permanent"]), 3);
    assert!(dead.count(&["over", "suspended"]) > 190);
    let resumed = suspended(JobsMeanwhile::Wait, Some(secs(120)));
    assert_eq!(resumed.count(&["resumed"]), 1);
    assert!(resumed.count(&["over", "done"]) > 190, "all but the first three are delivered");
}

/// [D37] A lease shorter than the execution gives the job to a second consumer; what the first has
/// to say of a failure is heard only where nobody compares.
#[test]
fn r16_two_consumers_of_one_job() {
    let model = |requeue| {
        let mut model = jobs(
            ONE,
            PLAIN,
            "{ max_attempts: 2, backoff: { constant: 5s }, on: [transient, internal] }",
            "{ workers: 9, work: 3s, errors: { class: internal, share: 100% } }",
        );
        model.queues[0].lease = Some(secs(2));
        model.queues[0].requeue = requeue;
        diary(&model)
    };
    let compared = model(Requeue::CompareAndSet);
    assert_eq!(compared.count(&["over"]), 0, "no consumer is ever heard: its lease has ended");
    let blind = model(Requeue::Blind);
    // The first puts it back at 3.01 s for 8.01 s, the second gives it up at 5.01 s.
    assert_eq!(over(&blind), ["5010ms queue over attempts executions 2"]);
    assert_eq!(blind.moments_ms(&["reopened"]), [5010.0]);
    assert!(blind.moments_ms(&["reached"]).contains(&8010.0), "a job reported failed runs again");
}

/// [D18, D19, D20, D23, D24, D25] What a counter of failures counts.
#[test]
fn r17_a_counter_has_a_scope() {
    let counted = |scope, gives_up_at, ttl: Option<u64>, processes| {
        let mut model = one("{ max_attempts: unlimited, backoff: { constant: 10s } }");
        model.queues[0].processes = processes;
        let ttl = ttl.map(secs);
        model.queues[0].counter =
            Some(Counter { scope, gives_up_at, ttl, without_ttl: Share::ZERO });
        let diary = diary(&refusing(model, 190_000));
        (diary.count(&["reached"]), diary.count(&["over", "counter"]))
    };
    assert_eq!(counted(CounterScope::Job, 2, None, 1), (2, 1), "one retry");
    assert_eq!(counted(CounterScope::Nodes, 1, None, 1), (1, 1), "off by one: no retry");
    assert_eq!(counted(CounterScope::Nodes, 2, None, 1).1, 0, "the list does not grow");
    assert_eq!(counted(CounterScope::NewId, 2, None, 1).1, 0, "a new id, a new allowance");
    assert_eq!(counted(CounterScope::Job, 2, Some(9), 1).1, 0, "forgotten in the middle");
    assert_eq!(counted(CounterScope::Job, 2, Some(11), 1), (2, 1));
}

/// [D24, D27] Jobs of one entity share an allowance; a counter without its time to live makes
/// every later failure of the entity final.
#[test]
fn r17_a_counter_of_an_entity_is_shared() {
    let shared = |without_ttl| {
        let mut model = jobs(
            "[{ burst: { count: 1, at: 5ms } }, { burst: { count: 1, at: 100s } }]",
            PLAIN,
            "{ max_attempts: unlimited, backoff: { constant: 10s } }",
            RECEIVERS,
        );
        model.populations[0].size = 1;
        model.queues[0].counter = Some(Counter {
            scope: CounterScope::Entity,
            gives_up_at: 2,
            ttl: Some(secs(50)),
            without_ttl,
        });
        let diary = diary(&refusing(model, 190_000));
        diary.moments_ms(&["reached"])
    };
    assert_eq!(shared(Share::ZERO), [10.0, 10_010.0, 100_000.0, 110_000.0]);
    assert_eq!(shared(Share::ONE), [10.0, 10_010.0, 100_000.0]);
}

/// [W26] The oldest due come first, or those that fell due last.
#[test]
fn r14_the_order_of_claims() {
    let claimed = |order| {
        let mut model = jobs(
            "[{ burst: { count: 1, at: 5ms } }, { burst: { count: 1, at: 6ms } }]",
            PLAIN,
            FOUR,
            RECEIVERS,
        );
        model.queues[0].claim.order = order;
        let diary = diary(&model);
        diary.lines(&["claimed"]).join("; ")
    };
    assert_eq!(
        claimed(ClaimOrder::OldestDue),
        "10ms queue claimed due 5ms; 10ms queue claimed due 6ms"
    );
    assert_eq!(
        claimed(ClaimOrder::NewestDue),
        "10ms queue claimed due 6ms; 10ms queue claimed due 5ms"
    );
}

/// [W27] The rate of claims holds for all processes together.
#[test]
fn r14_claims_have_a_rate() {
    let mut model = jobs("{ burst: { count: 100, at: 5ms } }", PLAIN, FOUR, RECEIVERS);
    model.queues[0].workers = 1000;
    model.queues[0].processes = 4;
    model.queues[0].claim.rate = Rate::per_second(50.0);
    let moments = diary(&model).moments_ms(&["claimed"]);
    assert_eq!(moments.len(), 100);
    let last = moments.last().copied().expect("a last one");
    assert!((1_950.0..2_020.0).contains(&last), "{last}");
}

/// [D38] A job put back is claimed by another process than the last.
#[test]
fn r14_a_retry_goes_elsewhere() {
    let mut model = one(FOUR);
    model.services[0].balance = stormlab::scenario::model::Balance::ByProcess;
    model.queues[0].processes = 2;
    model.queues[0].elsewhere = true;
    let mut model = with_trigger(model, 0, 100_000, Effect::Refuse(0));
    model.triggers[0].replicas = Some(1);
    let diary = diary(&model);
    assert_eq!(diary.count(&["reached"]), 2 - usize::from(diary.count(&["refused"]) == 0));
    assert_eq!(diary.count(&["over", "done"]), 1);
}

/// [W27] Where looks are rare, no more than one look's worth of claims is saved up.
#[test]
fn r14_a_rate_of_claims_saves_up_one_look() {
    let mut model = jobs("{ burst: { count: 400, at: 5ms } }", PLAIN, FOUR, RECEIVERS);
    model.queues[0].workers = 1000;
    model.queues[0].processes = 10;
    model.queues[0].claim.every = secs(10);
    model.queues[0].claim.rate = Rate::per_second(10.0);
    let moments = diary(&model).moments_ms(&["claimed"]);
    let at_once = moments.iter().filter(|at| **at == moments[0]).count();
    assert!((10..=11).contains(&at_once), "{at_once}");
    let soon = moments.iter().filter(|at| **at <= 10_000.0).count();
    assert!((100..=110).contains(&soon), "{soon}");
}

/// [D38] Nobody waits for a process that is away: the one that is left takes the job again.
#[test]
fn r14_elsewhere_is_where_somebody_is() {
    let mut model = one(FOUR);
    model.queues[0].processes = 2;
    model.queues[0].elsewhere = true;
    let stop = Effect::Stop { queue: 0, processes: 1, how: Stop::Crash };
    let diary = diary(&refusing(with_trigger(model, 0, 100_000, stop), 5_000));
    assert_eq!(over(&diary), ["9115ms queue over done executions 3"]);
}

/// Jobs that wait are part of the backlog on which recovery is judged.
#[test]
fn r14_jobs_that_wait_are_backlog() {
    let mut model = jobs("{ constant: 20/s }", PLAIN, FOUR, RECEIVERS);
    model.queues[0].workers = 1;
    let backlog = crate::lab::run(&model).series.backlog;
    let last = *backlog.last().expect("a window");
    assert!((1_900..2_100).contains(&last), "one worker does 9 of 20 a second: {last}");
}

/// [W29] Whoever executes a job whose lease has ended repeats it: that is no first attempt.
#[test]
fn r16_an_execution_after_a_lost_lease_is_a_repetition() {
    let mut model = jobs(ONE, PLAIN, FOUR, "{ workers: 9, work: 3s }");
    model.queues[0].lease = Some(secs(2));
    let diary = diary(&model);
    assert_eq!(diary.count(&["reached", "first"]), 1);
    assert_eq!(diary.count(&["reached", "after-timeout"]), 1);
    assert_eq!(over(&diary), ["3010ms queue over done executions 2"]);
}

/// What a process claims in one look counts as events, so that limits end a run of nothing else.
#[test]
fn r14_claims_are_events() {
    let policy = "{ bulkhead: { limit: 1, per: [] } }";
    let mut model =
        jobs("{ burst: { count: 5000, at: 5ms } }", policy, FOUR, "{ workers: 1, work: 50s }");
    model.queues[0].workers = 5_000;
    model.queues[0].claim.batch = 5_000;
    model.queues[0].claim.every = Duration::from_millis(1);
    model.queues[0].refused =
        Refused::Postpone { after: Duration::from_nanos(1), consumes_attempt: false };
    model.run.limits.events = 100_000;
    let record = crate::lab::run(&model);
    assert!(matches!(record.ending, stormlab::measure::record::Ending::Limit { .. }));
    assert!(record.events < 120_000, "{}", record.events);
}
