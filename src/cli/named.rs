//! A policy that is named on the command line: a preset, or `FILE:POLICY`.

use std::path::Path;

use crate::cli::Error;
use crate::cli::console::Console;
use crate::cli::load;
use crate::cli::run;
use crate::experiment::ExperimentError;
use crate::experiment::outage;
use crate::experiment::outage::Down;
use crate::lint;
use crate::lint::Schedule;
use crate::policy::stack::Policy;
use crate::report::policies::Outages;
use crate::report::policies::Side;
use crate::scenario::defaults::NO_POLICY;
use crate::scenario::model::Model;
use crate::scenario::presets;
use crate::scenario::presets::Preset;

/// A policy, and what is known of it on paper and in an outage.
pub(super) struct Named {
    /// As it was asked for.
    pub(super) name: String,
    pub(super) policy: Policy,
    /// The preset it is, if it is one.
    pub(super) preset: Option<&'static Preset>,
    pub(super) schedule: Schedule,
    pub(super) outages: Outages,
}

impl Named {
    /// One side of a comparison.
    pub(super) const fn side(&self) -> Side<'_> {
        let Self { name, policy, schedule, outages, .. } = self;
        Side { name: name.as_str(), policy, schedule, outages }
    }
}

/// The preset or the policy of a file that `name` stands for. `variant` is that of the file.
pub(super) fn find(name: &str, variant: &str, console: &Console) -> Result<Named, Error> {
    let preset = presets::find(name);
    let policy = match (preset, name.rsplit_once(':')) {
        (Some(preset), _) => preset.policy.clone(),
        (None, Some((file, policy))) => of_file(Path::new(file), policy, variant, console)?,
        (None, None) => return Err(unknown(name)),
    };
    let schedule = lint::policy_schedule(&policy);
    let cost = |down| {
        outage::cost(&policy, down).map_err(|source| ExperimentError::Invariant {
            variant: name.to_owned(),
            control: false,
            seed: 1,
            replication: 0,
            message: source.to_string(),
        })
    };
    let outages = Outages { refusing: cost(Down::Refusing)?, hanging: cost(Down::Hanging)? };
    Ok(Named { name: name.to_owned(), policy, preset, schedule, outages })
}

/// The preset of that name.
pub(super) fn preset(name: &str) -> Result<&'static Preset, Error> {
    presets::find(name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Error {
    let near = presets::suggestion(name).map(|near| format!("did you mean `{near}`? "));
    let near = near.unwrap_or_default();
    Error::Usage(format!(
        "there is no preset `{name}`; {near}`stormlab presets` lists them, and FILE:POLICY names a \
         policy of a scenario"
    ))
}

fn of_file(file: &Path, policy: &str, variant: &str, console: &Console) -> Result<Policy, Error> {
    let scenario = load(file, console)?;
    let model: &Model = &scenario.variants[run::find(&scenario, variant)?].model;
    model.policies.iter().find(|known| known.name == policy).cloned().ok_or_else(|| {
        let names = model.policies.iter().map(|known| known.name.as_str());
        let names: Vec<_> = names.filter(|known| *known != NO_POLICY).collect();
        Error::Usage(format!(
            "`{}` has no policy `{policy}`; it has: {}",
            scenario.name,
            names.join(", ")
        ))
    })
}
