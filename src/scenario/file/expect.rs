//! `expect`: what `check` asserts, as written.

use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::fields::Fields;
use crate::scenario::file::MOST_ENTITIES;
use crate::scenario::file::reference;
use crate::scenario::model::Comparison;
use crate::scenario::model::ExpectedResults;
use crate::scenario::model::JobQuestion;
use crate::scenario::model::Phase;
use crate::scenario::model::Statistic;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::scenario::scalar;
use crate::scenario::scalar::Refusal;
use crate::units::Duration;

mod scope;

use scope::WrittenScope;

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
    pub(in crate::scenario) scope: WrittenScope,
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
    Mismatches,
    Results(ExpectedResults),
    Attempts,
    MostAttempts,
    Effects,
    OkShare,
    LateShare,
    FailedShare,
    UnansweredShare,
    Latency,
    Rejected,
    /// Of a queue of jobs; what stands in it in place of a statistic or a reason is made good.
    Jobs(JobQuestion),
    Finding(String),
}

impl WrittenMeasure {
    /// Is its interval a point where all runs agree? A share of runs, and what is known of all
    /// recovery times from some, always keeps a width.
    const fn may_be_exact(&self) -> bool {
        !matches!(
            self,
            Self::StuckShare
                | Self::RecoveredShare
                | Self::RecoveredAfterActionShare
                | Self::ControlHealthyShare
                | Self::RecoveryMedian
                | Self::RecoveryRestrictedMean
        )
    }
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

const MEASURES: [(&str, WrittenMeasure, Kind); 49] = [
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
    ("mismatches", WrittenMeasure::Mismatches, Kind::Number),
    ("results_written", WrittenMeasure::Results(ExpectedResults::Written), Kind::Number),
    ("results_done", WrittenMeasure::Results(ExpectedResults::Done), Kind::Number),
    ("results_failed", WrittenMeasure::Results(ExpectedResults::Failed), Kind::Number),
    ("false_successes", WrittenMeasure::Results(ExpectedResults::FalseSuccesses), Kind::Number),
    ("results_misread", WrittenMeasure::Results(ExpectedResults::Misread), Kind::Number),
    ("results_destroyed", WrittenMeasure::Results(ExpectedResults::Destroyed), Kind::Number),
    ("waits_by_timer", WrittenMeasure::Results(ExpectedResults::ByTimer), Kind::Number),
    ("mislabelled_share", WrittenMeasure::Results(ExpectedResults::MislabelledShare), Kind::Share),
    ("false_running_mean", WrittenMeasure::Results(ExpectedResults::FalseRunningMean), Kind::Span),
    ("false_running_max", WrittenMeasure::Results(ExpectedResults::FalseRunningMax), Kind::Span),
    ("attempts", WrittenMeasure::Attempts, Kind::Number),
    ("most_attempts", WrittenMeasure::MostAttempts, Kind::Number),
    ("effects", WrittenMeasure::Effects, Kind::Number),
    ("ok_share", WrittenMeasure::OkShare, Kind::Share),
    ("late_share", WrittenMeasure::LateShare, Kind::Share),
    ("failed_share", WrittenMeasure::FailedShare, Kind::Share),
    ("unanswered_share", WrittenMeasure::UnansweredShare, Kind::Share),
    ("latency", WrittenMeasure::Latency, Kind::Span),
    ("rejected", WrittenMeasure::Rejected, Kind::Number),
    ("delivered_share", WrittenMeasure::Jobs(JobQuestion::DeliveredShare), Kind::Share),
    ("dead_letters", WrittenMeasure::Jobs(JobQuestion::DeadLetters(None)), Kind::Number),
    ("executions", WrittenMeasure::Jobs(JobQuestion::Executions), Kind::Number),
    (
        "executions_per_dead_letter",
        WrittenMeasure::Jobs(JobQuestion::ExecutionsPerDeadLetter),
        Kind::Number,
    ),
    ("useless_share", WrittenMeasure::Jobs(JobQuestion::UselessShare), Kind::Share),
    ("storage_writes", WrittenMeasure::Jobs(JobQuestion::StorageWrites), Kind::Number),
    ("lateness", WrittenMeasure::Jobs(JobQuestion::Lateness(ANY)), Kind::Span),
    ("to_dead_letter", WrittenMeasure::Jobs(JobQuestion::ToDeadLetter(ANY)), Kind::Span),
    ("claim_lag", WrittenMeasure::Jobs(JobQuestion::ClaimLag(ANY)), Kind::Span),
    ("first_dead_letter", WrittenMeasure::Jobs(JobQuestion::FirstDeadLetter), Kind::Span),
    ("oldest_due", WrittenMeasure::Jobs(JobQuestion::OldestDue), Kind::Span),
    ("suspended", WrittenMeasure::Jobs(JobQuestion::Suspended), Kind::Number),
    ("suspensions", WrittenMeasure::Jobs(JobQuestion::Suspensions), Kind::Number),
    ("at_rest", WrittenMeasure::Jobs(JobQuestion::AtRest), Kind::Number),
    ("most_at_rest", WrittenMeasure::Jobs(JobQuestion::MostAtRest), Kind::Number),
];

/// Stands where `quantile` says which.
const ANY: Statistic = Statistic::Mean;

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
    let mut unsound = Problems::default();
    let scope = WrittenScope::read(&mut fields, &mut unsound);
    let is_sound = unsound.is_empty();
    problems.take(unsound);
    let before = all.len();
    let mut named = Vec::new();
    let mut add = |measure, comparison, text, place| {
        let (variant, scope) = (variant.clone(), scope.clone());
        all.push(WrittenExpectation { variant, scope, measure, comparison, text, place });
    };
    for (key, measure, kind) in MEASURES {
        let Some(node) = fields.take(key) else { continue };
        for (comparison, written) in conditions(node, &measure, kind, problems) {
            add(measure.clone(), comparison, format!("{key} {written}"), node.place);
        }
        named.push(measure);
    }
    if let Some(node) = fields.take("finding") {
        let found = reader::word(&FINDINGS)(node, problems);
        let measure = WrittenMeasure::Finding(found.unwrap_or_default().into());
        if let Some(finding) = found {
            add(measure.clone(), Comparison::Is, format!("finding is {finding}"), node.place);
        }
        named.push(measure);
    }
    if !is_sound {
        all.truncate(before); // What cannot be read is not what is missing.
    }
    if named.is_empty() {
        problems.push_with(
            fields.head(),
            "this expects nothing",
            "name a measure and a bound, as `stuck_share: \">= 95%\"`",
        );
    } else {
        scope.complain_of_idle(&named, problems);
    }
    fields.close(problems);
}

/// `>= 95%`, `<= 30s`, `== 64`, or two of them with a comma between.
fn conditions(
    node: &Node,
    measure: &WrittenMeasure,
    kind: Kind,
    problems: &mut Problems,
) -> Vec<(Comparison, String)> {
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
        return Vec::new();
    };
    let mut all = Vec::new();
    for written in text.splitn(MOST_BOUNDS, ',').map(str::trim) {
        match condition(written, kind) {
            Ok(Comparison::Equals(_)) if !measure.may_be_exact() => problems.push_with(
                node.place,
                format!("{}: the interval of this measure is never a point", quoted(written)),
                example,
            ),
            Ok(comparison) => all.push((comparison, written.to_owned())),
            Err(None) => {
                let problem =
                    format!("{}: a bound begins with `>=`, `<=` or `==`", quoted(written));
                problems.push_with(node.place, problem, example);
            }
            Err(Some(refusal)) => {
                let problem = format!("{}: {}", quoted(written), refusal.problem);
                problems.push_with(node.place, problem, refusal.help);
            }
        }
    }
    all
}

/// Bounds on one measure: from below and from above.
const MOST_BOUNDS: usize = 2;

/// One bound; no refusal: it does not begin as bounds do.
fn condition(written: &str, kind: Kind) -> Result<Comparison, Option<Refusal>> {
    type Of = fn(f64) -> Comparison;
    const SIGNS: [(&str, Of); 3] =
        [(">=", Comparison::AtLeast), ("<=", Comparison::AtMost), ("==", Comparison::Equals)];
    let found =
        SIGNS.iter().find_map(|(sign, of)| written.strip_prefix(sign).map(|rest| (rest, of)));
    let (bound, of) = found.ok_or(None)?;
    let parsed = match kind {
        Kind::Share => scalar::share(bound.trim()).map(|share| share.get()),
        Kind::Span => scalar::duration(bound.trim()).map(Duration::as_secs_f64),
        Kind::Number => scalar::real(bound.trim()),
    };
    parsed.map(of).map_err(Some)
}
