//! `explain`: a scenario as it is meant, and what shows on paper.

use crate::check::Exit;
use crate::cli::Error;
use crate::cli::arguments::ExplainArguments;
use crate::cli::console::Console;
use crate::cli::run;
use crate::lint;
use crate::report::ReportError;
use crate::scenario;

/// Prints a variant with every default filled in.
pub(super) fn explain(arguments: &ExplainArguments, console: &mut Console) -> Result<Exit, Error> {
    let scenario = scenario::load(&arguments.file)?;
    run::find(&scenario, &arguments.variant)?; // Says which there are, if this is none of them.
    if arguments.json {
        let text = serde_json::to_string_pretty(&lint::explanation(&scenario, &arguments.variant))
            .map_err(ReportError::from)?;
        console.say(&(text + "\n"));
    } else {
        let text = lint::explain(&scenario, &arguments.variant);
        console.say(text.trim_end());
        console.say("\n");
    }
    Ok(Exit::Success)
}
