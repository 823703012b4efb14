//! What each map of the language looks like, for whoever wrote something else there.

/// A map as messages call it, and one that is accepted.
const EXAMPLES: &[(&str, &str)] = &[
    ("a scenario", "begin with `schema: 1`, `name:`, `clients:` and `services:`"),
    ("`run`", "as `{ horizon: 30min, replications: 100 }`"),
    ("`recovery`", "as `{ window: 15s, tolerance: 5% }`"),
    ("`limits`", "as `{ in_flight: 500_000, wall: 10min }`"),
    (
        "a queue of jobs",
        "as `{ workers: 20, retry: { max_attempts: 16, backoff: { exponential: { base: 1min } } } }`",
    ),
    ("`claim`", "as `{ every: 1s, batch: 100 }`"),
    ("`refused`", "as `fails`, `dead_letter` or `{ postpone: { after: 5s } }`"),
    ("`postpone`", "as `{ after: 5s, consumes_attempt: false }`"),
    ("`destinations`", "as `{ in_flight: 10, rate: 10/s, suspend: { at: 101, lasts: 24h } }`"),
    ("a destination's `rate`", "as `10/s`, or `{ rate: 10/s, burst: 20 }`"),
    ("`suspend`", "as `{ on: permanent, at: 101, lasts: 24h, jobs: wait }`"),
    ("`worker_errors`", "as `{ share: 0.1%, of: executions, returns: 30s }`"),
    ("a queue's `counter`", "as `{ scope: job, gives_up_at: 2, ttl: 12h }`"),
    ("`replay_window`", "as `5min`, or `{ lasts: 5min, answer: denied }`"),
    (
        "a population",
        "as `{ arrivals: { poisson: 25/s }, calls: SERVICE }`, or `users: { think: 5s }`",
    ),
    ("`users`", "as `{ think: { exponential: 5s } }`"),
    ("`burst`", "as `{ count: 500, at: 5min }`"),
    ("`schedule`", "as `{ rates: [{ rate: 25/s }, { at: 5min, rate: 250/s }] }`"),
    ("an entry of `rates`", "as `{ at: 5min, rate: 250/s, ramp: 10s }`"),
    ("a service", "as `{ workers: 4, work: { exponential: 10ms } }`"),
    ("`queue`", "as `{ limit: 100 }`"),
    ("`errors`", "as `{ class: internal, share: 1% }`"),
    ("a call", "as `{ to: SERVICE, policy: POLICY }`"),
    ("`answers`", "as `{ rate_limited: rejected, bulkhead_full: internal }`"),
    ("an operation", "as `read`, `write` or `{ write: { key: request } }`"),
    ("`reply`", "as `{ deferred: { notification: { latency: 50ms }, poll: 30s } }`"),
    (
        "`deferred`",
        "as `{ notification: { latency: 50ms, loss: 1% }, poll: 30s, read: destructive, consumer: \
         naive }`",
    ),
    ("`notification`", "as `{ latency: 50ms, loss: 1% }`, or `{}` for a sure one at once"),
    ("`read_errors`", "as `{ share: 1%, value: taken }`"),
    ("`malformed`", "as `{ unreadable: 1%, unknown_status: 0.5% }`"),
    ("`write`", "as `{ key: request }`, or the bare word `write`"),
    ("`idempotency`", "as `{ kept_for: 24h, in_progress: { answer: rejected, lasts: 1min } }`"),
    ("`in_progress`", "as `{ answer: rejected, lasts: 1min }`"),
    ("`overload`", "as `{ crashes_at: { connections: 400 }, restarts_after: 20s }`"),
    ("`crashes_at`", "as `{ connections: 400 }`"),
    ("`cold`", "as `{ work_factor: 2, lasts: 30s }`"),
    ("a link", "as `{ latency: 1ms, loss: 0.1% }`"),
    ("a policy", "as `{ attempt_timeout: 2s, retry: { max_attempts: 3 } }`"),
    ("a preset", "as `{ title, library, version, source, notes, check, policy }`"),
    ("`attempt_timeout`", "as `2s`, or `{ after: 2s, scope: queue }`"),
    ("`timeout`", "as `10s`, or `{ after: 10s, late_wait: truncate }`"),
    (
        "`limit`",
        "as `50`, `{ aimd: {} }`, `{ vegas: {} }`, `{ gradient: {} }`, `{ gradient2: {} }` or \
         `{ min_rtt: {} }`",
    ),
    ("`aimd`", "as `{ initial: 20, min: 20, max: 200, backoff: 0.9, timeout: 5s }`"),
    ("`vegas`", "as `{ initial: 20, max: 1000 }`"),
    ("`gradient`", "as `{ initial: 50, min: 1, max: 1000, tolerance: 2 }`"),
    ("`gradient2`", "as `{ initial: 20, min: 20, max: 200, tolerance: 1.5 }`"),
    ("`min_rtt`", "as `{ min: 3, max: 1000, buffer: 0.25, interval: 60s }`"),
    ("`samples`", "as `{}`, or `{ shortest: 1s, longest: 1s, more_than: 10 }`"),
    ("`fixed_window`", "as `{ limit: 50, period: 100ms, max_wait: 1s }`"),
    ("`codel`", "as `{ target: 5ms, interval: 100ms }`"),
    (
        "`retry`",
        "as `{ max_attempts: 3, backoff: { exponential: { base: 100ms } }, jitter: full }`",
    ),
    ("`hedge`", "as `{ after: 100ms, max_attempts: 2 }`"),
    (
        "`after`",
        "as `100ms`, `failure`, `{ percentile: 95%, window: 30s }` or `{ timeout: 500ms, backoff: \
         { exponential: { base: 25ms } }, jitter: full }`",
    ),
    (
        "`backoff`",
        "as `none`, `100ms`, `{ constant: 100ms }`, `{ linear: { base: 50ms, step: 50ms } }`, \
         `{ exponential: { base: 100ms, cap: 2s } }` or `{ drawn: { exponential: 500ms } }`",
    ),
    ("`linear`", "as `{ base: 50ms, step: 50ms, cap: 1s }`"),
    ("`exponential`", "as `{ base: 100ms, factor: 2, cap: 2s }`"),
    ("`polynomial`", "as `{ unit: 1s, exponent: 4, plus: 15s }`"),
    ("`fibonacci`", "as `1s`, or `{ base: 1s, cap: 1min }`"),
    ("`table`", "as `[5s, 5min, 30min]`, or `{ waits: [5s, 5min], ends: true }`"),
    ("`round`", "as `{ down: 1ms }` or `{ nearest: 1s }`"),
    (
        "an entry of `by_class`",
        "as `{ on: rate_limited, base: 1s }`, `{ on: …, scale: 0.5 }` or `{ on: …, backoff: … }`",
    ),
    (
        "`jitter`",
        "as `none`, `full`, `equal`, `decorrelated`, `decorrelated_v2` or `{ plus_minus: 20% }`",
    ),
    ("a kind of jitter", "as `20%`, or `{ share: 20%, whole: 1ms }`; for spans `{ most: 1s }`"),
    (
        "`hint`",
        "as `ignore`, `override`, `larger`, `{ clamp: { at_most: 5s } }` or `{ give_up_above: 30s }`",
    ),
    ("a rule of `hint`", "as `{ cap: 1h, spread: 20%, sequence: restarts }`"),
    ("`retry_after`", "as `2s`, or `{ overloaded: 2s, rate_limited: never }`"),
    ("`breaker`", "as `{ consecutive: 5, open_for: 10s }`"),
    ("`consecutive`", "as `5`, or `{ failures: 5, forget_after: 60s }`"),
    ("`average`", "as `{ window: 30s, below: 80%, minimum_calls: 5 }`"),
    ("`exhausted`", "as `{ attempts: 3, within: 5s }`"),
    ("`slow`", "as `{ longer_than: 2s, share: 80% }`"),
    ("`open_for`", "as `10s`, or `{ base: 1s, exponential: { factor: 2, cap: 60s } }`"),
    ("`times`", "as `{ cap: 300s, forget_every: 10s }`"),
    ("`exponential` openings", "as `{ factor: 2, cap: 60s }`"),
    ("`equal_jittered`", "as `{ cap: 300s }`"),
    ("`half_open`", "as `none`, or `{ places: in_all, closes_after: 3 }`"),
    ("`window`", "as `{ length: 30s, failure_share: 50%, minimum_calls: 20 }`"),
    ("`bulkhead`", "as `{ limit: 50, queue: 10 }`"),
    (
        "`budget`",
        "as `{ ratio: { share: 20%, deposit: call } }` or `{ token_bucket: { max_tokens: 10, \
         token_ratio: 0.1 } }`",
    ),
    ("`token_bucket`", "as `{ max_tokens: 10, token_ratio: 0.1 }`"),
    ("`ratio`", "as `{ share: 20%, deposit: call }`"),
    ("`quota`", "as `{ capacity: 500, costs: { default: 14, rate_limited: 5 } }`"),
    ("`costs`", "as `{ default: 14, rate_limited: 5 }`"),
    ("a budget's `window`", "as `{ share: 20%, deposit: success, ttl: 10s, rule: finagle }`"),
    ("`concurrent`", "as `{ limit: 3 }`"),
    ("`active_share`", "as `{ share: 20%, min: 3 }`"),
    ("`client_ratio`", "as `{ share: 10%, window: 2min }`"),
    ("a budget's `rate`", "as `{ rate: 10/s, burst: 100, when_empty: wait }`"),
    ("`counter`", "as `{ limit: 3, ttl: 1h, ttl_from: first }`"),
    ("`max_elapsed`", "as `15min` or `{ after: 15min, counts_wait: false }`"),
    (
        "`throttle`",
        "as `{ adaptive: { k: 2 } }` or `{ rate: { rate: 10/s, burst: 100, when_empty: wait } }`",
    ),
    ("`adaptive`", "as `{ k: 2, window: 2min }`"),
    ("`admission`", "as `{ threshold: 95%, window: 30s }`"),
    ("`cubic`", "as `{ throttled: [rate_limited] }`"),
    ("a throttle's `rate`", "as `{ rate: 10/s, burst: 100, when_empty: reject }`"),
    (
        "`ejection`",
        "as `{ outlier: { consecutive: 5 } }`, or `{ breaker: { consecutive: 7, open_for: 1s } }`",
    ),
    ("`outlier`", "as `{ consecutive: 5, interval: 10s, most_ejected: 10% }`"),
    ("`success_rate`", "as `{ minimum_hosts: 5, volume: 100, factor: 1.9 }`, or `none`"),
    ("`failure_share`", "as `{ at_least: 85%, minimum_hosts: 5, volume: 50 }`, or `none`"),
    ("a trigger", "as `{ at: 5min, lasts: 20s, service: SERVICE, effect: refuse }`"),
    ("an operator action", "as `{ at: 7min, flush: SERVICE }`"),
    ("`shed`", "as `{ clients: POPULATION, share: 90%, lasts: 2min }`"),
    ("an expectation", "as `{ variant: base, stuck_share: \"<= 5%\" }`"),
    ("`lognormal`", "as `{ mean: 10ms, cv: 0.5 }`"),
    ("`gamma`", "as `{ mean: 10ms, cv: 0.5 }`"),
    ("`pareto`", "as `{ mean: 10ms, alpha: 2.5 }`"),
    ("`weibull`", "as `{ mean: 10ms, shape: 0.7 }`"),
    ("`uniform`", "as `{ low: 5ms, high: 15ms }`"),
    ("an entry of `empirical`", "as `20ms`, `[90%, 20ms]` or `{ share: 90%, value: 20ms }`"),
];

/// What a map looks like, by the name that messages give it.
pub(super) fn of(what: &str) -> &'static str {
    EXAMPLES
        .iter()
        .find(|(name, _)| *name == what)
        .map_or("write its settings as `{ key: value }`", |(_, example)| *example)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every map that the readers open is known here.
    #[test]
    fn every_map_has_an_example() {
        let readers = [
            include_str!("file/backoffs.rs"),
            include_str!("file/breakers.rs"),
            include_str!("file/breakers/half_open.rs"),
            include_str!("file/breakers/open_for.rs"),
            include_str!("file/breakers/window.rs"),
            include_str!("file/budgets.rs"),
            include_str!("file/clients.rs"),
            include_str!("file/distribution.rs"),
            include_str!("file/disturbances.rs"),
            include_str!("file/ejections.rs"),
            include_str!("file/effects.rs"),
            include_str!("file/expect.rs"),
            include_str!("file/hedges.rs"),
            include_str!("file/hints.rs"),
            include_str!("file/jitters.rs"),
            include_str!("file/limiters.rs"),
            include_str!("file/mod.rs"),
            include_str!("file/policies.rs"),
            include_str!("file/queues.rs"),
            include_str!("file/run.rs"),
            include_str!("file/services.rs"),
            include_str!("file/throttles.rs"),
            include_str!("file/timeouts.rs"),
            include_str!("presets.rs"),
        ];
        let opened = readers.iter().flat_map(|text| text.split("Fields::open(").skip(1));
        let named = opened.filter_map(|rest| rest.split('"').nth(1).map(|what| (what, rest)));
        let mut maps = 0;
        for (what, rest) in named {
            if rest.find('"') < rest.find(')') {
                maps += 1;
                assert!(EXAMPLES.iter().any(|(name, _)| *name == what), "{what}");
            }
        }
        assert!(maps > 35, "{maps}");
    }
}
