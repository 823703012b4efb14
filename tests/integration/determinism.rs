//! The same bytes again, on any number of threads; and pairs of runs that must agree.

mod golden;
mod twins;

use std::sync::atomic::AtomicBool;

use stormlab::experiment;
use stormlab::experiment::Experiment;
use stormlab::experiment::Plan;
use stormlab::experiment::Silent;
use stormlab::scenario;

/// A storm with chance in every part of it, a variant, a trigger and an operator.
const STORM: &str = "
schema: 1
name: storm
about: A queue that fills, callers that try again.
source: Made up.
run: { horizon: 120s, warm_up: 5s, window: 1s, replications: 6, seed: 7,
       recovery: { window: 10s, hold: 10s, baseline: 30s } }
clients: { web: { population: 20, arrivals: { poisson: 60/s }, calls: front, policy: eager } }
policies:
  eager:
    attempt_timeout: 500ms
    retry: { max_attempts: 4, backoff: { exponential: { base: 50ms } }, jitter: full }
    breaker: { consecutive: 20, open_for: 2s }
services:
  front: { replicas: 2, workers: 50, work: { lognormal: { mean: 2ms, cv: 1 } }, balance: random,
           calls: [{ to: back, policy: eager }] }
  back: { workers: 4, work: { exponential: 50ms }, queue: { limit: 200 } }
links: { default: { latency: { exponential: 1ms }, loss: 0.1% } }
triggers: [{ at: 35s, lasts: 10s, service: back, effect: { slow: 3 } }]
operator: [{ at: 80s, shed: { clients: web, share: 90%, lasts: 10s } }]
variants: { gentle: { policies: { eager: { retry: { max_attempts: 2 } } } } }
";

fn experiment(threads: usize) -> Experiment {
    let scenario = scenario::parse("storm.yaml", STORM.as_bytes()).expect("it is well written");
    let plan = Plan { threads: Some(threads), ..Plan::everything(&scenario) };
    experiment::run(&scenario, &plan, &Silent, &AtomicBool::new(false)).expect("the audits hold")
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let one = experiment(1);
    assert_eq!(one.results.len(), 2);
    assert_eq!(one.results[0].runs.len(), 6);
    for threads in [2, 8] {
        let other = experiment(threads);
        assert_eq!(one, other);
        // Equal as numbers may still differ as text (0.0 and -0.0, NaN): the text must agree, too.
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
    let mut fingerprints: Vec<_> = one.results[0].runs.iter().map(|run| run.fingerprint).collect();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), 6, "replications are independent");
}
