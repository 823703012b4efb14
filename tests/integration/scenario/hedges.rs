//! Hedging as written: what each text means, and what each mistake is answered with.

use stormlab::lint;
use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::hedge::HedgeConfig;
use stormlab::policy::hedge::HedgeDelay;
use stormlab::policy::hedge::latency::PercentileConfig;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::policy::stack::CallerScope;
use stormlab::policy::stack::Hedging;
use stormlab::policy::stack::Layer;
use stormlab::scenario::model::Deed;
use stormlab::units::Duration;

use crate::lab::diary;
use crate::scenario::effective::again;
use crate::scenario::parse;
use crate::scenario::valid;

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A small system whose one policy is this.
pub(super) fn file(policy: &str) -> String {
    format!(
        "schema: 1
name: test
run: {{ horizon: 1h }}
clients: {{ web: {{ arrivals: {{ poisson: 20/s }}, calls: server, policy: p }} }}
services: {{ server: {{ workers: 1, work: 5ms }} }}
policies:
  p: {policy}
"
    )
}

fn hedge(settings: &str) -> Hedging {
    let scenario = valid(&file(&format!("{{ hedge: {{ {settings} }} }}")));
    again(&scenario);
    scenario.variants[0].model.policies[0].hedge.clone().expect("a hedge")
}

#[test]
fn each_moment_means_what_it_says_and_means_it_again() {
    #[track_caller]
    fn check(after: &str, delay: HedgeDelay) {
        let expected = HedgeConfig { delay, max_attempts: 2, on: ClassSet::TRANSIENT };
        let found = hedge(&format!("after: {after}"));
        assert_eq!(found.config, expected);
        assert!(!found.obeys_hints && found.budget.is_none());
    }
    let percentile = |per_mille, window, minimum| {
        HedgeDelay::AtPercentile(PercentileConfig { per_mille, window, minimum })
    };
    check("100ms", HedgeDelay::After(MS(100)));
    check("0s", HedgeDelay::After(Duration::ZERO));
    check("failure", HedgeDelay::OnFailure);
    check("{ percentile: 95% }", percentile(950, MS(30_000), 20));
    check("{ percentile: 0.999, window: 5s, minimum: 7 }", percentile(999, MS(5_000), 7));
    check("{ percentile: 100% }", percentile(1_000, MS(30_000), 20));
    check("{ timeout: 500ms }", HedgeDelay::OnTimeout(MS(500)));
}

#[test]
fn every_setting_of_a_hedge_is_kept() {
    let found = hedge(
        "after: 500ms, max_attempts: 4, on: [unavailable, internal], hint: obey, \
         budget: { token_bucket: { max_tokens: 10, token_ratio: 0.1 } }",
    );
    let on = ClassSet::of(&[Class::Unavailable, Class::Internal]);
    assert_eq!((found.config.max_attempts, found.config.on, found.obeys_hints), (4, on, true));
    let Some(BudgetConfig::TokenBucket { counts, .. }) = found.budget.map(|it| it.config) else {
        panic!("a bucket: {found:?}")
    };
    assert_eq!(counts, on, "it counts what others may make good, unless told otherwise");
    let found = hedge(
        "after: { timeout: 200ms, backoff: { exponential: { base: 25ms, cap: 250ms } }, jitter: full }, \
         max_attempts: 3, on: []",
    );
    assert_eq!(found.backoff.bounds(2), (Duration::ZERO, MS(50)));
    assert_eq!(found.config.on, ClassSet::NONE);
    let found = hedge("after: { percentile: 99% }, per: [group, target]");
    assert_eq!(found.per.caller, CallerScope::Group);
    // A table that ends allows no more attempts than it has waits.
    let found = hedge(
        "after: { timeout: 1s, backoff: { table: { waits: [1s, 2s], ends: true } } }, \
         max_attempts: 9",
    );
    assert_eq!(found.config.max_attempts, 3);
    for budget in [
        "ratio: { share: 5%, deposit: call, per: [group] }",
        "window: { share: 1%, deposit: call, rule: finagle }",
        "quota: { capacity: 500, cost: 5 }",
        "client_ratio: { share: 10% }",
        "rate: { rate: 10/s, burst: 100, when_empty: refuse }",
        "counter: { limit: 3, ttl: 1h }",
    ] {
        assert!(hedge(&format!("after: 1s, budget: {{ {budget} }}")).budget.is_some());
    }
}

#[test]
fn a_hedge_stands_inside_retry_unless_the_order_says_otherwise() {
    #[track_caller]
    fn check(order: &str, expected: [Layer; 4]) {
        let policy = format!(
            "{{ timeout: 9s, attempt_timeout: 1s, retry: {{}}, hedge: {{ after: 1s }}{order} }}"
        );
        let scenario = valid(&file(&policy));
        again(&scenario);
        assert_eq!(scenario.variants[0].model.policies[0].order, expected);
    }
    let [timeout, retry, hedge, attempt] =
        [Layer::Timeout, Layer::Retry, Layer::Hedge, Layer::AttemptTimeout];
    check("", [timeout, retry, hedge, attempt]);
    let order = ", order: [timeout, hedge, retry, attempt_timeout]";
    check(order, [timeout, hedge, retry, attempt]);
}

#[test]
fn variants_and_set_change_a_hedge_key_by_key() {
    let text = file("{ hedge: { after: 100ms, on: [timeout] } }")
        + "operator: [{ at: 10min, set: { policies.p.hedge.max_attempts: 5, policies.p.hedge.after: failure } }]
variants:
  late: { policies: { p: { hedge: { after: { percentile: 95% } } } } }
  never: { policies: { p: { hedge: null } } }
";
    let scenario = valid(&text);
    again(&scenario);
    let [base, late, never] = [0, 1, 2].map(|i| scenario.variants[i].model.policies[0].clone());
    let late = late.hedge.expect("a hedge").config;
    assert!(matches!(late.delay, HedgeDelay::AtPercentile(_)));
    assert_eq!(late.on, base.hedge.expect("a hedge").config.on);
    assert!(never.hedge.is_none() && never.order.is_empty());
    let Deed::Set { model, .. } = &scenario.variants[0].model.operator[0].what else {
        panic!("a set")
    };
    let set = model.policies[0].hedge.as_ref().expect("a hedge").config;
    assert_eq!((set.max_attempts, set.delay), (5, HedgeDelay::OnFailure));
}

/// Place, message and help of the only problem.
#[track_caller]
pub(super) fn problem(text: &str) -> (String, String, String) {
    let found = parse(text).expect_err("it is wrong");
    assert_eq!(found.len(), 1, "{text}: {found:#?}");
    let it = &found[0];
    let help = it.help.clone().expect("a help");
    (format!("{}:{}", it.line, it.column), it.problem.clone(), help)
}

#[test]
fn each_mistake_of_a_hedge_has_its_place_and_a_help() {
    #[track_caller]
    fn check(policy: &str, at: &str, message: &str, help: &str) {
        let marked = policy.replace('^', "");
        let found = problem(&file(&marked));
        let column = policy.find('^').map_or(6, |place| place + 6);
        assert_eq!(found.0, format!("7:{column}"), "{at}: {found:?}");
        assert!(found.1.contains(message), "{message:?}: {found:?}");
        assert!(found.2.contains(help), "{help:?}: {found:?}");
    }
    check("{ ^hedge: {} }", "the key", "`hedge` needs `after`", "`failure`: only after");
    check("{ hedge: ^on }", "the value", "`hedge` is a map", "as `{ after: 100ms");
    check("{ hedge: { after: ^soon } }", "after", "`soon` is no moment", "`failure`");
    check("{ hedge: { after: ^100 } }", "after", "needs a unit", "200ms");
    check("{ hedge: { ^after: {} } }", "after", "needs one of `percentile` or `timeout`", "95%");
    check(
        "{ hedge: { after: { percentile: 95%, ^timeout: 1s } } }",
        "timeout",
        "`percentile` or `timeout`, not both",
        "remove one",
    );
    check("{ hedge: { after: { percentile: ^0% } } }", "p", "whole number of thousandths", "0.1%");
    check("{ hedge: { after: { percentile: ^99.95% } } }", "p", "thousandths", "steps of 0.1%");
    check("{ hedge: { after: { percentile: ^195% } } }", "p", "out of range", "0% to 100%");
    check("{ hedge: { after: { percentile: 95%, window: ^0s } } }", "w", "longer than 0s", "1ns");
    check(
        "{ hedge: { after: { percentile: 95%, backoff: ^1s } } }",
        "backoff",
        "`backoff` is about an attempt's `timeout`, and this is a `percentile`",
        "{ timeout: 500ms",
    );
    check(
        "{ hedge: { after: { timeout: 1s, minimum: ^7 } } }",
        "minimum",
        "`minimum` is about a `percentile`, and this is a `timeout`",
        "{ percentile: 95%",
    );
    check(
        "{ hedge: { after: 1s, ^jitter: full } }",
        "jitter",
        "it has no `jitter` of its own",
        "after: { timeout: 500ms",
    );
    check("{ hedge: { after: 1s, max_attempts: ^0 } }", "max", "0 is out of range", "1 to 100");
    check("{ hedge: { after: 1s, max_attempts: ^101 } }", "max", "out of range", "1 to 100");
    check(
        "{ hedge: { after: 1s, ^max: 2 } }",
        "max",
        "`hedge` has no key `max`",
        "accepted: after, max_attempts, on, hint, budget, per",
    );
    check("{ hedge: { after: 1s, hint: ^override } }", "hint", "none of the words", "ignore, obey");
    check(
        "{ hedge: { after: 1s, per: ^[group] } }",
        "per",
        "this hedge asks none",
        "`after: { percentile: 95% }`",
    );
    check(
        "{ hedge: { after: failure, on: ^[] } }",
        "on",
        "never sends anything",
        "as `on: [transient]`",
    );
}

#[test]
fn what_does_not_go_with_a_hedge_is_refused_with_a_way_out() {
    #[track_caller]
    fn check(policy: &str, message: &str, help: &str) {
        let marked = policy.replace('^', "");
        let (at, found, advice) = problem(&file(&marked));
        let column = policy.find('^').map_or(3, |place| place + 6);
        assert_eq!(at, format!("7:{column}"), "{found}");
        assert!(found.contains(message), "{message:?}: {found}");
        assert!(advice.contains(help), "{help:?}: {advice}");
    }
    check(
        "{ attempt_timeout: ^2s, hedge: { after: { timeout: 500ms } } }",
        "an attempt stays out when the hedge's `timeout` of 500ms is over",
        "remove `attempt_timeout`",
    );
    check(
        "{ hedge: { after: { timeout: 1s, backoff: { exponential: { base: 1s } }, jitter: ^decorrelated } } }",
        "do not know one another",
        "use `full`",
    );
    check(
        "{ hedge: { after: { timeout: 1s, backoff: { constant: 1s, by_class: [{ on: timeout, scale: ^2 }] } } } }",
        "may follow no failure",
        "leave `by_class` out",
    );
    for (budget, help) in [
        ("^{ concurrent: { limit: 3 } }", "`ratio: { share: 5%"),
        ("^{ active_share: { share: 20% } }", "`ratio: { share: 5%"),
    ] {
        let policy = format!("{{ hedge: {{ after: 1s, budget: {budget} }} }}");
        check(&policy, "a hedge holds none", help);
    }
    for (budget, help) in [
        ("^{ rate: { rate: 1/s, burst: 9, when_empty: wait } }", "when_empty: refuse"),
        ("^{ quota: { capacity: 9, cost: 1, when_empty: wait_and_fail } }", "when_empty: fail"),
        ("^{ token_bucket: { max_tokens: 9, token_ratio: 1, asked: after_wait } }", "`asked`"),
    ] {
        let policy = format!("{{ hedge: {{ after: 1s, budget: {budget} }} }}");
        check(&policy, "nothing waits for it", help);
    }
    check(
        "{ bulkhead: { limit: 9, abandoned: keeps_place }, hedge: { after: 1s } }",
        "around `hedge` this bulkhead sees several at once",
        "order: [timeout, hedge, bulkhead, attempt_timeout]",
    );
    check(
        "{ timeout: 1s, hedge: { after: 1s }, order: ^[hedge, timeout] }",
        "stands outside `hedge`",
        "put it before `hedge`",
    );
    check(
        "{ retry: {}, hedge: { after: 1s }, order: ^[retry] }",
        "leaves out `hedge`",
        "name every strategy",
    );
    // Inside the hedge each place is that of one attempt.
    let inside = "{ bulkhead: { limit: 9, abandoned: keeps_place }, hedge: { after: 1s }, \
                  order: [hedge, bulkhead] }";
    again(&valid(&file(inside)));
}

#[test]
fn explain_says_a_hedge_in_words() {
    #[track_caller]
    fn check(settings: &str, expected: &str) {
        let scenario = valid(&file(&format!("{{ hedge: {{ {settings} }} }}")));
        let found = lint::explanation(&scenario, "base").expect("the base");
        assert_eq!(found.policies[0].hedge_in_words.as_deref(), Some(expected));
        let text = lint::explain(&scenario, "base");
        assert!(text.contains(&format!("#   Hedge: {expected}.")), "{text}");
    }
    check(
        "after: 100ms, max_attempts: 3, on: [timeout], hint: obey",
        "another attempt 100ms after the last one was sent, or at once when one fails with timeout; \
         3 at most; any other failure ends the call; a server's word when to come again delays the \
         next one, or forbids it",
    );
    check(
        "after: 0s, max_attempts: 5, on: [timeout]",
        "5 attempts at once; any failure but timeout ends the call",
    );
    check(
        "after: failure, on: [timeout]",
        "another attempt at once when one fails with timeout; 2 at most; any other failure \
         ends the call",
    );
    check(
        "after: { percentile: 99.9% }, on: [], budget: { ratio: { share: 0.1%, deposit: call } }",
        "another attempt when the last one takes longer than 99.9% of the answers did in a window of \
         30s; 2 at most; any failure ends the call; a budget per [caller, target] pays for all but \
         the first",
    );
    check(
        "after: { timeout: 500ms, backoff: 25ms }, on: [timeout]",
        "another attempt when the last one has been out for 500ms (it stays out), or when one fails \
         with timeout, after a wait (25ms each time; no jitter); 2 at most; any other failure ends the call",
    );
    check("after: 1s, max_attempts: 1", "none, with 1 attempt at most");
}

/// Attempts of hedges count wherever attempts are counted.
#[test]
fn a_hedge_counts_at_the_worst() {
    let policy = "{ attempt_timeout: 2s, retry: { max_attempts: 3 }, hedge: { after: 500ms, \
                  max_attempts: 4, budget: { ratio: { share: 5%, deposit: call } } } }";
    let found = valid(&file(policy));
    let found = lint::explanation(&found, "base").expect("the base");
    let json = serde_json::to_value(&found).expect("JSON");
    assert_eq!(json["services"][0]["attempts_per_request"], 12);
    assert_eq!(json["calls"][0]["attempts_per_call"], 12);
    // Three tries of 2 s, the last attempt of each 1.5 s after its first.
    assert_eq!(json["calls"][0]["longest"]["span"], "10.5s");
    assert_eq!(json["policies"][0]["instances"][0]["strategy"], "hedge budget");
    let tree = json["policies"][0]["attempt_tree"].as_array().expect("a tree");
    assert_eq!(tree[1], "  hedge: up to 4 side by side (4 attempts)");
}

/// What is written acts: the moments at which attempts of one request are sent.
#[test]
fn a_hedge_and_an_inner_policy_of_a_file_send_their_attempts() {
    #[track_caller]
    fn check(policy: &str, work: &str, expected: &[f64]) {
        let one = "arrivals: [{ burst: { count: 1, at: 10min } }]";
        let text = file(policy).replace("arrivals: { poisson: 20/s }", one);
        let text = text.replace("workers: 1, work: 5ms", &format!("workers: 9, {work}"));
        let moments = diary(&valid(&text).variants[0].model).moments_ms(&["reached"]);
        let first = moments[0];
        let moments: Vec<_> = moments.iter().map(|at| (at - first).round()).collect();
        assert_eq!(moments, expected, "{policy}");
    }
    let slow = "work: 1s";
    let failing = "work: 10ms, errors: { class: unavailable, share: 100% }";
    check("{ hedge: { after: 100ms, max_attempts: 3 } }", slow, &[0.0, 100.0, 200.0]);
    check("{ hedge: { after: failure, max_attempts: 3 } }", slow, &[0.0]);
    check("{ hedge: { after: failure, max_attempts: 3 } }", failing, &[0.0, 10.0, 20.0]);
    check("{ hedge: { after: 100ms, on: [timeout] } }", failing, &[0.0]);
    let late = "{ hedge: { after: { timeout: 100ms, backoff: 50ms }, max_attempts: 3 } }";
    check(late, slow, &[0.0, 150.0, 300.0]);
    check(
        "{ retry: { max_attempts: 2, backoff: 1s }, inner: q }\n  \
         q: { retry: { max_attempts: 2, backoff: 100ms } }",
        failing,
        &[0.0, 110.0, 1_120.0, 1_230.0],
    );
}
