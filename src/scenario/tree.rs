//! Text to a tree of nodes with places.
//!
//! YAML as its parser reads it, minus everything that makes YAML a surprise or a risk: anchors,
//! aliases, tags, several documents and duplicate keys are refused, and depth and the number of
//! values are bounded. JSON is a subset of what remains. Scalars keep their text; what it means is
//! decided by whoever asks for a value, so `no` is a string and `on` a key like any other.
//!
//! The tree is built with a stack of its own, so no input can exhaust the thread's.

use std::collections::HashSet;

use saphyr_parser::Event;
use saphyr_parser::Parser;
use saphyr_parser::ScalarStyle;
use saphyr_parser::Span;

use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::is_forbidden;
use crate::scenario::node::Entry;
use crate::scenario::node::Node;
use crate::scenario::node::Value;

/// Maps and lists inside one another. Real scenarios need about ten.
const DEEPEST: usize = 32;
/// Scalars, maps and lists of one file: far above any real one, and a fraction of a second's work.
const MOST_VALUES: usize = 100_000;
/// Bytes of one file.
pub(super) const LARGEST_FILE: usize = 1 << 20;

/// A map or list that is not closed yet.
struct Open {
    node: Node,
    seen: HashSet<String>,
    /// The key whose value comes next.
    key: Option<(String, Place)>,
}

/// Reads `text`. `None` when it is not a tree at all; `problems` then says why.
pub(super) fn parse(text: &str, problems: &mut Problems) -> Option<Node> {
    if let Some((at, c)) =
        text.char_indices().find(|(_, c)| is_forbidden(*c) && !matches!(c, '\n' | '\r' | '\t'))
    {
        problems.push_with(
            Place { start: at, end: at + c.len_utf8() },
            format!("the character U+{:04X} is not allowed in a scenario", c as u32),
            "control and direction characters can hide what a file says; remove it",
        );
        return None;
    }
    let (offsets, stack) = (Offsets::of(text), Vec::new());
    Builder { text, offsets, stack, values: 0, root: None, problems }.read()
}

struct Builder<'p> {
    text: &'p str,
    offsets: Offsets,
    stack: Vec<Open>,
    values: usize,
    root: Option<Node>,
    problems: &'p mut Problems,
}

impl Builder<'_> {
    fn read(mut self) -> Option<Node> {
        let mut documents = 0;
        for event in Parser::new_from_str(self.text) {
            let (event, span) = match event {
                Ok(pair) => pair,
                Err(error) => {
                    let start = self.offsets.byte(error.marker().index());
                    return self.not_yaml(start, error.info());
                }
            };
            let place = self.offsets.place(span);
            match event {
                Event::DocumentStart(_) if documents > 0 => {
                    self.problems.push_with(
                        place,
                        "a file holds one scenario: a second document begins here",
                        "make it a file of its own, or a variant of this one",
                    );
                    return None;
                }
                Event::DocumentStart(_) => documents += 1,
                Event::Alias(_) => return self.refuse(place, "an alias"),
                Event::Scalar(_, _, anchor, _)
                | Event::SequenceStart(anchor, _)
                | Event::MappingStart(anchor, _)
                    if anchor != 0 =>
                {
                    let place = self.mark_before(place, '&');
                    return self.refuse(place, "an anchor");
                }
                Event::Scalar(_, _, _, Some(_))
                | Event::SequenceStart(_, Some(_))
                | Event::MappingStart(_, Some(_)) => {
                    let place = self.mark_before(place, '!');
                    return self.refuse(place, "a tag");
                }
                Event::Scalar(text, style, ..) => {
                    let quoted = style != ScalarStyle::Plain;
                    self.scalar(text.into_owned(), quoted, place)?;
                }
                Event::SequenceStart(..) => self.open(Value::List(Vec::new()), place)?,
                Event::MappingStart(..) => self.open(Value::Map(Vec::new()), place)?,
                Event::SequenceEnd | Event::MappingEnd => self.close(place)?,
                Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            }
        }
        if self.root.is_none() {
            self.problems.push_with(
                Place::default(),
                "the file is empty",
                "a scenario begins with `schema: 1`",
            );
        }
        self.root
    }

    /// The parser's own refusals, in words that help.
    fn not_yaml(self, start: usize, info: &str) -> Option<Node> {
        let place = Place { start, end: start };
        if info.contains("unknown anchor") {
            let place = self.word_at(start);
            return self.refuse(place, "an alias");
        }
        // It notices a tab where the line before ends.
        let tab = self.text.get(start..).and_then(|rest| rest.find('\t'));
        let (place, help) = match tab.filter(|_| info.contains("tab")) {
            Some(tab) => (
                Place { start: start + tab, end: start + tab + 1 },
                "indent with spaces: what a tab means differs from editor to editor",
            ),
            None if info.contains("quoted scalar") => {
                (place, "the quoted text that begins here does not end: close it with its quote")
            }
            None if info.contains("recursion") || info.contains("depth") => {
                (place, "a scenario needs about ten levels")
            }
            None => (
                place,
                "texts with `:`, `#`, `>`, `[` or `{` in them need quotes; indent with spaces, and \
                 close what is opened",
            ),
        };
        self.problems.push_with(place, format!("this is not YAML: {info}"), help);
        None
    }

    /// The last mark of that kind before a place, and the word that it begins.
    fn mark_before(&self, place: Place, mark: char) -> Place {
        let before = self.text.get(..place.start).unwrap_or_default();
        match before.rfind(mark) {
            Some(at) => {
                let start = before[..at].trim_end_matches(mark).len();
                self.word_at(start)
            }
            None => place,
        }
    }

    /// The word that begins at a byte.
    fn word_at(&self, start: usize) -> Place {
        let rest = self.text.get(start..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}');
        Place { start, end: start + rest.find(ends).unwrap_or(rest.len()) }
    }

    fn refuse(self, place: Place, what: &str) -> Option<Node> {
        self.problems.push_with(
            place,
            format!("{what} is not allowed in a scenario"),
            "write the value out; texts that begin with `&`, `*` or `!` need quotes",
        );
        None
    }

    fn scalar(&mut self, text: String, quoted: bool, place: Place) -> Option<()> {
        if let Some(c) = text.chars().find(|c| is_forbidden(*c) && !matches!(c, '\n' | '\t')) {
            self.problems.push_with(
                place,
                format!("the character U+{:04X} is not allowed in a scenario", c as u32),
                "control and direction characters can hide what a file says; remove it",
            );
            return None;
        }
        if let Some(open) = self.stack.last_mut()
            && matches!(open.node.value, Value::Map(_))
            && open.key.is_none()
        {
            if text.chars().any(|c| c.is_control()) || text.is_empty() {
                self.problems.push_with(
                    place,
                    "a key is one line of text",
                    "names have letters, digits, `_` and `-`",
                );
                return None;
            }
            if !open.seen.insert(text.clone()) {
                self.problems.push_with(
                    place,
                    format!("the key {} occurs twice", super::diagnostic::quoted(&text)),
                    "keep one of the two",
                );
            }
            open.key = Some((text, place));
            return Some(());
        }
        self.count(place)?;
        self.place_value(Node { place, head: place, value: Value::Scalar { text, quoted } });
        Some(())
    }

    fn open(&mut self, value: Value, place: Place) -> Option<()> {
        if let Some(open) = self.stack.last()
            && matches!(open.node.value, Value::Map(_))
            && open.key.is_none()
        {
            self.problems.push_with(
                place,
                "a key is one line of text, not a list or a map",
                "write `key: value`",
            );
            return None;
        }
        if self.stack.len() == DEEPEST {
            self.problems.push_with(
                place,
                format!("values are nested more than {DEEPEST} deep"),
                "a scenario needs about ten levels: is a bracket not closed?",
            );
            return None;
        }
        self.count(place)?;
        let node = Node { place, head: place, value };
        self.stack.push(Open { node, seen: HashSet::new(), key: None });
        Some(())
    }

    fn close(&mut self, place: Place) -> Option<()> {
        let mut node = self.stack.pop()?.node;
        node.place.end = place.end.max(node.place.start);
        self.place_value(node);
        Some(())
    }

    fn count(&mut self, place: Place) -> Option<()> {
        self.values += 1;
        if self.values > MOST_VALUES {
            self.problems.push_with(
                place,
                format!("a scenario holds at most {MOST_VALUES} values"),
                "split the file",
            );
            return None;
        }
        Some(())
    }

    fn place_value(&mut self, mut node: Node) {
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(open) => match (&mut open.node.value, open.key.take()) {
                (Value::List(items), _) => items.push(node),
                (Value::Map(entries), Some((key, place))) => {
                    node.head = place;
                    entries.push(Entry { key, place, node });
                }
                (Value::Map(_) | Value::Scalar { .. }, _) => {
                    unreachable!("keys are read in `scalar`, and scalars are never open")
                }
            },
        }
    }
}

/// From the parser's character indices to bytes.
struct Offsets {
    /// Start of each character; empty when every character is one byte.
    starts: Vec<u32>,
    length: usize,
}

impl Offsets {
    fn of(text: &str) -> Self {
        let starts = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().map(|(at, _)| at as u32).collect()
        };
        Self { starts, length: text.len() }
    }

    fn byte(&self, index: usize) -> usize {
        if self.starts.is_empty() {
            return index.min(self.length);
        }
        self.starts.get(index).map_or(self.length, |at| *at as usize)
    }

    fn place(&self, span: Span) -> Place {
        let start = self.byte(span.start.index());
        Place { start, end: self.byte(span.end.index()).max(start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::diagnostic::Severity;
    use crate::scenario::diagnostic::Source;

    fn problem(text: &str) -> String {
        let mut problems = Problems::default();
        parse(text, &mut problems);
        let shown = problems.into_diagnostics(&Source { file: "f", text }, Severity::Error);
        shown.first().map(|d| format!("{}:{} {}", d.line, d.column, d.problem)).unwrap_or_default()
    }

    #[test]
    fn what_makes_yaml_a_surprise_is_refused_with_its_place() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let found = problem(text);
            assert!(found.contains(expected), "{text:?}: {found:?}");
        }
        check("a: &x 1", "1:4 an anchor");
        check("a: *x", "1:4 an alias");
        check("<<: *x", "1:5 an alias");
        check("b: 1\n\ta: 1", "2:1 this is not YAML");
        check("a: 1\rb: &x 2", "2:4 an anchor");
        check("a: !!str 1", "1:4 a tag");
        check("a: &x {}\nb: *x", "an anchor");
        check("a: !!str 1", "a tag");
        check("a: !x [1]", "a tag");
        check("a: 1\n---\nb: 2", "second document");
        check("a: 1\na: 2", "2:1 the key `a` occurs twice");
        check("{\"a\": 1, \"a\": 2}", "1:10 the key `a` occurs twice");
        check("? [a]\n: 1", "a key is one line");
        check("a: \"x\\u202ey\"", "U+202E");
        check("a: \u{202e}x", "U+202E");
        check("a: \0", "U+0000");
        check("\"a\\nb\": 1", "a key is one line");
        check("", "the file is empty");
        check("# only a comment\n", "the file is empty");
        check("a: [1, 2", "this is not YAML");
        check(&"[".repeat(33), "nested more than 32");
        check(&format!("[{}]", "1,".repeat(100_001)), "at most 100000 values");
    }

    #[test]
    fn limits_themselves_are_allowed() {
        assert_eq!(problem(&format!("{}{}", "[".repeat(32), "]".repeat(32))), "");
        assert_eq!(problem(&format!("[{}]", "1,".repeat(99_999))), "");
    }

    #[test]
    fn places_count_bytes_whatever_the_alphabet() {
        let text = "ä: 'ö'\nß: [x, ü]\n";
        let mut problems = Problems::default();
        let tree = parse(text, &mut problems).unwrap();
        let at = |place: Place| &text[place.start..place.end];
        assert_eq!(at(tree.entries()[0].place), "ä");
        assert_eq!(at(tree.entries()[0].node.place), "'ö'");
        assert_eq!(at(tree.entries()[1].node.place), "[x, ü]");
    }

    #[test]
    fn plain_words_stay_words() {
        let mut problems = Problems::default();
        let tree = parse("on: no\noff: null\nn: 'null'", &mut problems).unwrap();
        assert_eq!(tree.entries()[0].key, "on");
        assert_eq!(tree.get("on").unwrap().kind(), "`no`");
        assert!(tree.get("off").unwrap().is_null());
        assert!(!tree.get("n").unwrap().is_null());
    }

    #[test]
    fn hostile_shapes_end_quickly() {
        let n = LARGEST_FILE / 4;
        for text in [
            "[".repeat(4 * n),
            "{".repeat(4 * n),
            "- ".repeat(2 * n),
            "? ".repeat(2 * n),
            "a: ".repeat(n),
            "\"".repeat(4 * n),
            "[a,".repeat(n),
            "{a: ".repeat(n),
            "\n".repeat(4 * n),
            "a\n".repeat(2 * n),
            "#".repeat(4 * n),
            "&a ".repeat(n),
            ": ".repeat(n),
            "- - - -\n".repeat(n / 2),
            format!("a: |\n{}", " \n".repeat(2 * n)),
            format!("[{}", "a ".repeat(2 * n)),
            format!("{{{}", "a,".repeat(2 * n)),
            format!("[{}", "\"a\":".repeat(n)),
            "%TAG ! x\n".repeat(n / 3),
        ] {
            problem(&text);
        }
    }
}
