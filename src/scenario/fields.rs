//! A map, read key by key.
//!
//! Keys are asked for one by one; when the map is closed, the keys nobody asked for are unknown,
//! and the ones that were asked for are what would have been accepted.

use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::examples;
use crate::scenario::node::Entry;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader::Spanned;
use crate::scenario::reader::names;
use crate::scenario::reader::suggest;

/// A map in the middle of being read.
pub(super) struct Fields<'t> {
    what: &'static str,
    head: Place,
    entries: &'t [Entry],
    asked: Vec<&'static str>,
    /// Keys that are known and refused.
    claimed: Vec<&'static str>,
    /// Alternatives of which none was there.
    missing: Option<&'static [&'static str]>,
}

impl<'t> Fields<'t> {
    /// Opens `node`, which should be a map describing `what` (with its article).
    pub(super) fn open(
        node: &'t Node,
        what: &'static str,
        problems: &mut Problems,
    ) -> Option<Self> {
        match &node.value {
            Value::Map(entries) => {
                let (head, asked, claimed) = (node.head, Vec::new(), Vec::new());
                Some(Self { what, head, entries, asked, claimed, missing: None })
            }
            _ => {
                let problem = format!("{what} is a map, not {}", node.kind());
                problems.push_with(node.anchor(), problem, examples::of(what));
                None
            }
        }
    }

    /// The node under `key`; `null` counts as absent.
    pub(super) fn take(&mut self, key: &'static str) -> Option<&'t Node> {
        self.asked.push(key);
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        (!entry.node.is_null()).then_some(&entry.node)
    }

    /// Where a key stands that is known but not accepted; it is not offered as accepted either.
    pub(super) fn claim(&mut self, key: &'static str) -> Option<Place> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        self.claimed.push(key);
        Some(entry.place)
    }

    /// The value under `key`, if it is there and right.
    pub(super) fn get<T>(
        &mut self,
        key: &'static str,
        problems: &mut Problems,
        read: impl FnOnce(&'t Node, &mut Problems) -> Option<T>,
    ) -> Option<Spanned<T>> {
        let node = self.take(key)?;
        read(node, problems).map(|value| Spanned { value, place: node.place })
    }

    /// As `get`; an absent key is a problem. `help` says what to write.
    pub(super) fn need<T>(
        &mut self,
        key: &'static str,
        help: &str,
        problems: &mut Problems,
        read: impl FnOnce(&'t Node, &mut Problems) -> Option<T>,
    ) -> Option<Spanned<T>> {
        let found = self.get(key, problems, read);
        match self.entries.iter().find(|entry| entry.key == key) {
            None => problems.push_with(self.head, format!("{} needs `{key}`", self.what), help),
            Some(entry) if entry.node.is_null() => {
                let problem = format!("{} needs `{key}`, and it has no value here", self.what);
                problems.push_with(entry.node.anchor(), problem, help);
            }
            Some(_) => {}
        }
        found
    }

    /// Where to point when the map as a whole is meant.
    pub(super) const fn head(&self) -> Place {
        self.head
    }

    /// Which one of `keys` is there; more than one, or none, is a problem.
    pub(super) fn choose(
        &mut self,
        keys: &'static [&'static str],
        problems: &mut Problems,
    ) -> Option<(&'static str, &'t Node)> {
        let mut found = None;
        for key in keys {
            let Some(node) = self.take(key) else { continue };
            if let Some((first, _)) = found {
                problems.push_with(
                    node.head,
                    format!("{} has `{first}` or `{key}`, not both", self.what),
                    "remove one of the two",
                );
            } else {
                found = Some((*key, node));
            }
        }
        if found.is_none() {
            self.missing = Some(keys);
        }
        found
    }

    /// The keys nobody asked for are unknown, and alternatives of which none is there are missed.
    pub(super) fn close(self, problems: &mut Problems) {
        let unknown = || self.entries.iter().any(|entry| !self.asked.contains(&&*entry.key));
        // A single key that nobody knows is the alternative, misspelt: one problem, not two.
        if let Some(keys) = self.missing
            && !(self.entries.len() == 1 && unknown())
        {
            let empty = self.entries.iter().find(|entry| keys.contains(&&*entry.key));
            let place = empty.map_or(self.head, |entry| entry.node.anchor());
            let problem = format!("{} needs one of {}", self.what, names(keys));
            problems.push_with(place, problem, examples::of(self.what));
        }
        for entry in self.entries {
            if self.asked.contains(&&*entry.key) || self.claimed.contains(&&*entry.key) {
                continue;
            }
            let problem = format!("{} has no key {}", self.what, quoted(&entry.key));
            if problems.has_room() {
                problems.push_with(entry.place, problem, suggest(&entry.key, &self.asked));
            } else {
                problems.push(entry.place, problem);
            }
        }
    }
}
