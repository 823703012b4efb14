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
use crate::scenario::load::BASE;
use crate::scenario::model::Scenario;

/// Prints a variant with every default filled in.
pub(super) fn explain(arguments: &ExplainArguments, console: &mut Console) -> Result<Exit, Error> {
    if let Some(name) = &arguments.policy {
        return explain_policy(name, arguments, console);
    }
    // Required by the arguments where there is no policy.
    let file = arguments.file.as_deref().unwrap_or(Path::new(""));
    let scenario = load(file, console)?;
    let variant = arguments.variant.as_deref().unwrap_or(BASE);
    run::find(&scenario, variant)?; // Says which there are, if this is none of them.
    if arguments.json {
        console.say(&json(&scenario, variant)?);
    } else {
        let text = lint::explain(&scenario, variant);
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
    let [found] = named::find_all([name], arguments.variant.as_deref(), console)?;
    let Named { policy, preset, schedule, outages, .. } = &found;
    if arguments.json {
        let warning = preset.and_then(|preset| preset.warning.as_deref());
        let not_yet = found.not_yet();
        let explained = ExplainedPolicy { name, warning, schedule, outages, not_yet };
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
    name: &'p str,
    warning: Option<&'p str>,
    #[serde(flatten)]
    schedule: &'p Schedule,
    outages: &'p Outages,
    not_yet: &'p [String],
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
