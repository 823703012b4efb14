//! A policy as meant, as text.

use crate::lint::meant::Lines;
use crate::lint::meant::distribution;
use crate::lint::meant::name;
use crate::lint::meant_backoff::backoff;
use crate::lint::meant_backoff::hint;
use crate::lint::meant_backoff::jitter;
use crate::lint::meant_breaker::breaker;
use crate::lint::meant_budget::budget;
use crate::lint::meant_budget::max_elapsed;
use crate::lint::meant_budget::throttle;
use crate::lint::meant_ejection::ejection;
use crate::lint::meant_hedge::hedge;
use crate::lint::meant_limiter;
use crate::policy::backoff::Growth;
use crate::policy::stack::DEFAULT_ORDER;
use crate::policy::stack::Layer;
use crate::policy::stack::Policy;
use crate::policy::stack::Retry;
use crate::policy::stack::TimeoutRule;
use crate::policy::stack::TimeoutScope;
use crate::policy::timeout::LateWait;
use crate::policy::timeout::Running;
use crate::scenario::defaults;
use crate::scenario::effective;
use crate::units::Duration;

/// One policy as meant, a key on each line, as it stands in a scenario below its name.
pub fn policy_as_meant(it: &Policy) -> String {
    let mut out = Lines::default();
    policy(&mut out, it);
    let text = out.into_text();
    if is_empty(it) { "{}\n".to_owned() } else { below_its_name(&text) }
}

/// As [`policy_as_meant`], as JSON.
pub fn policy_as_meant_json(it: &Policy) -> String {
    effective::as_json(&policy_as_meant(it))
}

/// The lines below the name, moved to the margin.
fn below_its_name(text: &str) -> String {
    let moved = |line: &str| format!("{}\n", line.strip_prefix("    ").unwrap_or(line));
    text.lines().skip(1).map(moved).collect()
}

/// Does it say nothing at all?
fn is_empty(it: &Policy) -> bool {
    it.order.is_empty() && it.inner.is_none() && it.ejection.is_none()
}

pub(super) fn policy(out: &mut Lines, it: &Policy) {
    if is_empty(it) {
        return out.put(1, &it.name, "{}");
    }
    out.open(1, &it.name);
    if let Some(timeout) = &it.attempt_timeout {
        let scope = match timeout.scope {
            TimeoutScope::Attempt => "attempt",
            TimeoutScope::Queue => "queue",
        };
        let constant = timeout.after.as_constant().map(|after| after.to_string());
        let after = constant.unwrap_or_else(|| distribution(&timeout.after));
        let growth = timeout.growth.map_or(String::new(), |growth| {
            let multiplier = format!(", multiplier: {}", growth.multiplier);
            match growth.cap {
                Duration::MAX => multiplier,
                cap => format!("{multiplier}, cap: {cap}"),
            }
        });
        out.put(2, "attempt_timeout", format!("{{ after: {after}, scope: {scope}{growth} }}"));
    }
    if let Some(timeout) = it.timeout {
        let TimeoutRule { late_wait, running } = it.timeout_rule;
        if it.timeout_rule.is_default() {
            out.put(2, "timeout", timeout);
        } else {
            out.open(2, "timeout");
            out.put(3, "after", timeout);
            let word = match late_wait {
                LateWait::Refuse => "refuse",
                LateWait::Truncate => "truncate",
            };
            out.put_or(3, "late_wait", (late_wait, LateWait::Refuse), word);
            let word = match running {
                Running::Cut => "cut",
                Running::Finish => "finish",
            };
            out.put_or(3, "running", (running, Running::Cut), word);
        }
    }
    if let Some(it) = &it.retry {
        retry(out, it);
    }
    if let Some(it) = &it.hedge {
        hedge(out, it);
    }
    if let Some(it) = &it.throttle {
        throttle(out, it);
    }
    if let Some(it) = &it.breaker {
        breaker(out, it);
    }
    if let Some(it) = &it.bulkhead {
        meant_limiter::bulkhead(out, it);
    }
    if let Some(it) = &it.ejection {
        ejection(out, it);
    }
    let layers: Vec<_> = it.order.iter().map(|layer| layer_name(*layer)).collect();
    let default: Vec<_> = DEFAULT_ORDER.into_iter().filter(|layer| it.has(*layer)).collect();
    if !layers.is_empty() {
        out.put_or(2, "order", (&it.order, &default), format!("[{}]", layers.join(", ")));
    }
    if let Some(inner) = &it.inner {
        out.put(2, "inner", name(&inner.name));
    }
}

fn layer_name(layer: Layer) -> &'static str {
    match layer {
        Layer::Bulkhead => "bulkhead",
        Layer::Timeout => "timeout",
        Layer::Retry => "retry",
        Layer::Hedge => "hedge",
        Layer::Throttle => "throttle",
        Layer::Breaker => "breaker",
        Layer::AttemptTimeout => "attempt_timeout",
    }
}

pub(super) fn retry(out: &mut Lines, it: &Retry) {
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
    if let Some(it) = &it.max_elapsed {
        max_elapsed(out, it);
    }
}
