//! `explain`: a scenario as it is meant, and what shows on paper.

use crate::check::Exit;
use crate::cli::Error;
use crate::cli::arguments::ExplainArguments;
use crate::cli::console::Console;
use crate::cli::load;
use crate::cli::run;
use crate::lint;
use crate::report::ReportError;
use crate::scenario::EXPLAINED;
use crate::scenario::model::Scenario;

/// Prints a variant with every default filled in.
pub(super) fn explain(arguments: &ExplainArguments, console: &mut Console) -> Result<Exit, Error> {
    let scenario = load(&arguments.file, console)?;
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
