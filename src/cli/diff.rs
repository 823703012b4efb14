//! `diff`: what changes between two policies.

use crate::check::Exit;
use crate::cli::Error;
use crate::cli::arguments::DiffArguments;
use crate::cli::console::Console;
use crate::cli::named;
use crate::report::policies;

/// Says what changes from the first policy to the second.
pub(super) fn diff(arguments: &DiffArguments, console: &mut Console) -> Result<Exit, Error> {
    let names = [arguments.before.as_str(), arguments.after.as_str()];
    let [before, after] = named::find_all(names, arguments.variant.as_deref(), console)?;
    let found = policies::difference(before.side(), after.side());
    let text = if arguments.json { found.json()? } else { policies::difference_text(&found) };
    console.say(&text);
    Ok(Exit::Success)
}
