//! The works that are timed, as ordinary scenarios.

use std::path::Path;

use stormlab::scenario;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::Scenario;

/// A scenario of the repository; `None` when there is no such file.
pub(crate) fn shipped(name: &str) -> Option<Scenario> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name);
    path.exists().then(|| scenario::load(&path).expect("shipped scenarios are valid"))
}

fn model(text: &str) -> Model {
    let mut scenario = scenario::parse("bench.yaml", text.as_bytes())
        .unwrap_or_else(|problems| panic!("{}", problems[0]));
    scenario.variants.swap_remove(0).model
}

/// Users behind three layers at nine tenths of their capacity, each layer with its own timeout and
/// three retries; `user_seconds` of simulated life in all, so that every size does the same work.
pub(crate) fn layers(users: u64, user_seconds: u64) -> Model {
    let windows = 20;
    let seconds = (user_seconds / users).max(windows);
    let window = seconds / windows;
    let workers = |work_ms: u64| (users * work_ms).div_ceil(10 * 900).max(1);
    model(&format!(
        "
schema: 1
name: layers
run: {{ horizon: {}s, warm_up: 0s, window: {window}s }}
clients:
  people: {{ population: {users}, users: {{ think: {{ exponential: 10s }} }}, calls: gateway, policy: p1000 }}
services:
  gateway: {{ workers: {}, holds_worker: false, work: {{ exponential: 1ms }}, calls: [{{ to: orders, policy: p500 }}] }}
  orders: {{ workers: {}, holds_worker: false, work: {{ exponential: 2ms }}, calls: [{{ to: database, policy: p200 }}] }}
  database: {{ workers: {}, work: {{ exponential: 5ms }}, queue: {{ limit: {users} }} }}
policies:
  p1000: {{ attempt_timeout: 1s, retry: {RETRY} }}
  p500: {{ attempt_timeout: 500ms, retry: {RETRY} }}
  p200: {{ attempt_timeout: 200ms, retry: {RETRY} }}
",
        windows * window,
        workers(1),
        workers(2),
        workers(5),
    ))
}

const RETRY: &str =
    "{ max_attempts: 4, backoff: { exponential: { base: 100ms, cap: 2s } }, jitter: full }";

/// So many requests, all under way at once: born at one instant, or spread over a second.
pub(crate) fn crowd(requests: u64, together: bool) -> Model {
    let arrivals = if together {
        format!("{{ burst: {{ count: {requests}, at: 0s }} }}")
    } else {
        format!(
            "{{ schedule: {{ process: constant, rates: [{{ rate: {requests}/s }}, {{ at: 1s, rate: 0/s }}] }} }}"
        )
    };
    model(&format!(
        "
schema: 1
name: crowd
run: {{ horizon: 5s, warm_up: 0s, window: 1s }}
clients:
  crowd: {{ arrivals: {arrivals}, calls: server, policy: patient }}
services:
  server: {{ workers: 1_000_000, work: {{ constant: 2s }} }}
policies:
  patient: {{ attempt_timeout: 4s, retry: {RETRY} }}
",
    ))
}

/// Users who think most of the time, each with its next thought in the calendar.
pub(crate) fn idle(users: u64) -> Model {
    model(&format!(
        "
schema: 1
name: idle
run: {{ horizon: 100s, warm_up: 0s, window: 10s }}
clients:
  people: {{ population: {users}, users: {{ think: {{ uniform: {{ low: 0s, high: 100s }} }} }}, calls: server }}
services:
  server: {{ workers: 1000, work: {{ constant: 1ms }} }}
",
    ))
}
