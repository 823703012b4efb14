//! A measure that is asked for, not bounded: what pages and other readers want to know of runs.
//!
//! It is named as a line of `expect` names it, with the same keys, and becomes an expectation with
//! a bound that says nothing. Whatever `expect` can assert can thus be asked for, and a name that
//! `expect` refuses is refused here in the same words.

use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::Severity;
use crate::scenario::diagnostic::Source;
use crate::scenario::diagnostic::quoted;
use crate::scenario::file;
use crate::scenario::file::MeasureKind;
use crate::scenario::model::Expectation;
use crate::scenario::model::Scenario;
use crate::scenario::reader;
use crate::scenario::tree;
use crate::scenario::validate;

/// A measure of a variant, and how to read its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// As the check of expectations takes it.
    pub expectation: Expectation,
    /// What kind of number it is; `None` for a finding, which is a word.
    pub kind: Option<MeasureKind>,
}

/// Why a measure cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong.
    pub problem: String,
    /// How to mend it.
    pub help: Option<String>,
}

/// The measures that can be asked for.
pub fn names() -> Vec<&'static str> {
    file::measure_names().chain(["finding"]).collect()
}

fn is_measure(name: &str) -> bool {
    names().contains(&name)
}

/// Asks for a measure of a variant; `keys` are those that a line of `expect` may have besides,
/// such as `service` and `within`.
///
/// # Errors
/// When a line of `expect` with these words would be refused.
pub fn ask(
    scenario: &Scenario,
    variant: &str,
    measure: &str,
    keys: &[(String, String)],
) -> Result<Asked, Refused> {
    if !is_measure(measure) {
        let problem = format!("there is no measure {}", quoted(measure));
        return Err(Refused { problem, help: Some(reader::suggest(measure, &names())) });
    }
    let kind = file::kind_of(measure);
    let bound = match kind {
        Some(MeasureKind::Share) => "\">= 0%\"",
        Some(MeasureKind::Span) => "\">= 0s\"",
        Some(MeasureKind::Number) => "\">= 0\"",
        None => "safe",
    };
    let words = [("variant", variant), (measure, bound)];
    let words = words.into_iter().chain(keys.iter().map(|(key, value)| (&**key, &**value)));
    let line: Vec<_> = words.map(|(key, value)| format!("{key}: {value}")).collect();
    let text = format!("- {{ {} }}", line.join(", "));
    let source = Source { file: "", text: &text };
    let mut problems = Problems::default();
    let found = read(scenario, &source, &mut problems);
    match (found, problems.into_diagnostics(&source, Severity::Error).into_iter().next()) {
        (Some(expectation), None) => Ok(Asked { expectation, kind }),
        (_, Some(first)) => Err(Refused { problem: first.problem, help: first.help }),
        (None, None) => Err(Refused { problem: "this asks for nothing".into(), help: None }),
    }
}

fn read(scenario: &Scenario, source: &Source<'_>, problems: &mut Problems) -> Option<Expectation> {
    let node = tree::parse(source.text, problems)?;
    let written = file::read_expectations(&node, problems);
    let names: Vec<_> = scenario.variants.iter().map(|variant| &*variant.name).collect();
    let models: Vec<_> = scenario.variants.iter().map(|variant| Some(&variant.model)).collect();
    validate::expectations(&written, &names, &models, source, problems).into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::model::ExpectedMeasure;

    fn scenario() -> Scenario {
        let text = "{schema: 1, name: x, clients: {web: {arrivals: {poisson: 1/s}, calls: shop, queue: q}}, \
                    queues: {q: {workers: 1}}, services: {shop: {workers: 1, work: 1ms}}, \
                    variants: {other: {run: {window: 2s}}}}";
        crate::scenario::parse("x", text.as_bytes()).unwrap()
    }

    fn service(name: &str) -> [(String, String); 1] {
        [("service".into(), name.into())]
    }

    #[test]
    fn whatever_can_be_expected_can_be_asked_for() {
        let scenario = scenario();
        for name in names() {
            let mut keys = vec![("service", "shop"), ("within", "2min")];
            match name {
                "latency" => keys.push(("quantile", "99%")),
                "lateness" | "to_dead_letter" | "claim_lag" => {
                    keys.extend([("quantile", "mean"), ("queue", "q")]);
                }
                "delivered_share"
                | "dead_letters"
                | "executions"
                | "executions_per_dead_letter"
                | "useless_share"
                | "storage_writes"
                | "first_dead_letter"
                | "oldest_due"
                | "suspended"
                | "suspensions"
                | "at_rest"
                | "most_at_rest" => keys.push(("queue", "q")),
                _ => {}
            }
            let keys: Vec<_> =
                keys.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
            let asked = ask(&scenario, "other", name, &keys).unwrap();
            assert_eq!(asked.expectation.variant, 1, "{name}");
            assert_eq!(asked.kind.is_none(), name == "finding");
        }
        let asked = ask(&scenario, "base", "peak_amplification", &service("shop")).unwrap();
        assert_eq!(asked.expectation.measure, ExpectedMeasure::PeakAmplification(0));
        assert_eq!(asked.kind, Some(MeasureKind::Number));
    }

    #[test]
    fn what_is_no_measure_is_refused_with_help() {
        #[track_caller]
        fn check(variant: &str, measure: &str, keys: &[(String, String)], words: &str) {
            let refused = ask(&scenario(), variant, measure, keys).unwrap_err();
            let said = format!("{} {}", refused.problem, refused.help.unwrap_or_default());
            assert!(said.contains(words), "{said}");
        }
        check("bas", "lost_share", &[], "did you mean `base`");
        check("base", "lost_shar", &[], "did you mean `lost_share`");
        check("base", "peak_amplification", &[], "add `service: NAME`");
        check("base", "peak_amplification", &service("shpo"), "did you mean `shop`");
        check("base", "finding", &service("}"), "");
    }
}
