//! Replications on every core, results in the order of replications.
//!
//! Variants are run one after another, in the order of the plan. Each replication is one unit of
//! work: the run and, where a trigger is to blame for what it shows, the run of the control twin
//! under the same keys. Variants that differ only in triggers and in what people do share the
//! twin's runs, each judging them by its own criteria.
//!
//! Invariant: the result is a function of scenario, plan and the set of finished replications;
//! the number of threads does not enter. A replication that was interrupted leaves nothing.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use rayon::prelude::*;

use crate::engine::RunError;
use crate::experiment::fold::Reduced;
use crate::experiment::fold::Shared;
use crate::experiment::result::Experiment;
use crate::experiment::result::LimitHit;
use crate::experiment::result::VariantResult;
use crate::measure::outcome::RunOutcome;
use crate::measure::record::Ending;
use crate::measure::record::RunRecord;
use crate::measure::simulate;
use crate::measure::storm::judge_control;
use crate::scenario::model::Model;
use crate::scenario::model::Scenario;

/// What is to be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Indices into `Scenario::variants`, in the order in which they are run.
    pub variants: Vec<usize>,
    /// Replications instead of those of the scenario.
    pub replications: Option<u32>,
    /// The seed instead of that of the scenario's base.
    pub seed: Option<u64>,
    /// Threads; `None`: one per core.
    pub threads: Option<usize>,
}

impl Plan {
    /// Every variant of a scenario, with its own settings.
    pub fn everything(scenario: &Scenario) -> Self {
        Self { variants: (0..scenario.variants.len()).collect(), ..Self::default() }
    }
}

/// Hears how the work goes on, from any thread.
pub trait Progress: Sync {
    /// How many runs there will be, control runs included; said once, first.
    fn planned(&self, runs: u64);
    /// A run is done after that many events.
    fn finished(&self, events: u64);
    /// The runs of this variant begin.
    fn variant(&self, name: &str);
}

/// Hears everything and says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn planned(&self, _runs: u64) {}
    fn finished(&self, _events: u64) {}
    fn variant(&self, _name: &str) {}
}

/// Why an experiment has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentError {
    /// A conservation law did not hold in a run: a bug of ours.
    #[error(
        "invariant broken in variant `{variant}`{}, seed {seed}, replication {replication}: \
         {message}",
        if *control { " (its control run)" } else { "" }
    )]
    Invariant {
        /// Its name.
        variant: String,
        /// Was it a run of the control twin?
        control: bool,
        /// The seed.
        seed: u64,
        /// Which replication.
        replication: u32,
        /// What the audit says.
        message: String,
    },
    /// The threads could not be started.
    #[error("the threads could not be started: {0}")]
    Threads(String),
}

/// Runs what `plan` asks for. Raising `stop` ends the work early: what had finished is kept and
/// the experiment is marked as interrupted.
///
/// # Errors
/// `Invariant` when a run finds a broken conservation law, `Threads` when none could be started.
pub fn run(
    scenario: &Scenario,
    plan: &Plan,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Experiment, ExperimentError> {
    run_with(scenario, plan, progress, stop, &simulate)
}

/// What makes one run: model, seed, replication, stop flag.
pub type Simulate<'a> =
    dyn Fn(&Model, u64, u32, &AtomicBool) -> Result<RunRecord, RunError> + Sync + 'a;

/// As [`run`], with another way to make a run: for tests, and for records that are there already.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    scenario: &Scenario,
    plan: &Plan,
    progress: &dyn Progress,
    stop: &AtomicBool,
    simulate: &Simulate<'_>,
) -> Result<Experiment, ExperimentError> {
    let threads = plan.threads.unwrap_or(0); // Zero: one per core.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| ExperimentError::Threads(error.to_string()))?;
    let seed = plan
        .seed
        .unwrap_or_else(|| scenario.variants.first().map_or(0, |base| base.model.run.seed));
    let mut work = Work {
        scenario,
        plan,
        seed,
        progress,
        stop,
        simulate,
        twins: twins(scenario, plan),
        limits_hit: Vec::new(),
    };
    progress.planned(work.runs());
    let mut results = Vec::new();
    let mut complete = true;
    for &variant in &plan.variants {
        let result = pool.install(|| work.variant(variant))?;
        complete &=
            result.as_ref().is_some_and(|result| result.runs.len() as u32 == result.planned);
        results.extend(result);
        if !complete {
            break;
        }
    }
    Ok(Experiment { results, seed, interrupted: !complete, limits_hit: work.limits_hit })
}

/// A control twin and the variants that share it.
struct Twin {
    model: Model,
    users: Vec<usize>,
    /// Outcomes per replication, each judged for every user; empty until they are made.
    outcomes: Vec<(u32, Vec<RunOutcome>)>,
}

/// The distinct control twins of the variants that have triggers.
fn twins(scenario: &Scenario, plan: &Plan) -> Vec<Twin> {
    let mut twins: Vec<Twin> = Vec::new();
    for &variant in &plan.variants {
        let model = &scenario.variants[variant].model;
        if model.triggers.is_empty() {
            continue;
        }
        let model = model.control_twin();
        match twins.iter_mut().find(|twin| twin.model == model) {
            Some(twin) => twin.users.push(variant),
            None => twins.push(Twin { model, users: vec![variant], outcomes: Vec::new() }),
        }
    }
    twins
}

/// One unit of work: a run, and its control run for every user of the twin.
struct Unit {
    run: Reduced,
    controls: Option<Vec<RunOutcome>>,
}

struct Work<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
    seed: u64,
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
    simulate: &'a Simulate<'a>,
    twins: Vec<Twin>,
    limits_hit: Vec<LimitHit>,
}

impl Work<'_> {
    fn replications(&self, variant: usize) -> u32 {
        self.plan.replications.unwrap_or(self.scenario.variants[variant].model.run.replications)
    }

    /// All runs, control runs included.
    fn runs(&self) -> u64 {
        let of = |variant: &usize| u64::from(self.replications(*variant));
        let firsts = self.twins.iter().filter_map(|twin| twin.users.first());
        self.plan.variants.iter().map(of).sum::<u64>() + firsts.map(of).sum::<u64>()
    }

    /// The runs of one variant; `None` when none finished.
    fn variant(&mut self, variant: usize) -> Result<Option<VariantResult>, ExperimentError> {
        self.progress.variant(&self.scenario.variants[variant].name);
        let model = &self.scenario.variants[variant].model;
        let twin = self.twins.iter().position(|twin| twin.users.contains(&variant));
        let fresh = twin.filter(|twin| self.twins[*twin].outcomes.is_empty());
        let planned = self.replications(variant);
        let shared = Shared::default();
        let broken = AtomicBool::new(false);
        let units: Vec<_> = (0..planned)
            .into_par_iter()
            .with_max_len(1)
            .map(|replication| {
                // Raised by a broken invariant: there will be no result, so why go on?
                if broken.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                let unit = self.unit(variant, replication, fresh, &shared);
                broken.fetch_or(unit.is_err(), Ordering::Relaxed);
                unit
            })
            .collect();
        let mut runs = Vec::new();
        let mut controls = Vec::new();
        for unit in units {
            let Some(unit) = unit? else { continue };
            let replication = unit.run.outcome.replication;
            self.note_limit(variant, false, &unit.run.outcome);
            if let (Some(twin), Some(outcomes)) = (twin, unit.controls) {
                self.note_limit(variant, true, &outcomes[0]);
                self.twins[twin].outcomes.push((replication, outcomes));
            }
            controls.extend(twin.and_then(|twin| self.twins[twin].outcome(variant, replication)));
            runs.push(unit.run);
        }
        Ok(shared.finish(variant, model, runs, controls, planned))
    }

    /// One replication; `None` when it was interrupted.
    fn unit(
        &self,
        variant: usize,
        replication: u32,
        twin: Option<usize>,
        shared: &Shared,
    ) -> Result<Option<Unit>, ExperimentError> {
        let (scenario, model) = (self.scenario, &self.scenario.variants[variant].model);
        // The control run first: what is shared only hears of replications that finish.
        let controls = match twin.map(|twin| &self.twins[twin]) {
            None => None,
            Some(twin) => {
                let Some(record) = self.simulate(&twin.model, variant, true, replication)? else {
                    return Ok(None);
                };
                let judged =
                    |user: &usize| judge_control(&self.scenario.variants[*user].model, &record);
                Some(twin.users.iter().map(judged).collect())
            }
        };
        let record = self.simulate(model, variant, false, replication)?;
        Ok(record.map(|record| Unit { run: shared.reduce(scenario, variant, record), controls }))
    }

    fn simulate(
        &self,
        model: &Model,
        variant: usize,
        control: bool,
        replication: u32,
    ) -> Result<Option<RunRecord>, ExperimentError> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match (self.simulate)(model, self.seed, replication, self.stop) {
            Ok(record) => {
                self.progress.finished(record.events);
                Ok(Some(record))
            }
            Err(RunError::Interrupted) => Ok(None),
            Err(RunError::Invariant(message)) => Err(ExperimentError::Invariant {
                variant: self.scenario.variants[variant].name.clone(),
                control,
                seed: self.seed,
                replication,
                message,
            }),
        }
    }

    fn note_limit(&mut self, variant: usize, control: bool, outcome: &RunOutcome) {
        if let Ending::Limit { limit, at } = outcome.ending {
            let replication = outcome.replication;
            self.limits_hit.push(LimitHit { variant, replication, control, limit, at });
        }
    }
}

impl Twin {
    /// The control run of a replication, judged for one of the users.
    fn outcome(&self, variant: usize, replication: u32) -> Option<RunOutcome> {
        let user = self.users.iter().position(|user| *user == variant)?;
        let place = self.outcomes.binary_search_by_key(&replication, |entry| entry.0).ok()?;
        Some(self.outcomes[place].1[user].clone())
    }
}

#[cfg(test)]
mod tests;
