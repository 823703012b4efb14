//! Amounts of tokens, in whole thousandths, and what fills with them.

use crate::policy::stack::Scope;
use crate::policy::throttle::rate::RateConfig;
use crate::policy::throttle::rate::WhenEmpty;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::fields::Fields;
use crate::scenario::file::policies::read_per;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::units::Duration;

pub(super) const MOST_TOKENS: f64 = 4_000_000.0;

/// A bucket with a steady income.
pub(super) fn read_rate(
    node: &Node,
    what: &'static str,
    refused: &[(&'static str, WhenEmpty)],
    problems: &mut Problems,
) -> Option<(RateConfig, Option<Scope>)> {
    let mut fields = Fields::open(node, what, problems)?;
    let rate = fields.need("rate", "the steady income, as `10/s`", problems, |n, p| {
        let rate = reader::positive_rate(n, p)?.as_per_second();
        if !(0.0005..=MOST_TOKENS).contains(&rate) {
            let help = format!("accepted are 0.001/s to {MOST_TOKENS}/s");
            p.push_with(n.place, "this rate is out of range", help);
            return None;
        }
        Some((rate * 1_000.0 + 0.5) as u32)
    });
    let help = "the most that can be saved up, as 100";
    let burst = fields.need("burst", help, problems, reader::count(1, MOST_TOKENS as u32));
    let help = "what happens when there is none left: it decides whether calls fail or wait";
    let when_empty = fields.need("when_empty", help, problems, reader::word(refused));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let config =
        RateConfig { milli_per_s: rate?.value, burst: burst?.value, when_empty: when_empty?.value };
    Some((config, per.map(|per| per.value)))
}

/// A span, or the word `unlimited`.
pub(super) fn span_or_unlimited(node: &Node, problems: &mut Problems) -> Option<Duration> {
    match &node.value {
        Value::Scalar { text, .. } if text == "unlimited" => Some(Duration::MAX),
        _ => reader::positive_span(node, problems),
    }
}

/// A share that may be above the whole, in thousandths: `20%`, `0.2`, `200%`.
pub(super) fn any_share(node: &Node, problems: &mut Problems) -> Option<u32> {
    let text = reader::text(node, problems)?;
    let (number, scale) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim(), 100.0),
        None => (text.as_str(), 1.0),
    };
    match number.parse::<f64>() {
        Ok(value) if (0.0..=1_000.0 * scale).contains(&value) => {
            thousandths(value / scale, node.place, problems)
        }
        _ => {
            let problem = format!("{} is no share", quoted(&text));
            problems.push_with(
                node.place,
                problem,
                "accepted are 0% to 100000%, as `20%` or `0.2`",
            );
            None
        }
    }
}

/// An amount of tokens in thousandths.
pub(super) fn tokens(node: &Node, problems: &mut Problems) -> Option<u32> {
    let tokens = reader::real(0.0..=MOST_TOKENS)(node, problems)?;
    thousandths(tokens, node.place, problems)
}

/// Whole thousandths: tokens are counted, never added up as fractions.
pub(super) fn thousandths(value: f64, place: Place, problems: &mut Problems) -> Option<u32> {
    let milli = (value * 1_000.0).round();
    if (milli - value * 1_000.0).abs() > 1e-6 * milli.max(1.0) {
        problems.push_with(
            place,
            "tokens are counted in thousandths, and this is finer",
            "round it to three decimals (a share: to 0.1%)",
        );
        return None;
    }
    Some(milli as u32)
}
