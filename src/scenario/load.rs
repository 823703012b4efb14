//! Reads a file: the only place that does.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use crate::scenario::diagnostic::Diagnostic;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::Source;
use crate::scenario::file;
use crate::scenario::merge;
use crate::scenario::model::Scenario;
use crate::scenario::model::Variant;
use crate::scenario::reader;
use crate::scenario::tree;
use crate::scenario::tree::Entry;
use crate::scenario::tree::LARGEST_FILE;
use crate::scenario::tree::Node;
use crate::scenario::tree::Value;
use crate::scenario::validate;
use crate::scenario::validate::Allowance;

/// The name of the scenario without any variant's changes.
pub const BASE: &str = "base";
/// What a variant may change; the rest of a file describes the file.
const CHANGEABLE: [&str; 7] =
    ["run", "clients", "services", "links", "policies", "triggers", "operator"];

/// Why a scenario could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error("error: {file} could not be read: {source}")]
    Read {
        /// The file as it was named.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The file is no scenario; every problem is named.
    #[error("{}", listed(.0))]
    Invalid(Vec<Diagnostic>),
}

fn listed(problems: &[Diagnostic]) -> String {
    let mut text: Vec<_> = problems.iter().map(Diagnostic::to_string).collect();
    text.push(match problems.len() {
        1 => "1 problem found".into(),
        n => format!("{n} problems found"),
    });
    text.join("\n")
}

/// Reads and checks the scenario at `path`.
///
/// # Errors
/// When the file cannot be read, or is no scenario; the second names every problem with its place.
pub fn load(path: &Path) -> Result<Scenario, LoadError> {
    let name = path.display().to_string();
    let mut text = Vec::new();
    // One byte more than allowed is enough to know; a device without end is not read to its end.
    File::open(path)
        .and_then(|file| file.take(LARGEST_FILE as u64 + 1).read_to_end(&mut text))
        .map_err(|source| LoadError::Read { file: name.clone(), source })?;
    parse(&name, &text).map_err(LoadError::Invalid)
}

/// Checks the scenario in `text`; `file_name` is only named in problems.
///
/// # Errors
/// Every problem found, in the order of the text.
pub fn parse(file_name: &str, text: &[u8]) -> Result<Scenario, Vec<Diagnostic>> {
    let mut problems = Problems::default();
    let fingerprint = blake3::hash(text).to_hex().to_string();
    let (valid, place) = match text {
        _ if text.len() > LARGEST_FILE => {
            let limit = LARGEST_FILE >> 20;
            problems.push(Place::default(), format!("the file is larger than {limit} MiB"));
            ("", Place::default())
        }
        _ => match std::str::from_utf8(text) {
            Ok(valid) => (valid, Place::default()),
            Err(error) => {
                let at = error.valid_up_to();
                let valid = std::str::from_utf8(&text[..at]).unwrap_or_default();
                (valid, Place { start: at, end: at + 1 })
            }
        },
    };
    let source = Source { file: file_name, text: valid.strip_prefix('\u{feff}').unwrap_or(valid) };
    if place != Place::default() {
        problems.push_with(place, "the file is not text in UTF-8", "save it in that encoding");
    }
    let scenario =
        if problems.is_empty() { read(&source, fingerprint, &mut problems) } else { None };
    match scenario {
        Some(scenario) if problems.is_empty() => Ok(scenario),
        _ => Err(problems.into_diagnostics(&source)),
    }
}

fn read(source: &Source<'_>, fingerprint: String, problems: &mut Problems) -> Option<Scenario> {
    let root = tree::parse(source.text, problems)?;
    let mut allowance = Allowance::default();
    if !allowance.pay(root.cost()) {
        problems.push(Place::default(), "the scenario is too large: too many `gamma` tables");
        return None;
    }
    let base = validate::model(&root, source.text, &mut allowance, problems);
    let changed = match root.get("variants") {
        Some(node) if !node.is_null() => variants(node, &root, source, &mut allowance, problems),
        _ => Vec::new(),
    };
    let written = match root.get("expect") {
        Some(node) if !node.is_null() => file::read_expectations(node, problems),
        _ => Vec::new(),
    };
    let names: Vec<_> =
        std::iter::once(BASE).chain(changed.iter().map(|variant| variant.name)).collect();
    let models = std::iter::once(base.as_ref().map(|(model, _)| model))
        .chain(changed.iter().map(|variant| variant.model.as_ref()));
    let services: Vec<Vec<&str>> = models
        .map(|model| {
            model.map_or(Vec::new(), |model| {
                model.services.iter().map(|service| service.name.as_str()).collect()
            })
        })
        .collect();
    let expect = validate::expectations(&written, &names, &services, source, problems);
    let (model, heading) = base?;
    let mut all = vec![Variant { name: BASE.into(), about: String::new(), model }];
    for variant in changed {
        let (name, about) = (variant.name.to_owned(), variant.about);
        all.push(Variant { name, about, model: variant.model? });
    }
    Some(Scenario {
        name: heading.name,
        about: heading.about,
        source: heading.source,
        variants: all,
        expect,
        fingerprint,
    })
}

/// A variant, with its model when it has no problems.
struct Changed<'t> {
    name: &'t str,
    about: String,
    model: Option<crate::scenario::model::Model>,
}

fn variants<'t>(
    node: &'t Node,
    root: &Node,
    source: &Source<'_>,
    allowance: &mut Allowance,
    problems: &mut Problems,
) -> Vec<Changed<'t>> {
    let Value::Map(entries) = &node.value else {
        problems.push(node.place, format!("`variants` is a map from names, not {}", node.kind()));
        return Vec::new();
    };
    if entries.len() > file::MOST_ENTITIES {
        problems.push(node.head, format!("there are more than {} variants", file::MOST_ENTITIES));
        return Vec::new();
    }
    let base = merge::without(root, &["variants", "expect"]);
    let base_cost = base.cost();
    let mut all = Vec::with_capacity(entries.len());
    for entry in entries {
        file::check_name(&entry.key, entry.place, problems);
        if entry.key == BASE {
            problems.push_with(
                entry.place,
                "`base` is the scenario without changes",
                "give this variant another name",
            );
        }
        if !allowance.pay(base_cost + entry.node.cost()) {
            problems.push_with(
                entry.place,
                "the variants make too large a scenario of this file",
                "split the file",
            );
            break;
        }
        let about = check_keys(entry, problems);
        let merged = merge::merge(&base, &merge::without(&entry.node, &["about"]));
        let mut own = Problems::default();
        let model = validate::model(&merged, source.text, allowance, &mut own);
        problems.absorb(own, entry.node.place, &format!("in the variant `{}`", entry.key));
        all.push(Changed { name: &entry.key, about, model: model.map(|(model, _)| model) });
    }
    all
}

/// A variant's `about`; its other keys must be such as a variant may change.
fn check_keys(entry: &Entry, problems: &mut Problems) -> String {
    let node = &entry.node;
    if !matches!(node.value, Value::Map(_)) && !node.is_null() {
        problems.push(node.place, format!("a variant is a partial scenario, not {}", node.kind()));
        return String::new();
    }
    let mut about = String::new();
    for key in node.entries() {
        match key.key.as_str() {
            "about" if key.node.is_null() => {}
            "about" => about = reader::text(&key.node, problems).unwrap_or_default(),
            known if CHANGEABLE.contains(&known) => {}
            "schema" | "name" | "source" | "variants" | "expect" => problems.push_with(
                key.place,
                format!("a variant cannot change `{}`", key.key),
                format!("accepted: about, {}", CHANGEABLE.join(", ")),
            ),
            _ => {} // Unknown in a scenario, too: noted there.
        }
    }
    if let Some(run) = node.get("run").filter(|run| run.is_null()) {
        problems.push_with(
            run.place,
            "a variant cannot remove `run`",
            "name the settings that change; seed and replications stay as they are",
        );
    }
    // Variants are compared run by run: same seeds, same number of runs.
    for fixed in ["seed", "replications"] {
        let run = node.get("run").map(Node::entries).unwrap_or_default();
        if let Some(key) = run.iter().find(|key| key.key == fixed) {
            problems.push_with(
                key.place,
                format!("a variant cannot change `{fixed}`"),
                "variants are compared run by run on the same random numbers",
            );
        }
    }
    about
}
