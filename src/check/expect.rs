//! Pass, fail or undecided: each expectation of a scenario against what its runs show.
//!
//! An expectation passes when the whole interval is on the good side of its limit, fails when the
//! whole interval is on the bad side, and is undecided when the interval straddles it or there is
//! none. A number without an interval decides nothing.
//!
//! Where a run was watched for less than an expectation asks about, the interval covers both what
//! the run may have done next: a restricted mean below its τ says nothing of limits beyond τ.
//! Where the horizon is too short to tell slow from stuck, nothing is decided about recovery.

use serde::Serialize;

use crate::analysis::effects::EffectsSummary;
use crate::analysis::estimate::LEVEL;
use crate::analysis::estimate::rounded;
use crate::analysis::recovery::Since;
use crate::analysis::recovery::quantile;
use crate::analysis::recovery::times;
use crate::analysis::summary::Estimate;
use crate::analysis::summary::Finding;
use crate::analysis::summary::Summary;
use crate::analysis::summary::VariantSummary;
use crate::check::deferred;
use crate::experiment::result::Experiment;
use crate::experiment::result::VariantResult;
use crate::measure::horizon::HorizonTooShort;
use crate::measure::horizon::horizon_rule;
use crate::scenario::model::Comparison;
use crate::scenario::model::Expectation;
use crate::scenario::model::ExpectedMeasure;
use crate::scenario::model::Model;
use crate::scenario::model::Phase;
use crate::scenario::model::Question;
use crate::scenario::model::Scenario;
use crate::scenario::model::ServiceId;
use crate::stats::interval::wilson;
use crate::units::Duration;

/// What became of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The whole interval is on the good side.
    Pass,
    /// The whole interval is on the bad side.
    Fail,
    /// The runs do not tell.
    Undecided,
}

/// One expectation, judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The variant it speaks of.
    pub variant: String,
    /// Line of the scenario file, from 1.
    pub line: usize,
    /// The expectation as written.
    pub text: String,
    /// What became of it.
    pub decision: Decision,
    /// What was measured; empty where the expectation names a finding.
    pub measured: Estimate,
    /// The finding, where the expectation names one.
    pub finding: Option<Finding>,
    /// Why: one sentence.
    pub because: String,
}

/// Judges every expectation of a scenario, in the order of the file.
pub fn check(scenario: &Scenario, summary: &Summary, experiment: &Experiment) -> Vec<Judgement> {
    (0..scenario.expect.len()).map(|index| judge(index, scenario, summary, experiment)).collect()
}

/// Judges the expectation of that number.
pub fn judge(
    index: usize,
    scenario: &Scenario,
    summary: &Summary,
    experiment: &Experiment,
) -> Judgement {
    let expectation = &scenario.expect[index];
    let variant = &scenario.variants[expectation.variant];
    let result = experiment.results.iter().find(|run| run.variant == expectation.variant);
    let measured = match (result, summary.variant(&variant.name)) {
        (Some(result), Some(summary)) => {
            let runs = Runs { model: &variant.model, result, summary, seed: experiment.seed };
            runs.judgeable(index, expectation).if_complete(result)
        }
        _ if experiment.interrupted => Measured::nothing("interrupted before its first run"),
        _ => Measured::nothing("the variant was not run"),
    };
    Judgement {
        variant: variant.name.clone(),
        line: expectation.line,
        text: expectation.text.clone(),
        decision: measured.decide(expectation),
        because: measured.because(expectation),
        measured: measured.estimate,
        finding: measured.finding,
    }
}

/// What an expectation is held against.
struct Measured {
    estimate: Estimate,
    /// The ends of the interval, which may be infinite; `None`: no interval.
    bounds: Option<(f64, f64)>,
    finding: Option<Finding>,
    /// Why there is nothing to decide on.
    lacking: String,
}

impl Measured {
    fn nothing(lacking: &str) -> Self {
        let estimate = Estimate::default();
        Self { estimate, bounds: None, finding: None, lacking: lacking.into() }
    }

    fn of(estimate: Estimate) -> Self {
        let bounds = estimate.low.zip(estimate.high);
        Self { estimate, bounds, finding: None, lacking: "there is no interval".into() }
    }

    /// Nothing is decided on fewer runs than were asked for.
    fn if_complete(self, result: &VariantResult) -> Self {
        let (finished, planned) = (result.runs.len() as u32, result.planned);
        if finished >= planned {
            return self;
        }
        let lacking = format!("interrupted after {finished} of {planned} runs");
        Self { bounds: None, finding: None, lacking, ..self }
    }

    fn decide(&self, expectation: &Expectation) -> Decision {
        if let ExpectedMeasure::Finding(expected) = &expectation.measure {
            return match self.finding {
                Some(found) if found.name() == expected => Decision::Pass,
                None | Some(Finding::Inconclusive) => Decision::Undecided,
                Some(_) => Decision::Fail,
            };
        }
        match (expectation.comparison, self.bounds) {
            (Comparison::AtLeast(limit), Some((low, _))) if low >= limit => Decision::Pass,
            (Comparison::AtLeast(limit), Some((_, high))) if high < limit => Decision::Fail,
            (Comparison::AtMost(limit), Some((_, high))) if high <= limit => Decision::Pass,
            (Comparison::AtMost(limit), Some((low, _))) if low > limit => Decision::Fail,
            (Comparison::Equals(value), Some(bounds)) if is_point(value, bounds) => Decision::Pass,
            (Comparison::Equals(_), Some(_)) => Decision::Fail,
            _ => Decision::Undecided,
        }
    }

    fn because(&self, expectation: &Expectation) -> String {
        if let Some(finding) = self.finding {
            return format!("the finding is {finding}");
        }
        let Some((low, high)) = self.bounds else {
            return self.lacking.clone();
        };
        let end = |value: f64| if value.is_finite() { round(value) } else { "not reached".into() };
        let exact = matches!(expectation.comparison, Comparison::Equals(_));
        let side = match self.decide(expectation) {
            Decision::Pass if exact => "is the number expected",
            _ if exact => "is not the number expected and nothing else",
            Decision::Pass => "lies on the good side",
            Decision::Fail => "lies on the bad side",
            Decision::Undecided => "lies on both sides: more runs, or longer ones, would tell",
        };
        format!("the {}% interval, {} to {}, {side}", 100.0 * LEVEL, end(low), end(high))
    }
}

/// Is the interval the value and nothing else? Numbers of a summary have nine digits.
fn is_point(value: f64, (low, high): (f64, f64)) -> bool {
    let is = |end: f64| (end - value).abs() <= CLOSE * value.abs() || Some(end) == rounded(value);
    is(low) && is(high)
}

/// How far apart equal numbers may be, as a part of them.
const CLOSE: f64 = 1e-9;

/// At most four decimals, for sentences.
fn round(value: f64) -> String {
    format!("{}", (value * 1e4).round() / 1e4)
}

/// Does it depend on how long the runs were watched after the trigger?
const fn asks_of_recovery(measure: &ExpectedMeasure) -> bool {
    matches!(
        measure,
        ExpectedMeasure::StuckShare
            | ExpectedMeasure::RecoveredShare(_)
            | ExpectedMeasure::RecoveredAfterActionShare(_)
            | ExpectedMeasure::RecoveryMedian
            | ExpectedMeasure::RecoveryRestrictedMean
    )
}

/// The runs of the variant that an expectation speaks of.
struct Runs<'a> {
    model: &'a Model,
    result: &'a VariantResult,
    summary: &'a VariantSummary,
    seed: u64,
}

impl Runs<'_> {
    /// What was measured, without an interval where the runs are too short to decide by it.
    fn judgeable(&self, index: usize, expectation: &Expectation) -> Measured {
        let measured = self.measure(index, expectation);
        match horizon_rule(self.model) {
            Err(HorizonTooShort { needed }) if asks_of_recovery(&expectation.measure) => {
                let lacking = format!(
                    "the horizon of {} is too short to tell slow from stuck; {needed} would do",
                    self.model.run.horizon
                );
                Measured { bounds: None, lacking, ..measured }
            }
            _ => measured,
        }
    }

    fn measure(&self, index: usize, expectation: &Expectation) -> Measured {
        let summary = self.summary;
        let amplification =
            |service: &usize| summary.amplification.get(*service).map(|entry| &entry.1);
        match &expectation.measure {
            ExpectedMeasure::StuckShare => Measured::of(summary.stuck_share),
            ExpectedMeasure::RecoveredShare(None) => Measured::of(summary.recovered_share),
            ExpectedMeasure::RecoveredShare(Some(within)) => {
                self.recovered_within(*within, Since::TriggerEnd)
            }
            ExpectedMeasure::RecoveredAfterActionShare(within) => {
                self.recovered_within(*within, Since::FirstAction)
            }
            ExpectedMeasure::ControlHealthyShare => Measured::of(summary.control_healthy_share),
            ExpectedMeasure::RecoveryMedian => self.median(),
            ExpectedMeasure::RecoveryRestrictedMean => self.restricted_mean(expectation.comparison),
            ExpectedMeasure::PeakAmplification(service) => {
                Measured::of(amplification(service).map(|found| found.peak).unwrap_or_default())
            }
            ExpectedMeasure::WholeAmplification(service) => {
                Measured::of(amplification(service).map(|found| found.whole).unwrap_or_default())
            }
            ExpectedMeasure::GoodputRatio(phase) => Measured::of(match phase {
                Phase::Before => summary.goodput_ratio.before,
                Phase::During => summary.goodput_ratio.during,
                Phase::After => summary.goodput_ratio.after,
            }),
            ExpectedMeasure::LostShare => Measured::of(summary.lost_share),
            ExpectedMeasure::DuplicateEffects(service) => {
                self.of_writes(*service, |found| found.duplicate_effects)
            }
            ExpectedMeasure::Conflicts(service) => {
                self.of_writes(*service, |found| found.conflicts)
            }
            ExpectedMeasure::Mismatches(service) => {
                self.of_writes(*service, |found| found.mismatches)
            }
            ExpectedMeasure::Results(service, which) => {
                let name = service.map(|id| self.model.services[id].name.as_str());
                match deferred::measured(summary.deferred.as_ref(), name, *which) {
                    Ok(found) => Measured::of(found),
                    Err(lacking) => Measured::nothing(lacking),
                }
            }
            ExpectedMeasure::PerRun(question) => self.mean_of_answers(index, question),
            ExpectedMeasure::Finding(_) => {
                Measured { finding: Some(summary.finding), ..Measured::nothing("") }
            }
        }
    }

    /// The mean of what each run answers, over the runs that have something to say.
    fn mean_of_answers(&self, index: usize, question: &Question) -> Measured {
        let answers = self.result.runs.iter().filter_map(|run| *run.answers.get(index)?);
        let answers: Vec<_> = answers.collect();
        if answers.is_empty() {
            return Measured::nothing("no run had anything to measure");
        }
        let (least, most) = question.range();
        Measured::of(Estimate::mean(&answers, least, most))
    }

    /// A measure of writes, per run: of one service, or of all.
    fn of_writes(
        &self,
        service: Option<ServiceId>,
        measure: fn(&EffectsSummary) -> Estimate,
    ) -> Measured {
        let Some(writes) = &self.summary.writes else {
            return Measured::nothing("nothing is written in this variant");
        };
        match service.map(|id| self.model.services[id].name.as_str()) {
            None => Measured::of(measure(&writes.all)),
            Some(name) => match writes.service(name) {
                Some(found) => Measured::of(measure(found)),
                None => Measured::nothing("nobody writes to this service"),
            },
        }
    }

    /// The share of runs that recovered within a span; after an action, of those that it found
    /// down. Runs that were not watched that long may
    /// have: they widen the interval.
    fn recovered_within(&self, within: Duration, since: Since) -> Measured {
        let within = within.as_secs_f64();
        let times = times(self.model, &self.result.runs, since);
        let share = |hits: usize| wilson(hits as u64, times.len() as u64, LEVEL);
        let seen = times.iter().filter(|(time, happened)| *happened && *time <= within).count();
        let unseen = times.iter().filter(|(time, happened)| !*happened && *time < within).count();
        let (Some(least), Some(most)) = (share(seen), share(seen + unseen)) else {
            return Measured::nothing(if self.model.operator.is_empty() {
                "nobody acts in this variant"
            } else {
                "no run was down when people first acted"
            });
        };
        let mut estimate = Estimate::share(seen as u32, times.len() as u32);
        estimate.high = Estimate::share((seen + unseen) as u32, times.len() as u32).high;
        Measured { bounds: Some((least.low, most.high)), ..Measured::of(estimate) }
    }

    fn median(&self) -> Measured {
        let times = times(self.model, &self.result.runs, Since::TriggerEnd);
        match quantile(&times, 0.5, self.seed) {
            Some(reach) => Measured { bounds: reach.bounds, ..Measured::of(reach.into()) },
            None => Measured::nothing("no run has finished"),
        }
    }

    fn restricted_mean(&self, comparison: Comparison) -> Measured {
        let recovery = &self.summary.recovery_time_s;
        let mut measured = Measured::of(recovery.restricted_mean);
        let (Comparison::AtLeast(limit) | Comparison::AtMost(limit)) = comparison else {
            return measured;
        };
        let cut = self.result.runs.iter().any(|run| !run.recovery.happened);
        if let (true, Some((_, high)), Some(tau)) = (cut, &mut measured.bounds, recovery.tau)
            && limit >= tau
        {
            *high = f64::INFINITY;
        }
        measured
    }
}

#[cfg(test)]
mod tests;
