//! A back-off in words.

use std::fmt;

use super::Backoff;
use super::CapOrder;
use super::First;
use super::Grain;
use super::Growth;
use super::Jitter;
use super::Recall;
use super::Rounding;
use crate::units::Duration;
use crate::units::Share;

impl fmt::Display for Backoff {
    /// As in `100ms, 2 times as long before each further retry, at most 2s; full jitter`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = growth(self);
        if self.cap != Duration::MAX {
            text += &format!(", at most {}", self.cap);
            if self.rules.cap_ends {
                text += ", where the sequence ends";
            }
        }
        text += "; ";
        text += &jitter(self.jitter);
        let rules = &self.rules;
        if rules.order == CapOrder::JitterThenCap && !self.remembers() {
            text += ", laid on before the cap";
        }
        match rules.first {
            First::Alike => {}
            First::Fixed(wait) if wait.is_zero() => text += "; the first retry does not wait",
            First::Fixed(wait) => text += &format!("; the first retry waits {wait}"),
            First::Uncapped => text += "; no cap for the first",
            First::Unjittered => text += "; no jitter for the first",
        }
        if !rules.floor.is_zero() {
            text += &format!("; at least {}", rules.floor);
        }
        match rules.grain {
            Grain::Fine => {}
            Grain::Whole(unit) => text += &format!("; drawn in steps of {unit}"),
            Grain::WholeWithEnd(unit) => {
                text += &format!("; drawn in steps of {unit}, end included")
            }
            Grain::OneMore(unit) => text += &format!("; drawn {unit} wider"),
            Grain::SecondsApart => text += "; seconds and the rest drawn apart and cut (a fault)",
        }
        match rules.rounding {
            Rounding::None => {}
            Rounding::Down(unit) => text += &format!("; cut to multiples of {unit}"),
            Rounding::Nearest(unit) => text += &format!("; rounded to multiples of {unit}"),
        }
        if rules.recall == Recall::Uncapped && self.jitter != Jitter::DecorrelatedV2 {
            text += "; it remembers the wait before the cap";
        }
        for (classes, other) in &rules.by_class {
            text += &format!("; after {classes}: {other}");
        }
        if let Some(at) = rules.overflows_at {
            text += &format!("; from retry {at} on no wait at all (a fault: it overflows)");
        }
        f.pad(&text)
    }
}

fn growth(backoff: &Backoff) -> String {
    let exponent = |start: i32| match start {
        0 => String::new(),
        start => format!(" (exponent {start} at first)"),
    };
    match &backoff.growth {
        Growth::None => "no wait".to_owned(),
        Growth::Constant(wait) => format!("{wait} each time"),
        Growth::Linear { base, step } => format!("{base}, {step} more before each further retry"),
        Growth::Exponential { base, factor, start } => {
            format!("{base}, {factor} times as long before each further retry{}", exponent(*start))
        }
        Growth::LessOne { base, factor, start } => {
            format!("{base} times ({factor}ⁿ − 1){}", exponent(*start))
        }
        Growth::Stepped { base, factor, unit } => {
            format!(
                "{base}, {factor} times as long before each further retry, cut to {unit} each time"
            )
        }
        Growth::Polynomial { unit, exponent, plus, start } => {
            format!("{unit} times n^{exponent}, n from {start}, and {plus}")
        }
        Growth::Fibonacci { base } => format!("{base} times 1, 1, 2, 3, 5, …"),
        Growth::Table { waits, ends } => {
            let waits: Vec<_> = waits.iter().map(ToString::to_string).collect();
            format!("{}{}", waits.join(", "), if *ends { ", and no more" } else { ", …" })
        }
        Growth::Drawn(drawn) => format!("drawn: {drawn}"),
    }
}

fn jitter(jitter: Jitter) -> String {
    let percent = |share: f64| match Share::new(share) {
        Some(share) => share.to_string(),
        None => format!("{} times it", share),
    };
    match jitter {
        Jitter::None => "no jitter".to_owned(),
        Jitter::Full => "full jitter".to_owned(),
        Jitter::Equal => "equal jitter".to_owned(),
        Jitter::Decorrelated => "decorrelated jitter".to_owned(),
        Jitter::DecorrelatedV2 => "decorrelated jitter V2".to_owned(),
        Jitter::Monotone => "decorrelated jitter that never falls".to_owned(),
        Jitter::Compounding => "full jitter that compounds (a fault)".to_owned(),
        Jitter::Compounded(share) => format!("± {}, compounding (a fault)", percent(share)),
        Jitter::PlusMinus(share) => format!("± {}", percent(share)),
        Jitter::Absolute(most) => format!("± {most}"),
        Jitter::Added { most, grows, clipped } => {
            let grows = if grows.is_zero() {
                String::new()
            } else {
                format!(" ({grows} more before each further retry)")
            };
            let clipped = if clipped { ", within the cap" } else { "" };
            format!("up to {most} more{grows}{clipped}")
        }
        Jitter::AddedShare(share) => format!("up to {} more", percent(share)),
        Jitter::From(least) => format!("anywhere from {least} up"),
        Jitter::Down(share) => format!("up to {} less", percent(share)),
    }
}
