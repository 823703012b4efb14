//! A number for a page: a measure of `expect`, or a place in `summary.json`.
//!
//! Numbers keep three digits that matter and the unit that belongs to their name, as everywhere in
//! the reports. What the runs do not tell is said in words in a table, and an error in prose.

use serde_json::Value;

use crate::analysis::summary::Estimate;
use crate::analysis::summary::VariantSummary;
use crate::check::judge;
use crate::report::number::count;
use crate::report::number::number;
use crate::report::number::percent;
use crate::report::number::seconds;
use crate::report::page::fill::Ran;
use crate::report::page::template::Wanted;
use crate::report::words;
use crate::scenario::MeasureKind;
use crate::scenario::suggest;

/// What a place in the text says.
pub(super) enum Found {
    Words(String),
    /// The runs do not tell, and why.
    Nothing(String),
}

/// What is wrong, and how to mend it.
pub(super) struct Unknown {
    pub(super) problem: String,
    pub(super) help: Option<String>,
}

/// The words for a measure of a variant, which is known to be there.
pub(super) fn find(wanted: &Wanted, variant: &str, ran: &Ran<'_>) -> Result<Found, Unknown> {
    let (scenario, summary) = (ran.material.scenario, ran.material.summary);
    let Some(asked) = wanted.ask(scenario, variant) else {
        return match summary.variant(variant) {
            Some(found) => at_path(wanted, found),
            None => Ok(Found::Nothing("the variant was not run".into())),
        };
    };
    let asked = asked.map_err(|it| Unknown { problem: it.problem, help: it.help })?;
    // What is asked for stands among the expectations: runs keep nothing that nobody asks for.
    let Some(index) = scenario.expect.iter().position(|it| *it == asked.expectation) else {
        return Ok(Found::Nothing("nobody asked the runs for it".into()));
    };
    let judgement = judge(index, scenario, summary, ran.experiment);
    Ok(match (judgement.finding, asked.kind) {
        (Some(finding), _) => Found::Words(words::finding(finding).into()),
        (None, kind) => {
            let unit = match kind {
                Some(MeasureKind::Share) => Unit::Share,
                Some(MeasureKind::Span) => Unit::Seconds,
                Some(MeasureKind::Number) | None => Unit::None,
            };
            in_words(judgement.measured, unit, &wanted.show)
                .map_or(Found::Nothing(judgement.because), Found::Words)
        }
    })
}

/// What stands behind a number.
#[derive(Clone, Copy)]
enum Unit {
    None,
    Share,
    Seconds,
    Milliseconds,
}

impl Unit {
    /// The unit that the keys of `summary.json` end in.
    fn of(path: &str) -> Self {
        let is = |ending: &str| path.split('.').any(|key| key.ends_with(ending));
        match () {
            () if is("_share") || is("goodput_ratio") => Self::Share,
            () if is("_ms") && !path.ends_with(".count") => Self::Milliseconds,
            () if is("_s") => Self::Seconds,
            () => Self::None,
        }
    }

    fn show(self, value: f64, show: &str) -> String {
        match self {
            Self::Share => percent(value),
            Self::Seconds => seconds(value),
            Self::Milliseconds => seconds(value / 1e3),
            Self::None if show == "whole" => count(value.round().max(0.0) as u64),
            Self::None => number(value),
        }
    }
}

/// `None` where there is no number.
fn in_words(found: Estimate, unit: Unit, show: &str) -> Option<String> {
    let shown = |value| unit.show(value, show);
    let value = shown(found.estimate?);
    if show != "interval" {
        return Some(value);
    }
    Some(match (found.low, found.high) {
        (Some(low), Some(high)) => format!("{value} ({} to {})", shown(low), shown(high)),
        (Some(low), None) => format!("{value} (at least {})", shown(low)),
        (None, Some(high)) => format!("{value} (at most {})", shown(high)),
        (None, None) => value,
    })
}

/// The number at a place of `summary.json` below the variant.
fn at_path(wanted: &Wanted, summary: &VariantSummary) -> Result<Found, Unknown> {
    let unknown = |problem: String, help| Unknown { problem, help };
    let whole = serde_json::to_value(summary)
        .map_err(|error| unknown(format!("the summary could not be read: {error}"), None))?;
    let mut here = &whole;
    for key in wanted.measure.split('.') {
        here = match here.get(key) {
            Some(found) => found,
            None => {
                let known: Vec<_> = here.as_object().into_iter().flat_map(|it| it.keys()).collect();
                let known: Vec<_> = known.iter().map(|it| it.as_str()).collect();
                let problem = format!("summary.json has no `{}`: not `{key}`", wanted.measure);
                return Err(unknown(problem, Some(suggest(key, &known))));
            }
        };
    }
    let unit = Unit::of(&wanted.measure);
    let estimate = |value: &Value| Estimate {
        estimate: value.get("estimate").and_then(Value::as_f64),
        low: value.get("low").and_then(Value::as_f64),
        high: value.get("high").and_then(Value::as_f64),
    };
    let words = match here {
        Value::String(text) => Some(text.clone()),
        Value::Number(value) => {
            let value = Estimate { estimate: value.as_f64(), ..Estimate::default() };
            in_words(value, unit, &wanted.show)
        }
        Value::Object(keys) if keys.contains_key("estimate") => {
            in_words(estimate(here), unit, &wanted.show)
        }
        Value::Object(keys) => {
            let known: Vec<_> = keys.keys().map(String::as_str).collect();
            let problem = format!("`{}` is no number but holds several", wanted.measure);
            return Err(unknown(problem, Some(format!("add one of: {}", known.join(", ")))));
        }
        Value::Null | Value::Bool(_) | Value::Array(_) => None,
    };
    Ok(words.map_or_else(|| Found::Nothing("it was not measured".into()), Found::Words))
}
