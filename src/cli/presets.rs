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
    let filter = arguments.filter.as_deref().unwrap_or_default();
    let found = search(filter);
    if arguments.json {
        console.say(&policies::presets_json(&found)?);
    } else if found.is_empty() {
        console.note(&format!("no preset speaks of `{filter}`"));
    } else {
        console.say(&policies::preset_list(&found));
    }
    Ok(Exit::Success)
}

/// Presets that speak of every word of `filter`: as whole words, or else, if none does, as the
/// beginnings of words. Without a word, all.
fn search(filter: &str) -> Vec<&'static Preset> {
    let wanted = words(filter);
    if wanted.is_empty() && !filter.trim().is_empty() {
        return Vec::new(); // Signs alone are in no word.
    }
    let whole = |known: &str, word: &str| known == word || same(known, word);
    let found = matching(&wanted, whole);
    if found.is_empty() { matching(&wanted, |known, word| known.starts_with(word)) } else { found }
}

fn matching(wanted: &[String], fits: impl Fn(&str, &str) -> bool) -> Vec<&'static Preset> {
    let speaks = |preset: &&Preset| {
        let known = vocabulary(preset);
        wanted.iter().all(|word| known.iter().any(|known| fits(known, word)))
    };
    presets::all().iter().filter(speaks).collect()
}

/// Every word that a preset says of itself.
fn vocabulary(preset: &Preset) -> Vec<String> {
    let Preset { name, title, library, version, source, notes, warning, .. } = preset;
    let texts = [name, title, library, version, source, notes].into_iter().chain(warning);
    texts.into_iter().flat_map(|text| words(text)).collect()
}

fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect()
}

/// Two names of one vendor: whoever asks for `aws` means SQS, too, which calls itself Amazon's.
fn same(known: &str, word: &str) -> bool {
    const VENDOR: [&str; 2] = ["aws", "amazon"];
    VENDOR.contains(&known) && VENDOR.contains(&word)
}
