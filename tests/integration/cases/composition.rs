//! Bulkheads, queues, timeouts and what they come to together: cases C85 to C99.

use stormlab::engine;
use stormlab::engine::observe::Observer;
use stormlab::scenario;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Model;
use stormlab::units::Duration;
use stormlab::units::SimTime;

use crate::lab;

/// Clients of one server under a policy.
fn system(horizon: &str, arrivals: &str, policy: &str, server: &str) -> Model {
    lab::model(&format!(
        "
run: {{ horizon: {horizon}, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {arrivals}, calls: server, policy: p }} }}
policies: {{ p: {policy} }}
services: {{ server: {server} }}
"
    ))
}

/// When attempts of five calls at once reach a server that works for 5 s, through a bulkhead of two
/// places and two in line, with a timeout of 1 s.
#[track_caller]
fn check_pool(settings: &str, server: &str, expected: &[f64]) {
    let diary = lab::diary(&system(
        "30s",
        "{ burst: { count: 5, at: 0s } }",
        &format!(
            "{{ bulkhead: {{ limit: 2, queue: 2, {settings} }}, attempt_timeout: 1s, \
             order: [bulkhead, attempt_timeout] }}"
        ),
        &format!("{{ {server}, work: 5s }}"),
    ));
    assert_eq!(diary.moments_ms(&["reached"]), expected, "{settings}");
}

/// Abandoned work still occupies its thread, unless it can be cancelled.
#[test]
fn c85_a_pool_of_threads_keeps_abandoned_work() {
    let keeps = "abandoned: keeps_place";
    check_pool("", "workers: 9", &[0.0, 0.0, 1_000.0, 1_000.0]);
    check_pool("abandoned: free", "workers: 9", &[0.0, 0.0, 1_000.0, 1_000.0]);
    check_pool(keeps, "workers: 9", &[0.0, 0.0, 5_000.0, 5_000.0]);
    check_pool(keeps, "workers: 9, cancellation: full", &[0.0, 0.0, 1_000.0, 1_000.0]);
    // One works and holds its place; whoever waits at the server is taken out and gives its own back.
    check_pool(keeps, "workers: 1, cancellation: queue", &[0.0, 0.0, 1_000.0, 2_000.0]);
}

/// Who waits in line for longer than its patience is rejected; without patience it gets its place.
#[test]
fn c85_a_line_with_patience_rejects_who_waits_too_long() {
    let ended = |settings: &str| {
        let diary = lab::diary(&system(
            "30s",
            "{ burst: { count: 3, at: 0s } }",
            &format!("{{ bulkhead: {{ limit: 1, queue: unlimited, {settings} }} }}"),
            "{ workers: 9, work: 1s }",
        ));
        (diary.moments_ms(&["ended", "ok"]), diary.moments_ms(&["ended", "bulkhead"]))
    };
    assert_eq!(ended(""), (vec![1_000.0, 2_000.0, 3_000.0], vec![]));
    assert_eq!(ended("max_wait: 1500ms"), (vec![1_000.0, 2_000.0], vec![1_500.0]));
    // At one instant a completion comes before the end of patience.
    assert_eq!(ended("max_wait: 1s"), (vec![1_000.0, 2_000.0], vec![1_000.0]));
    assert_eq!(ended("max_wait: 999ms"), (vec![1_000.0], vec![999.0, 999.0]));
}

/// The newest first: the second in line waits until its patience ends (Netflix's blocking limiter).
#[test]
fn c85_a_line_of_the_newest_first() {
    let diary = lab::diary(&system(
        "30s",
        "[{ burst: { count: 1, at: 0s } }, { burst: { count: 1, at: 100ms } }, \
         { burst: { count: 1, at: 200ms } }, { burst: { count: 1, at: 1100ms } }]",
        "{ bulkhead: { limit: 1, queue: 100, max_wait: 5s, line: lifo } }",
        "{ workers: 9, work: 1s }",
    ));
    let mut after: Vec<_> =
        diary.lines(&["ended"]).iter().map(|line| line.split(' ').next_back().unwrap()).collect();
    assert_eq!(after, ["1s", "1.8s", "1.9s", "3.9s"]);
    after.dedup();
    assert_eq!(after.len(), 4);
}

/// A flood of 2 C for a minute before C = 100/s. Share of requests answered in the last minute.
fn after_a_flood(rate: &str, max_attempts: u32, queue: &str) -> f64 {
    let model = system(
        "1000s",
        &format!("{{ poisson: {rate} }}"),
        &format!("{{ attempt_timeout: 1s, retry: {{ max_attempts: {max_attempts} }} }}"),
        &format!("{{ workers: 1, work: {{ exponential: 10ms }}, queue: {queue} }}"),
    );
    let surge = Effect::Surge { population: 0, factor: 200.0 / rate_of(rate) };
    let record = lab::run(&lab::with_trigger(model, 60_000, 60_000, surge));
    let windows = record.series.population(0).skip(940);
    let (ok, born) = windows.fold((0, 0), |(ok, born), it| (ok + it.ok, born + it.born));
    f64::from(ok) / f64::from(born)
}

fn rate_of(rate: &str) -> f64 {
    rate.trim_end_matches("/s").parse().expect("a rate")
}

/// It stays down if and only if λ · A > C; and recovers with one attempt, with expired work
/// dropped, or with a queue that is shorter than what C serves within the timeout.
#[test]
fn c87_a_flood_leaves_stale_work_behind() {
    let unbounded = "{ limit: unlimited }";
    assert!(after_a_flood("50/s", 4, unbounded) < 0.05, "50 · 4 > 100: it stays down");
    // 42,000 stale attempts, of which 60 more are served each second than come.
    assert!(after_a_flood("10/s", 4, unbounded) > 0.99, "10 · 4 < 100");
    assert!(after_a_flood("50/s", 1, unbounded) > 0.99, "one attempt");
    assert!(after_a_flood("50/s", 4, "{ drop_expired: true }") > 0.99, "expired work dropped");
    assert!(after_a_flood("50/s", 4, "{ limit: 50 }") > 0.99, "a queue of half a second");
    assert!(after_a_flood("50/s", 4, "{ limit: 200 }") < 0.05, "a queue of two seconds");
}

/// How long those waited that were served, and how many were answered.
#[derive(Default)]
struct Waits {
    served: Vec<Duration>,
    answered: u32,
}

impl Observer for Waits {
    fn started(&mut self, now: SimTime, _: usize, arrived_at: SimTime) {
        self.served.push(now.since(arrived_at));
    }

    fn answered(&mut self, _: SimTime, _: usize, _: SimTime, ok: bool) {
        self.answered += u32::from(ok);
    }
}

/// A hundred workers of 10 ms, so C = 10,000/s, at λ = 1.2 C for half a minute. (With few workers
/// so short a queue empties by chance now and then, and the longer timeout applies again.)
fn overloaded(queue: &str) -> Waits {
    let model = system(
        "30s",
        "{ poisson: 12000/s }",
        "{}",
        &format!("{{ workers: 100, work: {{ exponential: 10ms }}, queue: {queue} }}"),
    );
    let mut waits = Waits::default();
    let never = std::sync::atomic::AtomicBool::new(false);
    engine::observe(&model, 1, 0, &never, &mut waits).expect("the audit holds");
    waits.served.sort_unstable();
    waits
}

/// Goodput stays at C, and who is served has waited no longer than the target; without it everybody
/// waits for seconds.
#[test]
fn c89_codel_keeps_the_wait_of_who_is_served_at_its_target() {
    let ms = Duration::from_millis;
    let capacity = 30.0 * 10_000.0;
    let codel = overloaded("{ codel: { target: 5ms, interval: 100ms } }");
    let share = f64::from(codel.answered) / capacity;
    assert!((0.96..1.02).contains(&share), "{share}");
    let count = codel.served.len();
    assert!(codel.served[count - 1] <= ms(100));
    assert!(codel.served[count * 9 / 10] <= ms(5), "{}", codel.served[count * 9 / 10]);
    assert!(codel.served[count / 2] > ms(1), "the queue is used");
    let newest_first = overloaded("{ order: adaptive_lifo, limit: 10000 }");
    let median = newest_first.served[newest_first.served.len() / 2];
    assert!(median < ms(1), "{median}");
    let without = overloaded("{ limit: unlimited }");
    assert!(without.served[without.served.len() / 2] > Duration::from_secs(1));
}

/// `max_attempts: 3` is three attempts, and two retries.
#[test]
fn c97_the_first_call_counts_as_an_attempt() {
    let diary = lab::diary(&system(
        "30s",
        "{ burst: { count: 1, at: 0s } }",
        "{ retry: { max_attempts: 3, backoff: 100ms } }",
        "{ workers: 1, work: 0s, errors: { class: unavailable, share: 100% } }",
    ));
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 100.0, 200.0]);
}

/// .NET's standard handler against a server that hangs: attempts at 0, 12 and 26 s; the third is cut
/// at 30 s, and there is no fourth.
#[test]
fn c98_the_total_timeout_cuts_the_third_attempt() {
    let diary = lab::diary(&system(
        "60s",
        "{ burst: { count: 1, at: 0s } }",
        "{ bulkhead: { limit: 1000 }, timeout: { after: 30s, late_wait: truncate }, \
         attempt_timeout: 10s, retry: { max_attempts: 4, backoff: { exponential: { base: 2s } } } }",
        "{ workers: 9, work: 1h }",
    ));
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 12_000.0, 26_000.0]);
    assert_eq!(diary.lines(&["ended"]), ["30000ms web ended time after 30s"]);
}

/// One call that fails at once under waits of 1, 2 and 4 s and a total of 5 s: when its attempts
/// reach the server, and how it ends.
fn under_five_seconds(rule: &str) -> (Vec<f64>, String) {
    let diary = lab::diary(&system(
        "60s",
        "{ burst: { count: 1, at: 0s } }",
        &format!(
            "{{ timeout: {{ after: 5s, {rule} }}, \
             retry: {{ max_attempts: 9, backoff: {{ exponential: {{ base: 1s }} }} }} }}"
        ),
        "{ workers: 9, work: 500ms, errors: { class: unavailable, share: 100% } }",
    ));
    (diary.moments_ms(&["reached"]), diary.lines(&["ended"])[0].to_owned())
}

/// Attempts of 0.5 s: at 0, 1.5 and 4 s; the wait of 4 s from 4.5 s does not fit into 5 s.
#[test]
fn c93_what_becomes_of_a_wait_that_does_not_fit() {
    let attempts = vec![0.0, 1_500.0, 4_000.0];
    let refused = (attempts.clone(), "4500ms web ended time after 4.5s".to_owned());
    assert_eq!(under_five_seconds("late_wait: refuse"), refused); // Temporal, ChokaQ
    assert_eq!(under_five_seconds("running: finish"), refused); // cenkalti
    let waited = (attempts.clone(), "5000ms web ended time after 5s".to_owned());
    assert_eq!(under_five_seconds("late_wait: truncate"), waited); // Polly
    let last = ([attempts, vec![5_000.0]].concat(), "5500ms web ended time after 5.5s".to_owned());
    assert_eq!(under_five_seconds("late_wait: truncate, running: finish"), last); // Failsafe
}

/// gax-java: attempts of 1, 1.5, 2.25 and then 3 s against a server that hangs.
#[test]
fn attempt_timeouts_grow_by_their_multiplier() {
    let diary = lab::diary(&system(
        "60s",
        "{ burst: { count: 1, at: 0s } }",
        "{ attempt_timeout: { after: 1s, multiplier: 1.5, cap: 3s }, retry: { max_attempts: 6 } }",
        "{ workers: 9, work: 1h }",
    ));
    let expected = [0.0, 1_000.0, 2_500.0, 4_750.0, 7_750.0, 10_750.0];
    assert_eq!(diary.moments_ms(&["reached"]), expected);
    assert_eq!(diary.moments_ms(&["ended"]), [13_750.0]);
}

/// A limit that adapts settles near what the server bears, where a constant one of its maximum
/// fills the queue: 300/s against 200/s, timeouts of 500 ms.
#[test]
fn an_adaptive_limit_keeps_waits_short_under_overload() {
    let ok_of = |limit: &str| {
        let model = system(
            "120s",
            "{ poisson: 300/s }",
            &format!(
                "{{ bulkhead: {{ limit: {limit}, per: [] }}, attempt_timeout: 500ms, \
                 order: [bulkhead, attempt_timeout] }}"
            ),
            "{ workers: 4, work: { exponential: 20ms } }",
        );
        let record = lab::run(&model);
        record.series.population(0).skip(60).map(|it| it.ok).sum::<u32>()
    };
    let capacity = 60 * 200;
    for limit in [
        "{ aimd: { initial: 100, min: 4, max: 1000, timeout: 250ms } }",
        "{ vegas: {} }",
        "{ gradient: {} }",
    ] {
        let ok = ok_of(limit);
        assert!(ok > capacity * 85 / 100, "{limit}: {ok}");
    }
    // The second gradient does not look at drops, and takes the timeout for the usual latency.
    for limit in ["1000", "{ gradient2: {} }"] {
        let ok = ok_of(limit);
        assert!(ok < capacity / 2, "{limit}: {ok}");
    }
}

/// What the words of a policy that contradicts itself are answered with.
#[test]
fn what_does_not_go_together_is_said_so() {
    #[track_caller]
    fn check(policy: &str, expected: &str) {
        let text = format!(
            "{{schema: 1, name: t, about: x, source: x, clients: {{c: {{arrivals: {{poisson: 1/s}}, \
             calls: s, policy: p}}}}, services: {{s: {{workers: 1, work: 1ms}}}}, policies: \
             {{p: {policy}}}}}"
        );
        let problems = scenario::parse("t", text.as_bytes()).expect_err("it is wrong");
        assert_eq!(problems.len(), 1, "{policy}");
        let shown = problems[0].to_string();
        assert!(shown.contains(expected), "{shown}");
    }
    check("{hedge: {after: 200ms, max: 2}}", "`hedge` has no key `max`");
    check("{inner: {retry: {}}}", "`inner` names another policy, and this is a map");
    check("{bulkhead: {limit: 1, max_wait: 1s}}", "nobody does: the `queue` takes none");
    check("{bulkhead: {limit: 1, line: lifo}}", "nobody does: the `queue` takes none");
    check("{bulkhead: {limit: {aimd: {initial: 5}}}}", "the limit starts at 5, outside of 20");
    check("{timeout: {after: 5s, running: finish}}", "without `retry` there are none");
    check("{attempt_timeout: {after: 1s, cap: 2s}}", "bounds a timeout that grows");
    check("{attempt_timeout: {after: 2s, multiplier: 2, cap: 1s}}", "then never grows");
    let around = "{bulkhead: {limit: 1, abandoned: keeps_place}, retry: {}}";
    check(around, "this bulkhead stands around calls");
}

/// Four attempts a call against a dead server: around the retry the breaker opens after five calls
/// (20 attempts), inside it in the second call, with its fifth attempt.
#[test]
fn c62_a_breaker_counts_what_it_stands_around() {
    #[track_caller]
    fn check(order: &str, calls: u32, reached: usize, broken: usize) {
        let diary = lab::diary(&system(
            "30s",
            &lab::bursts(&(0..u64::from(calls)).map(|call| (1, 100 * call)).collect::<Vec<_>>()),
            &format!(
                "{{ breaker: {{ consecutive: 5, open_for: 60s }}, \
                 retry: {{ max_attempts: 4, backoff: none }}, order: [{order}] }}"
            ),
            "{ workers: 9, work: 0s, errors: { class: unavailable, share: 100% } }",
        ));
        assert_eq!(diary.count(&["reached"]), reached, "{order}");
        assert_eq!(diary.count(&["ended", "breaker"]), broken, "{order}");
    }
    check("breaker, retry", 5, 20, 0);
    check("breaker, retry", 7, 20, 2);
    check("retry, breaker", 1, 4, 0);
    check("retry, breaker", 2, 5, 1);
}

/// One reply in a hundred is lost after the work is done, and who hears nothing asks again: of
/// 10,000 orders about 100 are executed twice.
#[test]
fn c95_what_is_retried_after_a_lost_reply_is_executed_twice() {
    let text = "
run: { horizon: 110s, warm_up: 0s, window: 1s }
clients: { web: { arrivals: { constant: 100/s }, calls: server, policy: p } }
policies: { p: { attempt_timeout: 1s, retry: { max_attempts: 3, backoff: none } } }
services: { server: { workers: 100, work: 10ms } }
links: { default: { loss: 1% } }
";
    let diary = lab::diary(&lab::model(text));
    let orders = diary.count(&["web", "born"]);
    let executed = diary.count(&["answered", "ok"]);
    let lost = diary.count(&["ended", "attempts"]);
    // A request is lost on its way there as often as on its way back; only then it was executed.
    let again = executed as f64 - (orders - lost) as f64;
    let expected = 0.01 * 0.99 * orders as f64;
    assert!((again - expected).abs() < 4.5 * expected.sqrt(), "{again} of {orders}, {expected}");
    assert!(diary.count(&["reached", "after-timeout"]) > 100, "some of them lost on the way there");
}
