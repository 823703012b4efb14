//! `diff`: what changes between two policies.

use crate::check::Exit;
use crate::cli::Error;
use crate::cli::arguments::DiffArguments;
use crate::cli::console::Console;
use crate::cli::named;
use crate::report::policies;

/// Says what changes from the first policy to the second.
pub(super) fn diff(arguments: &DiffArguments, console: &mut Console) -> Result<Exit, Error> {
    let find = |name| named::find(name, &arguments.variant, console);
    let (before, after) = (find(&arguments.before)?, find(&arguments.after)?);
    let found = policies::difference(before.side(), after.side());
    let text = if arguments.json { found.json()? } else { policies::difference_text(&found) };
    console.say(&text);
    Ok(Exit::Success)
}
