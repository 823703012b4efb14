//! R15: what a worker asks before it executes a job: age, place, rate, suspension, its own faults.

use super::*;

/// [W24] The third waits until the first is back, in the queue or in its worker.
#[test]
fn r15_so_many_are_in_flight_to_one_destination() {
    let crowd = |when_full, workers| {
        let mut model = jobs("{ burst: { count: 3, at: 5ms } }", PLAIN, FOUR, RECEIVERS);
        model.populations[0].size = 1;
        model.queues[0].workers = workers;
        model.queues[0].destinations =
            Destinations { in_flight: Some(2), when_full, ..Destinations::default() };
        diary(&model)
    };
    let returns = crowd(WhenFullyInFlight::Returns, 50);
    assert_eq!(returns.moments_ms(&["reached"]), [10.0, 10.0, 110.0]);
    assert_eq!(returns.count(&["returned", "Parked"]), 1);
    let holds = crowd(WhenFullyInFlight::HoldsWorker, 3);
    assert_eq!(holds.moments_ms(&["reached"]), [10.0, 10.0, 110.0]);
    assert_eq!(holds.count(&["returned"]), 0);
}

/// [W25] Where the eleventh waits in a worker, one receiver that hangs takes the whole pool and
/// the healthy ones starve; where it waits in the queue they do not.
#[test]
fn r15_a_hanging_destination_takes_the_pool_where_waiting_holds_a_worker() {
    let delivered = |when_full| {
        let mut model = jobs("{ constant: 20/s }", "{ attempt_timeout: 15s }", FOUR, RECEIVERS);
        model.services[0].balance = stormlab::scenario::model::Balance::ByDestination;
        model.queues[0].workers = 20;
        model.queues[0].destinations =
            Destinations { in_flight: Some(10), when_full, ..Destinations::default() };
        let mut model = with_trigger(model, 0, 100_000, Effect::Hang(0));
        model.triggers[0].replicas = Some(1);
        let diary = diary(&model);
        diary.moments_ms(&["over", "done"]).iter().filter(|at| **at < 100_000.0).count()
    };
    let (returns, holds) =
        (delivered(WhenFullyInFlight::Returns), delivered(WhenFullyInFlight::HoldsWorker));
    assert!(returns > 1_700, "nine of ten receivers are healthy: {returns}");
    assert!(holds < 700, "the pool is taken: {holds}");
}

/// [W31] Ten per second, repetitions included; no attempt is used up by waiting.
#[test]
fn r15_a_destination_has_a_rate() {
    let mut model = jobs("{ burst: { count: 30, at: 5ms } }", PLAIN, FOUR, RECEIVERS);
    model.populations[0].size = 1;
    let rate = Rate::per_second(10.0).expect("a rate");
    model.queues[0].destinations =
        Destinations { rate: Some(DeliveryRate { rate, burst: 2 }), ..Destinations::default() };
    let diary = diary(&model);
    let moments = diary.moments_ms(&["reached"]);
    assert_eq!(moments[..4], [10.0, 10.0, 110.0, 210.0]);
    assert_eq!(moments.len(), 30);
    assert_eq!(*moments.last().expect("a last one"), 2810.0);
    assert_eq!(diary.count(&["over", "done", "executions", "1"]), 30);
}

/// [W29] A worker's own failure says nothing of the job: same due time, same count. The mistaken
/// variant counts it.
#[test]
fn r15_a_worker_error_is_no_attempt() {
    let failing = |consumes_attempt, returns| {
        let mut model = jobs("{ constant: 1/s }", PLAIN, FOUR, RECEIVERS);
        model.queues[0].lease = Some(secs(2));
        model.queues[0].worker_errors = Some(WorkerErrors {
            share: Share::new(0.5).expect("a share"),
            of: ErrorsOf::Attempts,
            returns,
            consumes_attempt,
        });
        diary(&model)
    };
    let right = failing(false, Returns::Due(Duration::ZERO));
    assert_eq!(right.count(&["over", "attempts"]), 0);
    assert!(right.count(&["returned", "WorkerError"]) > 100);
    let wrong = failing(true, Returns::Due(Duration::ZERO));
    let lost = wrong.count(&["over", "attempts"]);
    assert!((4..=25).contains(&lost), "one in sixteen fails four times: {lost}");
    let leased = failing(false, Returns::WithLease);
    assert!(leased.count(&["returned", "LeaseEnded"]) > 100);
}

/// [W30] A job that always fails its worker is claimed at every look, for ever; a pause of its own
/// makes that bearable, and without a lease a dead worker's job is never seen again.
#[test]
fn r15_a_job_that_always_crashes_its_worker() {
    let poisoned = |returns, lease| {
        let mut model = one(FOUR);
        model.queues[0].lease = lease;
        model.queues[0].worker_errors = Some(WorkerErrors {
            share: Share::ONE,
            of: ErrorsOf::Requests,
            returns,
            consumes_attempt: false,
        });
        diary(&model)
    };
    assert_eq!(poisoned(Returns::Due(Duration::ZERO), None).count(&["claimed"]), 19_999);
    assert_eq!(poisoned(Returns::Due(secs(60)), None).count(&["claimed"]), 4);
    assert_eq!(poisoned(Returns::WithLease, Some(secs(30))).count(&["claimed"]), 7);
    assert_eq!(poisoned(Returns::WithLease, None).count(&["claimed"]), 1);
}

/// [W29, K17] A process that dies leaves its jobs until their leases end; one that is shut down
/// gives them back at once. Neither is an attempt.
#[test]
fn r15_a_process_dies_or_is_shut_down() {
    let stopped = |how| {
        let mut model = jobs(ONE, PLAIN, FOUR, "{ workers: 9, work: 3s }");
        model.queues[0].lease = Some(secs(60));
        diary(&with_trigger(model, 1000, 4000, Effect::Stop { queue: 0, processes: 1, how }))
    };
    let crash = stopped(Stop::Crash);
    assert_eq!(crash.moments_ms(&["claimed"]), [10.0, 60_010.0]);
    assert_eq!(over(&crash), ["63010ms queue over done executions 2"]);
    let shutdown = stopped(Stop::Shutdown);
    assert_eq!(shutdown.moments_ms(&["claimed"]), [10.0, 5000.0]);
}

/// [W37] A signature made once grows older than the receiver's window; one made afresh does not.
#[test]
fn r15_a_kept_signature_grows_old() {
    let signed = |signed_once| {
        let mut model = one(FOUR);
        model.queues[0].signed_once = signed_once;
        model.services[0].replay_window =
            Some(ReplayWindow { lasts: secs(5), answer: Class::Denied });
        diary(&refusing(model, 4_000))
    };
    assert_eq!(over(&signed(true)), ["9010ms queue over permanent executions 3"]);
    assert_eq!(over(&signed(false)), ["9110ms queue over done executions 3"]);
}

/// [W33] Where jobs of a suspended destination are dead, those that wait for it are, too.
#[test]
fn r15_who_waits_for_a_suspended_destination_is_not_spared() {
    for when_full in [WhenFullyInFlight::Returns, WhenFullyInFlight::HoldsWorker] {
        let mut model = jobs("{ burst: { count: 10, at: 5ms } }", PLAIN, FOUR, RECEIVERS);
        model.populations[0].size = 1;
        model.queues[0].destinations = Destinations {
            in_flight: Some(1),
            when_full,
            suspend: Some(Suspend {
                on: ClassSet::PERMANENT,
                at: 3,
                lasts: None,
                jobs: JobsMeanwhile::DeadLetter,
            }),
            ..Destinations::default()
        };
        let diary = diary(&failing(model, 100_000, Class::Gone));
        assert_eq!(diary.count(&["over", "permanent"]), 3, "{when_full:?}");
        assert_eq!(diary.count(&["over", "suspended"]), 7, "{when_full:?}");
    }
}

/// [W25] A process that dies takes nothing of another queue's with it, held jobs included.
#[test]
fn r15_a_process_of_one_queue_is_none_of_another() {
    let mut model = crate::lab::model(
        "
run: { horizon: 60s, warm_up: 0s, window: 1s }
clients:
  a: { arrivals: { constant: 5/s }, calls: s, queue: q }
  b: { arrivals: { constant: 30/s }, calls: s, queue: r }
queues:
  q: { workers: 10, lease: 5s, claim: { every: 100ms } }
  r: { workers: 10, destinations: { in_flight: 1, when_full: holds_worker }, claim: { every: 100ms } }
services: { s: { workers: 100, work: 50ms } }
",
    );
    let stop = Effect::Stop { queue: 0, processes: 1, how: Stop::Crash };
    model = with_trigger(model, 20_050, 1_000, stop);
    let diary = diary(&model);
    let done = diary.lines(&["done"]).iter().filter(|line| line.contains(" q ")).count();
    assert!(done > 290, "a crash of a second costs a second: {done}");
}

/// A job that its worker holds back grows old, and fails its worker, like any other.
#[test]
fn r15_a_held_job_is_looked_at_again_when_its_place_is_free() {
    let aged = "{ max_attempts: 1, max_elapsed: 5s }";
    let mut model =
        jobs("{ burst: { count: 20, at: 5ms } }", PLAIN, aged, "{ workers: 9, work: 3s }");
    model.populations[0].size = 1;
    model.queues[0].destinations = Destinations {
        in_flight: Some(1),
        when_full: WhenFullyInFlight::HoldsWorker,
        ..Destinations::default()
    };
    let diary = diary(&model);
    assert_eq!(diary.count(&["over", "done"]), 2);
    assert_eq!(diary.count(&["over", "age"]), 18);
}
