//! R3, R10: policies inside policies, and attempts side by side.

use stormlab::policy::backoff::Backoff;
use stormlab::policy::backoff::Growth;
use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::hedge::HedgeConfig;
use stormlab::policy::hedge::HedgeDelay;
use stormlab::policy::hedge::latency::PercentileConfig;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::policy::stack::Policy;
use stormlab::policy::stack::Scope;
use stormlab::policy::stack::Scoped;
use stormlab::scenario::model::Model;
use stormlab::units::Duration;

use super::burst;
use super::system;
use crate::lab::Diary;
use crate::lab::diary;
use crate::lab::run;

const MS: fn(u64) -> Duration = Duration::from_millis;
/// A server that turns everybody away.
const REFUSING: &str = "{ workers: 9, work: 0s, errors: { class: unavailable, share: 100% } }";
/// One that takes a second.
const SLOW: &str = "{ workers: 9, work: 1s }";

/// The same system under another policy.
fn under(policy: Policy, arrivals: &str, server: &str) -> Model {
    let mut model = system(arrivals, "{}", server);
    let index = model.edges[0].policy;
    model.policies[index] = policy;
    model
}

fn lived(policy: Policy, server: &str) -> Diary {
    diary(&under(policy, &burst(1), server))
}

fn waits(ms: u64) -> Backoff {
    Backoff { growth: Growth::Constant(MS(ms)), ..Backoff::NONE }
}

fn hedge(delay: HedgeDelay, max_attempts: u32) -> Policy {
    Policy::plain("p").with_hedge(HedgeConfig { delay, max_attempts, on: ClassSet::TRANSIENT })
}

/// Three tries around a client library that tries twice itself: six attempts, at moments that are
/// the sums of both waits.
#[test]
fn r3_each_attempt_of_a_policy_is_a_call_under_the_one_inside_it() {
    let inner = Policy::plain("sdk").with_retry(2, waits(100));
    let diary = lived(Policy::plain("p").with_retry(3, waits(1_000)).around(inner), REFUSING);
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 100.0, 1100.0, 1200.0, 2200.0, 2300.0]);
    assert_eq!(diary.count(&["reached", "first"]), 1, "the user asked once");
    assert_eq!(diary.count(&["calls"]), 1);
    assert_eq!(diary.lines(&["ended"]), ["2300ms web ended attempts after 2.3s"]);
}

/// The attempt timeout of the outer policy covers the whole call inside, waits included.
#[test]
fn r10_a_timeout_around_an_inner_policy_ends_its_waits() {
    let inner = Policy::plain("sdk").with_retry(9, waits(400));
    let outer = Policy::plain("p").with_retry(2, waits(0)).with_attempt_timeout(MS(1_000));
    let diary = lived(outer.around(inner), REFUSING);
    let expected = [0.0, 400.0, 800.0, 1000.0, 1400.0, 1800.0];
    assert_eq!(diary.moments_ms(&["reached"]), expected);
    assert_eq!(diary.moments_ms(&["timed-out"]), [1000.0, 2000.0]);
    assert_eq!(diary.lines(&["ended"]), ["2000ms web ended attempts after 2s"]);
}

/// What the inner policy says of its failure is what the request ends with.
#[test]
fn r10_the_inner_policy_gives_the_cause_where_the_outer_one_has_none() {
    let inner = Policy::plain("sdk").with_timeout(MS(300));
    let diary = lived(Policy::plain("p").around(inner), SLOW);
    assert_eq!(diary.lines(&["ended"]), ["300ms web ended time after 300ms"]);
}

/// Four policies inside one another, two tries each.
#[test]
fn r3_policies_stand_inside_one_another_to_any_depth() {
    let names = ["a", "b", "c", "d"];
    let policies = names.map(|name| Policy::plain(name).with_retry(2, waits(10)));
    let stack = policies.into_iter().reduce(|inner, outer| outer.around(inner));
    let diary = lived(stack.expect("four"), REFUSING);
    assert_eq!(diary.count(&["reached"]), 16);
    assert_eq!(diary.moments_ms(&["ended"]), [150.0]);
}

/// A second attempt after 200 ms, a third after 400 ms; the first answer, at 1 s, ends the call.
#[test]
fn r3_a_late_answer_gets_company() {
    let diary = lived(hedge(HedgeDelay::After(MS(200)), 3), SLOW);
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 200.0, 400.0]);
    assert_eq!(diary.count(&["reached", "hedge"]), 2);
    assert_eq!(diary.lines(&["ended"]), ["1000ms web ended ok after 1s"]);
    let model = under(hedge(HedgeDelay::After(MS(200)), 3), &burst(1), SLOW);
    let wasted: u64 = run(&model).series.services.iter().map(|window| window.wasted_ns).sum();
    assert_eq!(wasted, 2_000_000_000, "two answers nobody waits for");
}

#[test]
fn r3_without_a_delay_all_are_sent_at_one_instant() {
    let diary = lived(hedge(HedgeDelay::After(Duration::ZERO), 5), SLOW);
    assert_eq!(diary.moments_ms(&["reached"]), [0.0; 5]);
    assert_eq!(diary.lines(&["ended"]), ["1000ms web ended ok after 1s"]);
}

/// A failure sends the next at once, the last one ends the call; a failure that others cannot make
/// good ends it at once.
#[test]
fn r10_a_failure_sends_the_next() {
    let diary = lived(hedge(HedgeDelay::OnFailure, 3), REFUSING);
    assert_eq!(diary.moments_ms(&["reached"]), [0.0; 3]);
    assert_eq!(diary.count(&["ended", "attempts"]), 1);
    let denied = "{ workers: 9, work: 0s, errors: { class: denied, share: 100% } }";
    assert_eq!(lived(hedge(HedgeDelay::OnFailure, 3), denied).count(&["reached"]), 1);
}

/// Two tries of two side by side: the wait of the retry begins when both have failed.
#[test]
fn r10_a_retry_repeats_the_whole_hedge() {
    let slowly = "{ workers: 9, work: 300ms, errors: { class: unavailable, share: 100% } }";
    let policy = hedge(HedgeDelay::After(MS(200)), 2).with_retry(2, waits(1_000));
    let diary = lived(policy, slowly);
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 200.0, 1500.0, 1700.0]);
    assert_eq!(diary.moments_ms(&["ended"]), [2000.0]);
}

/// A hedge outside the retry: two whole sequences side by side.
#[test]
fn r3_a_hedge_outside_the_retry_doubles_the_sequence() {
    use stormlab::policy::stack::Layer;
    let mut policy = hedge(HedgeDelay::After(MS(250)), 2).with_retry(3, waits(100));
    policy.order = vec![Layer::Hedge, Layer::Retry];
    // The first sequence fails at 200 ms, before the hedge is due: the second begins then.
    assert_eq!(
        lived(policy.clone(), REFUSING).moments_ms(&["reached"]),
        [0.0, 100.0, 200.0, 200.0, 300.0, 400.0]
    );
    if let Some(hedge) = &mut policy.hedge {
        hedge.config.delay = HedgeDelay::After(MS(50));
    }
    let reached = [0.0, 50.0, 100.0, 150.0, 200.0, 250.0];
    assert_eq!(lived(policy, REFUSING).moments_ms(&["reached"]), reached);
}

/// Envoy's: the attempt stays out after its timeout, and its answer still counts.
#[test]
fn r3_a_hedge_on_timeout_waits_for_its_back_off_and_the_first_attempt_may_win() {
    let mut policy = hedge(HedgeDelay::OnTimeout(MS(300)), 3);
    if let Some(hedge) = &mut policy.hedge {
        hedge.backoff = waits(50);
    }
    let diary = lived(policy.clone(), "{ workers: 9, work: 500ms }");
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 350.0]);
    assert_eq!(diary.lines(&["ended"]), ["500ms web ended ok after 500ms"]);
    // A failure is followed after the back-off alone.
    let diary = lived(policy, REFUSING);
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 50.0, 100.0]);
}

/// gRPC's push-back: a wait, or none at all any more.
#[test]
fn r10_a_server_delays_the_next_hedge_or_stops_them() {
    let answers = |hint: &str| {
        format!(
            "{{ workers: 9, work: 0s, errors: {{ class: unavailable, share: 100% }}, retry_after: {hint} }}"
        )
    };
    let mut policy = hedge(HedgeDelay::After(MS(50)), 3);
    if let Some(hedge) = &mut policy.hedge {
        hedge.obeys_hints = true;
    }
    let waiting = lived(policy.clone(), &answers("{ unavailable: 700ms }"));
    assert_eq!(waiting.moments_ms(&["reached"]), [0.0, 700.0, 1400.0]);
    let stopped = lived(policy, &answers("{ unavailable: never }"));
    assert_eq!(stopped.moments_ms(&["reached"]), [0.0]);
}

/// One token for each of 50 calls, 5 % of them: hedges come to 2 for what was saved, and 2 more.
#[test]
fn r10_a_budget_bounds_hedges() {
    use stormlab::policy::budget::DepositPoint;
    let mut policy = hedge(HedgeDelay::After(MS(10)), 2);
    let config = BudgetConfig::Ratio {
        ratio_milli: 50,
        deposit: DepositPoint::Call,
        floor_milli_per_s: 0,
        cap_milli: 2_000,
        start_milli: 2_000,
    };
    if let Some(hedge) = &mut policy.hedge {
        hedge.budget = Some(Scoped { config, per: Scope::DEFAULT });
    }
    let arrivals = "{ constant: 10/s }";
    let diary = diary(&under(policy, arrivals, "{ workers: 9, work: 20ms }"));
    let (calls, hedges) = (diary.count(&["calls"]), diary.count(&["reached", "hedge"]));
    assert_eq!((calls, hedges), (299, 2 + 14));
    assert_eq!(diary.count(&["denied"]), calls - hedges);
}

/// Nobody hedges before the first window of latencies is over; then what is later than the 90th
/// percentile of one second does.
#[test]
fn r3_a_percentile_is_learned_before_anybody_hedges() {
    let config = PercentileConfig { per_mille: 900, window: MS(1_000), minimum: 10 };
    let policy = hedge(HedgeDelay::AtPercentile(config), 2);
    let server = "{ workers: 99, work: { exponential: 20ms } }";
    let diary = diary(&under(policy, "{ constant: 100/s }", server));
    let hedged = diary.moments_ms(&["reached", "hedge"]);
    assert!(hedged[0] > 1_000.0, "{}", hedged[0]);
    let share = hedged.len() as f64 / diary.count(&["calls"]) as f64;
    assert!((0.06..0.12).contains(&share), "{share}");
}

/// Who asks gives up, and every attempt side by side is given up with it.
#[test]
fn r10_the_end_of_the_call_ends_all_attempts_side_by_side() {
    let policy = hedge(HedgeDelay::After(MS(100)), 4).with_timeout(MS(250));
    let diary = lived(policy, "{ workers: 9, work: 1s, cancellation: full }");
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 100.0, 200.0]);
    assert_eq!(diary.moments_ms(&["ended"]), [250.0]);
    assert_eq!(diary.moments_ms(&["removed"]), [250.0; 3]);
}

/// The breaker inside a hedge sees each attempt, the one outside sees the call.
#[test]
fn r3_layers_inside_a_hedge_see_each_attempt() {
    let policy = hedge(HedgeDelay::OnFailure, 3).with_attempt_timeout(MS(100));
    let diary = lived(policy, SLOW);
    assert_eq!(diary.moments_ms(&["timed-out"]), [100.0, 200.0, 300.0]);
    assert_eq!(diary.count(&["ended", "attempts"]), 1);
    assert!(ClassSet::TRANSIENT.contains(Class::Timeout));
}
