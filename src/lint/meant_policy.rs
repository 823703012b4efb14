//! A policy as meant, as text.

use crate::lint::meant::Lines;
use crate::lint::meant::distribution;
use crate::lint::meant_backoff::backoff;
use crate::lint::meant_backoff::hint;
use crate::lint::meant_backoff::jitter;
use crate::policy::backoff::Growth;
use crate::policy::breaker::BreakerConfig;
use crate::policy::breaker::LateResults;
use crate::policy::breaker::Trip;
use crate::policy::budget::BudgetConfig;
use crate::policy::budget::DepositPoint;
use crate::policy::stack::Layer;
use crate::policy::stack::Policy;
use crate::policy::stack::Retry;
use crate::policy::stack::Scoped;
use crate::policy::stack::TimeoutScope;
use crate::scenario::defaults;

pub(super) fn policy(out: &mut Lines, it: &Policy) {
    if it.order.is_empty() {
        return out.put(1, &it.name, "{}");
    }
    out.open(1, &it.name);
    if let Some(timeout) = &it.attempt_timeout {
        let scope = match timeout.scope {
            TimeoutScope::Attempt => "attempt",
            TimeoutScope::Queue => "queue",
        };
        let after = distribution(&timeout.after);
        out.put(2, "attempt_timeout", format!("{{ after: {after}, scope: {scope} }}"));
    }
    if let Some(timeout) = it.timeout {
        out.put(2, "timeout", timeout);
    }
    if let Some(it) = &it.retry {
        retry(out, it);
    }
    if let Some(it) = &it.breaker {
        breaker(out, it);
    }
    if let Some(bulkhead) = &it.bulkhead {
        out.open(2, "bulkhead");
        out.put(3, "limit", bulkhead.config.limit);
        let queue = bulkhead.config.queue;
        out.put_or(3, "queue", (queue, defaults::BULKHEAD_QUEUE), queue);
        out.put(3, "per", bulkhead.per);
    }
    let layers: Vec<_> = it.order.iter().map(|layer| layer_name(*layer)).collect();
    out.put(2, "order", format!("[{}]", layers.join(", ")));
}

fn layer_name(layer: Layer) -> &'static str {
    match layer {
        Layer::Bulkhead => "bulkhead",
        Layer::Timeout => "timeout",
        Layer::Retry => "retry",
        Layer::Breaker => "breaker",
        Layer::AttemptTimeout => "attempt_timeout",
    }
}

fn retry(out: &mut Lines, it: &Retry) {
    out.open(2, "retry");
    let attempts = it.max_attempts.map_or("unlimited".to_owned(), |n| n.to_string());
    out.put_or(3, "max_attempts", (it.max_attempts, Some(defaults::MAX_ATTEMPTS)), attempts);
    out.put_or(3, "backoff", (&it.backoff.growth, &Growth::None), backoff(&it.backoff));
    let jitter = jitter(&it.backoff);
    out.put_or(3, "jitter", (it.backoff.jitter, defaults::JITTER), jitter);
    out.put_or(3, "on", (it.on, defaults::RETRIED), format!("[{}]", it.on));
    if it.hint.listens() {
        out.put(3, "hint", hint(&it.hint));
    }
    if let Some(it) = &it.budget {
        budget(out, it);
    }
}

/// Thousandths as a number of tokens.
fn tokens(milli: u32) -> f64 {
    f64::from(milli) / 1_000.0
}

fn budget(out: &mut Lines, it: &Scoped<BudgetConfig>) {
    out.open(3, "budget");
    match it.config {
        BudgetConfig::TokenBucket { max_milli, ratio_milli, threshold_milli, counts } => {
            out.open(4, "token_bucket");
            out.put(5, "max_tokens", tokens(max_milli));
            out.put(5, "token_ratio", tokens(ratio_milli));
            let threshold = f64::from(threshold_milli) / f64::from(max_milli.max(1));
            out.put_or(5, "threshold", (threshold, defaults::THRESHOLD), threshold);
            out.put(5, "counts", format!("[{counts}]"));
        }
        BudgetConfig::Ratio { ratio_milli, deposit, floor_milli_per_s, cap_milli, start_milli } => {
            out.open(4, "ratio");
            out.put(5, "share", tokens(ratio_milli));
            let deposit = match deposit {
                DepositPoint::Call => "call",
                DepositPoint::Success => "success",
                DepositPoint::FirstSuccess => "first_success",
            };
            out.put(5, "deposit", deposit);
            let floor = format!("{}/s", tokens(floor_milli_per_s));
            out.put_or(5, "floor", (floor_milli_per_s, 0), floor);
            let cap = defaults::BUDGET_CAP_TOKENS * 1_000;
            out.put_or(5, "cap", (cap_milli, cap), tokens(cap_milli));
            out.put_or(5, "start", (start_milli, cap_milli), tokens(start_milli));
        }
    }
    out.put(5, "per", it.per);
}

fn breaker(out: &mut Lines, it: &Scoped<BreakerConfig>) {
    out.open(2, "breaker");
    match it.config.trip {
        Trip::Consecutive(failures) => out.put(3, "consecutive", failures),
        Trip::Window { length, failure_share, minimum_calls } => out.put(
            3,
            "window",
            format!(
                "{{ length: {length}, failure_share: {failure_share}, minimum_calls: {minimum_calls} }}"
            ),
        ),
    }
    out.put(3, "open_for", it.config.open_for);
    out.put_or(3, "probes", (it.config.probes, defaults::PROBES), it.config.probes);
    let counts = it.config.counts;
    out.put_or(3, "counts", (counts, defaults::BREAKER_COUNTS), format!("[{counts}]"));
    let late = match it.config.late_results {
        LateResults::Ignore => "ignore",
        LateResults::Count => "count",
    };
    out.put_or(3, "late_results", (it.config.late_results, defaults::LATE_RESULTS), late);
    out.put(3, "per", it.per);
}
