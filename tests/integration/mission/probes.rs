//! Places of probes that bring no verdict, in the engine: what D30 to D36 and K17 say of them, and
//! the fault that each rule prevents.

use stormlab::scenario::model::Effect;

use crate::lab::Diary;
use crate::lab::bursts;
use crate::lab::diary;
use crate::lab::model;
use crate::lab::with_trigger;

/// A worker whose tasks share one breaker (D36): two refusals in the first second open it, and from
/// 5 s on it is half-open. `bad` inputs fail for themselves after 1 s, `good` ones end well.
fn worker(breaker: &str, bad: &[(u32, u64)], good: &[(u32, u64)], bad_takes: &str) -> Diary {
    let system = model(&format!(
        "
run: {{ horizon: 1h, warm_up: 0s, window: 1s }}
clients:
  first: {{ arrivals: {}, calls: down, policy: p }}
  bad: {{ arrivals: {}, calls: domain, policy: p }}
  good: {{ arrivals: {}, calls: well, policy: p }}
policies:
  p: {{ breaker: {{ consecutive: 2, open_for: 5s, per: [], counts: [transient, protocol]{breaker} }} }}
services:
  down: {{ workers: 9, work: 0s, errors: {{ class: unavailable, share: 100% }} }}
  domain: {{ workers: 9, work: {bad_takes}, errors: {{ class: rejected, share: 100% }} }}
  well: {{ workers: 9, work: 2s }}
",
        bursts(&[(2, 10)]),
        bursts(bad),
        bursts(good)
    ));
    diary(&system)
}

/// D32: the probe is a bad input, whose failure is not reported, and neither is a success: nobody
/// passes for the rest of the hour. K17: freed without a verdict, the next probe decides. D33:
/// released as a success, the gate opens with the first explicit failure.
#[test]
fn d32_d33_k17_a_probe_that_fails_for_itself() {
    let of = |uncounted: &str| {
        let breaker = format!(", uncounted: {uncounted}");
        // The probe is out from 6 s to 7 s; two at once, a minute later, and one in the last.
        let good = [(2, 8_000), (2, 60_000), (1, 3_590_000)];
        let told = worker(&breaker, &[(1, 6_000)], &good, "1s");
        (told.count(&["good", "ended", "ok"]), told.count(&["good", "ended", "breaker"]))
    };
    assert_eq!(of("leak"), (0, 5), "stuck until the end");
    assert_eq!(of("nothing"), (4, 1), "of the two at 8 s one is the probe");
    assert_eq!(of("release_as_success"), (5, 0));
    assert_eq!(of("success"), (5, 0));
    // A lease ends what a leak began.
    let lease = worker(
        ", uncounted: leak, half_open: { lease: 30s }",
        &[(1, 6_000)],
        &[(1, 8_000), (1, 60_000)],
        "1s",
    );
    assert_eq!(lease.moments_ms(&["good", "ended", "breaker"]), [8_000.0]);
    assert_eq!(lease.count(&["good", "ended", "ok"]), 1);
}

/// D30 and D31: bad inputs that count take a healthy node out, and those that do not leave it in;
/// replies that nobody can read count.
#[test]
fn d30_d31_explicit_failures_do_not_open_it_and_unreadable_replies_do() {
    let opens = |counts: &str, class: &str| {
        let told = diary(&model(&format!(
            "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients:
  bad: {{ arrivals: {}, calls: domain, policy: p }}
  good: {{ arrivals: {}, calls: well, policy: p }}
policies: {{ p: {{ breaker: {{ consecutive: 3, open_for: 60s, per: [], counts: {counts} }} }} }}
services:
  domain: {{ workers: 9, work: 10ms, errors: {{ class: {class}, share: 100% }} }}
  well: {{ workers: 9, work: 10ms }}
",
            bursts(&[(3, 1_000)]),
            bursts(&[(10, 2_000)])
        )));
        told.count(&["good", "ended", "breaker"])
    };
    assert_eq!(opens("[transient, protocol, internal]", "internal"), 10, "jobs displaced");
    assert_eq!(opens("[transient, protocol]", "internal"), 0);
    assert_eq!(opens("[transient, protocol]", "protocol"), 10);
}

/// D34, the first guard: a bad input that began before the breaker opened ends at 20 s, while the
/// probe of 19 s is out. Without the guard it closes the breaker on another's probe, or gives
/// another's place away.
#[test]
fn d34_only_a_probe_releases() {
    let of = |breaker: &str| {
        let told = worker(breaker, &[(1, 0)], &[(1, 19_000), (3, 20_500)], "20s");
        told.moments_ms(&["well", "reached"])
    };
    assert_eq!(of(", uncounted: release_as_success"), [19_000.0]);
    let closed = of(", uncounted: release_as_success, release_guarded: false");
    assert_eq!(closed, [19_000.0, 20_500.0, 20_500.0, 20_500.0], "closed on another's probe");
    assert_eq!(of(", uncounted: nothing"), [19_000.0]);
    let freed = of(", uncounted: nothing, release_guarded: false");
    assert_eq!(freed, [19_000.0, 20_500.0], "two probes at once, where one is allowed");
}

/// D35, the second guard, and K17: a node is dead for good. The probe of 6 s is given up at 7 s, by
/// a timeout outside the breaker. Freed without a verdict, one more probe follows it; leaked, none
/// ever; as a success it closes the breaker of a dead node, and a whole herd goes there.
#[test]
fn d35_k17_a_probe_that_is_given_up() {
    let of = |cancelled: &str| {
        let system = model(&format!(
            "
run: {{ horizon: 1h, warm_up: 0s, window: 1s }}
clients:
  first: {{ arrivals: {}, calls: node, policy: p }}
  task: {{ arrivals: {}, calls: node, policy: p }}
policies:
  p:
    timeout: 1s
    breaker: {{ consecutive: 2, open_for: 5s, per: [], cancelled: {cancelled} }}
services: {{ node: {{ workers: 99, work: 10ms }} }}
",
            bursts(&[(2, 10)]),
            bursts(&[(1, 6_000), (10, 8_000), (10, 3_590_000)])
        ));
        let system = with_trigger(system, 0, 1_000, Effect::Refuse(0));
        let system = with_trigger(system, 1_000, 3_599_000, Effect::Hang(0));
        let told = diary(&system);
        (told.count(&["task", "ended", "time"]), told.count(&["task", "ended", "breaker"]))
    };
    assert_eq!(of("release"), (3, 18), "one probe each time");
    assert_eq!(of("leak"), (1, 20));
    assert_eq!(of("release_as_success"), (21, 0), "as if the node were well");
    assert_eq!(of("success"), (21, 0));
}
