//! A policy that is named on the command line: a preset, `FILE:POLICY` or `FILE:POLICY@VARIANT`.
//!
//! `--variant` is for files whose name says none. Where there is no such file it would do nothing,
//! and that is an error.

use std::path::Path;

use crate::cli::Error;
use crate::cli::console::Console;
use crate::cli::load;
use crate::cli::run;
use crate::engine::RunError;
use crate::experiment::ExperimentError;
use crate::experiment::outage;
use crate::experiment::outage::Down;
use crate::lint;
use crate::lint::Schedule;
use crate::policy::stack::Policy;
use crate::report::policies::Outages;
use crate::report::policies::Side;
use crate::scenario::defaults::NO_POLICY;
use crate::scenario::load::BASE;
use crate::scenario::model::Model;
use crate::scenario::model::Scenario;
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
        Side { name: name.as_str(), policy, schedule, outages, not_yet: self.not_yet() }
    }

    /// What of it is not simulated.
    pub(super) const fn not_yet(&self) -> &'static [String] {
        match self.preset {
            Some(preset) => preset.not_yet.as_slice(),
            None => &[],
        }
    }
}

/// What a name stands for.
enum Reference<'n> {
    Preset(&'static Preset),
    Policy { file: &'n str, policy: &'n str, variant: Option<&'n str> },
}

impl<'n> Reference<'n> {
    fn of(name: &'n str) -> Result<Self, Error> {
        if let Some(preset) = presets::find(name) {
            return Ok(Self::Preset(preset));
        }
        let Some((file, rest)) = name.rsplit_once(':') else { return Err(unknown(name)) };
        // Neither policies nor variants have an `@` in their names.
        let (policy, variant) = match rest.split_once('@') {
            Some((policy, variant)) => (policy, Some(variant)),
            None => (rest, None),
        };
        let missing = match (file.trim(), policy.trim(), variant.map(str::trim)) {
            ("", ..) => Some("the file"),
            (_, "", _) => Some("the policy"),
            (.., Some("")) => Some("the variant"),
            _ => None,
        };
        match missing {
            Some(missing) => Err(Error::Usage(format!(
                "`{name}` leaves out {missing}; a policy of a scenario is named FILE:POLICY or \
                 FILE:POLICY@VARIANT, for instance failover.yaml:eager"
            ))),
            None => Ok(Self::Policy { file, policy, variant }),
        }
    }

    /// Does `--variant` say something of it?
    const fn takes_variant(&self) -> bool {
        matches!(self, Self::Policy { variant: None, .. })
    }
}

/// The policies that `names` stand for. `variant` is that of the files whose name says none.
pub(super) fn find_all<const N: usize>(
    names: [&str; N],
    variant: Option<&str>,
    console: &Console,
) -> Result<[Named; N], Error> {
    let references = names.into_iter().map(Reference::of).collect::<Result<Vec<_>, _>>()?;
    if let Some(variant) = variant
        && !references.iter().any(Reference::takes_variant)
    {
        return Err(needless(variant, names[0], &references[0]));
    }
    let (mut files, mut found) = (Files::default(), Vec::new());
    for (name, reference) in names.into_iter().zip(&references) {
        found.push(measured(name, reference, variant.unwrap_or(BASE), &mut files, console)?);
    }
    Ok(found.try_into().unwrap_or_else(|_| unreachable!("as many as there are names")))
}

/// A variant that changes nothing of what is named.
fn needless(variant: &str, name: &str, reference: &Reference<'_>) -> Error {
    let why = match reference {
        Reference::Preset(_) => format!("`{name}` is a preset, which has no variants"),
        Reference::Policy { .. } => format!("`{name}` names its variant itself"),
    };
    Error::Usage(format!(
        "`--variant {variant}` says nothing here: {why}; it is for policies of scenarios, as in \
         FILE:POLICY, and FILE:POLICY@{variant} says the same"
    ))
}

/// The policy, with its schedule and its cost.
fn measured(
    name: &str,
    reference: &Reference<'_>,
    usual: &str,
    files: &mut Files,
    console: &Console,
) -> Result<Named, Error> {
    let (policy, preset) = match *reference {
        Reference::Preset(preset) => (preset.policy.clone(), Some(preset)),
        Reference::Policy { file, policy, variant } => {
            let variant = variant.unwrap_or(usual);
            (of_file(files.read(file, console)?, policy, variant)?, None)
        }
    };
    let schedule = lint::policy_schedule(&policy);
    let broken = |source: RunError| ExperimentError::Invariant {
        variant: name.to_owned(),
        control: false,
        seed: 1,
        replication: 0,
        message: source.to_string(),
    };
    let cost = |down| outage::cost(&policy, down).map_err(broken);
    let one_call = outage::one_calls(&policy).map_err(broken)?;
    let (refusing, hanging) = (cost(Down::Refusing)?, cost(Down::Hanging)?);
    let outages = Outages { refusing, hanging, one_call };
    Ok(Named { name: name.to_owned(), policy, preset, schedule, outages })
}

/// The preset of that name.
pub(super) fn preset(name: &str) -> Result<&'static Preset, Error> {
    presets::find(name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Error {
    if looks_like_a_file(name) {
        return Error::Usage(format!(
            "`{name}` is no preset; a policy of a scenario is named FILE:POLICY, as in {name}:NAME, \
             or FILE:POLICY@VARIANT"
        ));
    }
    let near = presets::suggestion(name).map(|near| format!("did you mean `{near}`? "));
    let near = near.unwrap_or_default();
    Error::Usage(format!(
        "there is no preset `{name}`; {near}`stormlab presets` lists them, and FILE:POLICY names a \
         policy of a scenario"
    ))
}

/// No preset's name has a path or the ending of a scenario in it.
fn looks_like_a_file(name: &str) -> bool {
    let endings = [".yaml", ".yml", ".json"];
    name.contains(['/', '\\'])
        || endings.iter().any(|ending| name.to_lowercase().ends_with(ending))
        || (!name.is_empty() && Path::new(name).is_file())
}

/// Scenarios by their files, so that what is doubtful about one is said once.
#[derive(Default)]
struct Files(Vec<(String, Scenario)>);

impl Files {
    fn read(&mut self, file: &str, console: &Console) -> Result<&Scenario, Error> {
        let known = self.0.iter().position(|(known, _)| known == file);
        let place = match known {
            Some(place) => place,
            None => {
                self.0.push((file.to_owned(), load(Path::new(file), console)?));
                self.0.len() - 1
            }
        };
        Ok(&self.0[place].1)
    }
}

fn of_file(scenario: &Scenario, policy: &str, variant: &str) -> Result<Policy, Error> {
    let model: &Model = &scenario.variants[run::find(scenario, variant)?].model;
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
