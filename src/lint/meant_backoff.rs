//! A back-off, its jitter and what is made of hints, as meant, as text.

use crate::lint::meant::distribution;
use crate::policy::backoff::Backoff;
use crate::policy::backoff::CapOrder;
use crate::policy::backoff::First;
use crate::policy::backoff::Grain;
use crate::policy::backoff::Growth;
use crate::policy::backoff::Jitter;
use crate::policy::backoff::Recall;
use crate::policy::backoff::Rounding;
use crate::policy::backoff::Rules;
use crate::policy::hint::Beyond;
use crate::policy::hint::HintConfig;
use crate::policy::hint::HintRule;
use crate::policy::hint::Sequence;
use crate::policy::outcome::ClassSet;
use crate::units::Duration;

pub(super) fn backoff(it: &Backoff) -> String {
    let growth = match &it.growth {
        Growth::None if it.rules == (Rules { grain: it.rules.grain, ..Rules::PLAIN }) => {
            return "none".to_owned();
        }
        Growth::None => "constant: 0s".to_owned(),
        Growth::Constant(wait) => format!("constant: {wait}"),
        Growth::Linear { base, step } => format!("linear: {{ base: {base}, step: {step} }}"),
        Growth::Exponential { base, factor, start } => {
            format!("exponential: {{ base: {base}, factor: {factor}{} }}", start_of(*start))
        }
        Growth::LessOne { base, factor, start } => {
            let start = start_of(*start);
            format!("exponential: {{ base: {base}, factor: {factor}{start}, less_one: true }}")
        }
        Growth::Stepped { base, factor, unit } => {
            format!("exponential: {{ base: {base}, factor: {factor}, truncated_to: {unit} }}")
        }
        Growth::Polynomial { unit, exponent, plus, start } => format!(
            "polynomial: {{ unit: {unit}, exponent: {exponent}, plus: {plus}, start: {start} }}"
        ),
        Growth::Fibonacci { base } => format!("fibonacci: {base}"),
        Growth::Table { waits, ends } => {
            let waits: Vec<_> = waits.iter().map(ToString::to_string).collect();
            format!("table: {{ waits: [{}], ends: {ends} }}", waits.join(", "))
        }
        Growth::Drawn(drawn) => format!("drawn: {}", distribution(drawn)),
    };
    let mut settings = vec![growth];
    if it.cap != Duration::MAX {
        settings.push(format!("cap: {}", it.cap));
    }
    rules(&mut settings, &it.rules);
    format!("{{ {} }}", settings.join(", "))
}

fn start_of(start: i32) -> String {
    match start {
        0 => String::new(),
        start => format!(", start: {start}"),
    }
}

/// What differs from the plain reading; grain belongs to the jitter.
fn rules(settings: &mut Vec<String>, it: &Rules) {
    if it.order == CapOrder::JitterThenCap {
        settings.push("cap_applies: after_jitter".to_owned());
    }
    if it.cap_ends {
        settings.push("cap_ends: true".to_owned());
    }
    match it.first {
        First::Alike => {}
        First::Fixed(wait) => settings.push(format!("first: {wait}")),
        First::Uncapped => settings.push("first: uncapped".to_owned()),
        First::Unjittered => settings.push("first: unjittered".to_owned()),
    }
    if !it.floor.is_zero() {
        settings.push(format!("floor: {}", it.floor));
    }
    match it.rounding {
        Rounding::None => {}
        Rounding::Down(unit) => settings.push(format!("round: {{ down: {unit} }}")),
        Rounding::Nearest(unit) => settings.push(format!("round: {{ nearest: {unit} }}")),
    }
    if it.recall == Recall::Uncapped {
        settings.push("remembers: uncapped".to_owned());
    }
    if let Some(at) = it.overflows_at {
        settings.push(format!("overflows_at: {at}"));
    }
    if !it.by_class.is_empty() {
        let other = |(on, other): &(_, Backoff)| {
            let (waits, jitter) = (backoff(other), jitter(other));
            format!("{{ on: [{on}], backoff: {waits}, jitter: {jitter} }}")
        };
        let others: Vec<_> = it.by_class.iter().map(other).collect();
        settings.push(format!("by_class: [{}]", others.join(", ")));
    }
}

pub(super) fn jitter(it: &Backoff) -> String {
    let grain = match it.rules.grain {
        Grain::Fine | Grain::SecondsApart => None,
        Grain::Whole(unit) => Some(format!("whole: {unit}")),
        Grain::WholeWithEnd(unit) => Some(format!("whole: {unit}, end: included")),
        Grain::OneMore(unit) => Some(format!("whole: {unit}, end: one_more")),
    };
    let of = |kind: &str, amount: String| match &grain {
        Some(grain) if amount.is_empty() => format!("{{ {kind}: {{ {grain} }} }}"),
        Some(grain) => format!("{{ {kind}: {{ {amount}, {grain} }} }}"),
        None if amount.is_empty() => kind.to_owned(),
        None => format!("{{ {kind}: {{ {amount} }} }}"),
    };
    match it.jitter {
        Jitter::None => "none".to_owned(),
        Jitter::Full => of("full", String::new()),
        Jitter::Equal => of("equal", String::new()),
        Jitter::Decorrelated => "decorrelated".to_owned(),
        Jitter::DecorrelatedV2 => "decorrelated_v2".to_owned(),
        Jitter::Monotone => "monotone".to_owned(),
        Jitter::Compounding => "compounding".to_owned(),
        Jitter::Compounded(share) => format!("{{ compounded: {share} }}"),
        Jitter::PlusMinus(share) if grain.is_none() => format!("{{ plus_minus: {share} }}"),
        Jitter::PlusMinus(share) => of("plus_minus", format!("share: {share}")),
        Jitter::From(least) => of("from", format!("least: {least}")),
        Jitter::Absolute(most) => of("absolute", format!("most: {most}")),
        Jitter::Added { most, grows, clipped } => {
            of("added", format!("most: {most}, grows: {grows}, clipped: {clipped}"))
        }
        Jitter::AddedShare(share) if it.rules.grain == Grain::SecondsApart => {
            format!("{{ seconds_apart: {share} }}")
        }
        Jitter::AddedShare(share) => of("added_share", format!("share: {share}")),
        Jitter::Down(share) => of("down", format!("share: {share}")),
    }
}

pub(super) fn hint(it: &HintConfig) -> String {
    let (rule, first) = match it.rule {
        HintRule::Ignore => return "ignore".to_owned(),
        HintRule::Override => ("override", None),
        HintRule::Larger => ("larger", Some("of: wait".to_owned())),
        HintRule::LargerDrawnTwice => ("larger", Some("drawn: twice".to_owned())),
        HintRule::LargerWindow => ("larger", Some("of: window".to_owned())),
        HintRule::Clamp(more) => ("clamp", Some(format!("at_most: {more}"))),
        HintRule::Scaled(share) => ("scaled", Some(format!("share: {share}"))),
    };
    let mut settings: Vec<_> = first.into_iter().collect();
    if it.cap != Duration::MAX {
        let beyond = match it.beyond {
            Beyond::Clamp => "clamp",
            Beyond::GiveUp => "give_up",
            Beyond::Ignore => "ignore",
        };
        settings.push(format!("cap: {}, beyond: {beyond}", it.cap));
    }
    if it.spread > 0.0 {
        settings.push(format!("spread: {}", it.spread));
    }
    let sequence = match it.sequence {
        Sequence::GoesOn => "goes_on",
        Sequence::Restarts => "restarts",
        Sequence::Pauses => "pauses",
    };
    settings.push(format!("sequence: {sequence}, obeys_zero: {}", it.obeys_zero));
    if it.needed_after != ClassSet::NONE {
        settings.push(format!("needed_after: [{}]", it.needed_after));
    }
    format!("{{ {rule}: {{ {} }} }}", settings.join(", "))
}
