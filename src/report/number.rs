//! Numbers as people read them: three digits that matter, thousands apart, a unit where one belongs.
//!
//! Invariant: text depends on the value alone, never on the locale, so that reports of equal
//! results are equal byte for byte.

/// Ten to a whole power, exact to the last bit on every platform.
pub(super) fn ten_to(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(f64::INFINITY)
}

/// The exponent of the leading decimal digit; 0 for zero and for what is not finite.
pub(super) fn magnitude(value: f64) -> i32 {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let text = format!("{:e}", value.abs());
    text.rsplit('e').next().and_then(|exponent| exponent.parse().ok()).unwrap_or(0)
}

/// A number with three digits that matter: `0.0123`, `58.3`, `1,612`, `1.25 M`.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = value.abs();
    let (scaled, suffix) = match size {
        _ if size < 999_950.0 => (value, ""),
        _ if size < 999.95e6 => (value / 1e6, " M"),
        _ if size < 999.95e9 => (value / 1e9, " G"),
        _ => return power(value),
    };
    if size > 0.0 && size < 0.000_1 {
        return power(value);
    }
    let decimals = (2 - magnitude(scaled)).clamp(0, 6) as usize;
    let text = format!("{scaled:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{}{suffix}", thousands(text))
}

/// Very small and very large values: `1.2×10⁻⁵`.
fn power(value: f64) -> String {
    let exponent = magnitude(value);
    let lead = format!("{:.1}", value / ten_to(exponent));
    let digits: String = exponent
        .to_string()
        .chars()
        .map(|digit| match digit {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            other => char::from_u32(0x2070 + other.to_digit(10).unwrap_or(0)).unwrap_or(other),
        })
        .collect();
    format!("{}×10{digits}", lead.trim_end_matches(".0").replace('-', "−"))
}

/// A whole number with its thousands apart.
pub fn count(value: u64) -> String {
    thousands(&value.to_string())
}

/// Puts commas between the thousands of a decimal number, and a true minus before it.
fn thousands(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("−", rest));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if out == "−0" && rest.is_empty() { "0".into() } else { out + rest }
}

/// A share as a percentage; what is not quite none or not quite all never reads as `0%` or `100%`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if !value.is_finite() {
        return "–".into();
    }
    if value > 0.0 && value < 0.1 {
        return "<0.1%".into();
    }
    if value < 100.0 && value > 99.9 {
        return ">99.9%".into();
    }
    let decimals = usize::from(!(10.0..=99.0).contains(&value));
    let text = format!("{value:.decimals$}");
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

/// A span of seconds in the unit a reader would choose: `350 ms`, `20 s`, `3.5 min`, `2 h`.
pub fn seconds(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = value.abs();
    match size {
        _ if size == 0.0 => "0 s".into(),
        _ if size < 1e-6 => format!("{} ns", number(value * 1e9)),
        _ if size < 1e-3 => format!("{} µs", number(value * 1e6)),
        _ if size < 1.0 => format!("{} ms", number(value * 1e3)),
        _ if size < 119.5 => format!("{} s", number(value)),
        _ if size < 7_170.0 => format!("{} min", number(value / 60.0)),
        _ if size < 172_000.0 => format!("{} h", number(value / 3_600.0)),
        _ => format!("{} d", number(value / 86_400.0)),
    }
}

/// `1 run`, `2 runs`: a count and its noun, an `s` for the plural.
pub fn counted(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_that_matter() {
        #[track_caller]
        fn check(value: f64, expected: &str) {
            assert_eq!(number(value), expected);
        }
        check(0.0, "0");
        check(-0.0, "0");
        check(58.34, "58.3");
        check(1_612.4, "1,612");
        check(64.0, "64");
        check(0.012_34, "0.0123");
        check(0.000_012, "1.2×10⁻⁵");
        check(1_250_000.0, "1.25 M");
        check(999_999.0, "1 M");
        check(4e12, "4×10¹²");
        check(-1_234.0, "−1,234");
        check(f64::NAN, "–");
    }

    #[test]
    fn shares_never_round_to_certainty() {
        #[track_caller]
        fn check(share: f64, expected: &str) {
            assert_eq!(percent(share), expected);
        }
        check(0.0, "0%");
        check(1.0, "100%");
        check(0.9995, ">99.9%");
        check(0.000_2, "<0.1%");
        check(0.963, "96%");
        check(0.995, "99.5%");
        check(0.05, "5%");
        check(0.037, "3.7%");
    }

    #[test]
    fn spans_choose_their_unit() {
        #[track_caller]
        fn check(value: f64, expected: &str) {
            assert_eq!(seconds(value), expected);
        }
        check(0.0, "0 s");
        check(0.35, "350 ms");
        check(20.0, "20 s");
        check(210.0, "3.5 min");
        check(7_200.0, "2 h");
        check(3e-9, "3 ns");
    }
}
