//! What the documents say is true: scenarios in them are valid, commands exist, links lead somewhere.
//!
//! The first scenario of a document is whole; later ones show a part, which is laid over it: names
//! are added to `clients`, `queues`, `services`, `links` and `policies`, everything else is replaced.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use stormlab::scenario;

/// Keys whose entries are names, to which a part of a scenario adds.
const NAMED: [&str; 5] = ["clients", "queues", "services", "links", "policies"];

/// Documents whose scenarios are parsed.
const WITH_SCENARIOS: [&str; 2] = ["README.md", "docs/scenario-language.md"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every document, by its path below the root, with its text.
fn documents() -> Vec<(String, String)> {
    let mut paths: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(Into::into).into();
    for folder in ["docs", "docs/mission"] {
        for entry in fs::read_dir(root().join(folder)).expect("documents") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path.strip_prefix(root()).expect("below the root").to_owned());
            }
        }
    }
    paths.sort();
    let read = |path: &PathBuf| fs::read_to_string(root().join(path)).expect("it can be read");
    paths.iter().map(|path| (path.display().to_string(), read(path))).collect()
}

/// The fenced blocks of a language, with the line at which each begins.
fn blocks(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        if let Some(fence) = line.strip_prefix("```") {
            open = match open {
                None => Some((fence == language, index + 1, String::new())),
                Some((wanted, start, block)) => {
                    blocks.extend(wanted.then_some((start, block)));
                    None
                }
            };
        } else if let Some((_, _, block)) = &mut open {
            block.push_str(line);
            block.push('\n');
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// A scenario cut at its top-level keys: each with its lines, its own included.
fn parts(text: &str) -> Vec<(String, String)> {
    let mut parts: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let key = line.split_once(':').map(|(key, _)| key).filter(|key| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        });
        if let Some(key) = key {
            parts.push((key.to_owned(), String::new()));
        }
        if let Some((_, lines)) = parts.last_mut() {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    parts
}

/// `part` laid over `whole`.
fn laid_over(whole: &str, part: &str) -> String {
    let mut all = parts(whole);
    for (key, lines) in parts(part) {
        match all.iter_mut().find(|(known, _)| *known == key) {
            Some((_, under)) if NAMED.contains(&key.as_str()) => {
                under.push_str(lines.split_once('\n').expect("a line of its own").1);
            }
            Some((_, under)) => *under = lines,
            None => all.push((key, lines)),
        }
    }
    all.into_iter().map(|(_, lines)| lines).collect()
}

#[test]
fn every_scenario_in_the_documents_is_valid() {
    let mut found = 0;
    for (path, text) in documents() {
        if !WITH_SCENARIOS.contains(&path.as_str()) {
            continue;
        }
        let blocks = blocks(&text, "yaml");
        let Some(((_, whole), _)) = blocks.split_first() else { continue };
        for (line, block) in &blocks {
            let text = if block == whole { block.clone() } else { laid_over(whole, block) };
            if let Err(problems) = scenario::parse("example", text.as_bytes()) {
                let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
                panic!("{path}:{line}: {}\n{text}", problems.join("\n"));
            }
            found += 1;
        }
    }
    assert!(found > 10, "only {found} scenarios were found");
}

/// The arguments of the program in a line of a shell, if it is what the line calls.
fn arguments(line: &str) -> Option<Vec<String>> {
    let line = line.split(" #").next().unwrap_or_default().trim();
    let after = line
        .strip_prefix("cargo run --release -- ")
        .or_else(|| line.strip_prefix("stormlab "))?
        .split(['|', '>'])
        .next()?;
    Some(after.split_whitespace().map(str::to_owned).collect())
}

#[test]
fn every_command_in_the_documents_is_one() {
    let mut found = 0;
    for (path, text) in documents() {
        for (start, block) in blocks(&text, "sh") {
            for (line, command) in (start + 1..).zip(block.lines()) {
                if let Some(script) = command.split_whitespace().next()
                    && let Some(script) = script.strip_prefix("./")
                {
                    assert!(root().join(script).exists(), "{path}:{line}: {script}");
                }
                let Some(arguments) = arguments(command) else { continue };
                found += 1;
                for file in arguments.iter().filter(|it| it.starts_with("scenarios/")) {
                    assert!(root().join(file).exists(), "{path}:{line}: {file}");
                }
                // Arguments are read before help is given, and those that are wrong prevent it.
                let output = Command::new(env!("CARGO_BIN_EXE_stormlab"))
                    .args(&arguments)
                    .arg("--help")
                    .output()
                    .expect("the program runs");
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{path}:{line}: {command}\n{said}");
            }
        }
    }
    assert!(found > 3, "only {found} commands were found");
}

#[test]
fn every_link_in_the_documents_leads_somewhere() {
    let mut broken = Vec::new();
    for (path, text) in documents() {
        let here = root().join(&path);
        let folder = here.parent().expect("a folder");
        for after in text.split("](").skip(1) {
            let target = after.split([')', '#']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !folder.join(target).exists() {
                broken.push(format!("{path}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_readme_lists_the_exit_codes_that_the_program_promises() {
    let output = Command::new(env!("CARGO_BIN_EXE_stormlab")).arg("--help").output();
    let help = String::from_utf8(output.expect("the program runs").stdout).expect("text");
    let (_, codes) = help.split_once("Exit codes:").expect("the codes");
    let readme = fs::read_to_string(root().join("README.md")).expect("it can be read");
    let mut found = 0;
    for line in codes.lines() {
        let Some(code) = line.split_whitespace().next() else { continue };
        if code.chars().all(|c| c.is_ascii_digit()) {
            assert!(readme.contains(&format!("| {code} |")), "exit code {code}");
            found += 1;
        }
    }
    assert!(found >= 8, "only {found} codes were found in\n{help}");
}

#[test]
fn parts_are_laid_over_the_whole() {
    let whole = "schema: 1\nclients:\n  a: 1\nrun: { seed: 1 }\n";
    let over = "clients:\n  b: 2\nrun: { seed: 2 }\nexpect:\n  - x: 1\n";
    let expected = "schema: 1\nclients:\n  a: 1\n  b: 2\nrun: { seed: 2 }\nexpect:\n  - x: 1\n";
    assert_eq!(laid_over(whole, over), expected);
    assert_eq!(
        arguments("stormlab run a.yaml | jq # x"),
        Some(vec!["run".into(), "a.yaml".into()])
    );
    assert_eq!(arguments("cargo test"), None);
}
