//! The few lines printed after a run: the answer first, then the variants, then where the files lie.
//!
//! Text is made with colours and never asks whether anybody sees them: the stream it is written to
//! strips them where they do not belong. Lines are no wider than asked for.

mod answer;
mod deferred;
mod jobs;
mod table;

use std::fmt::Write;
use std::path::Path;

use anstyle::AnsiColor;
use anstyle::Style;

use crate::report::Material;
use crate::report::View;
use crate::report::Written;
use crate::report::number::counted;
use crate::report::terminal::answer::answer;
use crate::report::terminal::table::table;

/// Narrower than this, nothing is worth printing; text is then cut by the terminal.
const LEAST_WIDTH: usize = 40;
/// The widest text that reads well.
const WIDEST_TEXT: usize = 100;

/// The whole report for people, `width` columns wide at most.
pub fn render(material: &Material<'_>, width: usize) -> String {
    let width = width.max(LEAST_WIDTH);
    let mut out = String::new();
    let bold = Style::new().bold();
    let head = format!("{}: {}", material.scenario.name, material.scenario.about);
    for line in wrapped(head.trim_end_matches([':', ' ']), width.min(WIDEST_TEXT)) {
        let _ = writeln!(out, "{bold}{line}{bold:#}");
    }
    out.push('\n');
    let views: Vec<_> = material.views().collect();
    let Some(base) = views.iter().find(|view| view.name() == "base").or(views.first()) else {
        out += "No run finished, so there is nothing to say.\n";
        return out;
    };
    for sentence in answer(material, base, &views) {
        for line in wrapped(&sentence, width.min(WIDEST_TEXT)) {
            let _ = writeln!(out, "{line}");
        }
    }
    let _ = writeln!(out, "\n{}\n", table(&views, width).trim_fmt());
    if let Some(jobs) = jobs::table(&views) {
        let _ = writeln!(out, "{}\n", jobs.trim_fmt());
    }
    if views.iter().any(View::sheds) {
        let note = "load and lost: requests that the operator shed aside.";
        for line in wrapped(note, width.min(WIDEST_TEXT)) {
            let _ = writeln!(out, "{line}");
        }
        out.push('\n');
    }
    let marks = marks(&views);
    for (mark, names) in &marks {
        let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
        for line in wrapped(&format!("! {names}: {mark}"), width.min(WIDEST_TEXT)) {
            let _ = writeln!(out, "{yellow}{line}{yellow:#}");
        }
    }
    if !marks.is_empty() {
        out.push('\n');
    }
    out
}

/// Where the files lie, as the last lines of a report.
pub fn files(folder: &Path, written: &Written, command: &str) -> String {
    let paths = &written.paths;
    let charts = paths.iter().filter(|path| path.ends_with(".png")).count() as u64;
    let tables = paths.iter().filter(|path| path.ends_with(".csv")).count() as u64;
    let pictures = if charts > 0 {
        format!(", {} in charts/ (SVG and PNG)", counted(charts, "chart"))
    } else {
        String::new()
    };
    let removed = match written.removed.len() as u64 {
        0 => String::new(),
        several => format!(
            "Removed there: {} of an earlier run that this one did not make again.\n",
            counted(several, "file")
        ),
    };
    format!(
        "Files in {}: summary.json, {}{pictures}.\n{removed}Again: {command}\n",
        folder.display(),
        counted(tables, "table")
    )
}

/// The warnings that belong to the numbers, each once, with the variants it speaks of.
fn marks<'a>(views: &[View<'a>]) -> Vec<(&'a str, String)> {
    let mut marks: Vec<(&str, Vec<&str>)> = Vec::new();
    for view in views {
        for mark in &view.summary.marks {
            match marks.iter_mut().find(|(known, _)| known == mark) {
                Some((_, names)) => names.push(view.name()),
                None => marks.push((mark, vec![view.name()])),
            }
        }
    }
    let all = views.len();
    let named = |names: Vec<&str>| match names.len() {
        count if count == all && all > 1 => "all variants".to_owned(),
        count if count > 4 => format!("{} and {} more", names[..3].join(", "), count - 3),
        _ => names.join(", "),
    };
    marks.into_iter().map(|(mark, names)| (mark, named(names))).collect()
}

/// Text in lines of at most `width` letters; a longer word has a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::Finding;
    use crate::report::synthetic::Made;
    use crate::report::synthetic::made;
    use crate::report::synthetic::made_of;
    use crate::report::synthetic::model;
    use crate::units::Duration;

    /// The report without colours.
    fn plain(shares: &[f64], width: usize) -> String {
        stripped(&made(shares), width)
    }

    fn stripped(made: &Made, width: usize) -> String {
        anstream::adapter::strip_str(&render(&made.material(), width)).to_string()
    }

    #[test]
    fn the_answer_comes_first_and_in_full() {
        let text = plain(&[1.0, 0.3, 0.0], 120);
        assert!(text.contains("100 of 100 runs are stuck"), "{text}");
        assert!(text.contains("not reached within 53.5 min"), "{text}");
        assert!(text.contains("can cost at most 64 attempts; it did cost 57"), "{text}");
        assert!(text.contains("Never stuck: no-retries."), "{text}");
        assert!(text.contains("■ metastable") && text.contains("▲ vulnerable"), "{text}");
    }

    #[test]
    fn where_nothing_could_be_observed_nothing_is_claimed() {
        let mut made = made(&[1.0]);
        made.scenario.variants[0].model.run.horizon = Duration::from_secs(330);
        let time = &mut made.summary.variants[0].1.recovery_time_s;
        (time.tau, time.restricted_mean) = (Some(0.0), Default::default());
        let text = stripped(&made, 120);
        assert!(text.contains("horizon is too short to tell how long recovery takes."), "{text}");
        assert!(text.contains("too short  "), "{text}");
        assert!(!text.contains("0 s;") && !text.contains("not reached"), "{text}");
    }

    #[test]
    fn a_mixed_result_says_how_many_recovered_and_that_the_mean_is_a_lower_bound() {
        let flat =
            |shares: &[f64]| plain(shares, 200).split_whitespace().collect::<Vec<_>>().join(" ");
        let text = flat(&[0.3]);
        assert!(text.contains("70 of 100 runs recovered, half of these within 100 s"), "{text}");
        assert!(text.contains("at least 17.4 min (stuck runs counted up to 53.5 min)."), "{text}");
        let text = flat(&[1.0]);
        assert!(text.contains("at least 53.5 min (stuck runs counted up to there)."), "{text}");
        let text = flat(&[0.0]);
        assert!(text.contains("recover within 96 s; the mean is 2 min."), "{text}");
        assert!(!text.contains("counted up to") && !text.contains("at least"), "{text}");
    }

    #[test]
    fn a_recovery_at_once_is_only_known_to_the_width_of_its_window() {
        let mut made = made(&[0.0]);
        let time = &mut made.summary.variants[0].1.recovery_time_s;
        (time.median.estimate, time.restricted_mean.estimate) = (Some(0.0), Some(0.0));
        let text = stripped(&made, 200);
        assert!(text.contains("recover in < 24 s; the mean is < 24 s."), "{text}");
        assert!(text.matches("< 24 s").count() == 3 && !text.contains(" 0 s"), "{text}");
    }

    #[test]
    fn without_a_trigger_nobody_speaks_of_one() {
        let mut made = made_of(&model(0, 0), &[0.0]);
        for finding in
            [Finding::Safe, Finding::Overloaded, Finding::Inconclusive, Finding::Metastable]
        {
            made.summary.variants[0].1.finding = finding;
            let text = stripped(&made, 200);
            let words = text.split_once('\n').unwrap().1; // The title is the scenario's own.
            assert!(!words.contains("trigger"), "{text}");
        }
    }

    #[test]
    fn shed_requests_are_said_to_be_left_out() {
        let text = plain(&[1.0, 0.0], 200);
        assert!(!text.contains("shed"), "{text}");
        let mut made = made(&[1.0, 0.0]);
        made.summary.variants[1].1.requests.failed = vec![("shed".into(), 5)];
        let text = stripped(&made, 200);
        assert!(text.contains("the operator shed aside."), "{text}");
        assert!(!text.contains("(shed ones aside)"), "the base sheds nothing: {text}");
        made.summary.variants[0].1.requests.failed = vec![("shed".into(), 5)];
        let text = stripped(&made, 200);
        assert!(text.contains("since the trigger began (shed ones aside), "), "{text}");
    }

    #[test]
    fn what_cannot_be_told_ends_with_a_full_stop() {
        let mut made = made(&[0.0]);
        let summary = &mut made.summary.variants[0].1;
        (summary.finding, summary.because) = (Finding::Inconclusive, "73 runs would tell".into());
        let text = stripped(&made, 200);
        assert!(text.contains("73 runs would tell.\n"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [60, 80, 92, 100, 160] {
            for line in plain(&[1.0, 0.3, 0.0, 0.2], width).lines() {
                assert!(line.trim_end().chars().count() <= width, "{width}: {line:?}");
            }
        }
    }
}
