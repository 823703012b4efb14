//! Presets as a table, and one of them whole.

use serde::Serialize;

use crate::lint;
use crate::policy::stack::Policy;
use crate::report::ReportError;
use crate::report::policies::guards;
use crate::report::policies::words;
use crate::scenario::presets::Check;
use crate::scenario::presets::Preset;
use crate::units::Duration;

/// Columns between the name and the rest of a line.
const HEAD: [&str; 7] = ["name", "attempts", "first wait", "growth", "cap", "jitter", "limiter"];
const GAP: &str = "  ";

/// A preset for machines: what it is, and its policy in the language of scenarios.
#[derive(Debug, Serialize)]
struct Entry<'p> {
    #[serde(flatten)]
    preset: &'p Preset,
    policy: serde_json::Value,
}

impl<'p> Entry<'p> {
    fn of(preset: &'p Preset) -> Result<Self, ReportError> {
        let policy = serde_json::from_str(&lint::policy_as_meant_json(&preset.policy))?;
        Ok(Self { preset, policy })
    }
}

/// Presets as a list in JSON.
///
/// # Errors
/// When a preset cannot be written as JSON, which is a bug.
pub fn presets_json(presets: &[&Preset]) -> Result<String, ReportError> {
    let all: Result<Vec<_>, _> = presets.iter().map(|preset| Entry::of(preset)).collect();
    Ok(serde_json::to_string_pretty(&all?)? + "\n")
}

/// One preset as JSON.
///
/// # Errors
/// As [`presets_json`].
pub fn preset_json(preset: &Preset) -> Result<String, ReportError> {
    Ok(serde_json::to_string_pretty(&Entry::of(preset)?)? + "\n")
}

/// The cells of a preset.
fn cells(preset: &Preset) -> [String; 7] {
    let mark = if preset.not_yet.is_empty() { "" } else { " ~" };
    let name = format!("{}{mark}", preset.name);
    let none = || "–".to_owned();
    let policy = &preset.policy;
    let attempts = words::attempts(lint::attempts_per_call(policy));
    let limiter = guards::limiter(policy);
    let Some(retry) = policy.retry.as_ref().filter(|_| policy.max_attempts() != Some(1)) else {
        return [name, attempts, none(), none(), none(), none(), limiter];
    };
    let backoff = &retry.backoff;
    let (low, high) = backoff.bounds(1);
    let cap = if backoff.cap == Duration::MAX { none() } else { words::span(backoff.cap) };
    let (growth, jitter) = (words::growth(backoff), words::jitter(backoff));
    [name, attempts, words::range(low, high), growth, cap, jitter, limiter]
}

/// Presets as a table; under each line whose they are, and their warning.
pub fn preset_list(presets: &[&Preset]) -> String {
    let rows: Vec<_> = presets.iter().map(|preset| (*preset, cells(preset))).collect();
    let width = |column: usize| {
        let of = |cells: &[String; 7]| cells[column].chars().count();
        let cells = rows.iter().map(|(_, cells)| of(cells));
        cells.max().unwrap_or(0).max(HEAD[column].chars().count())
    };
    let widths: Vec<_> = (0..HEAD.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| {
            let blank = width - cell.chars().count();
            format!("{cell}{}", " ".repeat(blank))
        });
        padded.collect::<Vec<_>>().join(GAP).trim_end().to_owned() + "\n"
    };
    let mut out = line(&HEAD.map(str::to_owned));
    for (preset, cells) in &rows {
        out += &line(cells);
        out += &format!("    {} {}\n", preset.library, preset.version);
        if let Some(warning) = &preset.warning {
            out += &format!("    ! {warning}\n");
        }
    }
    if presets.iter().any(|preset| !preset.not_yet.is_empty()) {
        out += "\n~ simulated only in part: `stormlab presets NAME` says what is missing\n";
    }
    out
}

/// One preset whole.
pub fn preset_text(preset: &Preset) -> String {
    let mut out = format!("{}: {}\n\n", preset.name, preset.title);
    let mut put = |key: &str, text: &str| {
        out += &wrapped(key, text);
    };
    put("library", &format!("{} {}", preset.library, preset.version));
    put("source", &preset.source);
    let check = match preset.check {
        Check::Recorded => {
            let of = |folder: &String| format!("tests/traces/{folder}");
            let folders: Vec<_> = preset.traces.iter().map(of).collect();
            format!("against recordings of the library: {}", folders.join(", "))
        }
        Check::Formula => "against the formulas of its source, and traces made by hand".to_owned(),
    };
    put("checked", &check);
    if let Some(warning) = &preset.warning {
        put("warning", warning);
    }
    for missing in &preset.not_yet {
        put("not yet", missing);
    }
    put("notes", &preset.notes);
    out += "\npolicies:\n";
    out += &format!("  {}:\n", preset.name);
    for line in policy_lines(&preset.policy) {
        out += &format!("    {line}\n");
    }
    out += &format!("\nIn a scenario: policies: {{ mine: {{ preset: {} }} }}\n", preset.name);
    out += &format!("Its schedule:  stormlab explain --policy {}\n", preset.name);
    out
}

fn policy_lines(policy: &Policy) -> Vec<String> {
    lint::policy_as_meant(policy).lines().map(str::to_owned).collect()
}

/// A key and its text, broken into lines of a hundred letters.
fn wrapped(key: &str, text: &str) -> String {
    const WIDTH: usize = 100;
    const MARGIN: usize = 10;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let length = lines[last].chars().count();
        if length > 0 && MARGIN + length + 1 + word.chars().count() > WIDTH {
            lines.push(word.to_owned());
        } else {
            if length > 0 {
                lines[last].push(' ');
            }
            lines[last].push_str(word);
        }
    }
    let mut out = String::new();
    for (index, line) in lines.iter().enumerate() {
        let key = if index == 0 { key } else { "" };
        out += format!("{key:MARGIN$}{line}").trim_end();
        out.push('\n');
    }
    out
}
