//! Cases from the field that a simulator must not get wrong.

use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Model;
use stormlab::units::Share;

use super::system;
use crate::lab::bursts;
use crate::lab::diary;
use crate::lab::model;
use crate::lab::run;
use crate::lab::with_trigger;

/// C85. Two workers, room for two more, work of 5 s that nobody waits for after 1 s. Without
/// cancellation it still occupies the workers when somebody else comes at 2 s.
#[test]
fn c85_abandoned_work_occupies_a_worker_unless_it_can_be_cancelled() {
    let from_two_seconds_on = |cancellation: &str| {
        let server = format!(
            "{{ workers: 2, work: 5s, queue: {{ limit: 2 }}, cancellation: {cancellation} }}"
        );
        let arrivals = bursts(&[(5, 0), (1, 2_000)]);
        let diary = diary(&system(&arrivals, "{ attempt_timeout: 1s }", &server));
        assert_eq!(diary.moments_ms(&["refused"])[0], 0.0); // The fifth of the burst.
        let lines = diary.lines(&["started", "refused", "removed"]);
        let late = lines.into_iter().skip_while(|line| !line.starts_with("2000ms"));
        late.map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(from_two_seconds_on("none")[0], "2000ms server refused overloaded");
    assert_eq!(from_two_seconds_on("none")[1], "5000ms server started waited 5s");
    assert!(from_two_seconds_on("queue").is_empty()); // It waits in vain, for work that is useless.
    assert_eq!(from_two_seconds_on("full")[0], "2000ms server started waited 0s");
}

/// C87. Twice what one worker can do for ten seconds, callers that leave after a second and try
/// four times: half the capacity is then enough to keep it down, as long as it works in order on
/// what nobody waits for.
#[test]
fn c87_a_flood_leaves_stale_work_that_keeps_the_server_down() {
    let goodput_at_the_end = |attempts: u32, queue: &str| {
        let calm = model(&format!(
            "
run: {{ horizon: 120s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ constant: 5/s }}, calls: server, policy: p }} }}
policies: {{ p: {{ attempt_timeout: 1s, retry: {{ max_attempts: {attempts} }} }} }}
services: {{ server: {{ workers: 1, work: 100ms, queue: {queue} }} }}
"
        ));
        let flood = Effect::Surge { population: 0, factor: 4.0 };
        let record = run(&with_trigger(calm, 20_000, 10_000, flood));
        let last = &record.series.populations[110..];
        last.iter().map(|window| window.ok).sum::<u32>()
    };
    assert_eq!(goodput_at_the_end(4, "{}"), 0);
    assert_eq!(goodput_at_the_end(1, "{}"), 50);
    assert_eq!(goodput_at_the_end(4, "{ drop_expired: true }"), 50);
    assert_eq!(goodput_at_the_end(4, "{ limit: 5 }"), 50); // Less than a timeout's worth of work.
}

/// C111. A tick every third of a second for 10,000 s: 30,000 of them, no sum of floats astray.
#[test]
fn c111_a_period_that_is_no_whole_number_does_not_drift() {
    let ticks = model(
        "
run: { horizon: 10000s, warm_up: 0s, window: 10s }
clients: { clock: { arrivals: { constant: 3/s }, calls: server } }
services: { server: { workers: 1, work: 1ms } }
",
    );
    let record = run(&ticks);
    assert!((29_999..=30_001).contains(&record.verdicts[0].born), "{}", record.verdicts[0].born);
    assert!(record.series.populations.iter().all(|window| (29..=31).contains(&window.born)));
}

/// C107, C111. A thousand users who all act on the millisecond, through one queue: the same
/// history every time, to the last event.
#[test]
fn c107_simultaneous_events_run_in_a_fixed_order() {
    let agents = model(
        "
run: { horizon: 1s, warm_up: 0s, window: 1s }
clients: { agents: { population: 1000, users: { think: 1ms }, calls: server } }
services: { server: { workers: 7, work: 1ms, queue: { limit: 50 } } }
",
    );
    let first = run(&agents);
    assert!(first.events > 1_000_000, "{}", first.events);
    assert_eq!(run(&agents), first);
}

/// C113. Twice as much as twenty workers can do: never more than twenty are busy.
#[test]
fn c113_no_more_workers_are_busy_than_there_are() {
    let over = model(
        "
run: { horizon: 60s, warm_up: 0s, window: 1s }
clients: { web: { arrivals: { poisson: 40/s }, calls: server } }
services: { server: { workers: 20, work: { exponential: 1s } } }
",
    );
    let record = run(&over);
    let busy: Vec<_> = record.series.services.iter().map(|window| window.busy_ns).collect();
    assert!(busy.iter().all(|busy| *busy <= 20_000_000_000));
    assert!(busy[10..].iter().all(|busy| *busy == 20_000_000_000), "overload leaves nobody idle");
}

/// C117. Ten users and a second of service make ten per second, not the hundred somebody wanted;
/// as an open workload with ten places, the other ninety are turned away where one can see them.
#[test]
fn c117_too_few_workers_in_a_closed_loop_are_not_an_open_workload() {
    let closed = run(&model(
        "
run: { horizon: 60s, warm_up: 0s, window: 1s }
clients: { users: { population: 10, users: { think: 0s }, calls: server } }
services: { server: { workers: 1000, work: 1s } }
",
    ));
    assert_eq!(closed.verdicts[0].ok, 590); // The tenth at 60 s is beyond the end.
    let open = run(&model(
        "
run: { horizon: 60s, warm_up: 0s, window: 1s }
clients: { web: { arrivals: { constant: 100/s }, calls: server, policy: ten } }
policies: { ten: { bulkhead: { limit: 10 } } }
services: { server: { workers: 1000, work: 1s } }
",
    ));
    let window = open.series.edges[30];
    assert_eq!((window.calls, window.rejected_by_bulkhead), (100, 90));
    assert_eq!(open.series.populations[30].ok, 10);
}

/// C118. A stall of 15 s in 30 s: those who came during it waited 7.5 s on average, and half of
/// all came during it.
#[test]
fn c118_an_open_workload_sees_the_whole_of_a_stall() {
    let stalled = |clients: &str| {
        let calm = model(&format!(
            "
run: {{ horizon: 40s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ {clients}, calls: server }} }}
services: {{ server: {{ workers: 1000, work: 1ms }} }}
"
        ));
        let pause = Effect::Workers { service: 0, share: Share::ZERO };
        run(&with_trigger(calm, 7_000, 15_000, pause))
    };
    let open = stalled(
        "arrivals: { schedule: { process: constant,
                                 rates: [{ rate: 100/s }, { at: 30s, rate: 0/s }] } }",
    );
    let mean = open.latency_ok.mean().expect("there were answers") / 1e9;
    assert!((mean - 3.75).abs() < 0.05, "{mean}");
    // A closed loop of one user meets the stall once, and its mean hides it: 1 answer of 250.
    let closed = stalled("population: 1, users: { think: 99ms }");
    let mean = closed.latency_ok.mean().expect("there were answers") / 1e9;
    assert!(mean < 0.1, "{mean}");
}

/// C119. Half fail in a millisecond, half succeed in a second: two distributions, not one.
#[test]
fn c119_the_latency_of_failures_does_not_dilute_that_of_answers() {
    let two: Model = model(
        "
run: { horizon: 60s, warm_up: 0s, window: 1s }
clients:
  lucky: { arrivals: { constant: 10/s }, calls: slow }
  unlucky: { arrivals: { constant: 10/s }, calls: broken }
services:
  slow: { workers: 100, work: 1s }
  broken: { workers: 100, work: 1ms, errors: { class: internal, share: 100% } }
",
    );
    let record = run(&two);
    let (ok, failed) = (&record.latency_ok, &record.latency_failed);
    assert_eq!((ok.min(), ok.max()), (Some(1_000_000_000), Some(1_000_000_000)));
    assert_eq!((failed.min(), failed.max()), (Some(1_000_000), Some(1_000_000)));
}
