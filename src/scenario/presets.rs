//! Presets: policies of real libraries, and how a scenario names one.
//!
//! `policies: { p: { preset: grpc, retry: { max_attempts: 6 } } }` lays the policy as written over
//! the preset's, key by key, as a variant is laid over its base; only then is it read. What comes
//! from the preset stands at the name of the preset in the user's file, so that every problem has a
//! place there, and a problem at that place says which preset it means.
//!
//! Invariant: a preset is a policy like any other; nothing in one cannot be written in a scenario.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde::Serialize;

use crate::policy::stack::Policy;
use crate::preset::FAMILIES;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::Severity;
use crate::scenario::diagnostic::Source;
use crate::scenario::diagnostic::nearest;
use crate::scenario::diagnostic::quoted;
use crate::scenario::fields::Fields;
use crate::scenario::file;
use crate::scenario::merge;
use crate::scenario::node::Entry;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::tree;
use crate::scenario::validate;

/// The key of a policy that names one.
const KEY: &str = "preset";

/// What a preset's settings are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A recording of the library itself.
    Recorded,
    /// The formulas of its source, or traces made by hand.
    Formula,
}

const CHECKS: [(&str, Check); 2] = [("recorded", Check::Recorded), ("formula", Check::Formula)];

/// What one library does, and where that is known from.
#[derive(Clone, Debug, Serialize)]
pub struct Preset {
    /// What a scenario calls it.
    pub name: String,
    /// What is imitated, in one line.
    pub title: String,
    /// Whose it is.
    pub library: String,
    /// In which version.
    pub version: String,
    /// Where it is written down: repository, commit and file, or a page of documentation.
    pub source: String,
    /// What one should know of it.
    pub notes: String,
    /// Where its defaults are dangerous, in one line.
    pub warning: Option<String>,
    /// What it is held against.
    pub check: Check,
    /// The recordings of it, by their folders.
    pub traces: Vec<String>,
    /// What of it is not simulated.
    pub not_yet: Vec<String>,
    /// The policy as meant.
    #[serde(skip)]
    pub policy: Policy,
    /// The policy as written.
    #[serde(skip)]
    written: Node,
}

/// Every preset, in the order of the families.
pub fn all() -> &'static [Preset] {
    static ALL: OnceLock<Vec<Preset>> = OnceLock::new();
    ALL.get_or_init(|| FAMILIES.iter().flat_map(|(file, text)| family(file, text)).collect())
}

/// The preset of that name.
pub fn find(name: &str) -> Option<&'static Preset> {
    all().iter().find(|preset| preset.name == name)
}

/// The preset whose name is nearest to `wrong`, if any is near.
pub fn suggestion(wrong: &str) -> Option<&'static str> {
    nearest(wrong, all().iter().map(|preset| preset.name.as_str()))
}

/// The presets of a family. Its text is part of the program, so what is wrong with it is a bug.
fn family(file: &str, text: &str) -> Vec<Preset> {
    let mut problems = Problems::default();
    let tree = tree::parse(text, &mut problems);
    let entries = tree.as_ref().map(Node::entries).unwrap_or_default();
    let read = entries.iter().filter_map(|entry| preset(entry, &mut problems)).collect();
    let wrong = problems.into_diagnostics(&Source { file, text }, Severity::Error);
    assert!(wrong.is_empty(), "{}", wrong.iter().map(ToString::to_string).collect::<String>());
    read
}

fn preset(entry: &Entry, problems: &mut Problems) -> Option<Preset> {
    file::check_name(&entry.key, entry.place, problems);
    let mut fields = Fields::open(&entry.node, "a preset", problems)?;
    let mut text = |key, problems: &mut Problems| {
        fields.need(key, "one line", problems, reader::text).map(|text| text.value)
    };
    let (title, library) = (text("title", problems), text("library", problems));
    let (version, source) = (text("version", problems), text("source", problems));
    let notes = text("notes", problems);
    let warning = fields.get("warning", problems, reader::text);
    let check = fields.need("check", "`recorded` or `formula`", problems, reader::word(&CHECKS));
    let traces = fields.get("traces", problems, texts);
    let not_yet = fields.get("not_yet", problems, texts);
    let written = fields.take("policy");
    fields.close(problems);
    let Some(written) = written else {
        problems.push(entry.place, "a preset needs `policy`");
        return None;
    };
    let read = file::read_policy(written, problems)?;
    Some(Preset {
        name: entry.key.clone(),
        title: title?,
        library: library?,
        version: version?,
        source: source?,
        notes: notes?,
        warning: warning.map(|warning| warning.value),
        check: check?.value,
        traces: traces.map(|list| list.value).unwrap_or_default(),
        not_yet: not_yet.map(|list| list.value).unwrap_or_default(),
        policy: validate::policy(&entry.key, entry.place, read, problems),
        written: written.clone(),
    })
}

fn texts(node: &Node, problems: &mut Problems) -> Option<Vec<String>> {
    let items = reader::list(node, "a list of words", problems)?;
    Some(items.iter().filter_map(|item| reader::text(item, problems)).collect())
}

/// A preset that a policy of a scenario names.
#[derive(Debug)]
pub(super) struct Named {
    /// Where.
    place: Place,
    /// Which.
    preset: &'static Preset,
}

/// The presets that the policies of a scenario name, by the policies' places in the file; unknown
/// names are left out.
fn named(root: &Node) -> impl Iterator<Item = (usize, Named)> {
    let policies = root.get("policies").map(Node::entries).unwrap_or_default();
    policies.iter().enumerate().filter_map(|(index, entry)| {
        let node = entry.node.get(KEY).filter(|node| !node.is_null())?;
        Some((index, Named { place: node.place, preset: find(name_of(node)?)? }))
    })
}

/// The text, where it can name a preset: numbers, switches, lists and maps cannot.
fn name_of(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Scalar { text, quoted } => {
            let is_switch = matches!(text.to_ascii_lowercase().as_str(), "true" | "false");
            let is_name = text.starts_with(|c: char| c.is_alphabetic()) && !is_switch;
            (*quoted || is_name).then_some(text.as_str())
        }
        Value::List(_) | Value::Map(_) => None,
    }
}

/// The scenario with every preset laid under the policy that names it, and which ones those are.
/// A policy whose preset nobody knows is a problem, and stays as it is.
pub(super) fn expand<'t>(root: &'t Node, problems: &mut Problems) -> (Cow<'t, Node>, Vec<Named>) {
    let policies = root.get("policies").map(Node::entries).unwrap_or_default();
    for node in policies.iter().filter_map(|entry| entry.node.get(KEY)) {
        if node.is_null() {
            continue;
        }
        let Some(name) = name_of(node) else {
            let problem = format!("`preset` is the name of a preset, not {}", node.kind());
            let help = "as `preset: grpc`; `stormlab presets` lists them";
            problems.push_with(node.anchor(), problem, help);
            continue;
        };
        if find(name).is_none() {
            let near = suggestion(name).map(|near| format!("did you mean `{near}`? "));
            problems.push_with(
                node.place,
                format!("there is no preset {}", quoted(name)),
                format!("{}`stormlab presets` lists them", near.unwrap_or_default()),
            );
        }
    }
    let all: Vec<_> = named(root).collect();
    if all.is_empty() {
        return (Cow::Borrowed(root), Vec::new());
    }
    let mut root = root.clone();
    let Value::Map(keys) = &mut root.value else { return (Cow::Owned(root), Vec::new()) };
    let policies = keys.iter_mut().find(|entry| entry.key == "policies");
    if let Some(Value::Map(policies)) = policies.map(|entry| &mut entry.node.value) {
        for (index, Named { place, preset }) in &all {
            let policy = &mut policies[*index].node;
            let mut under = preset.written.clone();
            move_to(&mut under, *place);
            let laid = merge::lay_over(&under, policy);
            *policy = Node { place: policy.place, head: policy.head, ..laid };
        }
    }
    (Cow::Owned(root), all.into_iter().map(|(_, named)| named).collect())
}

/// Puts a whole tree at one place.
fn move_to(node: &mut Node, place: Place) {
    (node.place, node.head) = (place, place);
    match &mut node.value {
        Value::Scalar { .. } => {}
        Value::List(items) => items.iter_mut().for_each(|item| move_to(item, place)),
        Value::Map(entries) => {
            for entry in entries {
                entry.place = place;
                move_to(&mut entry.node, place);
            }
        }
    }
}

/// Problems found at the name of a preset are about the preset's own text, and say so.
pub(super) fn mark(all: &[Named], problems: &mut Problems) {
    for Named { place, preset } in all {
        problems.prefix_at(*place, &format!("in the preset `{}`", preset.name));
    }
}

/// Presets that are simulated only in part.
pub(super) fn doubts(root: &Node, doubts: &mut Problems) {
    for (_, Named { place, preset }) in named(root) {
        if preset.not_yet.is_empty() {
            continue;
        }
        let problem = format!(
            "the preset `{}` is simulated only in part; not yet: {}",
            preset.name,
            preset.not_yet.join("; ")
        );
        let help = format!("`stormlab presets {}` shows what it is made of", preset.name);
        doubts.push_with(place, problem, help);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_names_of_their_own_and_a_line_for_a_warning() {
        let mut names: Vec<_> = all().iter().map(|preset| preset.name.as_str()).collect();
        assert!(names.len() >= 50, "{}", names.len());
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
        for preset in all() {
            for line in [&preset.title, &preset.library, &preset.version, &preset.source] {
                assert!(!line.is_empty() && !line.contains('\n'), "{}", preset.name);
            }
            let warning = preset.warning.as_deref().unwrap_or_default();
            assert!(!warning.contains('\n') && warning.len() <= 120, "{}", preset.name);
            let recorded = preset.check == Check::Recorded;
            assert_eq!(recorded, !preset.traces.is_empty(), "{}", preset.name);
        }
    }

    #[test]
    fn the_place_of_a_preset_is_that_of_its_name() {
        let text = "policies: { p: { preset: grpc, retry: { max_attempts: 6 } } }";
        let mut problems = Problems::default();
        let tree = tree::parse(text, &mut problems).unwrap();
        let (tree, all) = expand(&tree, &mut problems);
        assert!(problems.is_empty() && all.len() == 1);
        let retry = tree.get("policies").and_then(|all| all.get("p")).and_then(|p| p.get("retry"));
        let retry = retry.unwrap();
        let at = |key: &str| &text[retry.get(key).unwrap().place.start..][..1];
        assert_eq!((at("backoff"), at("max_attempts")), ("g", "6"));
    }
}
