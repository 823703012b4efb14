//! `presets`: what real libraries do.

use crate::check::Exit;
use crate::cli::Error;
use crate::cli::arguments::PresetsArguments;
use crate::cli::console::Console;
use crate::cli::named;
use crate::report::policies;
use crate::scenario::presets;
use crate::scenario::presets::Preset;

/// Lists presets, or shows one.
pub(super) fn presets(arguments: &PresetsArguments, console: &mut Console) -> Result<Exit, Error> {
    if let Some(name) = &arguments.name {
        let preset = named::preset(name)?;
        console.say(&if arguments.json {
            policies::preset_json(preset)?
        } else {
            policies::preset_text(preset)
        });
        return Ok(Exit::Success);
    }
    let word = arguments.filter.as_deref().unwrap_or_default().to_lowercase();
    let found: Vec<_> = presets::all().iter().filter(|it| speaks_of(it, &word)).collect();
    if arguments.json {
        console.say(&policies::presets_json(&found)?);
    } else if found.is_empty() {
        console.note(&format!("no preset speaks of `{word}`"));
    } else {
        console.say(&policies::preset_list(&found));
    }
    Ok(Exit::Success)
}

/// Is the word anywhere in what the preset says of itself?
fn speaks_of(preset: &Preset, word: &str) -> bool {
    let Preset { name, title, library, version, source, notes, warning, .. } = preset;
    let texts = [name, title, library, version, source, notes].into_iter().chain(warning);
    texts.into_iter().any(|text| text.to_lowercase().contains(word))
}
