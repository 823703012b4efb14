//! The scenario as meant is a scenario again, and gives the same results.

use std::path::Path;

use stormlab::analysis;
use stormlab::experiment;
use stormlab::experiment::Plan;
use stormlab::experiment::Silent;
use stormlab::lint;
use stormlab::report;
use stormlab::scenario;
use stormlab::scenario::model::Deed;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::Scenario;

use crate::scenario::EVERYTHING;
use crate::scenario::FAILOVER;
use crate::scenario::valid;

/// A model without the words of its `set`s, which may be put another way.
fn wordless(model: &Model) -> Model {
    let mut model = model.clone();
    for action in &mut model.operator {
        if let Deed::Set { change, .. } = &mut action.what {
            change.clear();
        }
    }
    model
}

/// Loads the effective form and compares it with what it was made of.
#[track_caller]
pub(super) fn again(scenario: &Scenario) -> Scenario {
    let text = lint::effective(scenario);
    serde_json::from_str::<serde_json::Value>(&text).expect("it is JSON");
    let again = valid(&text);
    let names = |it: &Scenario| it.variants.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&again), names(scenario));
    for (new, old) in again.variants.iter().zip(&scenario.variants) {
        assert!(wordless(&new.model) == wordless(&old.model), "{}: {text}", old.name);
        assert_eq!(new.about, old.about);
    }
    let expect = |it: &Scenario| {
        let lines = it.expect.iter();
        lines
            .map(|e| (e.variant, e.measure.clone(), e.comparison, e.text.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(expect(&again), expect(scenario));
    assert_eq!(lint::effective(&again), text, "once more gives the same");
    again
}

#[test]
fn every_scenario_there_is_means_the_same_when_loaded_again() {
    again(&valid(FAILOVER));
    again(&valid(EVERYTHING));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    for folder in ["basics", "storms", "validation"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                again(&scenario::load(&path).expect("it is shipped"));
            }
        }
    }
}

/// Settings whose defaults follow others, odd shares, long and broken lines, names like numbers.
#[test]
fn what_is_easily_lost_is_kept() {
    let text = r#"
schema: 1
name: "123"
about: "a \"quoted\" text: with # and ümlauts"
run: { horizon: 1h, replications: 2, seed: 18446744073709551615 }
clients:
  zoe: { arrivals: { poisson: 20/s }, calls: "1", policy: p }
  adam: { population: 70, users: { think: 3s }, calls: "1", policy: q, deadline: 9s }
services:
  "1": { workers: 3, work: { gamma: { mean: 7ms, cv: 0.3 } }, errors: { class: internal, share: 0.3333333333333333 }, calls: [{ to: b, policy: p }] }
  b: { workers: 3, work: 5ms, queue: { limit: 0 } }
policies:
  p:
    attempt_timeout: 1s
    retry: { max_attempts: 3, on: transient, budget: { token_bucket: { max_tokens: 10, token_ratio: 0.1 } } }
    breaker: { consecutive: 5, open_for: 5s }
  q: { timeout: 5s, retry: { budget: { ratio: { share: 10%, deposit: call } } } }
triggers:
  - { at: 10min, lasts: 5s, service: b, effect: refuse }
operator:
  - at: 20min
    set:
      policies.p.retry.on: [transient, internal]
      policies.q.retry.budget: { ratio: { share: 10%, deposit: call, cap: 50 } }
  - at: 21min
    set:
      policies.p.breaker:
        consecutive: null
        window:
          length: 30s
          failure_share: 50%
          minimum_calls: 20
      services.b.queue: { limit: unlimited, order: lifo }
  - { at: 22min, set: { services.b.workers: 3 } }
  - { at: 23min, set: { policies.p.retry: null, clients.adam.deadline: null, services.b.work: { exponential: 8ms } } }
variants:
  fewer: { clients: { zoe: null }, operator: null }
  more: { about: one more, clients: { abel: { arrivals: { constant: 3/s }, calls: b } }, services: { b: { queue: null } } }
  other: { policies: { p: { breaker: null, retry: { budget: null } } }, operator: null, links: { default: { loss: 0.7% } } }
expect:
  - { variant: more, recovered_share: ">= 1%", within: 2min, service: b, peak_amplification: "<= 30" }
  - { finding: safe, variant: fewer }
"#;
    let scenario = valid(text);
    let again = again(&scenario);
    let names: Vec<_> =
        again.variants[2].model.populations.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["adam", "zoe", "abel"], "what a variant adds comes after the base's");
}

fn summary(scenario: &Scenario) -> String {
    let stop = std::sync::atomic::AtomicBool::new(false);
    let experiment =
        experiment::run(scenario, &Plan::everything(scenario), &Silent, &stop).expect("it runs");
    report::summary_json(&analysis::summarise(scenario, &experiment)).expect("it is JSON")
}

const POPULATIONS: &str = "
schema: 1
name: order
run: { horizon: 10min, warm_up: 30s, replications: 3 }
clients:
  web: { population: 5, arrivals: { poisson: 30/s }, calls: shop, policy: p }
  batch: { arrivals: [{ poisson: 5/s }, { burst: { count: 20, at: 5min } }], calls: shop, policy: p }
  people: { population: 9, users: { think: { exponential: 3s } }, calls: shop, policy: p }
services:
  shop: { workers: 4, work: { exponential: 60ms }, queue: { limit: 50 } }
policies:
  p: { attempt_timeout: 500ms, retry: { max_attempts: 3, backoff: 100ms, jitter: full } }
triggers:
  - { at: 6min, lasts: 10s, service: shop, effect: refuse }
variants:
  second: { clients: { aaa: { arrivals: { poisson: 1/s }, calls: shop } } }
  reversed: { clients: { batch: { policy: p }, aaa: { arrivals: { poisson: 1/s }, calls: shop } } }
";

#[test]
fn the_effective_scenario_gives_the_same_results() {
    let scenario = valid(POPULATIONS);
    assert_eq!(summary(&again(&scenario)), summary(&scenario));
}

#[test]
fn the_order_of_populations_in_a_file_changes_nothing() {
    let line = |name: &str| {
        let is_it = |line: &&str| line.starts_with(&format!("  {name}:"));
        POPULATIONS.lines().find(is_it).expect("a population").to_owned() + "\n"
    };
    let (web, batch, people) = (line("web"), line("batch"), line("people"));
    let before = format!("{web}{batch}{people}");
    assert!(POPULATIONS.contains(&before));
    let turned = POPULATIONS.replace(&before, &format!("{people}{web}{batch}"));
    assert_ne!(turned, POPULATIONS);
    assert_eq!(summary(&valid(&turned)), summary(&valid(POPULATIONS)));
}
