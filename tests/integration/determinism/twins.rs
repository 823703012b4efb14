//! Pairs of runs that must agree: two ways to say the same thing, or one thing on another scale.

use stormlab::measure::record::RunRecord;
use stormlab::scenario::model::Model;

use crate::lab::diary;
use crate::lab::model;
use crate::lab::run;

/// A system with chance everywhere, under a policy and with a queue.
fn system(policy: &str, queue: &str) -> Model {
    model(&format!(
        "
run: {{ horizon: 60s, warm_up: 5s, window: 1s, seed: 11 }}
clients: {{ web: {{ population: 7, arrivals: {{ poisson: 40/s }}, calls: front, policy: p }} }}
policies: {{ p: {policy} }}
services:
  front: {{ replicas: 2, workers: 30, work: {{ exponential: 5ms }},
           calls: [{{ to: back, policy: p }}] }}
  back: {{ workers: 2, work: {{ exponential: 45ms }}, queue: {queue},
          errors: {{ class: unavailable, share: 10% }} }}
links: {{ default: {{ latency: {{ exponential: 1ms }} }} }}
"
    ))
}

/// The same history, whatever strategies that never act are in use beside it.
#[track_caller]
fn check_same(one: &RunRecord, other: &RunRecord) {
    assert_eq!(one.verdicts, other.verdicts);
    assert_eq!((one.events, one.fingerprint), (other.events, other.fingerprint));
    assert_eq!(one.series.populations, other.series.populations);
    assert_eq!(one.series.services, other.series.services);
    assert_eq!(one.latency_ok, other.latency_ok);
}

#[test]
fn one_attempt_is_no_retry() {
    check_same(
        &run(&system("{ attempt_timeout: 300ms, retry: { max_attempts: 1 } }", "{}")),
        &run(&system("{ attempt_timeout: 300ms }", "{}")),
    );
}

#[test]
fn without_end_is_without() {
    let retry = "retry: { max_attempts: 3, backoff: 20ms, jitter: full }";
    let plain = run(&system(&format!("{{ {retry} }}"), "{}"));
    for endless in [
        "attempt_timeout: 36500d",
        "timeout: 36500d",
        "bulkhead: { limit: 1000000 }",
        "breaker: { consecutive: 1000000, open_for: 1s }",
    ] {
        check_same(&run(&system(&format!("{{ {retry}, {endless} }}"), "{}")), &plain);
    }
    check_same(&run(&system(&format!("{{ {retry} }}"), "{ limit: 1000000 }")), &plain);
    let budget = "retry: { max_attempts: 3, backoff: 20ms, jitter: full,
        budget: { ratio: { share: 100%, deposit: call, cap: 1000000, start: 1000000 } } }";
    check_same(&run(&system(&format!("{{ {budget} }}"), "{}")), &plain);
}

/// As one would build it by hand: a timeout for ever, which no file can say.
#[test]
fn a_timeout_for_ever_is_no_timeout() {
    let retry = "{ retry: { max_attempts: 3, backoff: 20ms } }";
    let plain = run(&system(retry, "{}"));
    let mut endless = system(retry, "{}");
    endless.policies[0] = endless.policies[0].clone().with_timeout(stormlab::units::Duration::MAX);
    check_same(&run(&endless), &plain);
}

/// With constant work (draws are named after the way to a server), a layer that takes no time and
/// turns nobody away is not there.
#[test]
fn a_layer_without_work_or_limit_is_no_layer() {
    let server = "server: { workers: 2, work: 45ms, queue: { limit: 9 } }";
    let with = |clients: &str, services: &str| {
        run(&model(&format!(
            "
run: {{ horizon: 60s, warm_up: 5s, window: 1s }}
clients: {{ web: {{ arrivals: {{ poisson: 40/s }}, {clients} }} }}
policies: {{ p: {{ retry: {{ max_attempts: 3, backoff: 20ms, on: [unavailable, overloaded] }} }} }}
services: {{ {services} }}
"
        )))
    };
    let plain = with("calls: server, policy: p", server);
    let layer = "front: { workers: 1, holds_worker: false, work: 0s, calls: [{ to: server }] }";
    let layered = with("calls: front, policy: p", &format!("{layer}, {server}"));
    assert_eq!(plain.verdicts, layered.verdicts);
    assert_eq!(plain.series.populations, layered.series.populations);
    assert_eq!(plain.latency_ok, layered.latency_ok);
    assert_eq!(plain.latency_failed, layered.latency_failed);
    let reached = |record: &RunRecord, id| {
        record.series.service(id).map(|window| window.offered()).collect::<Vec<_>>()
    };
    assert_eq!(reached(&plain, 0), reached(&layered, 0));
    assert!(plain.verdicts[0].failed[0] > 10, "the retries had something to do");
}

/// Every span eight times as long and every rate an eighth: every moment is eight times as late,
/// and nothing else has changed.
#[test]
fn on_another_scale_of_time_the_same_things_happen() {
    let at_scale = |scale: u32| {
        let ms = |span: u32| format!("{}ms", span * scale);
        let rate = 80.0 / f64::from(scale);
        diary(&model(&format!(
            "
run: {{ horizon: {}, warm_up: 0s, window: {} }}
clients:
  web: {{ population: 3, arrivals: [{{ constant: {rate}/s }}, {{ burst: {{ count: 99, at: {} }} }}],
         calls: front, policy: p, deadline: {} }}
  users: {{ population: 5, users: {{ think: {} }}, calls: front, policy: p }}
policies:
  p: {{ timeout: {}, attempt_timeout: {}, bulkhead: {{ limit: 20, queue: 10 }},
       retry: {{ max_attempts: 3, backoff: {{ exponential: {{ base: {} }} }} }},
       breaker: {{ consecutive: 9, open_for: {} }} }}
services:
  front: {{ workers: 9, work: {}, cancellation: full, calls: [{{ to: back, policy: p }}] }}
  back: {{ workers: 4, work: {}, cancellation: queue,
          overload: {{ crashes_at: {{ connections: 9 }}, restarts_after: {} }} }}
links: {{ default: {{ latency: {} }} }}
operator: [{{ at: {}, flush: back }}]
",
            ms(60_000),
            ms(1_000),
            ms(20_000),
            ms(110),
            ms(300),
            ms(1_500),
            ms(160),
            ms(30),
            ms(2_500),
            ms(5),
            ms(97),
            ms(3_300),
            ms(1),
            ms(25_000),
        )))
    };
    let (one, eight) = (at_scale(1), at_scale(8));
    for words in [
        ["born"],
        ["ended"],
        ["ok"],
        ["late"],
        ["reached"],
        ["refused"],
        ["rejected"],
        ["wasted"],
        ["removed"],
        ["timed-out"],
        ["crashed"],
    ] {
        let scaled: Vec<_> = one.moments_ms(&words).iter().map(|at| at * 8.0).collect();
        assert!(!scaled.is_empty(), "{words:?} never happens");
        assert_eq!(eight.moments_ms(&words), scaled, "{words:?}");
    }
    let events = |diary: &crate::lab::Diary| diary.report.as_ref().map(|report| report.events);
    assert_eq!(events(&one), events(&eight));
}

/// Two systems side by side, their entries in one order or the other, under one name or another.
#[test]
fn order_and_names_of_services_and_policies_do_not_matter() {
    let clients = |first: &str, second: &str| {
        format!(
            "
run: {{ horizon: 60s, warm_up: 5s, window: 1s }}
clients:
  one: {{ population: 3, arrivals: {{ poisson: 40/s }}, calls: {first}, policy: {first}-p }}
  two: {{ population: 3, users: {{ think: {{ exponential: 50ms }} }}, calls: {second},
         policy: {second}-p }}
"
        )
    };
    let policy = |name: &str, attempts: u32| {
        format!(
            "  {name}-p: {{ attempt_timeout: 300ms, breaker: {{ consecutive: 3, open_for: 1s }},
                 retry: {{ max_attempts: {attempts}, backoff: 20ms, jitter: full }} }}\n"
        )
    };
    let service = |name: &str, workers: u32| {
        format!(
            "  {name}: {{ replicas: 2, balance: random, workers: {workers},
                 work: {{ exponential: 60ms }} }}\n"
        )
    };
    let base = run(&model(&format!(
        "{}policies:\n{}{}services:\n{}{}",
        clients("a", "b"),
        policy("a", 2),
        policy("b", 3),
        service("a", 1),
        service("b", 2)
    )));
    let renamed = run(&model(&format!(
        "{}policies:\n{}{}services:\n{}{}",
        clients("z", "y"),
        policy("z", 2),
        policy("y", 3),
        service("z", 1),
        service("y", 2)
    )));
    assert_eq!(base, renamed);
    let turned = run(&model(&format!(
        "{}policies:\n{}{}services:\n{}{}",
        clients("a", "b"),
        policy("b", 3),
        policy("a", 2),
        service("b", 2),
        service("a", 1)
    )));
    assert_eq!((base.events, base.fingerprint), (turned.events, turned.fingerprint));
    assert_eq!(base.verdicts, turned.verdicts);
    let of = |record: &RunRecord, id| record.series.service(id).copied().collect::<Vec<_>>();
    assert_eq!((of(&base, 0), of(&base, 1)), (of(&turned, 1), of(&turned, 0)));
}

/// Common random numbers: whatever the policy does, the same requests are born at the same
/// moments to the same clients, and their first attempts take the same work.
#[test]
fn births_and_demands_do_not_depend_on_the_policy() {
    let under = |policy: &str| {
        diary(&model(&format!(
            "
run: {{ horizon: 60s, warm_up: 5s, window: 1s }}
clients: {{ web: {{ population: 9, arrivals: {{ poisson: 40/s }}, calls: server, policy: p }} }}
policies: {{ p: {policy} }}
services: {{ server: {{ workers: 1000, work: {{ exponential: 200ms }},
                       errors: {{ class: unavailable, share: 20% }} }} }}
"
        )))
    };
    let plain = under("{ attempt_timeout: 10s }");
    for policy in [
        "{ attempt_timeout: 150ms, retry: { max_attempts: 4, backoff: 100ms, jitter: full } }",
        "{ retry: { max_attempts: 2, budget: { ratio: { share: 10%, deposit: call } } } }",
        "{ attempt_timeout: { after: { exponential: 1s } }, retry: { max_attempts: 9 } }",
    ] {
        let other = under(policy);
        assert_eq!(plain.lines(&["born"]), other.lines(&["born"]));
        // The worker's time, with or without somebody who waits for the answer.
        let works = |diary: &crate::lab::Diary| {
            let lines = diary.lines(&["worked"]);
            let spans = lines.iter().map(|line| line.trim_end_matches(" wasted").to_owned());
            spans.collect::<std::collections::BTreeSet<_>>()
        };
        let (few, many) = (works(&plain), works(&other));
        assert!(few.is_subset(&many) && few.len() < many.len(), "{policy}");
    }
}

/// Under errors that do not depend on load, an attempt less for everybody is less for each; and a
/// worker more makes nobody wait longer.
#[test]
fn less_trying_is_less_load_and_more_workers_are_less_waiting() {
    let reached = |attempts: u32| {
        let series = run(&model(&format!(
            "
run: {{ horizon: 60s, warm_up: 5s, window: 1s }}
clients: {{ web: {{ arrivals: {{ poisson: 40/s }}, calls: server, policy: p }} }}
policies: {{ p: {{ retry: {{ max_attempts: {attempts}, backoff: 20ms }} }} }}
services: {{ server: {{ workers: 1000, work: {{ exponential: 45ms }},
                       errors: {{ class: unavailable, share: 30% }} }} }}
"
        )))
        .series;
        series.service(0).map(|window| u64::from(window.offered())).sum::<u64>()
    };
    let counts: Vec<_> = (1..5).map(reached).collect();
    assert!(counts.is_sorted_by(|few, many| few < many), "{counts:?}");
    let mean = |workers: u32| {
        let mut model = system("{}", "{}");
        model.services[1].workers = workers;
        run(&model).latency_ok.mean().expect("there were answers")
    };
    let means: Vec<_> = [1, 2, 3, 9].map(mean).to_vec();
    assert!(means.is_sorted_by(|few, many| few >= many), "{means:?}");
}
