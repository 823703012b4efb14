//! A partial scenario laid over a whole one.
//!
//! Maps are merged key by key. Lists are replaced whole, and so are *choices*: maps that name one
//! alternative, such as `{ exponential: 5s }`, for half of one alternative and half of another
//! mean nothing. `null` removes a key. Every node keeps the place where it was written, so a
//! problem in a variant points at the variant's own line.

use crate::scenario::diagnostic::Place;
use crate::scenario::node::Entry;
use crate::scenario::node::Node;
use crate::scenario::node::Value;

/// Keys whose value is a choice.
const CHOICES: &[&str] = &[
    "after",
    "arrivals",
    "attempt_timeout",
    "backoff",
    "budget",
    "crashes_at",
    "drawn",
    "effect",
    "hint",
    "jitter",
    "latency",
    "max_elapsed",
    "open_for",
    "retry_after",
    "think",
    "throttle",
    "work",
];
/// Keys of which a map has one: naming one removes the others.
const ALTERNATIVES: [&[&str]; 8] = [
    &["arrivals", "users"],
    &["consecutive", "window", "average", "exhausted"],
    &["length", "calls"],
    &["cost", "costs"],
    &["failure_share", "more_than", "failures"],
    &["decides_after", "closes_after"],
    &["outlier", "breaker"],
    &["aimd", "vegas", "gradient", "gradient2", "min_rtt"],
];
/// Keys whose children are names, which mean nothing to the merge.
const NAMED: [&str; 5] = ["clients", "queues", "services", "policies", "links"];

/// What kind of keys a map has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// Those of a scenario.
    Root,
    /// Names of entities.
    Names,
    /// Those of the language.
    Words,
    /// Those of a policy that is laid over a preset later: `null` must stay written there, for what
    /// it removes is the preset's.
    OverPreset,
    /// Those of a policy and of the preset under it. `null` removes what the preset says; where it
    /// says nothing the key stays, so that one that nobody knows is found when the policy is read.
    Preset,
}

impl Level {
    /// What kind of keys a map has that stands under `key` in a map of this kind.
    fn below(self, key: &str) -> Self {
        match self {
            Self::Root if NAMED.contains(&key) => Self::Names,
            Self::OverPreset | Self::Preset => self,
            _ => Self::Words,
        }
    }

    /// Does `null` stay written?
    fn keeps_null(self) -> bool {
        self == Self::OverPreset
    }

    fn is_words(self) -> bool {
        matches!(self, Self::Words | Self::OverPreset | Self::Preset)
    }

    /// Does a `null` that removes nothing stay written?
    fn keeps_idle_null(self) -> bool {
        matches!(self, Self::OverPreset | Self::Preset)
    }
}

/// `base` with `overlay` laid over it.
pub(super) fn merge(base: &Node, overlay: &Node) -> Node {
    merge_at(base, overlay, Level::Root)
}

/// A policy as written, laid over a preset's.
pub(super) fn lay_over(preset: &Node, policy: &Node) -> Node {
    merge_at(preset, policy, Level::Preset)
}

fn merge_at(base: &Node, overlay: &Node, level: Level) -> Node {
    let (Value::Map(under), Value::Map(over)) = (&base.value, &overlay.value) else {
        return overlay.clone();
    };
    let mut entries: Vec<Entry> = Vec::with_capacity(under.len() + over.len());
    let (mut place, mut head) = (base.place, base.head);
    let lookup = Lookup::of(over);
    for entry in under {
        let Some(change) = lookup.find(over, &entry.key) else {
            if level.is_words() && is_superseded(&entry.key, over, &lookup) {
                continue;
            }
            entries.push(entry.clone());
            continue;
        };
        if change.node.is_null() && !level.keeps_null() {
            // What is missing from here on is missing because of the overlay.
            (place, head) = (overlay.place, overlay.head);
            continue;
        }
        let names_preset = |node: &Node| node.get("preset").is_some_and(|name| !name.is_null());
        let below = match level {
            Level::Names if names_preset(&entry.node) || names_preset(&change.node) => {
                Level::OverPreset
            }
            _ => level.below(&entry.key),
        };
        let node = if is_choice(&entry.key, level) {
            change.node.clone()
        } else {
            merge_at(&entry.node, &change.node, below)
        };
        entries.push(Entry { key: entry.key.clone(), place: entry.place, node });
    }
    let known = Lookup::of(under);
    for entry in over {
        let stays = level.keeps_idle_null() || !entry.node.is_null();
        if stays && known.find(under, &entry.key).is_none() {
            entries.push(entry.clone());
        }
    }
    Node { place, head, value: Value::Map(entries) }
}

/// What, laid over `base`, gives `other`: the keys that differ, and `null` for those that go.
pub(super) fn difference(base: &Node, other: &Node) -> Node {
    difference_at(base, other, Level::Root)
}

fn difference_at(base: &Node, other: &Node, level: Level) -> Node {
    let (under, over) = (base.entries(), other.entries());
    let (before, after) = (Lookup::of(under), Lookup::of(over));
    let mut entries = Vec::new();
    for entry in under {
        if after.find(over, &entry.key).is_none() && !entry.node.is_null() {
            let value = Value::Scalar { text: "null".to_owned(), quoted: false };
            entries.push(Entry { node: Node { value, ..entry.node.clone() }, ..entry.clone() });
        }
    }
    for entry in over {
        let node = match before.find(under, &entry.key) {
            Some(known) if known.node.same(&entry.node) => continue,
            Some(known) => match (&known.node.value, &entry.node.value) {
                (Value::Map(_), Value::Map(_)) if !is_choice(&entry.key, level) => {
                    difference_at(&known.node, &entry.node, level.below(&entry.key))
                }
                _ => entry.node.clone(),
            },
            None => entry.node.clone(),
        };
        entries.push(Entry { node, ..entry.clone() });
    }
    Node { value: Value::Map(entries), ..other.clone() }
}

/// The dotted paths of a partial scenario and what stands at their ends.
pub(super) fn leaves(tree: &Node) -> Vec<(String, Node)> {
    let mut all = Vec::new();
    leaves_at(tree, "", Level::Root, &mut all);
    all
}

/// As [`leaves`], of a part in which every key is one of the language.
pub(super) fn leaves_of_words(tree: &Node) -> Vec<(String, Node)> {
    let mut all = Vec::new();
    leaves_at(tree, "", Level::Words, &mut all);
    all
}

fn leaves_at(tree: &Node, path: &str, level: Level, all: &mut Vec<(String, Node)>) {
    for entry in tree.entries() {
        let path =
            if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
        match &entry.node.value {
            Value::Map(inner) if !inner.is_empty() && !is_choice(&entry.key, level) => {
                leaves_at(&entry.node, &path, level.below(&entry.key), all);
            }
            _ => all.push((path, entry.node.clone())),
        }
    }
}

fn is_choice(key: &str, level: Level) -> bool {
    level.is_words() && CHOICES.contains(&key)
}

fn is_superseded(key: &str, over: &[Entry], lookup: &Lookup) -> bool {
    let named = |other| lookup.find(over, other).is_some_and(|entry| !entry.node.is_null());
    ALTERNATIVES
        .iter()
        .filter(|keys| keys.contains(&key))
        .any(|keys| keys.iter().any(|other| *other != key && named(other)))
}

/// Entries by key, in logarithmic time: maps may hold thousands of names.
struct Lookup(Vec<usize>);

impl Lookup {
    fn of(entries: &[Entry]) -> Self {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|a, b| entries[*a].key.cmp(&entries[*b].key));
        Self(order)
    }

    fn find<'e>(&self, entries: &'e [Entry], key: &str) -> Option<&'e Entry> {
        let at = self.0.binary_search_by(|i| entries[*i].key.as_str().cmp(key)).ok()?;
        Some(&entries[self.0[at]])
    }
}

/// Puts the populations of a scenario, or of a variant's changes, in the order of their names.
///
/// Draws are named after a population's place, so the order in a file would otherwise be a part of
/// the results. Those that a variant adds follow those of the base, whose draws stay as they are.
pub(super) fn sort_clients(tree: &mut Node) {
    let Value::Map(entries) = &mut tree.value else { return };
    let clients = entries.iter_mut().find(|entry| entry.key == "clients");
    if let Some(Value::Map(names)) = clients.map(|entry| &mut entry.node.value) {
        names.sort_by(|a, b| a.key.cmp(&b.key));
    }
}

/// `tree` without some of its keys.
pub(super) fn without(tree: &Node, keys: &[&str]) -> Node {
    let kept = tree.entries().iter().filter(|entry| !keys.contains(&&*entry.key)).cloned();
    Node { place: tree.place, head: tree.head, value: Value::Map(kept.collect()) }
}

/// The partial scenario that a dotted path and its value stand for.
pub(super) fn overlay(path: &Entry) -> Node {
    let place: Place = path.place;
    let mut node = path.node.clone();
    for key in path.key.rsplit('.') {
        let entry = Entry { key: key.to_owned(), place, node };
        node = Node { place: entry.node.place, head: place, value: Value::Map(vec![entry]) };
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::diagnostic::Problems;
    use crate::scenario::tree;

    fn read(text: &str) -> Node {
        tree::parse(text, &mut Problems::default()).unwrap()
    }

    /// The tree in one line, without places.
    fn flat(node: &Node) -> String {
        match &node.value {
            Value::Scalar { text, .. } => text.clone(),
            Value::List(items) => {
                format!("[{}]", items.iter().map(flat).collect::<Vec<_>>().join(", "))
            }
            Value::Map(entries) => {
                let all: Vec<_> =
                    entries.iter().map(|e| format!("{}: {}", e.key, flat(&e.node))).collect();
                format!("{{{}}}", all.join(", "))
            }
        }
    }

    #[test]
    fn maps_merge_by_key_lists_and_choices_whole_and_null_removes() {
        #[track_caller]
        fn check(base: &str, over: &str, expected: &str) {
            assert_eq!(flat(&merge(&read(base), &read(over))), expected);
        }
        check("{run: {a: 1, b: 2}}", "{run: {b: 3, c: 4}}", "{run: {a: 1, b: 3, c: 4}}");
        check("{triggers: [1, 2]}", "{triggers: [3]}", "{triggers: [3]}");
        check(
            "{services: {db: {work: {exponential: 1s}, workers: 1}}}",
            "{services: {db: {work: {constant: 2s}}}}",
            "{services: {db: {work: {constant: 2s}, workers: 1}}}",
        );
        check(
            "{services: {db: {a: 1, b: 2}}}",
            "{services: {db: {a: null}}}",
            "{services: {db: {b: 2}}}",
        );
        // A service that is called `work` is a name, not a choice.
        check(
            "{services: {work: {workers: 1, replicas: 2}}}",
            "{services: {work: {workers: 3}}}",
            "{services: {work: {workers: 3, replicas: 2}}}",
        );
        check(
            "{policies: {p: {breaker: {window: {length: 1s}, probes: 2}}}}",
            "{policies: {p: {breaker: {consecutive: 5}}}}",
            "{policies: {p: {breaker: {probes: 2, consecutive: 5}}}}",
        );
        check(
            "{clients: {web: {arrivals: {poisson: 1/s}}}}",
            "{clients: {web: {users: {think: 1s}}}}",
            "{clients: {web: {users: {think: 1s}}}}",
        );
        check("{a: 1}", "{b: null}", "{a: 1}");
    }

    #[test]
    fn a_dotted_path_is_a_partial_scenario() {
        let path = read("{policies.p.retry.max_attempts: 1}");
        assert_eq!(
            flat(&overlay(&path.entries()[0])),
            "{policies: {p: {retry: {max_attempts: 1}}}}"
        );
    }
}
