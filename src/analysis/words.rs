//! Numbers as they stand in a sentence.

use crate::units::Duration;

/// A share in percent with at most one decimal.
pub(super) fn percent(share: f64) -> String {
    let tenths = (share * 1_000.0).round() / 10.0;
    format!("{tenths}%")
}

/// A span in the unit people would choose, with at most one decimal.
pub(super) fn span(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    let (value, unit) = match seconds {
        s if s >= 7_200.0 => (s / 3_600.0, "h"),
        s if s >= 120.0 => (s / 60.0, "min"),
        s => (s, "s"),
    };
    format!("{} {unit}", (value * 10.0).round() / 10.0)
}

/// `1 run`, `2 runs`.
pub(super) fn runs(count: u32) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_in_a_sentence() {
        assert_eq!(percent(0.838_87), "83.9%");
        assert_eq!(percent(1.0), "100%");
        assert_eq!(span(Duration::from_secs(90)), "90 s");
        assert_eq!(span(Duration::from_secs(2_400)), "40 min");
        assert_eq!(span(Duration::from_secs(3_280)), "54.7 min");
        assert_eq!(span(Duration::from_secs(9_000)), "2.5 h");
        assert_eq!(runs(1), "1 run");
    }
}
