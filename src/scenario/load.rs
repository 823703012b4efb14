//! Reads a file: the only place that does.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use crate::scenario::diagnostic::Diagnostic;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::Severity;
use crate::scenario::diagnostic::Source;
use crate::scenario::diagnostic::quoted;
use crate::scenario::file;
use crate::scenario::merge;
use crate::scenario::model::Scenario;
use crate::scenario::model::Variant;
use crate::scenario::node::Entry;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::presets;
use crate::scenario::reader;
use crate::scenario::tree;
use crate::scenario::tree::LARGEST_FILE;
use crate::scenario::validate;
use crate::scenario::validate::Allowance;

/// The name of the scenario without any variant's changes.
pub const BASE: &str = "base";
/// What a variant may change; the rest of a file describes the file.
const CHANGEABLE: [&str; 8] =
    ["run", "clients", "queues", "services", "links", "policies", "triggers", "operator"];

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
    load_with_doubts(path).map(|(scenario, _)| scenario)
}

/// As [`load`], with what is doubtful about the scenario: it runs as written, but that is hardly
/// what is meant.
///
/// # Errors
/// As [`load`].
pub fn load_with_doubts(path: &Path) -> Result<(Scenario, Vec<Diagnostic>), LoadError> {
    let name = path.display().to_string();
    let mut text = Vec::new();
    // One byte more than allowed is enough to know; a device without end is not read to its end.
    File::open(path)
        .and_then(|file| file.take(LARGEST_FILE as u64 + 1).read_to_end(&mut text))
        .map_err(|source| LoadError::Read { file: name.clone(), source })?;
    parse_with_doubts(&name, &text).map_err(LoadError::Invalid)
}

/// Checks the scenario in `text`; `file_name` is only named in problems.
///
/// # Errors
/// Every problem found, in the order of the text.
pub fn parse(file_name: &str, text: &[u8]) -> Result<Scenario, Vec<Diagnostic>> {
    parse_with_doubts(file_name, text).map(|(scenario, _)| scenario)
}

/// As [`parse`], with what is doubtful about the scenario.
///
/// # Errors
/// As [`parse`].
pub fn parse_with_doubts(
    file_name: &str,
    text: &[u8],
) -> Result<(Scenario, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut problems = Problems::default();
    let fingerprint = blake3::hash(text).to_hex().to_string();
    let (valid, place) = match text {
        _ if text.len() > LARGEST_FILE => {
            let limit = LARGEST_FILE >> 20;
            let problem = format!("the file is larger than {limit} MiB");
            problems.push_with(Place::default(), problem, "is it a scenario? then split it");
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
        problems.push_with(place, "the file is not text in UTF-8", "save it as UTF-8");
    }
    let mut doubts = Problems::default();
    let scenario = if problems.is_empty() {
        read(&source, fingerprint, &mut problems, &mut doubts)
    } else {
        None
    };
    match scenario {
        Some(scenario) if problems.is_empty() => {
            Ok((scenario, doubts.into_diagnostics(&source, Severity::Warning)))
        }
        _ => Err(problems.into_diagnostics(&source, Severity::Error)),
    }
}

fn read(
    source: &Source<'_>,
    fingerprint: String,
    problems: &mut Problems,
    doubts: &mut Problems,
) -> Option<Scenario> {
    let mut root = tree::parse(source.text, problems)?;
    merge::sort_clients(&mut root);
    let mut allowance = Allowance::default();
    if !allowance.pay(root.cost()) {
        problems.push_with(
            Place::default(),
            "the scenario is too large: too many `gamma` tables",
            "use `lognormal` or `weibull` in some places, or split the file",
        );
        return None;
    }
    let base = validate::model(&root, source.text, &mut allowance, problems);
    if let Some((model, _)) = &base {
        validate::doubts::of_model(model, &root, doubts);
        presets::doubts(&root, doubts);
    }
    let changed = match root.get("variants") {
        Some(node) if !node.is_null() => {
            variants(node, &root, source, &mut allowance, problems, doubts)
        }
        _ => Vec::new(),
    };
    let written = match root.get("expect") {
        Some(node) if !node.is_null() => file::read_expectations(node, problems),
        _ => Vec::new(),
    };
    let names: Vec<_> =
        std::iter::once(BASE).chain(changed.iter().map(|variant| variant.name)).collect();
    let models: Vec<_> = std::iter::once(base.as_ref().map(|(model, _)| model))
        .chain(changed.iter().map(|variant| variant.model.as_ref()))
        .collect();
    let expect = validate::expectations(&written, &names, &models, source, problems);
    let (model, heading) = base?;
    let mut all = vec![Variant { name: BASE.into(), about: String::new(), model }];
    for variant in changed {
        let (name, about) = (variant.name.to_owned(), variant.about);
        all.push(Variant { name, about, model: variant.model? });
    }
    let models: Vec<_> = all.iter().map(|variant| &variant.model).collect();
    let entries = root.get("variants").map(Node::entries).unwrap_or_default();
    let parts: Vec<_> = std::iter::once(&root).chain(entries.iter().map(|it| &it.node)).collect();
    validate::doubts::of_names(&models, &parts, doubts);
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
    doubts: &mut Problems,
) -> Vec<Changed<'t>> {
    let Value::Map(entries) = &node.value else {
        problems.push_with(
            node.anchor(),
            format!("`variants` is a map from names, not {}", node.kind()),
            "as `{ never: { policies: { twice: { retry: null } } } }`",
        );
        return Vec::new();
    };
    if entries.len() > file::MOST_ENTITIES {
        let problem = format!("there are more than {} variants", file::MOST_ENTITIES);
        problems.push_with(node.head, problem, "split the file");
        return Vec::new();
    }
    let base = merge::without(root, &["variants", "expect"]);
    let base_cost = base.cost();
    let mut all = Vec::with_capacity(entries.len());
    let mut folded = BTreeMap::from([(BASE.to_owned(), BASE)]);
    for entry in entries {
        file::check_name(&entry.key, entry.place, problems);
        if let Some(other) = folded.insert(entry.key.to_lowercase(), &entry.key)
            && other != entry.key
        {
            problems.push_with(
                entry.place,
                format!("{} and `{other}` would share their files", quoted(&entry.key)),
                "many discs do not tell capital letters from small ones; give it another name",
            );
        }
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
        let mut changes = merge::without(&entry.node, &["about"]);
        merge::sort_clients(&mut changes);
        let merged = merge::merge(&base, &changes);
        let mut own = Problems::default();
        let model = validate::model(&merged, source.text, allowance, &mut own);
        let context = format!("in the variant `{}`", entry.key);
        problems.absorb(own, entry.node.place, &context);
        if let Some((model, _)) = &model {
            let mut own = Problems::default();
            validate::doubts::of_model(model, &merged, &mut own);
            presets::doubts(&merged, &mut own);
            doubts.absorb(own, entry.node.place, &context);
        }
        all.push(Changed { name: &entry.key, about, model: model.map(|(model, _)| model) });
    }
    all
}

/// A variant's `about`; its other keys must be such as a variant may change.
fn check_keys(entry: &Entry, problems: &mut Problems) -> String {
    let node = &entry.node;
    if !matches!(node.value, Value::Map(_)) && !node.is_null() {
        problems.push_with(
            node.place,
            format!("a variant is a partial scenario, not {}", node.kind()),
            "as `{ policies: { twice: { retry: null } } }`",
        );
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
