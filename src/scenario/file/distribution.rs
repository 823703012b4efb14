//! Distributions: a bare span is constant, everything else names its law.

use crate::random::Distribution;
use crate::scenario::diagnostic::Problems;
use crate::scenario::examples;
use crate::scenario::fields::Fields;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::units::Duration;

/// The laws by name.
const LAWS: [&str; 8] =
    ["constant", "exponential", "lognormal", "gamma", "pareto", "weibull", "uniform", "empirical"];
/// Entries of a table.
const MOST_ENTRIES: usize = 10_000;

/// Reads `200ms`, `{ exponential: 20ms }`, `{ lognormal: { mean: 1ms, cv: 0.5 } }` and the like.
pub(super) fn read(node: &Node, problems: &mut Problems) -> Option<Distribution> {
    if let Value::Scalar { .. } = node.value {
        return reader::span(node, problems).map(Distribution::constant);
    }
    let entry =
        reader::only_entry(node, "a distribution", "{ exponential: 20ms }", &LAWS, problems)?;
    let law = &entry.node;
    let made = match entry.key.as_str() {
        "constant" => return reader::span(law, problems).map(Distribution::constant),
        "exponential" => checked(Distribution::exponential(reader::positive_span(law, problems)?)),
        "lognormal" => {
            let (mean, cv) = parameters(law, "`lognormal`", "cv", 0.001, 100.0, problems)?;
            checked(Distribution::lognormal(mean, cv))
        }
        "gamma" => {
            let (mean, cv) = parameters(law, "`gamma`", "cv", 0.001, 100.0, problems)?;
            checked(Distribution::gamma(mean, cv))
        }
        "pareto" => {
            let (mean, alpha) = parameters(law, "`pareto`", "alpha", 1.001, 1_000.0, problems)?;
            checked(Distribution::pareto(mean, alpha))
        }
        "weibull" => {
            let (mean, shape) = parameters(law, "`weibull`", "shape", 0.1, 100.0, problems)?;
            checked(Distribution::weibull(mean, shape))
        }
        "uniform" => {
            let mut fields = Fields::open(law, "`uniform`", problems)?;
            let low = fields.need("low", "the smallest value", problems, reader::span);
            let high = fields.need("high", "the largest value", problems, reader::positive_span);
            fields.close(problems);
            checked(Distribution::uniform(low?.value, high?.value))
        }
        "empirical" => checked(Distribution::empirical(&table(law, problems)?)),
        other => {
            reader::unknown(entry.place, "distribution", other, &LAWS, problems);
            return None;
        }
    };
    match made {
        Ok(distribution) => Some(distribution),
        Err(problem) => {
            problems.push_with(law.place, problem, examples::of(&format!("`{}`", entry.key)));
            None
        }
    }
}

/// The constructors' refusals as texts, whatever type they have.
fn checked<E: ToString>(made: Result<Distribution, E>) -> Result<Distribution, String> {
    made.map_err(|refusal| refusal.to_string())
}

/// `{ mean: …, SHAPE: … }`.
fn parameters(
    node: &Node,
    what: &'static str,
    shape: &'static str,
    least: f64,
    most: f64,
    problems: &mut Problems,
) -> Option<(Duration, f64)> {
    let mut fields = Fields::open(node, what, problems)?;
    let mean = fields.need("mean", "its mean, a span", problems, reader::positive_span);
    let shape = fields.need(
        shape,
        &format!("a number from {least} to {most}"),
        problems,
        reader::real(least..=most),
    );
    fields.close(problems);
    Some((mean?.value, shape?.value))
}

/// A list of `{ share, value }` or `[share, value]`: a share of so much lies at or below the value, and in between
/// shares grow in a straight line; or of bare spans, which are as many equal steps of the share.
fn table(node: &Node, problems: &mut Problems) -> Option<Vec<(f64, Duration)>> {
    let items = reader::list(node, "`empirical`", problems)?;
    if items.is_empty() || items.len() > MOST_ENTRIES {
        problems.push_with(
            node.place,
            format!("`empirical` lists 1 to {MOST_ENTRIES} values, and here are {}", items.len()),
            "as `[5ms, 7ms, 20ms]`",
        );
        return None;
    }
    let mut table = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        if let Value::Scalar { .. } = item.value {
            let share = (i + 1) as f64 / items.len() as f64;
            table.push((share, reader::span(item, problems)?));
            continue;
        }
        if let Value::List(pair) = &item.value
            && let [share, value] = pair.as_slice()
        {
            table.push((reader::share(share, problems)?.get(), reader::span(value, problems)?));
            continue;
        }
        let mut fields = Fields::open(item, "an entry of `empirical`", problems)?;
        let share = fields.need("share", "the cumulative share", problems, reader::share);
        let value = fields.need("value", "the span it lies below", problems, reader::span);
        fields.close(problems);
        table.push((share?.value.get(), value?.value));
    }
    let rises = table.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1);
    if !rises || table.last().is_none_or(|(share, _)| *share < 1.0) {
        problems.push_with(
            node.place,
            "the values of `empirical` rise, and so do their shares, up to 100%",
            "sort the entries, smallest first, and end at 100%",
        );
        return None;
    }
    Some(table)
}
