//! Words for what one call does in an outage, and for what many of them cost.
//!
//! Two things are said apart: what a call does by its own limits, read off the policy, and what many
//! calls cost together, counted in the engine, where budgets and breakers act.

use crate::engine::observe::LimitKind;
use crate::experiment::outage::Cost;
use crate::experiment::outage::MOST_EVENTS;
use crate::experiment::outage::OneCall;
use crate::lint::Attempts;
use crate::lint::End;
use crate::lint::Outage;
use crate::lint::Sent;
use crate::lint::Shared;
use crate::policy::stack::Policy;
use crate::report::policies::words;
use crate::units::Duration;

/// Moments of attempts that are listed.
const LISTED: usize = 6;
/// Over which span costs are counted, the same for every policy.
pub(crate) const HOW_COUNTED: &str = "\
Costs are those of the first hour of an outage: one process makes 100 calls a second for two \
minutes,\nand every attempt that reaches the service within the hour counts.";

/// What one call does in an outage, and what many cost.
pub(crate) fn outage(
    policy: &Policy,
    it: &Outage,
    cost: &Cost,
    one: Option<&OneCall>,
    out: &mut String,
) {
    if let Some(one) = one {
        *out += &format!("  one call, simulated: {}\n", simulated(one));
        *out += &format!("  cost: {}\n", cost_words(cost));
        return;
    }
    *out += &format!("  {}\n", moments(it));
    *out += &format!("  {}\n", end(policy, it));
    let said = it.ends == End::Never && it.most_attempts == Attempts::Unlimited;
    if !said && !it.may_end_sooner_by.is_empty() {
        *out += &format!("  sooner, when {}\n", any_of(&it.may_end_sooner_by));
    }
    if !it.may_come_later_by.is_empty() {
        let all = it.may_come_later_by.iter().map(|it| match it {
            Shared::Budget => "the retry budget",
            Shared::Throttle => "the throttle",
            Shared::Breaker => "the breaker",
            Shared::Bulkhead => "the bulkhead",
        });
        let all = all.collect::<Vec<_>>().join(" or ");
        *out += &format!("  attempts come later, when {all} makes them wait\n");
    }
    *out += &format!("  cost: {}\n", cost_words(cost));
}

/// `attempts at 0, 2 s; it ends after 10 s`.
fn simulated(one: &OneCall) -> String {
    let at = one.attempts_at.iter().take(LISTED).map(|at| match *at {
        Duration::ZERO => "0".to_owned(),
        at => words::span(at),
    });
    let at = at.collect::<Vec<_>>().join(", ");
    let end = match one.ended_after {
        Some(Duration::ZERO) => "it ends at once".to_owned(),
        Some(after) => format!("it ends after {}", words::span(after)),
        None => "it does not end within the hour".to_owned(),
    };
    match one.attempts {
        0 => format!("no attempt; {end}"),
        1 => format!("one attempt, at {at}; {end}"),
        all if all as usize <= LISTED => format!("attempts at {at}; {end}"),
        all => format!("{all} attempts, at {at} …; {end}"),
    }
}

/// `attempts at 0, 80–120 ms`: those that come at the same moment together.
fn moments(it: &Outage) -> String {
    if it.most_attempts == Attempts::AtMost(1) {
        return "one attempt, at 0".to_owned();
    }
    let mut groups: Vec<(String, usize)> = Vec::new();
    for text in it.attempts.iter().map(sent) {
        match groups.last_mut() {
            Some((last, times)) if *last == text => *times += 1,
            _ => groups.push((text, 1)),
        }
    }
    let all = it.most_attempts == Attempts::AtMost(it.attempts.len() as u64);
    if !all && groups.len() == 1 {
        return "attempts one right after the other, from 0 on".to_owned();
    }
    let words = groups.iter().take(LISTED).map(|(text, times)| match times {
        1 => text.clone(),
        times => format!("{text} ({times} of them)"),
    });
    let more = if all && groups.len() <= LISTED { "" } else { " …" };
    format!("attempts at {}{more}", words.collect::<Vec<_>>().join(", "))
}

fn sent(it: &Sent) -> String {
    let at = if it.at.latest.is_zero() {
        "0".to_owned()
    } else {
        words::range(it.at.earliest, it.at.latest)
    };
    if it.certain { at } else { format!("{at} (perhaps)") }
}

/// How the call ends by its own limits.
fn end(policy: &Policy, it: &Outage) -> String {
    let by = match it.ends_by {
        Some(by) if by.is_zero() => "at once".to_owned(),
        Some(by) if words::is_for_ever(by) => "after more than a hundred years".to_owned(),
        Some(by) => format!("by {}", words::span(by)),
        None => "some time: there is no bound".to_owned(),
    };
    let cut = it.ends_by.is_some() && it.ends_by == policy.timeout;
    let after = match it.most_attempts {
        Attempts::AtMost(1) => String::new(),
        Attempts::AtMost(n) => format!(", after at most {}", words::counted_attempts(n)),
        Attempts::Unlimited => String::new(),
    };
    match it.ends {
        End::Attempts => match it.most_attempts {
            Attempts::AtMost(1) => format!("there is no retry: the call ends {by}"),
            Attempts::AtMost(n) if cut => {
                format!("the call ends {by}, after {} or its timeout", words::counted_attempts(n))
            }
            Attempts::AtMost(n) => {
                format!("the call ends {by}, after {}", words::counted_attempts(n))
            }
            Attempts::Unlimited => format!("the call ends {by}"),
        },
        End::NotRetried => format!("this failure is not retried: the call ends {by}"),
        End::Timeout if cut => format!("the timeout of the whole call ends it {by}{after}"),
        End::Timeout => {
            let bound = policy.timeout.map_or(String::new(), words::span);
            format!(
                "a further attempt does not fit into the timeout of {bound}: the call ends {by}{after}"
            )
        }
        End::Elapsed => {
            let limit = policy.retry.as_ref().and_then(|retry| retry.max_elapsed);
            let limit = limit.map_or(String::new(), |limit| words::span(limit.after));
            format!("retries end {limit} after the call began: the call ends {by}{after}")
        }
        End::Never => match it.most_attempts {
            Attempts::AtMost(1) => {
                "nobody gives this attempt up: the call waits for as long as the service hangs"
                    .to_owned()
            }
            Attempts::AtMost(n) => format!(
                "the waits outgrow every outage: {} already take more than a hundred years",
                words::counted_attempts(n)
            ),
            Attempts::Unlimited if it.may_end_sooner_by.is_empty() => {
                "nothing ends the call: it goes on for as long as the outage".to_owned()
            }
            Attempts::Unlimited => format!(
                "the call has no limit of its own: it ends only when {}",
                any_of(&it.may_end_sooner_by)
            ),
        },
    }
}

fn any_of(all: &[Shared]) -> String {
    let words = all.iter().map(|it| match it {
        Shared::Budget => "the retry budget does not pay",
        Shared::Throttle => "the throttle turns it away",
        Shared::Breaker => "the breaker is open",
        Shared::Bulkhead => "the bulkhead is full",
    });
    words.collect::<Vec<_>>().join(" or ")
}

/// Attempts per call as a number: more decimals where two would say nothing, none where they would
/// say too much.
pub(crate) fn per_call(value: f64) -> String {
    match value {
        value if value > 0.0 && value < 0.1 => format!("{value:.4}"),
        value if value < 1_000.0 => format!("{value:.2}"),
        value => words::whole(value.round() as u64),
    }
}

/// `1.20`, `at least 1.20`, or that there is no number.
pub(crate) fn number(cost: &Cost) -> String {
    match (cost.attempts_per_call, cost.limit) {
        (Some(attempts), _) => per_call(attempts),
        (None, Some(LimitKind::NoProgress)) => "countless".to_owned(),
        (None, _) => format!("at least {}", per_call(cost.at_least)),
    }
}

/// `every call`, `no call` or `20 of 12,001 calls`.
pub(crate) fn open_calls(cost: &Cost) -> String {
    match cost.open_calls {
        0 => "no call".to_owned(),
        open if open >= cost.calls => "every call".to_owned(),
        open => format!("{} of {} calls", words::whole(open), words::whole(cost.calls)),
    }
}

/// `1.20 attempts a call`, and what else is to be known of it.
fn cost_words(cost: &Cost) -> String {
    let mut text = format!("{} attempts a call", number(cost));
    if cost.rejections > 0 {
        let each = cost.rejections as f64 / cost.calls.max(1) as f64;
        text += &format!(
            "; the caller's own policy stops {} more before they are sent",
            per_call(each)
        );
    }
    if let Some(limit) = cost.limit {
        return text + &format!("; {}", stopped(limit, cost.within));
    }
    let verb = |open: String| {
        let one = open == "every call" || open.starts_with("1 of");
        format!("{open} {} still open after the hour", if one { "is" } else { "are" })
    };
    if cost.open_calls > 0 {
        text += &format!("; {}", verb(open_calls(cost)));
    }
    text
}

/// Why the count ended before the hour did.
fn stopped(limit: LimitKind, within: Duration) -> String {
    let why = match limit {
        LimitKind::NoProgress => {
            return "they follow one another without a step in time, and the count was given up"
                .to_owned();
        }
        LimitKind::Events => format!("{} events", words::whole(MOST_EVENTS)),
        LimitKind::InFlight => "too many calls and attempts at once".to_owned(),
        LimitKind::AtRest => "too many jobs at rest".to_owned(),
        LimitKind::Pending => "too many events to come at once".to_owned(),
        LimitKind::Memory => "the limit on memory".to_owned(),
        LimitKind::Wall => "the limit on time".to_owned(),
    };
    format!("the count was given up {} into the outage: {why}", words::span(within))
}
