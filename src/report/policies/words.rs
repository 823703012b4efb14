//! Words for the parts of a policy.

use crate::lint::Attempts;
use crate::lint::Spread;
use crate::policy::backoff::Backoff;
use crate::policy::backoff::Growth;
use crate::policy::backoff::Jitter;
use crate::policy::backoff::Total;
use crate::policy::outcome::ClassSet;
use crate::report::number::number;
use crate::report::number::percent;
use crate::units::Duration;

/// A span to three decimals, in the unit that a reader would choose.
pub(crate) fn span(it: Duration) -> String {
    const UNITS: [(f64, f64, &str); 7] = [
        (1e-6, 1e-9, "ns"),
        (1e-3, 1e-6, "µs"),
        (1.0, 1e-3, "ms"),
        (120.0, 1.0, "s"),
        (7_200.0, 60.0, "min"),
        (172_800.0, 3_600.0, "h"),
        (f64::INFINITY, 86_400.0, "d"),
    ];
    if it == Duration::MAX {
        return "for ever".into();
    }
    let secs = it.as_secs_f64();
    if it.is_zero() {
        return "0 s".into();
    }
    let (_, unit, name) = UNITS.into_iter().find(|(end, ..)| secs < *end).unwrap_or(UNITS[6]);
    let text = format!("{:.3}", secs / unit);
    format!("{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A window: `75–125 ms`, or one span where both ends are the same.
pub(crate) fn range(low: Duration, high: Duration) -> String {
    if low == high {
        return span(high);
    }
    let (from, to) = (span(low), span(high));
    let unit = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
    if high == Duration::MAX {
        format!("{from} or more")
    } else if low.is_zero() || unit(&from) == unit(&to) {
        let from = from.rsplit_once(' ').map_or(from.as_str(), |(number, _)| number);
        format!("{from}–{to}")
    } else {
        format!("{from} – {to}")
    }
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
    let cap =
        if it.cap == Duration::MAX { String::new() } else { format!(" up to {}", span(it.cap)) };
    let first = it.window(1);
    let wait =
        if first.is_zero() { "at once at first".into() } else { format!("after {}", span(first)) };
    let growth = match it.growth {
        Growth::Constant(_) => String::new(),
        _ => format!(" {}", growth(it)),
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
    format!("{wait}{growth}{cap}, {jitter}")
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
    names.collect::<Vec<_>>().join(", ")
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
        check(36_180_000_000_000, "10.05 h");
        check(u64::MAX, "for ever");
        let millis = Duration::from_millis;
        assert_eq!(range(millis(75), millis(125)), "75–125 ms");
        assert_eq!(range(millis(0), millis(100)), "0–100 ms");
        assert_eq!(range(millis(900), millis(1_200)), "900 ms – 1.2 s");
        assert_eq!(range(millis(900), Duration::MAX), "900 ms or more");
    }

    #[test]
    fn whole_groups_of_classes_go_by_their_names() {
        let set = ClassSet::PERMANENT.union(ClassSet::of(&[Class::Timeout, Class::BreakerOpen]));
        assert_eq!(classes(set), "permanent, timeout, breaker_open");
    }
}
