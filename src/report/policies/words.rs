//! Words for the parts of a policy.

use crate::lint::Attempts;
use crate::lint::Spread;
use crate::policy::backoff::Backoff;
use crate::policy::backoff::CapOrder;
use crate::policy::backoff::Growth;
use crate::policy::backoff::Jitter;
use crate::policy::backoff::Total;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::AttemptTimeout;
use crate::policy::stack::TimeoutScope;
use crate::report::number::count;
use crate::report::number::number;
use crate::report::number::percent;
use crate::units::Duration;

/// So long, and nobody waits for its end: a hundred years.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Is it as good as for ever?
pub(crate) fn is_for_ever(it: Duration) -> bool {
    it >= FOR_EVER
}

/// A span in the units that a reader would choose: to three decimals below two minutes, and from
/// there on in whole minutes, hours or days and what is left of them.
pub(crate) fn span(it: Duration) -> String {
    const UNITS: [(f64, f64, &str); 4] =
        [(1e-6, 1e-9, "ns"), (1e-3, 1e-6, "µs"), (1.0, 1e-3, "ms"), (120.0, 1.0, "s")];
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    if is_for_ever(it) {
        return "for ever".into();
    }
    if it.is_zero() {
        return "0 s".into();
    }
    let secs = it.as_secs_f64();
    if let Some((_, unit, name)) = UNITS.into_iter().find(|(end, ..)| secs < *end) {
        return format!("{} {name}", three_decimals(secs / unit));
    }
    // What is less than a hundred years has fewer milliseconds than a float has whole numbers.
    let rounded_to = |unit: f64| ((secs / unit).round() * unit) as u64;
    let (parts, left) = if secs < (2 * HOUR) as f64 {
        let millis = (secs * 1e3).round() as u64;
        let minutes = millis / (1_000 * MINUTE);
        let left = (millis % (1_000 * MINUTE)) as f64 / 1e3;
        (vec![(minutes, "min")], left)
    } else if secs < (2 * DAY) as f64 {
        let secs = rounded_to(1.0);
        (vec![(secs / HOUR, "h"), (secs % HOUR / MINUTE, "min")], (secs % MINUTE) as f64)
    } else {
        let secs = rounded_to(MINUTE as f64);
        (vec![(secs / DAY, "d"), (secs % DAY / HOUR, "h"), (secs % HOUR / MINUTE, "min")], 0.0)
    };
    let mut words: Vec<_> = parts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number} {unit}"))
        .collect();
    if left > 0.0 {
        words.push(format!("{} s", three_decimals(left)));
    }
    words.join(" ")
}

fn three_decimals(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `for 5 s`, or `for ever`.
pub(crate) fn lasting(it: Duration) -> String {
    if is_for_ever(it) { "for ever".into() } else { format!("for {}", span(it)) }
}

/// A window: `75–125 ms`, or one span where both ends are the same.
pub(crate) fn range(low: Duration, high: Duration) -> String {
    if low == high {
        return span(high);
    }
    let (from, to) = (span(low), span(high));
    // Of a span of several units there is none that both ends could share.
    let unit = |text: &str| {
        let (number, unit) = text.split_once(' ')?;
        (!unit.contains(' ')).then(|| (number.to_owned(), unit.to_owned()))
    };
    if from == to {
        return to;
    }
    match (unit(&from), unit(&to)) {
        _ if is_for_ever(high) => format!("{from} or more"),
        (_, Some(_)) if low.is_zero() => format!("0–{to}"),
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}–{to}"),
        _ => format!("{from} – {to}"),
    }
}

/// `1 attempt`, `4 attempts`.
pub(crate) fn counted_attempts(n: u64) -> String {
    if n == 1 { "1 attempt".into() } else { format!("{} attempts", count(n)) }
}

/// A whole number with its thousands apart.
pub(crate) fn whole(n: u64) -> String {
    count(n)
}

/// The window of several waits together.
pub(crate) fn total(it: Total) -> String {
    range(it.smallest, it.largest)
}

/// The window of a wait.
pub(crate) fn window(it: Spread) -> String {
    range(it.smallest, it.largest)
}

/// `4`, or `no limit`.
pub(crate) fn attempts(it: Attempts) -> String {
    match it {
        Attempts::AtMost(n) => n.to_string(),
        Attempts::Unlimited => "no limit".into(),
    }
}

/// How the window grows.
pub(crate) fn growth(it: &Backoff) -> String {
    match &it.growth {
        Growth::None => "at once".into(),
        Growth::Constant(_) => "constant".into(),
        Growth::Linear { step, .. } => format!("+ {}", span(*step)),
        Growth::Exponential { factor, .. } => format!("× {}", number(*factor)),
        Growth::LessOne { factor, .. } => format!("× {}, less 1", number(*factor)),
        Growth::Stepped { factor, unit, .. } => {
            format!("× {} in whole {}", number(*factor), span(*unit))
        }
        Growth::Polynomial { exponent: 2, .. } => "n²".into(),
        Growth::Polynomial { exponent: 3, .. } => "n³".into(),
        Growth::Polynomial { exponent: 4, .. } => "n⁴".into(),
        Growth::Polynomial { exponent, .. } => format!("n^{exponent}"),
        Growth::Fibonacci { .. } => "Fibonacci".into(),
        Growth::Table { waits, .. } => format!("table of {}", waits.len()),
        Growth::Drawn(_) => "drawn".into(),
    }
}

/// The spread over the window.
pub(crate) fn jitter(it: &Backoff) -> String {
    match it.jitter {
        Jitter::None => "none".into(),
        Jitter::Full => "full".into(),
        Jitter::Equal => "equal".into(),
        Jitter::Decorrelated => "decorrelated".into(),
        Jitter::DecorrelatedV2 => "decorrelated V2".into(),
        Jitter::Monotone => "monotone".into(),
        Jitter::Compounding => "compounding".into(),
        Jitter::Compounded(share) => format!("± {}, compounding", percent(share)),
        Jitter::PlusMinus(share) => format!("± {}", percent(share)),
        Jitter::Absolute(most) => format!("± {}", span(most)),
        Jitter::Added { most, .. } => format!("+ {}", span(most)),
        Jitter::AddedShare(share) => format!("+ {}", percent(share)),
        Jitter::From(least) => format!("from {}", span(least)),
        Jitter::Down(share) => format!("− {}", percent(share)),
    }
}

/// A back-off in a few words.
pub(crate) fn backoff(it: &Backoff) -> String {
    if it.growth == Growth::None {
        return "at once".into();
    }
    let cap = match it.cap {
        cap if is_for_ever(cap) => String::new(),
        cap => format!(", at most {}", span(cap)),
    };
    let first = span(it.window(1));
    let wait = match &it.growth {
        Growth::None | Growth::Constant(_) => format!("after {first}"),
        Growth::Linear { step, .. } => {
            format!("after {first}, then {} more each time", span(*step))
        }
        Growth::Exponential { factor, .. } => {
            format!("after {first}, then × {} each time", number(*factor))
        }
        Growth::Stepped { factor, unit, .. } => format!(
            "after {first}, then × {} each time in whole steps of {}",
            number(*factor),
            span(*unit)
        ),
        Growth::Drawn(drawn) => {
            format!("after a wait that is drawn, {} on average", span(drawn.mean()))
        }
        // What no factor and no step describes is shown.
        Growth::LessOne { .. }
        | Growth::Polynomial { .. }
        | Growth::Fibonacci { .. }
        | Growth::Table { .. } => {
            let windows = (1..=4).map(|retry| it.window(retry));
            let shown = windows.map(|it| if it.is_zero() { "0".into() } else { span(it) });
            format!("after {} and so on", shown.collect::<Vec<_>>().join(", "))
        }
    };
    let jitter = match it.jitter {
        Jitter::None => "without jitter".to_owned(),
        Jitter::PlusMinus(share) => format!("{} to either side", percent(share)),
        Jitter::Absolute(most) => format!("{} to either side", span(most)),
        Jitter::Added { most, .. } => format!("up to {} more", span(most)),
        Jitter::AddedShare(share) => format!("up to {} more", percent(share)),
        Jitter::Down(share) => format!("up to {} less", percent(share)),
        _ => format!("{} jitter", jitter(it)),
    };
    match it.rules.order {
        CapOrder::CapThenJitter => format!("{wait}{cap}, {jitter}"),
        CapOrder::JitterThenCap => format!("{wait}, {jitter}{cap}"),
    }
}

/// The longest wait for an attempt.
pub(crate) fn attempt_timeout(it: &AttemptTimeout) -> String {
    let after = match it.after.as_constant() {
        Some(after) => span(after),
        None => format!("drawn, {} on average", span(it.after.mean())),
    };
    let growth = it.growth.map_or(String::new(), |growth| {
        let cap = match growth.cap {
            cap if is_for_ever(cap) => String::new(),
            cap => format!(", at most {}", span(cap)),
        };
        format!(", then × {} each time{cap}", number(growth.multiplier))
    });
    let scope = match it.scope {
        TimeoutScope::Attempt => "",
        TimeoutScope::Queue => ", until a worker takes it up",
    };
    format!("{after}{growth}{scope}")
}

/// Failures: whole groups by their names, and what is left.
pub(crate) fn classes(set: ClassSet) -> String {
    const GROUPS: [(&str, ClassSet); 3] = [
        ("transient", ClassSet::TRANSIENT),
        ("permanent", ClassSet::PERMANENT),
        ("ambiguous", ClassSet::AMBIGUOUS),
    ];
    let whole: Vec<_> =
        GROUPS.iter().filter(|(_, group)| group.iter().all(|class| set.contains(class))).collect();
    let left = set.iter().filter(|class| !whole.iter().any(|(_, group)| group.contains(*class)));
    let names = whole.iter().map(|(name, _)| *name).chain(left.map(|class| class.name()));
    let names: Vec<_> = names.collect();
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::outcome::Class;

    #[test]
    fn spans_keep_three_decimals_and_windows_one_unit() {
        #[track_caller]
        fn check(nanos: u64, expected: &str) {
            assert_eq!(span(Duration::from_nanos(nanos)), expected);
        }
        check(0, "0 s");
        check(114_867_832, "114.868 ms");
        check(1_275_000_000, "1.275 s");
        check(60_000_000_000, "60 s");
        check(120_000_000_000, "2 min");
        check(1_000_000_000_000, "16 min 40 s");
        check(203_776_000_000, "3 min 23.776 s");
        check(7_199_999_900_000, "120 min");
        check(36_180_000_000_000, "10 h 3 min");
        check(27_135_400_000_000, "7 h 32 min 15 s");
        check(1_765_260 * 1_000_000_000, "20 d 10 h 21 min");
        check(36_499 * 86_400_000_000_000, "36499 d");
        check(36_500 * 86_400_000_000_000, "for ever");
        check(u64::MAX, "for ever");
        assert_eq!(lasting(Duration::MAX), "for ever");
        assert_eq!(lasting(Duration::from_secs(5)), "for 5 s");
        let millis = Duration::from_millis;
        assert_eq!(range(millis(75), millis(125)), "75–125 ms");
        assert_eq!(range(millis(0), millis(100)), "0–100 ms");
        assert_eq!(range(millis(900), millis(1_200)), "900 ms – 1.2 s");
        assert_eq!(range(millis(900), Duration::MAX), "900 ms or more");
        assert_eq!(range(millis(90_000), millis(180_000)), "90 s – 3 min");
        assert_eq!(range(millis(120_000), millis(123_000)), "2 min – 2 min 3 s");
        assert_eq!(range(millis(0), millis(123_000)), "0 s – 2 min 3 s");
    }

    #[test]
    fn whole_groups_of_classes_go_by_their_names() {
        let set = ClassSet::PERMANENT.union(ClassSet::of(&[Class::Timeout, Class::BreakerOpen]));
        assert_eq!(classes(set), "permanent, timeout, breaker_open");
    }
}
