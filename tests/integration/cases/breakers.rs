//! Faults of circuit breakers. C58, C59, C65, C69 and C71 are beside the breaker itself; C62, C75
//! and C98 are also among the rules of the engine.

use stormlab::policy::breaker::BreakerState;
use stormlab::policy::breaker::Settled;
use stormlab::policy::breaker::opening::OpenJitter;
use stormlab::policy::breaker::opening::open_time;
use stormlab::random::Keys;
use stormlab::random::Purpose;
use stormlab::scenario;
use stormlab::scenario::model::Effect;

use crate::conformance::breaker::Bench;
use crate::conformance::breaker::written;
use crate::lab::Diary;
use crate::lab::bursts;
use crate::lab::diary;
use crate::lab::model;
use crate::lab::run;
use crate::lab::with_trigger;

fn system(arrivals: &str, policy: &str, server: &str) -> stormlab::scenario::model::Model {
    model(&format!(
        "
run: {{ horizon: 120s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {arrivals}, calls: server, policy: p }} }}
policies: {{ p: {policy} }}
services: {{ server: {server} }}
"
    ))
}

/// Two of ten probes are lost: they keep their places, and the maximum time ends it.
#[test]
fn c58_lost_probes_do_not_keep_it_half_open_for_ever() {
    let mut bench = Bench::written(
        "{ window: { calls: 10, failure_share: 50%, judged: on_outcome }, open_for: 10s,
           probes: 10, half_open: { places: in_all, decides_after: 10, at_most: 5s } }",
    );
    bench.pass(0.0, "FFFFFFFFFF");
    bench.pass(10_000.0, "SSSSSSSS");
    let lost = [(); 2].map(|()| bench.enter(10_000.0));
    bench.refused(14_999.0);
    bench.is(14_999.0, BreakerState::HalfOpen);
    bench.is(15_000.0, BreakerState::Open);
    // Or they report that they were cancelled, and two others take their places.
    bench.pass(25_000.0, "SSSSSSSS");
    let cancelled = [(); 2].map(|()| bench.enter(25_000.0));
    bench.refused(25_000.0);
    for permit in cancelled.into_iter().chain(lost) {
        bench.leave(25_001.0, permit, Settled::Ignored);
    }
    bench.pass(25_002.0, "SS");
    bench.is(25_002.0, BreakerState::Closed);
}

/// Three permitted, a minimum of ten: decided after three. A preset writes min(10, 3).
#[test]
fn c61_half_open_decides_when_the_permitted_calls_have_ended() {
    let mut bench = Bench::written(
        "{ window: { calls: 100, failure_share: 50%, minimum_calls: 10, judged: on_outcome },
           open_for: 1s, probes: 3, half_open: { places: in_all, decides_after: 3 } }",
    );
    bench.pass(0.0, "FFFFFFFFFF");
    bench.pass(1_000.0, "SF");
    bench.is(1_000.0, BreakerState::HalfOpen);
    bench.pass(1_000.0, "S");
    bench.is(1_000.0, BreakerState::Closed);
}

const SLOW: &str = "window: { length: 30s, failure_share: 50%, minimum_calls: 5,
    slow: { longer_than: 2s, share: 50% }, judged: on_outcome }, open_for: 10s";

/// Ten calls a second on a server that takes three seconds: the fifth that ends opens the breaker.
#[test]
fn c63_slow_calls_open_a_breaker_when_they_end() {
    let text = format!("{{ breaker: {{ {SLOW} }} }}");
    let slow = diary(&system("{ constant: 10/s }", &text, "{ workers: 99, work: 3s }"));
    let first = slow.moments_ms(&["rejected"])[0];
    // The first is born at 100 ms; the fifth ends at 3500 ms.
    assert_eq!(first, 3_500.0);
    let quick = diary(&system("{ constant: 10/s }", &text, "{ workers: 99, work: 2s }"));
    assert_eq!(quick.count(&["rejected"]), 0);
}

/// A server that never answers, callers without a timeout: nothing ends, so nothing is slow.
#[test]
fn c63_a_server_that_hangs_never_trips_the_rate_of_slow_calls() {
    let text = format!("{{ breaker: {{ {SLOW} }} }}");
    let calm = system("{ constant: 10/s }", &text, "{ workers: 9, work: 10ms }");
    let hanging = with_trigger(calm, 1_000, 60_000, Effect::Hang(0));
    let told = diary(&hanging);
    assert_eq!(told.count(&["rejected"]), 0);
    let open = run(&hanging).series.edges.iter().map(|window| window.breakers_open).max();
    assert_eq!(open, Some(0));
}

/// Five at once, twenty come: the fifteen that the caller's own bulkhead turns away say nothing
/// about a healthy server, unless somebody counts them.
#[test]
fn c64_what_an_inner_bulkhead_rejects_does_not_open_the_breaker() {
    let with = |counts: &str| {
        diary(&system(
            &bursts(&[(20, 0), (1, 5_000)]),
            &format!(
                "{{ order: [breaker, bulkhead], bulkhead: {{ limit: 5 }},
                    breaker: {{ consecutive: 10, open_for: 60s, counts: {counts} }} }}"
            ),
            "{ workers: 5, work: 1s }",
        ))
    };
    assert_eq!(with("[transient]").count(&["rejected", "breaker_open"]), 0);
    assert!(with("[transient, bulkhead_full]").count(&["rejected", "breaker_open"]) > 0);
}

/// `problem; help` of every problem of a breaker.
fn problems(breaker: &str) -> Vec<String> {
    let text = format!(
        "schema: 1\nname: test\nabout: A test.\nsource: Made up.\n\
         run: {{ horizon: 30s, warm_up: 0s, window: 1s }}\n\
         clients: {{ web: {{ arrivals: {{ constant: 1/s }}, calls: s, policy: p }} }}\n\
         policies: {{ p: {{ breaker: {breaker} }} }}\n\
         services: {{ s: {{ workers: 1, work: 1ms }} }}\n"
    );
    let found = scenario::parse("test.yaml", text.as_bytes()).err().unwrap_or_default();
    let line = |problem: &scenario::diagnostic::Diagnostic| {
        format!("{}; {}", problem.problem, problem.help.clone().unwrap_or_default())
    };
    found.iter().map(line).collect()
}

#[track_caller]
fn refuses(breaker: &str, expected: &str) {
    let found = problems(breaker);
    assert!(found.len() == 1 && found[0].contains(expected), "{breaker}: {found:#?}");
}

#[test]
fn c67_odd_break_times_and_windows_are_refused() {
    refuses("{ consecutive: 5, open_for: 0s }", "longer than 0s");
    refuses("{ consecutive: 5, open_for: { table: [1s, 0s] } }", "longer than 0s");
    let cap = "{ base: 10s, exponential: { cap: 5s } }";
    refuses(&format!("{{ consecutive: 5, open_for: {cap} }}"), "the longest opening is 5s");
    let window = |window: &str| format!("{{ window: {{ {window} }}, open_for: 5s }}");
    refuses(&window("length: 0s, failure_share: 50%, minimum_calls: 5"), "longer than 0s");
    refuses(&window("length: 5s, failure_share: 0%, minimum_calls: 5"), "always open");
    refuses(&window("length: 5s, more_than: 100%, minimum_calls: 5"), "more than 100 %");
    refuses(&window("calls: 10, failure_share: 50%, minimum_calls: 20"), "never holds 20");
    refuses(&window("calls: 10, failures: 11"), "never holds 11");
    refuses(&window("calls: 10, failure_share: 50%, buckets: 5"), "has no buckets");
    refuses(&window("length: 5s, failure_share: 50%"), "needs `minimum_calls`");
    let turns = "length: 5s, failure_share: 50%, minimum_calls: 5, judged: at_turns";
    refuses(&window(turns), "turns on the clock");
}

#[test]
fn c81_a_half_open_state_that_lets_nobody_in_or_never_ends_is_refused() {
    refuses("{ consecutive: 5, open_for: 5s, probes: 0 }", "0 is out of range");
    let half = |probes: u32, half: &str| {
        format!("{{ consecutive: 5, open_for: 5s, probes: {probes}, half_open: {{ {half} }} }}")
    };
    refuses(&half(1, "closes_after: 0"), "0 is out of range");
    refuses(&half(2, "places: in_all, closes_after: 3"), "half-open for ever");
    refuses(&half(2, "places: in_all, opens_after: 2"), "half-open for ever");
    refuses(&half(2, "decides_after: 2"), "there is none");
    refuses(&half(1, "others: wait, at_most: 5s"), "until that probe is back");
    let both = "{ window: { calls: 9, failure_share: 50% }, open_for: 5s, probes: 2, \
                half_open: { closes_after: 1, decides_after: 2 } }";
    refuses(both, "not both");
    let more = "{ window: { calls: 9, failure_share: 50% }, open_for: 5s, \
                half_open: { decides_after: 2 } }";
    refuses(more, "2 probes are to decide, and only 1 pass");
    let both = "{ consecutive: 5, open_for: 5s, counts: [timeout], ignores: [timeout] }";
    refuses(both, "counted and ignored");
}

/// 500 breakers that opened together: ±20 % of 30 s puts 500 probes into 12 s, 4.2 in each 100 ms.
#[test]
fn c73_jitter_spreads_the_probes_of_many_instances() {
    let config =
        written("{ consecutive: 1, open_for: { base: 30s, jitter: { plus_minus: 20% } } }");
    assert!(matches!(config.jitter, OpenJitter::PlusMinus(_)));
    let keys = Keys::new(73, 0);
    let mut bins = [0u32; 121];
    for instance in 0..500 {
        let draw = keys.draw(Purpose::BreakerOpening, instance, 0);
        let open = open_time(config.open_for, &config.growth, config.jitter, 1, draw);
        bins[(open.as_nanos() / 100_000_000 - 240) as usize] += 1;
    }
    assert_eq!(bins.iter().sum::<u32>(), 500);
    let peak = bins.iter().max();
    assert!((7..=16).contains(peak.unwrap()), "about 10: {peak:?}");
    // In the engine each instance has a draw of its own, too.
    let told = diary(&model(
        "
run: { horizon: 60s, warm_up: 0s, window: 1s }
clients: { web: { population: 100, arrivals: { constant: 1000/s }, calls: s, policy: p } }
policies:
  p: { breaker: { consecutive: 1, open_for: { base: 30s, jitter: { plus_minus: 20% } } } }
services: { s: { workers: 9, work: 0s, errors: { class: unavailable, share: 100% } } }
",
    ));
    let probes: Vec<_> = told
        .moments_ms(&["reached"])
        .into_iter()
        .filter(|at| (20_000.0..45_000.0).contains(at))
        .collect();
    assert_eq!(probes.len(), 100);
    assert!(probes[0] < 26_000.0 && probes[99] > 34_000.0, "{} to {}", probes[0], probes[99]);
}

/// Waits of 5 s and an open time of 5 s. The breaker's own timers come first at an instant, so the
/// retry that falls due then is a probe: five attempts. Where only later is late enough, three.
#[test]
fn c75_the_tie_between_a_retry_and_a_breaker_is_decided() {
    let with = |half_open: &str| {
        let text = format!(
            "{{ retry: {{ max_attempts: 5, backoff: 5s, on: [transient, breaker_open] }},
               breaker: {{ window: {{ length: 30s, failure_share: 50%, minimum_calls: 2 }},
                           open_for: 5s, half_open: {half_open} }} }}"
        );
        let refusing = "{ workers: 1, work: 0s, errors: { class: unavailable, share: 100% } }";
        diary(&system(&bursts(&[(1, 0)]), &text, refusing)).moments_ms(&["reached"])
    };
    assert_eq!(with("{ begins: lazily }"), [0.0, 5_000.0, 10_000.0, 15_000.0, 20_000.0]);
    assert_eq!(with("{ begins: by_timer }"), [0.0, 5_000.0, 10_000.0, 15_000.0, 20_000.0]);
    assert_eq!(with("{ strictly_after: true }"), [0.0, 5_000.0, 15_000.0]);
}

/// A fault of 50 s and open times of 10 s: the outage ends with the first probe after the fault.
#[test]
fn c77_an_outage_lasts_as_long_as_the_fault_and_one_open_time() {
    for half_open in ["{ begins: lazily }", "{ begins: by_timer }", "none"] {
        let text =
            format!("{{ breaker: {{ consecutive: 3, open_for: 10s, half_open: {half_open} }} }}");
        let calm = system("{ constant: 10/s }", &text, "{ workers: 9, work: 10ms }");
        let told = diary(&with_trigger(calm, 5_000, 50_000, Effect::Refuse(0)));
        let last = told.moments_ms(&["rejected"]).last().copied().unwrap_or_default();
        assert!((45_000.0..65_000.0).contains(&last), "{half_open}: {last}");
        let ok = told.moments_ms(&["ended", "ok"]);
        assert!(ok.iter().any(|at| *at > last && *at < last + 200.0), "{half_open}");
    }
}

/// One request in twenty is wrong in itself. That says nothing of the server to anybody else.
#[test]
fn c79_wrong_requests_of_one_caller_do_not_open_the_breaker_for_all() {
    let with = |more: &str| {
        diary(&system(
            "{ constant: 100/s }",
            &format!("{{ breaker: {{ consecutive: 1, open_for: 60s, per: [] {more} }} }}"),
            "{ workers: 9, work: 1ms, errors: { class: rejected, share: 5% } }",
        ))
    };
    assert_eq!(with("").count(&["rejected", "breaker_open"]), 0);
    assert_eq!(with(", ignores: [rejected]").count(&["rejected", "breaker_open"]), 0);
    assert!(with(", trips_at_once: [rejected]").count(&["rejected", "breaker_open"]) > 0);
}

const COCKATIEL: &str = "{ breaker: { consecutive: 5, open_for: 10s, late_results: record,
    uncounted: closes, half_open: { others: wait, probes_count: true } }";

fn herd(more: &str, outage_ms: u64) -> Diary {
    // Five failures open it at 0 s; at 10 s the herd meets it half-open, with a probe of 100 ms.
    let calm = system(
        &bursts(&[(5, 0), (1, 10_000), (29, 10_050), (1, 10_200)]),
        &format!("{COCKATIEL}{more} }}"),
        "{ workers: 99, work: 100ms }",
    );
    with_outage(calm, outage_ms)
}

fn with_outage(calm: stormlab::scenario::model::Model, outage_ms: u64) -> Diary {
    diary(&with_trigger(calm, 0, outage_ms, Effect::Refuse(0)))
}

/// Who waits behind a probe that succeeds runs when it is back, all at once.
#[test]
fn who_waits_behind_a_probe_runs_when_it_succeeds() {
    let told = herd("", 5_000);
    let reached = told.moments_ms(&["reached"]);
    assert_eq!(reached.iter().filter(|at| **at == 10_100.0).count(), 29);
    assert_eq!(reached.len(), 5 + 1 + 29 + 1);
    assert_eq!(told.count(&["rejected"]), 0);
}

/// Who waits behind a probe that fails is refused when it is back.
#[test]
fn who_waits_behind_a_probe_is_refused_when_it_fails() {
    let policy = format!("{COCKATIEL} }}");
    let failing = "{ workers: 99, work: 100ms, errors: { class: unavailable, share: 100% } }";
    let arrivals = bursts(&[(5, 0), (1, 10_100), (29, 10_150), (1, 10_300)]);
    let told = diary(&system(&arrivals, &policy, failing));
    assert_eq!(told.count(&["reached"]), 6);
    let rejected = told.moments_ms(&["rejected"]);
    assert_eq!(rejected.iter().filter(|at| **at == 10_200.0).count(), 29);
    assert_eq!(rejected.last(), Some(&10_300.0));
}

/// Who has waited as long as its whole call may take gives up, and nobody runs in its place; a
/// probe that is given up lets the first who waits be the next.
#[test]
fn who_waits_behind_a_probe_may_give_up() {
    let policy = format!("{COCKATIEL}, timeout: 300ms }}");
    let calm = system(
        &bursts(&[(5, 0), (1, 10_000), (3, 10_100), (1, 10_350)]),
        &policy,
        "{ workers: 99, work: 100ms }",
    );
    let down = with_trigger(calm, 0, 5_000, Effect::Refuse(0));
    let told = diary(&with_trigger(down, 9_000, 1_320, Effect::Hang(0)));
    // The probe of 10.0 s hangs until 10.3 s; one of the three is the next, and hangs as well. At
    // 10.4 s the time of all three runs out: each of the others is sent just before its own does.
    let reached = told.moments_ms(&["reached"]);
    assert_eq!(reached[5..], [10_000.0, 10_300.0, 10_400.0, 10_400.0, 10_400.0]);
    assert_eq!(told.count(&["ended", "time"]), 4);
    assert_eq!(told.count(&["web", "ended", "ok"]), 1);
}
