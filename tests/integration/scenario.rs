//! The scenario language as its users meet it: a file in, a model or every problem out.

mod asked;
mod breakers;
mod budgets;
mod deferred;
mod doubts;
mod effective;
mod ejections;
mod hedges;
mod hostile;
mod inner;
mod meaning;
mod mistakes;
mod queues;
mod queues_doubts;
mod queues_mistakes;
mod strangers;
mod writes;

use stormlab::scenario;
use stormlab::scenario::diagnostic::Diagnostic;
use stormlab::scenario::model::Scenario;

/// The example that the language was designed with.
pub(crate) const FAILOVER: &str = r#"
# yaml-language-server: $schema=../schema/scenario.schema.json
schema: 1
name: failover-20s
about: A planned 20 s database failover meets three layers that each try 1 + 3 times.
source: where the numbers come from; what is left out

run:
  horizon: 60min            # simulated time after warm-up
  warm_up: 2min
  window: 1s                # width of the time series
  replications: 100
  seed: 1

clients:                    # one entry per population
  web:
    population: 1000        # instances
    arrivals: { poisson: 25/s }
    calls: gateway
    policy: browser

services:
  gateway:
    replicas: 2
    workers: 400            # per replica
    holds_worker: false
    queue: { limit: 1000, order: fifo, when_full: reply }
    work: { lognormal: { mean: 1ms, cv: 0.5 } }
    calls:
      - { to: orders, policy: thrice }
  orders: { workers: 400, holds_worker: false, work: { constant: 1ms }, calls: [{ to: repository, policy: thrice }] }
  repository: { workers: 400, holds_worker: false, work: { constant: 1ms }, calls: [{ to: database, policy: thrice }] }
  database:
    workers: 5
    work: { exponential: 20ms }
    queue: { limit: 1000 }
    overload:
      crashes_at: { connections: 400 }
      restarts_after: 20s
      cold: { work_factor: 2, lasts: 30s }

links:
  default: { latency: { constant: 500us } }
  "orders -> repository": { loss: 0.1% }

policies:
  browser: { attempt_timeout: 30s }
  thrice:
    attempt_timeout: 2s
    retry:
      max_attempts: 4
      backoff: { exponential: { base: 2s, factor: 2, cap: 8s } }
      jitter: none
      on: [transient]

triggers:
  - at: 5min
    lasts: 20s
    service: database
    effect: refuse

variants:
  full-jitter: { policies: { thrice: { retry: { jitter: full } } } }
  operator:
    about: People shed load.
    operator:
      - at: 45min
        shed: { clients: web, share: 90%, lasts: 2min }
      - at: 50min
        set: { policies.thrice.retry.max_attempts: 1, services.database.workers: 10 }

expect:
  - { variant: base, stuck_share: ">= 95%" }
  - { variant: full-jitter, stuck_share: ">= 50%" }
  - { service: database, peak_amplification: ">= 30" }
  - { variant: operator, recovered_after_action_share: ">= 95%", within: 5min }
"#;

fn parse(text: &str) -> Result<Scenario, Vec<Diagnostic>> {
    scenario::parse("test.yaml", text.as_bytes())
}

#[track_caller]
fn valid(text: &str) -> Scenario {
    parse(text).unwrap_or_else(|problems| {
        panic!("{}", problems.iter().map(ToString::to_string).collect::<String>())
    })
}

/// The canonical file with one text replaced.
#[track_caller]
fn with(from: &str, to: &str) -> String {
    assert!(FAILOVER.contains(from), "nothing to replace: {from}");
    FAILOVER.replacen(from, to, 1)
}

/// `line:column problem` of every problem.
fn problems(text: &str) -> Vec<String> {
    match parse(text) {
        Ok(_) => Vec::new(),
        Err(found) => {
            found.iter().map(|d| format!("{}:{} {}", d.line, d.column, d.problem)).collect()
        }
    }
}

/// A file that uses every element of the language.
const EVERYTHING: &str = r#"
schema: 1
name: everything
run:
  horizon: 40min
  warm_up: 10s
  window: 500ms
  recovery: { window: 2min, hold: 4min, tolerance: 10%, baseline: 8min }
  limits: { in_flight: 1_000, pending: 2_000, events: 3_000, memory: 4MiB, wall: 5min }
clients:
  web:
    population: 7
    arrivals: [ { schedule: { rates: [ { rate: 6/min }, { at: 5min, rate: 9/s, ramp: 30s }, { at: 20min, rate: 8/s } ] } }, { burst: { count: 5, at: 1s } } ]
    calls: front
    policy: bucket
    deadline: 9s
  steady: { arrivals: { constant: 40/s }, calls: front, policy: ratio }
  people: { population: 3, users: { think: { uniform: { low: 1s, high: 3s } } }, calls: back }
services:
  front:
    workers: 2
    work: { empirical: [[25%, 1ms], [100%, 4ms]] }
    queue: { limit: 0, order: lifo, when_full: drop, drop_expired: true }
    cancellation: full
    errors: { class: not_found, share: 1% }
    overload: { crashes_at: { connections: 9 }, restarts_after: 3s }
    balance: random
    calls: [ { to: back, policy: other }, { to: back } ]
  back: { workers: 3, work: { pareto: { mean: 2ms, alpha: 2.5 } }, overload: { cold: { work_factor: 1.5, lasts: 9s } }, cancellation: queue }
links:
  default: { latency: { gamma: { mean: 1ms, cv: 0.3 } }, loss: 2% }
  "front -> back": { latency: { weibull: { mean: 1ms, shape: 1.7 } } }
policies:
  bucket:
    attempt_timeout: { after: { exponential: 2s }, scope: queue }
    timeout: 8s
    retry:
      max_attempts: unlimited
      backoff: { linear: { base: 1s, step: 2s, cap: 20s } }
      jitter: { plus_minus: 20% }
      on: [transient, internal, breaker_open]
      budget: { token_bucket: { max_tokens: 10, token_ratio: 0.1, counts: timeout, per: [group] } }
    breaker: { window: { length: 30s, failure_share: 50%, minimum_calls: 20 }, open_for: 5s, probes: 2, late_results: count, counts: [internal], per: [target] }
    bulkhead: { limit: 4, queue: 6, per: [] }
    order: [timeout, breaker, retry, bulkhead, attempt_timeout]
  ratio:
    retry: { backoff: { drawn: { lognormal: { mean: 1s, cv: 0.5 } }, cap: 3s }, jitter: equal, budget: { ratio: { share: 20%, deposit: success, floor: 10/s, cap: 140, start: 20 } } }
    breaker: { consecutive: 5, open_for: 10s }
  other: { retry: { backoff: 300ms, jitter: decorrelated }, hedge: { after: { percentile: 95%, minimum: 7 }, budget: { ratio: { share: 5%, deposit: call } }, per: [group] }, inner: late }
  late: { hedge: { after: { timeout: 1s, backoff: 20ms, jitter: full }, max_attempts: 3, on: [], hint: obey } }
triggers:
  - { at: 9min, lasts: 1min, service: back, effect: { slow: 4 } }
  - { at: 8min, lasts: 1min, service: back, effect: { errors: { class: internal, share: 30% } } }
  - { at: 10min, lasts: 1min, service: back, effect: { workers: 50% } }
  - { at: 11min, lasts: 1min, service: front, effect: restart }
  - { at: 12min, lasts: 1min, service: front, effect: hang }
  - { at: 13min, lasts: 1min, clients: steady, effect: { surge: 3 } }
operator:
  - { at: 16min, flush: back }
  - { at: 15min, restart: front }
  - { at: 17min, set: { policies.other.retry.max_attempts: 1, clients.people.policy: ratio } }
  - { at: 18min, set: { services.back.workers: 9, "links.people -> back.loss": 0 } }
expect:
  - { stuck_share: "<= 5%", lost_share: "<= 0.1", goodput_ratio_before: ">= 99%", control_healthy_share: ">= 95%" }
  - { recovered_share: ">= 95%", within: 1min }
  - { recovery_median: "<= 30s", recovery_restricted_mean: "<= 1min" }
  - { finding: safe }
  - { service: back, whole_amplification: "<= 2.5", goodput_ratio_during: ">= 0", goodput_ratio_after: ">= 90%" }
"#;
