//! Rules about the code itself: the road, module headers, lengths of files, words, dependencies.
//!
//! A rule that a compiler would not keep is kept here, and a reader may then rely on it: a module
//! uses only what stands to its left on the road, every file says at its head what it is for, and
//! nothing on the way from seed to counts calls a function whose last bits depend on the platform.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// The modules in the order of the road: each uses itself and what stands before it.
const ROAD: [&str; 15] = [
    "units",
    "random",
    "theory",
    "stats",
    "policy",
    "preset",
    "scenario",
    "lint",
    "engine",
    "measure",
    "experiment",
    "analysis",
    "check",
    "report",
    "cli",
];

/// Modules that stand apart, so that they can be used without the rest: what they may use.
const APART: [(&str, &[&str]); 3] =
    [("theory", &["units"]), ("stats", &["units"]), ("policy", &["units", "random"])];

/// Lines of a file at which to look for a second idea.
const LONG: usize = 400;
/// Lines of a file that nothing excuses, `EXCUSED` aside.
const TOO_LONG: usize = 600;

/// Long files of the library, and why each is one idea: path, the most lines it may have, why.
const EXCUSED: [(&str, usize, &str); 3] = [
    ("src/engine/life.rs", TOO_LONG, "the road of a request: one match and the state it reads"),
    ("src/report/synthetic.rs", 450, "invented results that the tests of every chart share"),
    ("src/scenario/tree.rs", 450, "from text to nodes: the parser's events meet one stack"),
];

/// A text file of the project, by its path below the root.
struct File {
    path: String,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text files below the given places, in the order of their paths.
fn files(places: &[&str]) -> Vec<File> {
    let mut open: Vec<PathBuf> = places.iter().map(|place| root().join(place)).collect();
    let mut all = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a folder of the project");
            // What a package manager or an interpreter leaves behind is not the project's.
            let ours = |path: &PathBuf| {
                !["target", "__pycache__", ".ipynb_checkpoints"].iter().any(|it| path.ends_with(it))
            };
            open.extend(entries.map(|entry| entry.expect("an entry").path()).filter(ours));
        } else if let Ok(text) = fs::read_to_string(&path) {
            let below = path.strip_prefix(root()).expect("below the root");
            all.push(File { path: below.to_string_lossy().replace('\\', "/"), text });
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!all.is_empty(), "nothing in {places:?}");
    all
}

fn rust(places: &[&str]) -> Vec<File> {
    files(places).into_iter().filter(|file| file.path.ends_with(".rs")).collect()
}

/// Everything people read or run.
fn everything() -> Vec<File> {
    files(&[
        ".ci",
        ".gitignore",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Cargo.toml",
        "README.md",
        "benches",
        "docs",
        "notebooks",
        "presets",
        "scenarios",
        "scripts",
        "src",
        "tests",
    ])
}

/// Fails with every violation, not just the first.
#[track_caller]
fn none(violations: &[String]) {
    assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), violations.join("\n"));
}

/// The lines that are code, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.starts_with("//"))
}

/// The module a file of the library belongs to.
fn module_of(path: &str) -> &str {
    let below = path.strip_prefix("src/").expect("in the library");
    below.split('/').next().expect("a name").trim_end_matches(".rs")
}

/// The modules named after `crate::` in a line.
fn modules_in(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).map(|after| {
        let end = after.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(after.len());
        &after[..end]
    })
}

#[test]
fn a_module_uses_only_what_stands_before_it_on_the_road() {
    let place = |module: &str| ROAD.iter().position(|known| *known == module);
    let mut violations = Vec::new();
    for File { path, text } in rust(&["src"]) {
        let module = module_of(&path);
        if matches!(module, "main" | "lib") {
            continue;
        }
        let Some(here) = place(module) else {
            violations.push(format!("{path}: the module {module} is not on the road"));
            continue;
        };
        let apart = APART.iter().find(|(name, _)| *name == module).map(|(_, may)| *may);
        for (line, words) in code(&text) {
            for used in modules_in(words) {
                let allowed = match (place(used), apart) {
                    _ if used == module => true,
                    (_, Some(may)) => may.contains(&used),
                    (Some(there), None) => there < here,
                    (None, None) => false,
                };
                if !allowed {
                    violations.push(format!("{path}:{line}: {module} uses {used}"));
                }
            }
        }
    }
    none(&violations);
}

#[test]
fn the_library_lists_its_modules_and_they_are_all_on_the_road() {
    let library = fs::read_to_string(root().join("src/lib.rs")).expect("the library");
    let mut listed: Vec<_> = code(&library)
        .filter_map(|(_, line)| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .collect();
    let mut road = ROAD.to_vec();
    listed.sort_unstable();
    road.sort_unstable();
    assert_eq!(listed, road);
}

#[test]
fn imports_stand_on_lines_of_their_own() {
    let mut violations = Vec::new();
    for File { path, text } in rust(&["src"]) {
        let grouped = code(&text).filter(|(_, line)| line.starts_with("use crate::{"));
        violations.extend(grouped.map(|(line, words)| format!("{path}:{line}: {words}")));
    }
    none(&violations);
}

#[test]
fn every_file_says_at_its_head_what_it_is_for() {
    let headless = |file: &File| {
        let words = file.text.lines().next().unwrap_or_default().strip_prefix("//! ");
        words.is_none_or(|words| words.len() < 15)
    };
    let all = rust(&["src", "tests", "benches"]);
    none(
        &all.iter().filter(|file| headless(file)).map(|file| file.path.clone()).collect::<Vec<_>>(),
    );
}

#[test]
fn files_hold_one_idea() {
    let mut violations = Vec::new();
    for File { path, text } in rust(&["src", "tests", "benches"]) {
        let lines = text.lines().count();
        let excuse = EXCUSED.iter().find(|(excused, ..)| *excused == path);
        let most = match excuse {
            Some((_, most, _)) => *most,
            None if path.starts_with("src/") => LONG,
            None => TOO_LONG,
        };
        if lines > most {
            violations.push(format!("{path}: {lines} lines, {most} are allowed"));
        }
        if excuse.is_some() && lines < LONG * 9 / 10 {
            violations.push(format!("{path}: {lines} lines need no excuse any more"));
        }
    }
    none(&violations);
}

#[test]
fn nothing_is_left_for_later_and_no_path_of_a_machine_is_written_down() {
    // In pieces, or this file would find itself.
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("to", "do!("),
        concat!("unimpl", "emented!("),
        concat!("db", "g!("),
        concat!("#[al", "low("),
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/wo", "rk/"),
        concat!("/Us", "ers/"),
        concat!("validation", " §"),
        concat!("validation", ".md"),
    ];
    let mut violations = Vec::new();
    for File { path, text } in everything() {
        for (index, line) in text.lines().enumerate() {
            let found = words.iter().filter(|word| line.contains(**word));
            violations.extend(found.map(|word| format!("{path}:{}: {word}", index + 1)));
        }
    }
    none(&violations);
}

#[test]
fn no_platform_decides_the_last_bits_on_the_way_from_seed_to_counts() {
    const FUNCTIONS: [&str; 14] = [
        ".ln()",
        ".ln_1p()",
        ".log2()",
        ".log10()",
        ".exp()",
        ".exp2()",
        ".exp_m1()",
        ".powf(",
        ".powi(",
        ".sin()",
        ".cos()",
        ".tan()",
        ".tanh()",
        ".mul_add(",
    ];
    let path = ["src/units.rs", "src/random", "src/policy", "src/scenario", "src/engine"];
    let mut violations = Vec::new();
    for File { path, text } in rust(&path) {
        // Tests compare with references, and may compute them as they like.
        if path.ends_with("/tests.rs") {
            continue;
        }
        let library = text.split("#[cfg(test)]\nmod tests {").next().expect("a first part");
        for (line, words) in code(library) {
            let found = FUNCTIONS.iter().filter(|function| words.contains(**function));
            violations.extend(found.map(|function| format!("{path}:{line}: {function}")));
            if words.contains("libm::") && !path.starts_with("src/random/") {
                violations.push(format!("{path}:{line}: libm belongs to random"));
            }
        }
    }
    none(&violations);
}

#[test]
fn no_result_depends_on_the_order_of_hashes() {
    // Asks whether a key has been there before, and never walks the set.
    const EXCUSED: &str = "src/scenario/tree.rs";
    let mut violations = Vec::new();
    for File { path, text } in rust(&["src"]).into_iter().filter(|file| file.path != EXCUSED) {
        let hashed = code(&text)
            .filter(|(_, words)| words.contains("HashMap") || words.contains("HashSet"))
            .map(|(line, _)| format!("{path}:{line}"));
        violations.extend(hashed);
    }
    none(&violations);
}

#[test]
fn every_dependency_is_used() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
    let library: String = rust(&["src"]).into_iter().map(|file| file.text).collect();
    let around: String = rust(&["tests", "benches"]).into_iter().map(|file| file.text).collect();
    let mut section = "";
    let mut violations = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
            continue;
        }
        let Some((name, _)) = line.split_once(" = ") else { continue };
        let crate_name = name.replace('-', "_") + "::";
        let used = match section {
            "[dependencies]" => library.contains(&crate_name),
            "[dev-dependencies]" => library.contains(&crate_name) || around.contains(&crate_name),
            _ => true,
        };
        if !used {
            violations.push(format!("{section} {name}"));
        }
    }
    none(&violations);
}

#[test]
fn the_rules_can_be_broken() {
    assert_eq!(
        modules_in("use crate::engine::life; crate::stats::x").collect::<Vec<_>>(),
        ["engine", "stats"]
    );
    assert_eq!(module_of("src/units.rs"), "units");
    assert_eq!(module_of("src/engine/life/asking.rs"), "engine");
    assert_eq!(code("//! a\nb\n  // c\nd").collect::<Vec<_>>(), [(2, "b"), (4, "d")]);
}
