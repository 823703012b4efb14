//! Hedging as meant: as text that is read again, and in words.

use crate::lint::meant::Lines;
use crate::lint::meant_backoff::backoff;
use crate::lint::meant_backoff::jitter;
use crate::lint::meant_budget::budget;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::HedgeDelay;
use crate::policy::stack::Hedging;
use crate::scenario::defaults;

/// A share in thousandths.
fn percent(per_mille: u32) -> String {
    format!("{}%", f64::from(per_mille) / 10.0)
}

pub(super) fn hedge(out: &mut Lines, it: &Hedging) {
    out.open(2, "hedge");
    let after = match it.config.delay {
        HedgeDelay::After(span) => span.to_string(),
        HedgeDelay::OnFailure => "failure".to_owned(),
        HedgeDelay::OnTimeout(timeout) => {
            let (waits, jitter) = (backoff(&it.backoff), jitter(&it.backoff));
            format!("{{ timeout: {timeout}, backoff: {waits}, jitter: {jitter} }}")
        }
        HedgeDelay::AtPercentile(config) => format!(
            "{{ percentile: {}, window: {}, minimum: {} }}",
            percent(config.per_mille),
            config.window,
            config.minimum
        ),
    };
    out.put(3, "after", after);
    let most = it.config.max_attempts;
    out.put_or(3, "max_attempts", (most, defaults::HEDGE_ATTEMPTS), most);
    out.put_or(3, "on", (it.config.on, defaults::RETRIED), format!("[{}]", it.config.on));
    let hint = if it.obeys_hints { "obey" } else { "ignore" };
    out.put_or(3, "hint", (it.obeys_hints, false), hint);
    if let Some(it) = &it.budget {
        budget(out, it);
    }
    if let HedgeDelay::AtPercentile(_) = it.config.delay {
        out.put(3, "per", it.per);
    }
}

/// A hedge in words: when a further attempt is sent, how many there are, and what ends the call.
pub fn hedge_in_words(it: &Hedging) -> String {
    let (most, on) = (it.config.max_attempts, it.config.on);
    if most <= 1 {
        return "none, with 1 attempt at most".to_owned();
    }
    let at_once = match it.config.delay {
        HedgeDelay::OnTimeout(_) => "",
        _ => "at once ",
    };
    let failed = (on != ClassSet::NONE).then(|| format!("{at_once}when one fails with {on}"));
    let late = match it.config.delay {
        HedgeDelay::OnFailure => None,
        HedgeDelay::After(delay) if delay.is_zero() => None,
        HedgeDelay::After(delay) => Some(format!("{delay} after the last one was sent")),
        HedgeDelay::OnTimeout(timeout) => {
            Some(format!("when the last one has been out for {timeout} (it stays out)"))
        }
        HedgeDelay::AtPercentile(config) => Some(format!(
            "when the last one takes longer than {} of the answers did in a window of {}",
            percent(config.per_mille),
            config.window
        )),
    };
    let all_at_once = matches!(it.config.delay, HedgeDelay::After(delay) if delay.is_zero());
    let mut words = match all_at_once {
        true => format!("{most} attempts at once"),
        false => {
            let when: Vec<_> = late.into_iter().chain(failed).collect();
            let waits = match it.config.delay {
                HedgeDelay::OnTimeout(_) => format!(", after a wait ({})", it.backoff),
                _ => String::new(),
            };
            format!("another attempt {}{waits}; {most} at most", when.join(", or "))
        }
    };
    words += &match on {
        ClassSet::NONE => "; any failure ends the call".to_owned(),
        on if all_at_once => format!("; any failure but {on} ends the call"),
        _ => "; any other failure ends the call".to_owned(),
    };
    if it.obeys_hints {
        words += "; a server's word when to come again delays the next one, or forbids it";
    }
    if let Some(budget) = &it.budget {
        words += &format!("; a budget per {} pays for all but the first", budget.per);
    }
    words
}
