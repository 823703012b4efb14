//! `explain`: a scenario as it is meant, and what shows on paper.

use std::path::Path;

use serde::Serialize;

use crate::check::Exit;
use crate::cli::Error;
use crate::cli::arguments::ExplainArguments;
use crate::cli::console::Console;
use crate::cli::load;
use crate::cli::named;
use crate::cli::named::Named;
use crate::cli::run;
use crate::lint;
use crate::lint::Schedule;
use crate::report::ReportError;
use crate::report::policies;
use crate::report::policies::Outages;
use crate::scenario::EXPLAINED;
use crate::scenario::model::Scenario;
use crate::scenario::presets::Preset;

/// Prints a variant with every default filled in.
pub(super) fn explain(arguments: &ExplainArguments, console: &mut Console) -> Result<Exit, Error> {
    if let Some(name) = &arguments.policy {
        return explain_policy(name, arguments, console);
    }
    // Required by the arguments where there is no policy.
    let file = arguments.file.as_deref().unwrap_or(Path::new(""));
    let scenario = load(file, console)?;
    run::find(&scenario, &arguments.variant)?; // Says which there are, if this is none of them.
    if arguments.json {
        console.say(&json(&scenario, &arguments.variant)?);
    } else {
        let text = lint::explain(&scenario, &arguments.variant);
        console.say(text.trim_end());
        console.say("\n");
    }
    Ok(Exit::Success)
}

/// Prints the schedule of one policy.
fn explain_policy(
    name: &str,
    arguments: &ExplainArguments,
    console: &mut Console,
) -> Result<Exit, Error> {
    let found = named::find(name, &arguments.variant, console)?;
    let Named { policy, preset, schedule, outages, .. } = &found;
    if arguments.json {
        let explained = ExplainedPolicy { schedule, outages, not_yet: not_yet(*preset) };
        let text = serde_json::to_string_pretty(&explained).map_err(ReportError::from)?;
        console.say(&(text + "\n"));
        return Ok(Exit::Success);
    }
    let mut head = format!("{name}\n");
    if let Some(preset) = preset {
        head = format!("{name}: {}\n", preset.title);
        let warning = preset.warning.iter().map(|warning| format!("! {warning}\n"));
        let missing = preset.not_yet.iter().map(|missing| format!("~ not yet: {missing}\n"));
        head.extend(warning.chain(missing));
    }
    console.say(&format!("{head}\n{}", policies::schedule_text(policy, schedule, outages)));
    Ok(Exit::Success)
}

/// A policy for machines.
#[derive(Serialize)]
struct ExplainedPolicy<'p> {
    #[serde(flatten)]
    schedule: &'p Schedule,
    outages: &'p Outages,
    not_yet: &'p [String],
}

/// What of a preset is not simulated.
fn not_yet(preset: Option<&'static Preset>) -> &'static [String] {
    preset.map_or(&[], |preset| &preset.not_yet)
}

/// The variant as a scenario, of the same shape as `scenario.effective.json`, with one more key for
/// what shows on paper.
fn json(scenario: &Scenario, variant: &str) -> Result<String, Error> {
    let explained = serde_json::to_string_pretty(&lint::explanation(scenario, variant))
        .map_err(ReportError::from)?;
    let text = lint::as_meant_json(scenario, variant);
    let body = text.trim_end().trim_end_matches('}').trim_end();
    let explained = explained.replace('\n', "\n  ");
    Ok(format!("{body},\n  \"{EXPLAINED}\": {explained}\n}}\n"))
}
