//! Policies inside policies: which one a name means, and where it cannot be one.

use stormlab::lint;
use stormlab::policy::stack::Policy;
use stormlab::scenario;
use stormlab::scenario::model::Deed;
use stormlab::scenario::model::Scenario;

use crate::scenario::effective::again;
use crate::scenario::hedges::file;
use crate::scenario::hedges::problem;
use crate::scenario::valid;

fn first(scenario: &Scenario) -> &Policy {
    &scenario.variants[0].model.policies[0]
}

/// Names from the outermost policy inwards.
fn names(policy: &Policy) -> Vec<&str> {
    policy.nested().map(|it| it.name.as_str()).collect()
}

#[test]
fn a_name_stands_for_the_policy_and_what_is_inside_it() {
    let text = file("{ retry: { max_attempts: 4 }, inner: sdk }")
        + "  mesh: { retry: { max_attempts: 2 } }
  sdk: { preset: aws-standard, retry: { max_attempts: 5 }, inner: mesh }
  alias: { inner: sdk }
  bare: { attempt_timeout: 1s, inner: none }
";
    let scenario = valid(&text);
    again(&scenario);
    let policies = &scenario.variants[0].model.policies;
    assert_eq!(names(&policies[0]), ["p", "sdk", "mesh"]);
    assert_eq!(
        policies[0].inner.as_deref(),
        Some(&policies[2]),
        "as meant, its own inner included"
    );
    assert_eq!(names(&policies[3]), ["alias", "sdk", "mesh"]);
    assert_eq!(names(&policies[4]), ["bare"], "`none` is no policy");
    let found = lint::explanation(&scenario, "base").expect("the base");
    let json = serde_json::to_value(&found).expect("JSON");
    assert_eq!(json["calls"][0]["attempts_per_call"], 4 * 5 * 2);
    assert_eq!(json["policies"][2]["instances"][0]["count"], 1, "`p` comes to it");
    let text = lint::explain(&scenario, "base");
    for line in [
        "    inner: sdk",
        "#   retry: up to 4 tries, one after another (40 attempts)",
        "#     each a call under the policy sdk (10 attempts)",
        "#         each a call under the policy mesh (2 attempts)",
        "#   budget: one state per [caller, target], 1 of them, 100 tokens in all when full.",
    ] {
        assert!(text.lines().any(|known| known == line), "{line:?}\n{text}");
    }
}

/// A change of the inner policy is one of all that it stands in.
#[test]
fn variants_and_set_reach_the_inner_policy() {
    let text = file("{ retry: {}, inner: sdk }")
        + "  sdk: { retry: { max_attempts: 5 } }
operator: [{ at: 10min, set: { policies.sdk.retry.max_attempts: 1 } }]
variants:
  calm: { policies: { sdk: { retry: { max_attempts: 2 } } } }
  bare: { policies: { p: { inner: null } } }
";
    let scenario = valid(&text);
    again(&scenario);
    let inside = |policy: &Policy| policy.inner.as_ref().map(|inner| inner.max_attempts());
    let of = |index: usize| inside(&scenario.variants[index].model.policies[0]);
    assert_eq!([of(0), of(1), of(2)], [Some(Some(5)), Some(Some(2)), None]);
    let Deed::Set { model, .. } = &scenario.variants[0].model.operator[0].what else {
        panic!("a set")
    };
    assert_eq!(inside(&model.policies[0]), Some(Some(1)));
}

#[test]
fn each_mistake_of_inner_has_its_place_and_a_help() {
    #[track_caller]
    fn check(policies: &str, message: &str, help: &str) {
        let (mut line, mut column) = (7, 0);
        for (index, text) in policies.lines().enumerate() {
            if let Some(place) = text.find('^') {
                let margin = if index == 0 { 6 } else { 1 };
                (line, column) = (line + index, place + margin);
            }
        }
        let (at, found, advice) = problem(&file(&policies.replace('^', "")));
        assert_eq!(at, format!("{line}:{column}"), "{found}");
        assert!(found.contains(message), "{message:?}: {found}");
        assert!(advice.contains(help), "{help:?}: {advice}");
    }
    check("{ inner: ^q }", "there is no policy `q`", "accepted: p");
    check("{ inner: ^aws }\n  awz: {}", "there is no policy `aws`", "did you mean `awz`?");
    check(
        "{ inner: ^aws-standard }",
        "`aws-standard` is a preset",
        "write `aws-standard: { preset: aws-standard }` under `policies`",
    );
    check("{ inner: ^{ retry: {} } }", "this is a map", "write `inner: NAME`");
    check("{ inner: ^p }", "`p` stands inside itself", "remove `inner`");
    check(
        "{ inner: ^a }\n  a: { inner: b }\n  b: { inner: p }",
        "in a circle: p -> a -> b -> p",
        "remove one",
    );
    let chain = |length: usize| -> String {
        let link = |i: usize| format!("\n  a{i}: {{ inner: a{} }}", i + 1);
        (1..length - 1).map(link).collect::<String>() + &format!("\n  a{}: {{}}", length - 1)
    };
    again(&valid(&file(&format!("{{ inner: a1 }}{}", chain(8)))));
    check(&format!("{{ inner: ^a1 }}{}", chain(9)), "more than 8 policies", "into one policy");
    check(
        "{ inner: q, bulkhead: { limit: 9 }, attempt_timeout: ^{ after: 1s, scope: queue } }\n  q: {}",
        "a whole call under `q`",
        "leave `scope` out",
    );
    check(
        "{ inner: ^q, bulkhead: { limit: 9, abandoned: keeps_place } }\n  q: {}",
        "which of its attempts would keep the place?",
        "into the inner policy",
    );
}

/// Longer circles, chains that lead into one, and thousands of them: an answer, and soon.
#[test]
fn circles_and_chains_of_any_length_are_refused() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = scenario::parse("t", file(text).as_bytes()).expect_err("it is wrong");
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(found[0].problem.contains(expected), "{found:?}");
    }
    let links = |from: usize, until: usize| -> String {
        (from..until).map(|i| format!("\n  a{i}: {{ inner: a{} }}", i + 1)).collect()
    };
    check(&format!("{{ inner: a0 }}{}\n  a1: {{ inner: a0 }}", links(0, 1)), "a0 -> a1 -> a0");
    check(&format!("{{ inner: a0 }}{}\n  a20: {{ inner: p }}", links(0, 20)), "more than 8");
    check(&format!("{{ inner: a0 }}{}\n  a4000: {{}}", links(0, 4_000)), "more than 8");
    let shared: String = (0..9_000).map(|i| format!("\n  b{i}: {{ inner: a1 }}")).collect();
    let text = format!("{{ inner: a1 }}{}\n  a7: {{}}{shared}", links(1, 7));
    check(&text, "make too large a scenario");
}

#[test]
fn a_product_of_attempts_beyond_numbers_is_refused() {
    let each =
        "{ retry: { max_attempts: 1000000 }, hedge: { after: 0s, max_attempts: 100 }, inner: ";
    let text = file(&format!("{each}a }}\n  a: {each}b }}\n  b: {each}none }}"));
    let found = problem(&text);
    assert!(found.1.contains("more than 2^64 attempts"), "{found:?}");
    let unlimited = file("{ retry: { max_attempts: unlimited }, inner: q }\n  q: { retry: {} }");
    again(&valid(&unlimited));
}

/// The outer policy that gives up first, and the policy that only another one uses.
#[test]
fn what_is_hardly_meant_is_pointed_out() {
    #[track_caller]
    fn check(policies: &str, expected: &[&str]) {
        let text = file(policies);
        let (_, doubts) = scenario::parse_with_doubts("t", text.as_bytes()).expect("a scenario");
        let found: Vec<_> =
            doubts.iter().map(|it| format!("{}:{} {}", it.line, it.column, it.problem)).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{expected:?}: {found}");
        }
    }
    let inner = "\n  q: { attempt_timeout: 2s, retry: {} }";
    check(&format!("{{ attempt_timeout: 5s, inner: q }}{inner}"), &[]);
    check(
        &format!("{{ attempt_timeout: 2s, inner: q }}{inner}"),
        &["7:25 `p` gives up after 2s, and one attempt of `q` inside it may take 2s"],
    );
    check(
        &format!("{{ timeout: 1s, inner: r }}\n  r: {{ retry: {{}}, inner: q }}{inner}"),
        &["7:17 `p` gives up after 1s, and one attempt of `r` inside it may take 2s"],
    );
    check(&format!("{{ retry: {{}} }}{inner}"), &["8:3 nobody uses the policy `q`"]);
}

/// A caller whose inner policy gives up leaves, so that a queue may drop what has expired.
#[test]
fn the_patience_of_an_inner_policy_is_that_of_the_call() {
    let text = file("{ retry: {}, inner: q }\n  q: { attempt_timeout: 1s }")
        .replace("work: 5ms", "work: 5ms, queue: { drop_expired: true }, cancellation: queue");
    let (scenario, doubts) = scenario::parse_with_doubts("t", text.as_bytes()).expect("a scenario");
    assert!(doubts.is_empty(), "{doubts:?}");
    let found = lint::explanation(&scenario, "base").expect("the base");
    assert_eq!(found.services[0].patience, Some(stormlab::units::Duration::from_secs(1)));
    assert!(!first(&scenario).nested().any(|it| it.timeout.is_some()));
}
