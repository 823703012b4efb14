//! What says more closely what an expectation speaks of: whose attempts, from when, which failures.

use crate::policy::outcome::Class;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::fields::Fields;
use crate::scenario::file::expect::WrittenMeasure;
use crate::scenario::file::reference;
use crate::scenario::model::CAUSES;
use crate::scenario::model::DEAD_LETTERS;
use crate::scenario::model::JobQuestion;
use crate::scenario::model::Statistic;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::units::Duration;

/// The classes of rejections by the caller's own policies.
const LOCAL: [(&str, Class); 3] = [
    ("breaker_open", Class::BreakerOpen),
    ("bulkhead_full", Class::BulkheadFull),
    ("throttled", Class::Throttled),
];

/// The keys beside the measures of a line.
#[derive(Clone, Debug, Default)]
pub(in crate::scenario) struct WrittenScope {
    pub(in crate::scenario) service: Option<Spanned<String>>,
    pub(in crate::scenario) within: Option<Spanned<Duration>>,
    pub(in crate::scenario) population: Option<Spanned<String>>,
    pub(in crate::scenario) cause: Option<Spanned<&'static str>>,
    pub(in crate::scenario) from: Option<Spanned<Duration>>,
    pub(in crate::scenario) to: Option<Spanned<Duration>>,
    pub(in crate::scenario) quantile: Option<Spanned<Statistic>>,
    pub(in crate::scenario) failed: Option<Spanned<bool>>,
    pub(in crate::scenario) class: Option<Spanned<Class>>,
    pub(in crate::scenario) queue: Option<Spanned<String>>,
    pub(in crate::scenario) reason: Option<Spanned<&'static str>>,
}

impl WrittenScope {
    pub(super) fn read(fields: &mut Fields<'_>, problems: &mut Problems) -> Self {
        let causes = CAUSES.map(|name| (name, name));
        let reasons = DEAD_LETTERS.map(|name| (name, name));
        Self {
            service: fields.get("service", problems, reference),
            within: fields.get("within", problems, reader::positive_span),
            population: fields.get("population", problems, reference),
            cause: fields.get("cause", problems, reader::word(&causes)),
            from: fields.get("from", problems, reader::span),
            to: fields.get("to", problems, reader::positive_span),
            quantile: fields.get("quantile", problems, statistic),
            failed: fields.get("failed", problems, reader::switch),
            class: fields.get("class", problems, reader::word(&LOCAL)),
            queue: fields.get("queue", problems, reference),
            reason: fields.get("reason", problems, reader::word(&reasons)),
        }
    }

    /// Notes the keys that no measure of the line heeds. `service` and `within` may stand idle.
    pub(super) fn complain_of_idle(&self, measures: &[WrittenMeasure], problems: &mut Problems) {
        let place = |key: Option<Place>, name: &'static str| key.map(|place| (name, place));
        let written = [
            place(self.population.as_ref().map(|it| it.place), "population"),
            place(self.cause.map(|it| it.place), "cause"),
            place(self.from.map(|it| it.place), "from"),
            place(self.to.map(|it| it.place), "to"),
            place(self.quantile.map(|it| it.place), "quantile"),
            place(self.failed.map(|it| it.place), "failed"),
            place(self.class.map(|it| it.place), "class"),
            place(self.queue.as_ref().map(|it| it.place), "queue"),
            place(self.reason.map(|it| it.place), "reason"),
        ];
        for (key, place) in written.into_iter().flatten() {
            if !measures.iter().any(|measure| measure.heeds().contains(&key)) {
                problems.push_with(
                    place,
                    format!("no measure of this line heeds `{key}`"),
                    "remove it, or put it beside the measure that it belongs to",
                );
            }
        }
    }
}

impl WrittenMeasure {
    /// The keys that say more closely what is measured.
    const fn heeds(&self) -> &'static [&'static str] {
        match self {
            Self::RecoveredShare | Self::RecoveredAfterActionShare => &["within"],
            Self::PeakAmplification
            | Self::WholeAmplification
            | Self::DuplicateEffects
            | Self::Conflicts
            | Self::Effects => &["service"],
            Self::Attempts => &["service", "from", "to"],
            Self::MostAttempts => &["service", "within"],
            Self::OkShare | Self::LateShare | Self::UnansweredShare => &["population"],
            Self::FailedShare => &["population", "cause"],
            Self::Latency => &["population", "quantile", "failed"],
            Self::Rejected => &["service", "class"],
            Self::Jobs(JobQuestion::DeadLetters(_)) => &["queue", "reason"],
            Self::Jobs(
                JobQuestion::Lateness(_) | JobQuestion::ToDeadLetter(_) | JobQuestion::ClaimLag(_),
            ) => &["queue", "quantile"],
            Self::Jobs(_) => &["queue"],
            _ => &[],
        }
    }
}

/// `mean`, `max`, or a share as `99%`.
fn statistic(node: &Node, problems: &mut Problems) -> Option<Statistic> {
    match &node.value {
        Value::Scalar { text, .. } if text.trim() == "mean" => Some(Statistic::Mean),
        Value::Scalar { text, .. } if text.trim() == "max" => Some(Statistic::Max),
        Value::Scalar { text, .. } if !text.trim().ends_with('%') => {
            problems.push_with(
                node.place,
                format!("{} is no quantile", quoted(text)),
                "accepted: mean, max, and shares as `50%` or `99.9%`",
            );
            None
        }
        _ => reader::share(node, problems).map(Statistic::Quantile),
    }
}
