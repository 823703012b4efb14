//! Texts of systems laid side by side: one scenario of them all, and what one changes of another.
//!
//! The texts are those that `lint` prints, every default written out. Made into one scenario, as
//! JSON in the language of scenarios, they can be run again and give the same results; a variant
//! then holds what differs from the base, and nothing else.

use std::collections::BTreeSet;

use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::merge;
use crate::scenario::model::Expectation;
use crate::scenario::model::ExpectedMeasure;
use crate::scenario::model::Scenario;
use crate::scenario::node::Entry;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::tree;

/// The scenario that has `texts` as its variants, the first as its base, as JSON.
pub(crate) fn compose(scenario: &Scenario, texts: &[String]) -> String {
    let mut trees = texts.iter().map(|text| read(text));
    let base = trees.next().unwrap_or_else(|| map(Vec::new()));
    let system = merge::without(&base, &["schema", "name", "about", "source"]);
    let changes = scenario.variants.iter().skip(1).zip(trees).map(|(variant, tree)| {
        let tree = merge::without(&tree, &["schema", "name", "about", "source"]);
        let Value::Map(mut entries) = merge::difference(&system, &tree).value else {
            unreachable!("a scenario is a map")
        };
        if !variant.about.is_empty() {
            entries.insert(0, entry("about", text(&variant.about)));
        }
        entry(&variant.name, map(entries))
    });
    let changes: Vec<_> = changes.collect();
    let Value::Map(mut entries) = base.value else { unreachable!("a scenario is a map") };
    if !changes.is_empty() {
        entries.push(entry("variants", map(changes)));
    }
    if !scenario.expect.is_empty() {
        let lines = scenario.expect.iter().map(|line| expectation(line, scenario)).collect();
        entries.push(entry("expect", node(Value::List(lines))));
    }
    json(&map(entries))
}

/// The text of a valid scenario as JSON.
pub(crate) fn as_json(text: &str) -> String {
    json(&read(text))
}

/// What must be `set` to turn one system into another, as dotted paths and values. The words
/// `written` are taken where they say the same; they are for people, and may be cut.
pub(crate) fn changes(before: &str, after: &str, written: &str) -> String {
    let needed = merge::leaves(&merge::difference(&read(before), &read(after)));
    let said = tree::parse(&format!("{{ {written} }}"), &mut Problems::default());
    let said = said.map(|tree| -> BTreeSet<String> {
        let leaves = tree.entries().iter().map(|change| merge::leaves(&merge::overlay(change)));
        leaves.flatten().map(|(path, _)| path).collect()
    });
    let paths: BTreeSet<_> = needed.iter().map(|(path, _)| path.clone()).collect();
    match said {
        // One value of a path means the same wherever it is written. What changes nothing may be
        // written anyhow.
        Some(said) if said == paths || paths.is_empty() => written.to_owned(),
        _ => {
            let change =
                |(path, value): &(String, Node)| format!("{}: {}", quoted(path), one_line(value));
            needed.iter().map(change).collect::<Vec<_>>().join(", ")
        }
    }
}

/// The settings in which two policies as meant differ, by path, in the order of the first: what
/// each says, `None` where it says nothing.
pub(crate) fn settings_that_differ(
    before: &str,
    after: &str,
) -> Vec<(String, Option<String>, Option<String>)> {
    let leaves = |text| -> Vec<_> {
        let all = merge::leaves_of_words(&read(text)).into_iter();
        all.map(|(path, node)| (path, one_line(&node).replace('"', ""))).collect()
    };
    let (old, new) = (leaves(before), leaves(after));
    let find = |all: &[(String, String)], path: &str| {
        all.iter().find(|(known, _)| known == path).map(|(_, value)| value.clone())
    };
    let paths = old.iter().chain(new.iter().filter(|(path, _)| find(&old, path).is_none()));
    let pairs = paths.map(|(path, _)| (path.clone(), find(&old, path), find(&new, path)));
    pairs.filter(|(_, old, new)| old != new).collect()
}

fn expectation(line: &Expectation, scenario: &Scenario) -> Node {
    let variant = &scenario.variants[line.variant];
    let mut entries = vec![entry("variant", text(&variant.name))];
    for (key, value) in line.measure.scope(&variant.model) {
        // A switch is a bare word; names and spans may look like one and are not.
        let bare = key == "failed";
        entries.push(entry(key, node(Value::Scalar { text: value, quoted: !bare })));
    }
    // The words of an expectation begin with its key and end with its bound.
    let mut words = line.text.split_whitespace();
    let key = words.next().unwrap_or_default();
    let bound = match (&line.measure, line.text.find(['<', '>', '='])) {
        (ExpectedMeasure::Finding(finding), _) => finding,
        (_, Some(at)) => &line.text[at..],
        (_, None) => "",
    };
    entries.push(entry(key, text(bound)));
    map(entries)
}

fn read(text: &str) -> Node {
    let tree = tree::parse(text, &mut Problems::default());
    tree.expect("a scenario as meant is a scenario")
}

fn node(value: Value) -> Node {
    Node { place: Place::default(), head: Place::default(), value }
}

fn map(entries: Vec<Entry>) -> Node {
    node(Value::Map(entries))
}

fn text(text: &str) -> Node {
    node(Value::Scalar { text: text.to_owned(), quoted: true })
}

fn entry(key: &str, node: Node) -> Entry {
    Entry { key: key.to_owned(), place: Place::default(), node }
}

/// A tree as JSON for readers, with a line break at the end.
fn json(tree: &Node) -> String {
    let mut out = String::new();
    write(tree, 0, &mut out);
    out + "\n"
}

fn write(node: &Node, depth: usize, out: &mut String) {
    let break_line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    // A line for each entry, but none for what fits on one.
    const SHORT: usize = 72;
    let short = one_line(node);
    let flat = match &node.value {
        Value::Scalar { .. } => true,
        Value::List(items) => items.iter().all(|item| matches!(item.value, Value::Scalar { .. })),
        Value::Map(entries) => {
            depth > 1 && entries.iter().all(|it| !matches!(it.node.value, Value::List(_)))
        }
    };
    if flat && (matches!(node.value, Value::Scalar { .. }) || short.len() <= SHORT) {
        out.push_str(&short);
        return;
    }
    match &node.value {
        Value::Scalar { .. } => {}
        Value::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                break_line(depth + 1, out);
                write(item, depth + 1, out);
            }
            break_line(depth, out);
            out.push(']');
        }
        Value::Map(entries) => {
            out.push('{');
            for (i, entry) in entries.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                break_line(depth + 1, out);
                out.push_str(&quoted(&entry.key));
                out.push_str(": ");
                write(&entry.node, depth + 1, out);
            }
            break_line(depth, out);
            out.push('}');
        }
    }
}

/// A tree as JSON on one line.
fn one_line(node: &Node) -> String {
    match &node.value {
        Value::Scalar { .. } if node.is_null() => "null".to_owned(),
        Value::Scalar { text, quoted: false } if is_json(text) => text.clone(),
        Value::Scalar { text, .. } => quoted(text),
        Value::List(items) => {
            format!("[{}]", items.iter().map(one_line).collect::<Vec<_>>().join(", "))
        }
        Value::Map(entries) => {
            let pair = |it: &Entry| format!("{}: {}", quoted(&it.key), one_line(&it.node));
            format!("{{{}}}", entries.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Does a bare word mean in JSON what it means here: a number or a switch?
fn is_json(text: &str) -> bool {
    matches!(text, "true" | "false")
        || text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            && serde_json::from_str::<serde_json::Number>(text).is_ok()
}

/// A text in quotes, as JSON and YAML have them.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_order_numbers_and_names() {
        let yaml = "b: 1\na: { x: 25/s, y: [1.5, true, null, no], \"q\\\"\": 'null' }\n";
        let expected = "{\n  \"b\": 1,\n  \"a\": {\n    \"x\": \"25/s\",\n    \"y\": [1.5, true, \
                        null, \"no\"],\n    \"q\\\"\": \"null\"\n  }\n}\n";
        assert_eq!(as_json(yaml), expected);
    }

    #[test]
    fn a_change_keeps_its_words_where_they_say_all_of_it() {
        #[track_caller]
        fn check(before: &str, after: &str, written: &str, expected: &str) {
            assert_eq!(changes(before, after, written), expected);
        }
        let one = "policies: { p: { a: 1, b: { c: 2, d: 3 } } }";
        let two = "policies: { p: { a: 1, b: { c: 5 } } }";
        check(one, one, "policies.p.a: 1", "policies.p.a: 1");
        check(
            one,
            two,
            "policies.p.b.d: null, policies.p.b.c: 5",
            "policies.p.b.d: null, policies.p.b.c: 5",
        );
        check(one, two, "policies.p.b: { c: 5, d: null }", "policies.p.b: { c: 5, d: null }");
        // A default that follows another setting is not in the words.
        let both = r#""policies.p.b.d": null, "policies.p.b.c": 5"#;
        check(one, two, "policies.p.b.c: 5", both);
        check(one, two, "`policies.p.b.c: 5, policies.p…`", both);
    }
}
