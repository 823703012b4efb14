//! What explodes is ended, says by which limit, and keeps what was measured.

use std::sync::atomic::AtomicBool;

use stormlab::engine::RunError;
use stormlab::measure::record::Ending;
use stormlab::measure::record::LimitKind;
use stormlab::measure::record::RunRecord;
use stormlab::measure::simulate;
use stormlab::scenario::model::Model;

use crate::lab::model;
use crate::lab::run;

/// A storm without end: a server at a tenth of the load, callers that never give up, no bound.
fn storm(limits: &str) -> Model {
    model(&format!(
        "
run: {{ horizon: 1h, warm_up: 0s, window: 1s, limits: {limits} }}
clients: {{ web: {{ arrivals: {{ poisson: 1000/s }}, calls: server, policy: eager }} }}
policies:
  eager:
    attempt_timeout: 500ms
    retry: {{ max_attempts: unlimited, backoff: 100ms, jitter: full }}
services: {{ server: {{ workers: 1, work: {{ exponential: 10ms }} }} }}
"
    ))
}

/// The run ended early by that limit, and its record is whole up to there.
#[track_caller]
fn check_partial(record: &RunRecord, expected: LimitKind) {
    let Ending::Limit { limit, at } = record.ending else { panic!("it ran to its end") };
    assert_eq!(limit, expected);
    let windows = at.as_nanos() / 1_000_000_000 + 1;
    assert!(
        [windows, windows - 1].contains(&(record.series.windows as u64)),
        "{} windows until {at:?}",
        record.series.windows
    );
    let verdicts = record.verdicts[0];
    let over = verdicts.ok + verdicts.late + verdicts.failed.iter().sum::<u64>();
    assert_eq!(verdicts.born, over + verdicts.open);
    let born: u32 = record.series.populations.iter().map(|window| window.born).sum();
    assert_eq!(u64::from(born), verdicts.born);
}

#[test]
fn too_much_in_flight_ends_a_run() {
    let record = run(&storm("{ in_flight: 20000 }"));
    check_partial(&record, LimitKind::InFlight);
    // Looked at every few thousand events, so a little more than the limit may be found.
    assert!((20_000..30_000).contains(&record.peak_attempts), "{}", record.peak_attempts);
}

#[test]
fn too_much_pending_ends_a_run() {
    check_partial(&run(&storm("{ pending: 5000 }")), LimitKind::Pending);
}

#[test]
fn too_many_events_end_a_run() {
    let record = run(&storm("{ events: 100000 }"));
    check_partial(&record, LimitKind::Events);
    assert!((100_000..110_000).contains(&record.events), "{}", record.events);
}

#[test]
fn too_much_memory_ends_a_run() {
    let record = run(&storm("{ memory: 8MiB }"));
    check_partial(&record, LimitKind::Memory);
    // Not before there is something that could fill it.
    assert!(record.peak_attempts > 10_000, "{}", record.peak_attempts);
}

#[test]
fn too_much_wall_time_ends_a_run() {
    check_partial(&run(&storm("{ wall: 1ms }")), LimitKind::Wall);
}

#[test]
fn a_raised_flag_interrupts_a_run_and_leaves_no_record() {
    let stopped = simulate(&storm("{}"), 1, 0, &AtomicBool::new(true));
    assert_eq!(stopped, Err(RunError::Interrupted));
}

/// Zero back-off against zero service, for ever: a thousand tries without a step in time.
#[test]
fn a_retry_loop_that_stands_still_ends_a_run() {
    for policy in [
        "{ retry: { max_attempts: unlimited } }",
        "{ retry: { max_attempts: 1000000 } }",
        "{ retry: { max_attempts: unlimited, on: [transient, breaker_open] },
           breaker: { consecutive: 3, open_for: 1s } }",
        "{ retry: { max_attempts: unlimited, on: [transient, bulkhead_full] },
           bulkhead: { limit: 1 }, order: [retry, bulkhead] }",
        "{ retry: { max_attempts: unlimited }, timeout: 1s, attempt_timeout: 1s }",
    ] {
        let record = run(&model(&format!(
            "
run: {{ horizon: 1h, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ constant: 1/s }}, calls: server, policy: p }} }}
policies: {{ p: {policy} }}
services:
  server: {{ workers: 1, work: 0s, errors: {{ class: unavailable, share: 100% }} }}
"
        )));
        check_partial(&record, LimitKind::NoProgress);
        assert_eq!(record.verdicts[0].open, 1, "{policy}");
        assert!(record.events < 10_000, "{} events under {policy}", record.events);
    }
}

/// The same in a layer below, where the request waits for a handler.
#[test]
fn a_retry_loop_of_a_handler_that_stands_still_ends_a_run() {
    let record = run(&model(
        "
run: { horizon: 1h, warm_up: 0s, window: 1s }
clients: { web: { arrivals: { constant: 1/s }, calls: front } }
policies: { p: { retry: { max_attempts: unlimited } } }
services:
  front: { workers: 1, work: 1ms, calls: [{ to: back, policy: p }] }
  back: { workers: 1, work: 0s, errors: { class: unavailable, share: 100% } }
",
    ));
    check_partial(&record, LimitKind::NoProgress);
}

/// A thousand tries are allowed, however fast they follow one another.
#[test]
fn a_long_chain_that_ends_is_no_loop() {
    let record = run(&model(
        "
run: { horizon: 10s, warm_up: 0s, window: 1s }
clients: { web: { arrivals: { constant: 1/s }, calls: server, policy: p } }
policies: { p: { retry: { max_attempts: 1000 } } }
services: { server: { workers: 1, work: 0s, errors: { class: unavailable, share: 100% } } }
",
    ));
    assert_eq!(record.ending, Ending::Complete);
    assert_eq!(record.series.services.iter().map(|window| window.offered()).sum::<u32>(), 9_000);
}

/// A user who thinks for no time about an answer that took none.
#[test]
fn a_closed_loop_that_stands_still_ends_a_run() {
    let closed = |think: &str, work: &str, operator: &str| {
        run(&model(&format!(
            "
run: {{ horizon: 10s, warm_up: 0s, window: 1s, limits: {{ events: 2000000 }} }}
clients: {{ web: {{ population: 3, users: {{ think: {think} }}, calls: server }} }}
services: {{ server: {{ workers: 1, work: {work} }} }}
operator: {operator}
"
        )))
    };
    check_partial(&closed("0s", "0s", "[]"), LimitKind::NoProgress);
    let shed = "[{ at: 5s, shed: { clients: web, share: 100%, lasts: 1s } }]";
    check_partial(&closed("0s", "10ms", shed), LimitKind::NoProgress);
    assert_eq!(closed("1ms", "0s", "[]").ending, Ending::Complete);
    assert_eq!(closed("0s", "1ms", "[]").ending, Ending::Complete);
}

/// The least memory, in steps of an eighth, with which ten stable minutes end well is enough, with
/// one step more, for a hundred: what is over leaves nothing behind.
#[test]
fn memory_does_not_grow_with_simulated_time() {
    let completes = |minutes: u64, memory: u64| {
        let mut model = model(
            "
run: { horizon: 1h, warm_up: 0s, window: 10s }
clients:
  web: { population: 50, arrivals: { poisson: 50/s }, calls: front, policy: all, deadline: 5s }
  users: { population: 20, users: { think: { exponential: 1s } }, calls: front, policy: all }
policies:
  all:
    order: [timeout, bulkhead, retry, breaker, attempt_timeout]
    timeout: 4s
    attempt_timeout: { after: { uniform: { low: 20ms, high: 1s } } }
    retry:
      max_attempts: 4
      backoff: { exponential: { base: 10ms, cap: 1s } }
      jitter: decorrelated
      budget: { ratio: { share: 20%, deposit: call } }
    breaker: { window: { length: 5s, failure_share: 90%, minimum_calls: 10 }, open_for: 100ms }
    bulkhead: { limit: 5, queue: 5 }
services:
  front:
    replicas: 3
    workers: 4
    work: { exponential: 2ms }
    cancellation: full
    calls: [{ to: back, policy: all }]
  back:
    workers: 5
    work: { exponential: 40ms }
    cancellation: queue
    queue: { limit: 20, order: lifo, drop_expired: true }
    errors: { class: unavailable, share: 5% }
links: { default: { latency: { exponential: 1ms }, loss: 0.1% } }
",
        );
        model.run.horizon = stormlab::units::Duration::from_secs(60 * minutes);
        model.run.limits.memory_bytes = memory;
        match run(&model).ending {
            Ending::Complete => true,
            Ending::Limit { limit, .. } => {
                assert_eq!(limit, LimitKind::Memory);
                false
            }
        }
    };
    let mut memory = 1 << 12;
    while !completes(10, memory) {
        memory += memory / 8;
    }
    assert!(memory < 1 << 20, "{memory} bytes for a dozen requests in flight");
    assert!(completes(100, memory + memory / 8));
}
