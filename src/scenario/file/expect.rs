//! `expect`: what `check` asserts, as written.

use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::fields::Fields;
use crate::scenario::file::MOST_ENTITIES;
use crate::scenario::file::reference;
use crate::scenario::model::Comparison;
use crate::scenario::model::Phase;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::scenario::scalar;
use crate::scenario::scalar::Refusal;
use crate::units::Duration;

/// The findings by name.
const FINDINGS: [(&str, &str); 5] = [
    ("overloaded", "overloaded"),
    ("safe", "safe"),
    ("metastable", "metastable"),
    ("vulnerable", "vulnerable"),
    ("inconclusive", "inconclusive"),
];

/// One comparison as written.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenExpectation {
    pub(in crate::scenario) variant: Option<Spanned<String>>,
    pub(in crate::scenario) service: Option<Spanned<String>>,
    pub(in crate::scenario) within: Option<Spanned<Duration>>,
    pub(in crate::scenario) measure: WrittenMeasure,
    pub(in crate::scenario) comparison: Comparison,
    /// Key and condition.
    pub(in crate::scenario) text: String,
    pub(in crate::scenario) place: Place,
}

/// What is compared, before names are looked up.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::scenario) enum WrittenMeasure {
    StuckShare,
    RecoveredShare,
    RecoveredAfterActionShare,
    ControlHealthyShare,
    RecoveryMedian,
    RecoveryRestrictedMean,
    PeakAmplification,
    WholeAmplification,
    GoodputRatio(Phase),
    LostShare,
    DuplicateEffects,
    Conflicts,
    Finding(String),
}

/// What kind of number stands behind the comparison sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A part of a whole, 0 to 1.
    Share,
    /// A span of time, in seconds.
    Span,
    /// Any other number.
    Number,
}

/// What kind of number a measure of `expect` is; `None` where there is no such measure.
pub(in crate::scenario) fn kind_of(measure: &str) -> Option<Kind> {
    MEASURES.iter().find(|(name, ..)| *name == measure).map(|(.., kind)| *kind)
}

/// The measures of `expect` that are numbers, by name.
pub(in crate::scenario) fn measure_names() -> impl Iterator<Item = &'static str> {
    MEASURES.iter().map(|(name, ..)| *name)
}

const MEASURES: [(&str, WrittenMeasure, Kind); 14] = [
    ("stuck_share", WrittenMeasure::StuckShare, Kind::Share),
    ("recovered_share", WrittenMeasure::RecoveredShare, Kind::Share),
    ("recovered_after_action_share", WrittenMeasure::RecoveredAfterActionShare, Kind::Share),
    ("control_healthy_share", WrittenMeasure::ControlHealthyShare, Kind::Share),
    ("recovery_median", WrittenMeasure::RecoveryMedian, Kind::Span),
    ("recovery_restricted_mean", WrittenMeasure::RecoveryRestrictedMean, Kind::Span),
    ("peak_amplification", WrittenMeasure::PeakAmplification, Kind::Number),
    ("whole_amplification", WrittenMeasure::WholeAmplification, Kind::Number),
    ("goodput_ratio_before", WrittenMeasure::GoodputRatio(Phase::Before), Kind::Share),
    ("goodput_ratio_during", WrittenMeasure::GoodputRatio(Phase::During), Kind::Share),
    ("goodput_ratio_after", WrittenMeasure::GoodputRatio(Phase::After), Kind::Share),
    ("lost_share", WrittenMeasure::LostShare, Kind::Share),
    ("duplicate_effects", WrittenMeasure::DuplicateEffects, Kind::Number),
    ("conflicts", WrittenMeasure::Conflicts, Kind::Number),
];

/// Reads the list; a line with several measures is several expectations.
pub(in crate::scenario) fn read(node: &Node, problems: &mut Problems) -> Vec<WrittenExpectation> {
    let mut all = Vec::new();
    let Some(items) = reader::list(node, "`expect`", problems) else { return all };
    for item in items {
        read_line(item, &mut all, problems);
        if all.len() > MOST_ENTITIES {
            problems.push_with(
                node.head,
                format!("`expect` holds more than {MOST_ENTITIES} entries"),
                "split the file",
            );
            break;
        }
    }
    all
}

fn read_line(node: &Node, all: &mut Vec<WrittenExpectation>, problems: &mut Problems) {
    let Some(mut fields) = Fields::open(node, "an expectation", problems) else { return };
    let variant = fields.get("variant", problems, reference);
    let service = fields.get("service", problems, reference);
    let within = fields.get("within", problems, reader::positive_span);
    let before = all.len();
    let mut named = false;
    let mut add = |measure, comparison, text, place| {
        let (variant, service) = (variant.clone(), service.clone());
        all.push(WrittenExpectation { variant, service, within, measure, comparison, text, place });
    };
    for (key, measure, kind) in MEASURES {
        let Some(node) = fields.take(key) else { continue };
        named = true;
        if let Some((comparison, written)) = condition(node, kind, problems) {
            add(measure, comparison, format!("{key} {written}"), node.place);
        }
    }
    if let Some(node) = fields.take("finding") {
        named = true;
        if let Some(finding) = reader::word(&FINDINGS)(node, problems) {
            let measure = WrittenMeasure::Finding(finding.into());
            add(measure, Comparison::Is, format!("finding is {finding}"), node.place);
        }
    }
    if !named && all.len() == before {
        problems.push_with(
            fields.head(),
            "this expects nothing",
            "name a measure and a bound, as `stuck_share: \">= 95%\"`",
        );
    }
    fields.close(problems);
}

/// `>= 95%`, `<= 30s`, `>= 10`.
fn condition(node: &Node, kind: Kind, problems: &mut Problems) -> Option<(Comparison, String)> {
    let example = match kind {
        Kind::Share => "write `\">= 95%\"` or `\"<= 5%\"`",
        Kind::Span => "write `\"<= 30s\"` or `\">= 30s\"`",
        Kind::Number => "write `\">= 10\"` or `\"<= 2\"`",
    };
    let Value::Scalar { text, .. } = &node.value else {
        problems.push_with(
            node.place,
            format!("a bound is wanted here, not {}", node.kind()),
            example,
        );
        return None;
    };
    let written = text.trim();
    let (at_least, bound) = if let Some(bound) = written.strip_prefix(">=") {
        (true, bound.trim())
    } else if let Some(bound) = written.strip_prefix("<=") {
        (false, bound.trim())
    } else {
        let problem = format!("{}: a bound begins with `>=` or `<=`", quoted(text));
        problems.push_with(node.place, problem, example);
        return None;
    };
    let parsed: Result<f64, Refusal> = match kind {
        Kind::Share => scalar::share(bound).map(|share| share.get()),
        Kind::Span => scalar::duration(bound).map(Duration::as_secs_f64),
        Kind::Number => scalar::real(bound),
    };
    match parsed {
        Ok(bound) => {
            let comparison =
                if at_least { Comparison::AtLeast(bound) } else { Comparison::AtMost(bound) };
            Some((comparison, written.to_owned()))
        }
        Err(refusal) => {
            let problem = format!("{}: {}", quoted(text), refusal.problem);
            problems.push_with(node.place, problem, refusal.help);
            None
        }
    }
}
