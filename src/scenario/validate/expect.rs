//! `expect`: variants, services and populations that exist, measures with what they need.

use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::Source;
use crate::scenario::file::WrittenExpectation;
use crate::scenario::file::WrittenMeasure;
use crate::scenario::model::AskedVerdict;
use crate::scenario::model::Expectation;
use crate::scenario::model::ExpectedMeasure;
use crate::scenario::model::JobQuestion;
use crate::scenario::model::Model;
use crate::scenario::model::Question;
use crate::scenario::model::Statistic;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::units::Duration;

/// Looks names up. `variants` begins with `base`; a model is missing where a variant has problems
/// of its own, which are enough.
pub(in crate::scenario) fn expectations(
    written: &[WrittenExpectation],
    variants: &[&str],
    models: &[Option<&Model>],
    source: &Source<'_>,
    problems: &mut Problems,
) -> Vec<Expectation> {
    written
        .iter()
        .filter_map(|expectation| {
            let variant = match &expectation.variant {
                None => 0,
                Some(name) => found("variant", name, variants, problems)?,
            };
            let model = (*models.get(variant)?)?;
            let measure = Meaning { written: expectation, model }.measure(problems)?;
            Some(Expectation {
                variant,
                text: text(expectation, &measure, model),
                measure,
                comparison: expectation.comparison,
                line: source.line_of(expectation.place.start),
            })
        })
        .collect()
}

/// The index of a name among those known.
fn found(
    what: &str,
    name: &Spanned<String>,
    known: &[&str],
    problems: &mut Problems,
) -> Option<usize> {
    let found = known.iter().position(|known| *known == name.value);
    if found.is_none() {
        reader::unknown(name.place, what, &name.value, known, problems);
    }
    found
}

/// One line and the system it speaks of.
struct Meaning<'a> {
    written: &'a WrittenExpectation,
    model: &'a Model,
}

impl Meaning<'_> {
    fn measure(&self, problems: &mut Problems) -> Option<ExpectedMeasure> {
        let scope = &self.written.scope;
        let within = scope.within.map(|within| within.value);
        Some(match &self.written.measure {
            WrittenMeasure::StuckShare => ExpectedMeasure::StuckShare,
            WrittenMeasure::RecoveredShare => ExpectedMeasure::RecoveredShare(within),
            WrittenMeasure::RecoveredAfterActionShare => {
                ExpectedMeasure::RecoveredAfterActionShare(self.need(
                    within,
                    "how soon after the action?",
                    "add `within: 2min` or the like to the line",
                    problems,
                )?)
            }
            WrittenMeasure::ControlHealthyShare => ExpectedMeasure::ControlHealthyShare,
            WrittenMeasure::RecoveryMedian => ExpectedMeasure::RecoveryMedian,
            WrittenMeasure::RecoveryRestrictedMean => ExpectedMeasure::RecoveryRestrictedMean,
            WrittenMeasure::PeakAmplification => ExpectedMeasure::PeakAmplification(
                self.service("amplification is that of one service", problems)?,
            ),
            WrittenMeasure::WholeAmplification => ExpectedMeasure::WholeAmplification(
                self.service("amplification is that of one service", problems)?,
            ),
            WrittenMeasure::GoodputRatio(phase) => ExpectedMeasure::GoodputRatio(*phase),
            WrittenMeasure::LostShare => ExpectedMeasure::LostShare,
            WrittenMeasure::DuplicateEffects => {
                ExpectedMeasure::DuplicateEffects(self.one_or_all(problems)?)
            }
            WrittenMeasure::Conflicts => ExpectedMeasure::Conflicts(self.one_or_all(problems)?),
            WrittenMeasure::Mismatches => ExpectedMeasure::Mismatches(self.one_or_all(problems)?),
            WrittenMeasure::Results(which) => {
                ExpectedMeasure::Results(self.one_or_all(problems)?, *which)
            }
            WrittenMeasure::Finding(name) => ExpectedMeasure::Finding(name.clone()),
            _ => ExpectedMeasure::PerRun(self.question(within, problems)?),
        })
    }

    fn question(&self, within: Option<Duration>, problems: &mut Problems) -> Option<Question> {
        let scope = &self.written.scope;
        let ended = |verdict, problems: &mut Problems| {
            let cause = match verdict {
                AskedVerdict::Failed => scope.cause.map(|cause| cause.value),
                _ => None,
            };
            Some(Question::Ended { verdict, population: self.population(problems)?, cause })
        };
        Some(match self.written.measure {
            WrittenMeasure::Attempts => {
                let service = self.service("attempts are those at one service", problems)?;
                let [from, to] = self.span(problems)?;
                Question::Attempts { service, from, to }
            }
            WrittenMeasure::MostAttempts => {
                let service = self.service("attempts are those at one service", problems)?;
                let within = self.need(
                    within,
                    "the most within what span?",
                    "add `within: 1s` or the like to the line",
                    problems,
                )?;
                self.in_windows(scope.within, problems)?;
                Question::MostAttempts { service, within }
            }
            WrittenMeasure::OkShare => ended(AskedVerdict::Ok, problems)?,
            WrittenMeasure::LateShare => ended(AskedVerdict::Late, problems)?,
            WrittenMeasure::FailedShare => ended(AskedVerdict::Failed, problems)?,
            WrittenMeasure::UnansweredShare => {
                Question::Unanswered { population: self.population(problems)? }
            }
            WrittenMeasure::Latency => {
                let population = self.population(problems)?;
                let at = self.statistic(problems)?;
                let failed = scope.failed.is_some_and(|failed| failed.value);
                Question::Latency { population, at, failed }
            }
            WrittenMeasure::Rejected => Question::Rejected {
                service: self
                    .service("rejections are those on the way to one service", problems)?,
                class: scope.class.map(|class| class.value),
            },
            WrittenMeasure::Jobs(of) => self.of_jobs(of, problems)?,
            _ => Question::Effects(self.one_or_all(problems)?),
        })
    }

    fn of_jobs(&self, of: JobQuestion, problems: &mut Problems) -> Option<Question> {
        let scope = &self.written.scope;
        let help = "add `queue: NAME` to the line";
        let name =
            self.need(scope.queue.as_ref(), "jobs are those of one queue", help, problems)?;
        let known: Vec<_> = self.model.queues.iter().map(|queue| queue.name.as_str()).collect();
        let queue = found("queue", name, &known, problems)?;
        let of = match of {
            JobQuestion::DeadLetters(_) => {
                JobQuestion::DeadLetters(scope.reason.map(|reason| reason.value))
            }
            JobQuestion::Lateness(_) => JobQuestion::Lateness(self.statistic(problems)?),
            JobQuestion::ToDeadLetter(_) => JobQuestion::ToDeadLetter(self.statistic(problems)?),
            JobQuestion::ClaimLag(_) => JobQuestion::ClaimLag(self.statistic(problems)?),
            other => other,
        };
        Some(Question::Jobs { queue, of })
    }

    /// Which number stands for all.
    fn statistic(&self, problems: &mut Problems) -> Option<Statistic> {
        self.need(
            self.written.scope.quantile.map(|at| at.value),
            "which of all the values?",
            "add `quantile: 99%`, `quantile: mean` or `quantile: max` to the line",
            problems,
        )
    }

    /// What must not be missing.
    fn need<T>(
        &self,
        value: Option<T>,
        problem: &str,
        help: &str,
        problems: &mut Problems,
    ) -> Option<T> {
        if value.is_none() {
            problems.push_with(self.written.place, problem, help);
        }
        value
    }

    /// The service, which must be named.
    fn service(&self, problem: &str, problems: &mut Problems) -> Option<usize> {
        self.need(
            self.written.scope.service.as_ref(),
            problem,
            "add `service: NAME` to the line",
            problems,
        )?;
        self.one_or_all(problems)?
    }

    /// The service, if one is named.
    fn one_or_all(&self, problems: &mut Problems) -> Option<Option<usize>> {
        let known: Vec<_> =
            self.model.services.iter().map(|service| service.name.as_str()).collect();
        named("service", self.written.scope.service.as_ref(), &known, problems)
    }

    /// The population, if one is named.
    fn population(&self, problems: &mut Problems) -> Option<Option<usize>> {
        let known: Vec<_> =
            self.model.populations.iter().map(|population| population.name.as_str()).collect();
        named("population", self.written.scope.population.as_ref(), &known, problems)
    }

    /// The ends of a span, whole windows inside the run.
    fn span(&self, problems: &mut Problems) -> Option<[Option<Duration>; 2]> {
        let (scope, horizon) = (&self.written.scope, self.model.run.horizon);
        for end in [scope.from, scope.to].into_iter().flatten() {
            self.in_windows(Some(end), problems)?;
            if end.value > horizon {
                let problem = format!("the run ends at {horizon}");
                problems.push_with(end.place, problem, "name a moment within the horizon");
                return None;
            }
        }
        let [from, to] = [scope.from, scope.to].map(|end| end.map(|end| end.value));
        if from.unwrap_or_default() >= to.unwrap_or(horizon) {
            let place = scope.to.or(scope.from).map_or(self.written.place, |end| end.place);
            problems.push_with(place, "this span is empty", "put `to` after `from`");
            return None;
        }
        Some([from, to])
    }

    /// A span that must be a whole number of windows, since attempts are counted by windows.
    fn in_windows(&self, span: Option<Spanned<Duration>>, problems: &mut Problems) -> Option<()> {
        let (span, window) = (span?, self.model.run.window);
        if !span.value.as_nanos().is_multiple_of(window.as_nanos().max(1)) {
            let problem = format!("{} is not a whole number of windows of {window}", span.value);
            let help = "attempts are counted by windows: choose another span, or `run.window`";
            problems.push_with(span.place, problem, help);
            return None;
        }
        Some(())
    }
}

/// The index of a name, if there is one; `None` where it is unknown.
fn named(
    what: &str,
    name: Option<&Spanned<String>>,
    known: &[&str],
    problems: &mut Problems,
) -> Option<Option<usize>> {
    name.map_or(Some(None), |name| found(what, name, known, problems).map(Some))
}

/// The expectation in words: `attempts of database from 0s to 10s >= 64`.
fn text(written: &WrittenExpectation, measure: &ExpectedMeasure, model: &Model) -> String {
    let (key, bound) = written.text.split_once(' ').unwrap_or((&written.text, ""));
    let mut text = key.to_owned();
    for (key, value) in measure.scope(model) {
        text += &match key {
            "service" | "population" | "queue" => format!(" of {value}"),
            "quantile" => format!(" at {value}"),
            "cause" | "reason" | "class" => format!(" by {value}"),
            "failed" => " of failures".into(),
            _ => format!(" {key} {value}"),
        };
    }
    format!("{text} {bound}")
}
