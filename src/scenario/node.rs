//! A text as a tree: values and where they stand.
//!
//! Scalars keep their text; what it means is decided by whoever asks for a value.

use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::quoted;

/// A gamma distribution builds a table, which costs as much as reading that many values.
const GAMMA_COST: usize = 400;
/// A preset brings as many values as the longest of them has, and some more.
const PRESET_COST: usize = 100;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The value's own text.
    pub(super) place: Place,
    /// Where to point when the value as a whole is meant: its key, or its own start.
    pub(super) head: Place,
    /// What it is.
    pub(super) value: Value,
}

/// A scalar, a list or a map.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A text, number, switch or nothing: whoever asks decides.
    Scalar {
        /// The text, escapes resolved.
        text: String,
        /// Was it in quotes (or a block)? Then it is a text whatever it looks like.
        quoted: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// A map in the order of the file; no key occurs twice.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The key.
    pub(super) key: String,
    /// Where the key stands.
    pub(super) place: Place,
    /// The value.
    pub(super) node: Node,
}

impl Node {
    /// Nothing: `null`, `~` or no text at all.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, quoted: false }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Where to point at the value: at its key where it has no text of its own.
    pub(super) fn anchor(&self) -> Place {
        if self.place.start == self.place.end { self.head } else { self.place }
    }

    /// The entries of a map, none of anything else.
    pub(super) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list, none of anything else.
    pub(super) fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// Is it that text?
    pub(super) fn is_text(&self, wanted: &str) -> bool {
        matches!(&self.value, Value::Scalar { text, .. } if text == wanted)
    }

    /// The value of a key of a map.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// Does it hold the same, wherever it stands?
    pub(super) fn same(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Scalar { .. }, Value::Scalar { .. }) if self.is_null() || other.is_null() => {
                self.is_null() == other.is_null()
            }
            (Value::Scalar { text: a, .. }, Value::Scalar { text: b, .. }) => a == b,
            (Value::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
            }
            (Value::Map(a), Value::Map(b)) => {
                let all = |(a, b): (&Entry, &Entry)| a.key == b.key && a.node.same(&b.node);
                a.len() == b.len() && a.iter().zip(b).all(all)
            }
            _ => false,
        }
    }

    /// What reading the tree costs, in values: itself, those below, and the tables they need.
    pub(super) fn cost(&self) -> usize {
        // Depth is bounded by `DEEPEST`, here and in everything merged from such trees.
        let of_entry = |entry: &Entry| {
            entry.node.cost()
                + match entry.key.as_str() {
                    "gamma" => GAMMA_COST,
                    "preset" => PRESET_COST,
                    _ => 0,
                }
        };
        1 + match &self.value {
            Value::Scalar { .. } => 0,
            Value::List(items) => items.iter().map(Self::cost).sum(),
            Value::Map(entries) => entries.iter().map(of_entry).sum(),
        }
    }

    /// What the value is, in a message.
    pub(super) fn kind(&self) -> String {
        match &self.value {
            Value::Scalar { text, quoted: false } if text.is_empty() => "nothing".into(),
            _ if self.is_null() => "nothing (`null`)".into(),
            Value::Scalar { text, .. } => quoted(text),
            Value::List(_) => "a list".into(),
            Value::Map(_) => "a map".into(),
        }
    }
}
