//! Every rule and figure that the five systems state is shown somewhere, or left out in so many words.
//!
//! `checklist.txt` has them, one to a line, by their ids. An id counts as covered where it stands as
//! a word in a mission scenario, a preset, a test, or the page of contradictions; `K1–K4` covers
//! four. What follows `Left out` in a scenario, up to the end of the sentence, is listed as left out.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

const CHECKLIST: &str = include_str!("checklist.txt");
/// The table made from it.
const TABLE: &str = "docs/mission/checklist.md";
/// How many ids each system has.
const SYSTEMS: [(char, usize); 6] =
    [('K', 23), ('W', 40), ('N', 45), ('D', 42), ('P', 28), ('X', 12)];
/// The systems as the table names them.
const TITLES: [(char, &str); 6] = [
    ('K', "The ChokaQ article: a job processor"),
    ('W', "The webhook chapter: a producer of webhooks"),
    ('N', "The .NET article: services with Polly"),
    ('D', "The article on destructive reads: a consumer of deferred replies"),
    ('P', "The NestJS article: payments with cockatiel"),
    ('X', "Where the five contradict each other"),
];

/// Ids that nothing shows yet. It may only become shorter: an id that is covered must leave it.
const NOT_YET: &str = "";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files that can cover an id, by their paths below the root.
fn files() -> Vec<(String, String)> {
    let mut open: Vec<PathBuf> =
        ["scenarios/mission", "presets", "tests/integration"].map(|it| root().join(it)).into();
    open.push(root().join("docs/contradictions.md"));
    let mut all = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a folder of the project");
            open.extend(entries.map(|entry| entry.expect("an entry").path()));
            continue;
        }
        let name = path.strip_prefix(root()).expect("below the root").to_string_lossy();
        let name = name.replace('\\', "/");
        // This file and its list would cover everything.
        let covers = [".yaml", ".rs", "docs/contradictions.md"].iter().any(|it| name.ends_with(it))
            && !name.ends_with("mission/coverage.rs");
        if covers && let Ok(text) = fs::read_to_string(&path) {
            all.push((name, text));
        }
    }
    all.sort();
    all
}

/// An id as system and number.
type Id = (char, usize);

fn id(word: &str) -> Option<Id> {
    let system = word.chars().next()?;
    let number = word.strip_prefix(system)?;
    let (_, most) = SYSTEMS.iter().find(|(known, _)| *known == system)?;
    let plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    let number = number.parse().ok().filter(|it| plain && (1..=*most).contains(it))?;
    Some((system, number))
}

/// The ids in a text; ranges count as all of theirs.
fn ids(text: &str) -> Vec<Id> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '–';
    let mut all = Vec::new();
    for word in text.split(|c| !part(c)) {
        match word.split(['-', '–']).collect::<Vec<_>>()[..] {
            [one] => all.extend(id(one)),
            [from, to] => match (id(from), id(to)) {
                (Some((system, from)), Some((same, to))) if system == same => {
                    all.extend((from..=to).map(|number| (system, number)));
                }
                // `N1-` at the end of a line, or `-P2`.
                (from, to) => all.extend(from.into_iter().chain(to)),
            },
            // `P11-like-words` are no ids.
            _ => {}
        }
    }
    all
}

/// The sentences that say what is left out.
fn left_out(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let ends = |rest: &str| rest.find(". ").or(rest.find(".\"")).unwrap_or(rest.len());
    let parts = text.split("Left out").skip(1).map(|rest| rest[..ends(rest)].to_owned());
    parts.collect::<Vec<_>>().join(" ")
}

/// The ids of the list with what they say, in its order.
fn listed() -> Vec<(Id, &'static str)> {
    let lines = CHECKLIST.lines().map(|line| {
        let (word, words) = line.split_once(' ').expect("an id and words");
        (id(word).unwrap_or_else(|| panic!("{word} is no id")), words)
    });
    lines.collect()
}

/// Where an id stands.
#[derive(Default)]
struct Places {
    shown: Vec<String>,
    left_out: Vec<String>,
}

fn places() -> BTreeMap<Id, Places> {
    let mut all: BTreeMap<Id, Places> = BTreeMap::new();
    for (path, text) in files() {
        let is_scenario = path.starts_with("scenarios/");
        let out = if is_scenario { ids(&left_out(&text)) } else { Vec::new() };
        let mut found = ids(&text);
        // The small runs of a contradiction name whose rules they set against each other.
        if path.contains("contradictions") {
            found.retain(|(system, _)| *system == 'X');
        }
        // Named once more than in what is left out: shown as well.
        for id in &out {
            let at = found.iter().position(|it| it == id).expect("a part of the text");
            found.swap_remove(at);
        }
        for (list, ids) in [(true, &mut found), (false, &mut out.clone())] {
            ids.sort_unstable();
            ids.dedup();
            for id in ids.iter() {
                let places = all.entry(*id).or_default();
                let paths = if list { &mut places.shown } else { &mut places.left_out };
                paths.push(path.clone());
            }
        }
    }
    all
}

#[test]
fn the_list_is_whole() {
    let expected: Vec<_> = SYSTEMS
        .iter()
        .flat_map(|(system, most)| (1..=*most).map(|number| (*system, number)))
        .collect();
    assert_eq!(listed().iter().map(|(id, _)| *id).collect::<Vec<_>>(), expected);
}

/// Ids as they are written in `NOT_YET`.
fn written(ids: &[Id]) -> String {
    let mut parts: Vec<(char, usize, usize)> = Vec::new();
    for (system, number) in ids {
        match parts.last_mut() {
            Some((same, _, last)) if same == system && *last + 1 == *number => *last = *number,
            _ => parts.push((*system, *number, *number)),
        }
    }
    let word = |(system, from, to): (char, usize, usize)| match to - from {
        0 => format!("{system}{from}"),
        _ => format!("{system}{from}–{system}{to}"),
    };
    parts.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_rule_and_figure_is_shown_or_left_out_in_words() {
    let places = places();
    let missing: Vec<_> =
        listed().into_iter().map(|(id, _)| id).filter(|id| !places.contains_key(id)).collect();
    let known = ids(NOT_YET);
    let lost: Vec<_> = missing.iter().copied().filter(|id| !known.contains(id)).collect();
    assert!(lost.is_empty(), "nothing shows {} any more", written(&lost));
    let covered: Vec<_> = known.iter().copied().filter(|id| !missing.contains(id)).collect();
    assert!(
        covered.is_empty(),
        "covered by now: {}; what is left of NOT_YET: \"{}\"",
        written(&covered),
        written(&missing)
    );
}

/// The table as it should be.
fn table() -> String {
    let places = places();
    let link = |path: &String| {
        let name = path.strip_prefix("scenarios/mission/").unwrap_or(path);
        format!("[{name}](../../{path})")
    };
    let links = |paths: &[String]| paths.iter().map(link).collect::<Vec<_>>().join(", ");
    let mut text = String::from(
        "<!-- Made by scripts/pages.sh: change tests/integration/mission/checklist.txt, not this. \
         -->\n\n# What the five systems state, and where it is shown\n\nEvery rule, figure and piece \
         of advice of the five descriptions, by the id that scenarios, presets and tests\nname. \
         *(ours)* is what their rules lead to and none of them says. What is left out is left out \
         for the\nreason that the scenario gives. How the table is made: [README.md](README.md).\n",
    );
    for (system, title) in TITLES {
        let _ = write!(text, "\n## {title}\n\n| id | rule or figure | shown in | left out in |\n");
        text += "| --- | --- | --- | --- |\n";
        for (id, words) in listed().into_iter().filter(|((of, _), _)| *of == system) {
            let none = Places::default();
            let found = places.get(&id).unwrap_or(&none);
            let shown = match links(&found.shown) {
                nothing if nothing.is_empty() && found.left_out.is_empty() => "not yet".into(),
                links => links,
            };
            let name = format!("{}{}", id.0, id.1);
            let _ = writeln!(text, "| {name} | {words} | {shown} | {} |", links(&found.left_out));
        }
    }
    text
}

#[test]
fn the_table_says_where_each_is_shown() {
    let path = root().join(TABLE);
    let table = table();
    if std::env::var_os("STORMLAB_PAGES").is_some_and(|it| it == "write") {
        fs::write(&path, &table).expect("the table can be written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let differs = found.lines().zip(table.lines()).find(|(old, new)| old != new);
    assert!(found == table, "{TABLE} is old: ./scripts/pages.sh makes it anew\n{differs:?}");
}

#[test]
fn ids_are_whole_words_and_ranges_count_as_all_of_theirs() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(written(&ids(text)), expected, "{text}");
    }
    check("K1, K3–K5 and (W2).", "K1 K3–K5 W2");
    check("N1-N3; D9/D11", "N1–N3 D9 D11");
    check("P29 K0 K24 XK1 K1x MK1 K1_a p1", "");
    check("K1–N2", "K1 N2");
    check("P1-like-words", "");
    let text =
        "source: Covers K1. Left out: K2,\n  K3 and K4 (too dear). And K5. Left out of K1: a part.";
    assert_eq!(written(&ids(&left_out(text))), "K2–K4 K1");
}
