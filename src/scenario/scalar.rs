//! Spans, rates, shares and counts from the text of a scalar.
//!
//! Spans are read in integers, so `0.1s` is a hundred million nanoseconds and never one off. Every
//! refusal names the accepted form or range. Signs, infinities, NaN and numbers too large for
//! their meaning are refused here, so nothing behind this file needs to think of them.

use crate::units::Duration;
use crate::units::Rate;
use crate::units::SECOND;
use crate::units::Share;

/// The longest span of a scenario: 100 years of 365 days. Sums of five of them still fit.
pub(super) const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);
/// The highest rate of a scenario, far beyond what could be simulated.
pub(super) const HIGHEST_RATE: f64 = 1e9;
/// Digits of one number; more would only overflow.
const MOST_DIGITS: usize = 24;

const UNITS: [(&str, u64); 8] = [
    ("d", 86_400 * SECOND),
    ("h", 3_600 * SECOND),
    ("min", 60 * SECOND),
    ("m", 60 * SECOND),
    ("s", SECOND),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Why a text is not the value it should be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) problem: String,
    pub(super) help: String,
}

fn refuse<T>(problem: impl Into<String>, help: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { problem: problem.into(), help: help.into() })
}

/// How spans are written.
pub(super) const SPAN_HELP: &str = "write a span as `200ms`, `1.5s`, `2min` or `1m30s`";

/// How rates are written.
pub(super) const RATE_HELP: &str = "write a rate as `25/s`, `1500/min`, `200/h` or `3/d`";
/// How memory is written.
pub(super) const BYTES_HELP: &str =
    "write memory as `4GiB`, `512MiB`, `64KiB` or a number of bytes";

/// A span: `200ms`, `1.5s`, `1m30s`; units descend, and nothing is finer than a nanosecond.
pub(super) fn duration(text: &str) -> Result<Duration, Refusal> {
    let mut rest = text.trim();
    if rest.starts_with('-') {
        return refuse("a span of time is not negative", "accepted are 0s to 100 years");
    }
    let mut nanos: u128 = 0;
    let mut finest = u64::MAX;
    if rest.is_empty() {
        return refuse("a span of time is needed", SPAN_HELP);
    }
    while !rest.is_empty() {
        let (digits, decimals, after) = match decimal(rest) {
            Some(number) => number,
            None => return refuse("this is not a span of time", SPAN_HELP),
        };
        let word_end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (word, tail) = after.split_at(word_end);
        let word = if word == "µs" || word == "μs" { "us" } else { word };
        if word.is_empty() {
            let joined: String = text.split_whitespace().collect();
            return match joined != text.trim() && duration(&joined).is_ok() {
                true => refuse("a span of time has no blanks", format!("write it as `{joined}`")),
                false => refuse("a span of time needs a unit", SPAN_HELP),
            };
        }
        let Some((_, unit)) = UNITS.iter().find(|(name, _)| *name == word) else {
            let known = "the units are ns, us, ms, s, min, h and d";
            return refuse("this is not a unit of time", known);
        };
        if *unit >= finest {
            return refuse("the units of a span descend, each at most once", SPAN_HELP);
        }
        finest = *unit;
        // At most 24 digits times 8.64e13: below 2^128.
        let (scaled, divisor) = (digits * u128::from(*unit), 10u128.pow(decimals));
        if scaled % divisor != 0 {
            return refuse("a span of time is not finer than a nanosecond", SPAN_HELP);
        }
        nanos += scaled / divisor;
        rest = tail;
    }
    match u64::try_from(nanos) {
        Ok(nanos) if nanos <= LONGEST.as_nanos() => Ok(Duration::from_nanos(nanos)),
        _ => refuse("this span of time is too long", "accepted are 0s to 100 years (36500d)"),
    }
}

/// `25/s`, `1500/min`, `200/h`, `3/d`.
pub(super) fn rate(text: &str) -> Result<Rate, Refusal> {
    let Some((number, unit)) = text.split_once('/') else {
        return refuse("a rate needs its unit", RATE_HELP);
    };
    let per = match unit.trim() {
        "s" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return refuse("this is not a unit of a rate", RATE_HELP),
    };
    let value = real(number.trim())? / per;
    match Rate::per_second(value) {
        Some(rate) if value <= HIGHEST_RATE => Ok(rate),
        _ => refuse("this rate is too high", "accepted are 0/s to 1000000000/s"),
    }
}

/// `0.3` or `30%`.
pub(super) fn share(text: &str) -> Result<Share, Refusal> {
    let value = match text.trim().strip_suffix('%') {
        Some(percent) => real(percent.trim_end())? / 100.0,
        None => {
            let value = real(text.trim())?;
            if value > 1.0 && value <= 100.0 {
                return refuse("a share is between 0 and 1", format!("did you mean `{value}%`?"));
            }
            value
        }
    };
    match Share::new(value) {
        Some(share) => Ok(share),
        None => refuse("this share is out of range", "accepted are 0 to 1, or 0% to 100%"),
    }
}

/// A finite number that is not negative.
pub(super) fn real(text: &str) -> Result<f64, Refusal> {
    const HELP: &str = "accepted are finite numbers that are not negative, as `2` or `0.5`";
    if text.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && real(rest).is_ok()) {
        return refuse("this is negative", HELP);
    }
    let looks_right = text.starts_with(|c: char| c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '-' | '+' | '_'));
    if !looks_right {
        return refuse("this is not a number", HELP);
    }
    match without_underscores(text).and_then(|text| text.parse::<f64>().ok()) {
        Some(value) if value.is_finite() => Ok(value),
        Some(_) => refuse("this number is too large", HELP),
        None => refuse("this is not a number", HELP),
    }
}

/// A whole number: `5`, `1_000_000`.
pub(super) fn integer(text: &str) -> Result<u64, Refusal> {
    let digits = text.chars().all(|c| c.is_ascii_digit() || c == '_');
    if text.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && integer(rest).is_ok()) {
        return refuse("this is negative", "accepted are whole numbers from 0");
    }
    match without_underscores(text).filter(|text| digits && !text.is_empty()) {
        Some(text) => text.parse().or_else(|_| {
            refuse("this number is too large", "accepted are whole numbers below 2^64")
        }),
        None => refuse("this is not a whole number", "write it as `5` or `1_000_000`"),
    }
}

/// Bytes: `4GiB`, `512MiB`, `1000000`.
pub(super) fn bytes(text: &str) -> Result<u64, Refusal> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1u64 << 40,
        _ => return refuse("this is not a unit of memory", BYTES_HELP),
    };
    match integer(number.trim())?.checked_mul(unit) {
        Some(bytes) => Ok(bytes),
        None => refuse("this is more memory than there is", BYTES_HELP),
    }
}

/// Underscores between digits only.
fn without_underscores(text: &str) -> Option<String> {
    let misplaced = text.starts_with('_')
        || text.ends_with('_')
        || text.contains("__")
        || text.contains("_.")
        || text.contains("._");
    (!misplaced).then(|| text.replace('_', ""))
}

/// The leading decimal number of `text`: its digits, how many of them are decimals, what follows.
fn decimal(text: &str) -> Option<(u128, u32, &str)> {
    let end =
        text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let number = without_underscores(number)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.len() > MOST_DIGITS || fraction.len() > MOST_DIGITS {
        // Larger than any span: saturate, and let the range check say so.
        return Some((10u128.pow(MOST_DIGITS as u32), 0, rest));
    }
    let digits = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    Some((digits, fraction.len() as u32, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_exact_and_bounded() {
        #[track_caller]
        fn check(text: &str, nanos: u64) {
            assert_eq!(duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
        check("200ms", 200_000_000);
        check("1.5s", 1_500_000_000);
        check("0.1s", 100_000_000);
        check("2min", 120 * SECOND);
        check("1m30s", 90 * SECOND);
        check("1h0.5s", 3_600 * SECOND + SECOND / 2);
        check("500us", 500_000);
        check("500µs", 500_000);
        check("3d", 3 * 86_400 * SECOND);
        check("0s", 0);
        check("1_000ms", SECOND);
        check("36500d", LONGEST.as_nanos());
        check("1.000000000000000000s", SECOND);
    }

    #[test]
    fn what_is_not_a_span_is_refused() {
        #[track_caller]
        fn check(text: &str, why: &str) {
            let refusal = duration(text).expect_err(text);
            assert!(refusal.problem.contains(why), "{text}: {refusal:?}");
            assert!(!refusal.help.is_empty());
        }
        check("", "is needed");
        check("5", "needs a unit");
        check("5 s", "no blanks");
        check("5 ", "needs a unit");
        check("-5s", "not negative");
        check("5sec", "not a unit");
        check("soon", "not a span");
        check("nan", "not a span");
        check(".5s", "not a span");
        check("1..5s", "not a span");
        check("1e9s", "not a unit");
        check("1s1s", "descend");
        check("1s1min", "descend");
        check("0.1ns", "finer");
        check("36500.1d", "too long");
        check("99999999999999999999999999999999999999999999d", "too long");
    }

    #[test]
    fn rates_shares_numbers_and_bytes() {
        assert_eq!(rate("25/s").map(Rate::as_per_second), Ok(25.0));
        assert_eq!(rate("1500/min").map(Rate::as_per_second), Ok(25.0));
        assert_eq!(rate("1800/h").map(Rate::as_per_second), Ok(0.5));
        assert_eq!(share("30%").map(Share::get), Ok(0.3));
        assert_eq!(share("0.3").map(Share::get), Ok(0.3));
        assert_eq!(share("100%").map(Share::get), Ok(1.0));
        assert_eq!(integer("1_000_000"), Ok(1_000_000));
        assert_eq!(bytes("4GiB"), Ok(4 << 30));
        for bad in ["25", "25/fortnight", "-1/s", "1e999/s", "inf/s", "nan/s", "2000000000/s"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
        for bad in ["1.1", "101%", "-0.1", "nan", "inf", "1e999", "", "%"] {
            assert!(share(bad).is_err(), "{bad}");
        }
        assert_eq!(share("30").unwrap_err().help, "did you mean `30%`?");
        for bad in ["", "_", "1__0", "-1", "1.5", "0x10", "18446744073709551616", "1_"] {
            assert!(integer(bad).is_err(), "{bad}");
        }
        assert!(bytes("4GB").is_err());
        assert!(bytes("99999999999TiB").is_err());
    }
}
