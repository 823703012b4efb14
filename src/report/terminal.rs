//! The few lines printed after a run: the answer first, then the variants, then where the files lie.
//!
//! Text is made with colours and never asks whether anybody sees them: the stream it is written to
//! strips them where they do not belong. Lines are no wider than asked for.

use std::fmt::Write;
use std::path::Path;

use anstyle::AnsiColor;
use anstyle::Style;
use comfy_table::Attribute;
use comfy_table::Cell;
use comfy_table::CellAlignment;
use comfy_table::Color;
use comfy_table::ContentArrangement;
use comfy_table::Table;

use crate::analysis::summary::Estimate;
use crate::analysis::summary::Finding;
use crate::measure::outcome::RunClass;
use crate::report::Material;
use crate::report::View;
use crate::report::number::count;
use crate::report::number::counted;
use crate::report::number::number;
use crate::report::number::percent;
use crate::report::number::seconds;
use crate::report::road;
use crate::report::words;

/// Narrower than this, nothing is worth printing; text is then cut by the terminal.
const LEAST_WIDTH: usize = 40;
/// From this width on the table has all its columns.
const FULL_TABLE: usize = 92;
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
pub fn files(folder: &Path, written: &[String], command: &str) -> String {
    let charts = written.iter().filter(|path| path.ends_with(".png")).count() as u64;
    let tables = written.iter().filter(|path| path.ends_with(".csv")).count() as u64;
    let pictures = if charts > 0 {
        format!(", {} in charts/ (SVG and PNG)", counted(charts, "chart"))
    } else {
        String::new()
    };
    format!(
        "Files in {}: summary.json, {}{pictures}.\nAgain: {command}\n",
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

/// The sentences that answer the question.
fn answer(material: &Material<'_>, base: &View<'_>, views: &[View<'_>]) -> Vec<String> {
    let mut sentences = vec![headline(base)];
    sentences.extend(recovery(base));
    sentences.extend(cost(material, base));
    if let Some(lost) = base.summary.lost_share.estimate {
        let wasted = base.summary.wasted_share.estimate.map_or(String::new(), |wasted| {
            format!(" {} of all worker time went into answers nobody waited for.", percent(wasted))
        });
        sentences.push(format!(
            "Of the requests made since the trigger began, {} were lost.{wasted}",
            percent(lost)
        ));
    }
    for view in views {
        let after = view.summary.recovery_after_action_s.as_ref();
        if let Some(median) = after.and_then(|time| time.median.estimate) {
            sentences.push(format!(
                "In {}, half of the runs recover within {} of the first action.",
                view.name(),
                seconds(median)
            ));
        }
    }
    let safe: Vec<_> = views
        .iter()
        .filter(|view| view.summary.finding == Finding::Safe && view.name() != base.name())
        .map(View::name)
        .collect();
    let names = match safe.len() {
        0 => return sentences,
        1..=4 => safe.join(", "),
        more => format!("{} and {} more", safe[..3].join(", "), more - 3),
    };
    sentences.push(format!("Never stuck: {names}."));
    sentences
}

/// What happened in the base, in one plain sentence.
fn headline(view: &View<'_>) -> String {
    let (name, summary) = (view.name(), view.summary);
    let runs = counted(u64::from(summary.replications), "run");
    let stuck = summary.classes.iter().find(|(class, _)| *class == RunClass::Stuck);
    let stuck = stuck.map_or(0, |(_, runs)| *runs);
    let model = view.model();
    let cause = match model.triggers.as_slice() {
        [] => "with nothing going wrong".to_owned(),
        [only] => format!("after the trigger ({})", words::trigger(model, only)),
        several => format!("after {} triggers", several.len()),
    };
    match summary.finding {
        Finding::Overloaded => {
            let healthy = summary.control_healthy_share.estimate.unwrap_or(0.0);
            format!(
                "In {name} the system cannot bear its load even with nothing going wrong: {} of \
                 the control runs are healthy. The trigger explains nothing.",
                percent(healthy)
            )
        }
        Finding::Safe => format!("In {name} none of {runs} is stuck {cause}."),
        Finding::Metastable | Finding::Vulnerable => {
            let so = match summary.finding {
                Finding::Metastable => "the storm does not end by itself",
                _ if stuck == summary.replications => {
                    "it may be that the storm never ends by itself"
                }
                _ => "the storm does not always end by itself",
            };
            let share = interval(&summary.stuck_share);
            format!("In {name}, {} of {runs} are stuck {cause}: {so}.{share}", count(stuck.into()))
        }
        Finding::Inconclusive => {
            format!("In {name}, {runs} cannot tell whether it gets stuck: {}", summary.because)
        }
    }
}

/// Where the share of stuck runs lies, or nothing where there is no interval.
fn interval(estimate: &Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            format!(" The share of stuck runs lies between {} and {}.", percent(low), percent(high))
        }
        _ => String::new(),
    }
}

/// How long recovery takes.
fn recovery(view: &View<'_>) -> Option<String> {
    if view.model().triggers.is_empty() {
        return None;
    }
    let time = &view.summary.recovery_time_s;
    let half = match (time.median.estimate, time.tau) {
        (Some(median), _) => format!("Half of the runs recover within {}", seconds(median)),
        (None, Some(tau)) => {
            format!("Half of the runs recovered: not reached within {}", seconds(tau))
        }
        (None, None) => return None,
    };
    let mean = time.restricted_mean.estimate.map_or(String::new(), |mean| {
        format!("; the mean is {}, stuck runs counted in full", seconds(mean))
    });
    Some(format!("{half}{mean}."))
}

/// What a request costs at the far end of the road, on paper and in the runs.
fn cost(material: &Material<'_>, view: &View<'_>) -> Option<String> {
    let service = road::deepest(view.model())?;
    let name = &view.model().services[service].name;
    let amplification = view.amplification(name)?;
    let whole = number(amplification.whole.estimate?);
    let mut text = match material.worst_case(view.result.variant, service) {
        Some(worst) if worst.is_infinite() => format!(
            "At {name} nothing bounds what a request can cost; it did cost {whole} attempts over \
             the whole run"
        ),
        Some(worst) => format!(
            "At {name} a request can cost at most {} attempts; it did cost {whole} over the \
             whole run",
            number(worst)
        ),
        None => format!("At {name} a request cost {whole} attempts over the whole run"),
    };
    if let Some(peak) = amplification.peak.estimate {
        text += &format!(", {} in the worst window", number(peak));
        if material.worst_case(view.result.variant, service).is_some_and(|worst| peak > worst) {
            text += " (which also meets retries of earlier requests)";
        }
    }
    Some(text + ".")
}

/// The table of variants. Names are cut and columns left out until every row is one line.
fn table(views: &[View<'_>], width: usize) -> Table {
    let full = width >= FULL_TABLE;
    let head = ["stuck", "recovery", "load", "lost", "finding"];
    let shown: Vec<usize> = (0..head.len()).filter(|&column| full || column != 3).collect();
    let cells: Vec<_> = views.iter().map(cells).collect();
    let widest = |column: usize| {
        let texts = cells.iter().map(|row| row[column].as_str()).chain([head[column]]);
        texts.map(|text| text.chars().count()).max().unwrap_or(0) + PADDING
    };
    let rest = width.saturating_sub(shown.iter().map(|&column| widest(column)).sum());
    let longest = views.iter().map(|view| view.name().chars().count()).max().unwrap_or(0);
    let spare = if full { LEAST_SPARK + PADDING } else { 0 };
    let name = longest.max(7).min(rest.saturating_sub(PADDING + spare)).max(6);
    let spark = rest.saturating_sub(name + 2 * PADDING).min(MOST_SPARK);
    let spark = if full && spark >= LEAST_SPARK { spark } else { 0 };

    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.enforce_styling(); // The stream decides whether colours are seen.
    let mut titles = vec!["variant"];
    titles.extend(shown.iter().map(|&column| head[column]));
    titles.extend((spark > 0).then_some("goodput over time"));
    table.set_header(titles.iter().map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
    for (view, texts) in views.iter().zip(&cells) {
        let mut row = vec![Cell::new(clipped(view.name(), name))];
        for &column in &shown {
            let cell = Cell::new(&texts[column]);
            row.push(match column {
                4 => cell.fg(mark(view.summary.finding).1),
                _ => cell.set_alignment(CellAlignment::Right),
            });
        }
        if spark > 0 {
            row.push(Cell::new(sparkline(&view.result.band.goodput_median_rps, spark)));
        }
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, PADDING as u16));
    }
    table
}

/// Blanks after each column.
const PADDING: usize = 2;
/// Narrower sparklines show nothing, wider ones no more.
const LEAST_SPARK: usize = 17;
const MOST_SPARK: usize = 40;

/// The numbers of a variant: stuck, recovery, load, lost, finding.
fn cells(view: &View<'_>) -> [String; 5] {
    let summary = view.summary;
    let load = road::deepest(view.model())
        .and_then(|service| view.amplification(&view.model().services[service].name))
        .and_then(|service| service.whole.estimate);
    [
        share(&summary.stuck_share),
        recovery_cell(view),
        load.map_or("–".into(), |load| format!("{}×", number(load))),
        summary.lost_share.estimate.map_or("–".into(), percent),
        format!("{} {}", mark(summary.finding).0, words::finding(summary.finding)),
    ]
}

/// A share and its interval: `30% (22–39%)`.
fn share(estimate: &Estimate) -> String {
    let Some(value) = estimate.estimate else { return "–".into() };
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            let low = percent(low);
            format!("{} ({}–{})", percent(value), low.trim_end_matches('%'), percent(high))
        }
        _ => percent(value),
    }
}

/// The median time to recovery, or that it was not reached.
fn recovery_cell(view: &View<'_>) -> String {
    if view.model().triggers.is_empty() {
        return "–".into();
    }
    view.summary.recovery_time_s.median.estimate.map_or("not reached".into(), seconds)
}

/// A symbol and a colour for each finding.
const fn mark(finding: Finding) -> (&'static str, Color) {
    match finding {
        Finding::Safe => ("●", Color::Green),
        Finding::Vulnerable => ("▲", Color::Yellow),
        Finding::Metastable => ("■", Color::Red),
        Finding::Overloaded => ("◆", Color::Magenta),
        Finding::Inconclusive => ("○", Color::DarkGrey),
    }
}

/// Values over time as blocks of eight heights, the largest value being the highest.
fn sparkline(values: &[f64], width: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let width = width.min(values.len());
    let part = |column: usize| column * values.len() / width..(column + 1) * values.len() / width;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let means: Vec<_> = (0..width).map(|column| mean(&values[part(column)])).collect();
    let largest = means.iter().copied().fold(0.0, f64::max);
    let height = |mean: f64| if largest > 0.0 { (mean / largest * 7.0).round() } else { 0.0 };
    means.iter().map(|&mean| BLOCKS[(height(mean) as usize).min(7)]).collect()
}

/// Text of at most `width` letters, cut with an ellipsis.
fn clipped(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
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
    use crate::report::synthetic::made;

    /// The report without colours.
    fn plain(shares: &[f64], width: usize) -> String {
        let made = made(shares);
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
    fn no_line_is_wider_than_the_terminal() {
        for width in [60, 80, 92, 100, 160] {
            for line in plain(&[1.0, 0.3, 0.0, 0.2], width).lines() {
                assert!(line.trim_end().chars().count() <= width, "{width}: {line:?}");
            }
        }
    }

    #[test]
    fn a_sparkline_shows_the_fall_and_the_return() {
        assert_eq!(sparkline(&[8.0, 8.0, 0.0, 0.0, 4.0, 8.0], 6), "██▁▁▅█");
        assert_eq!(sparkline(&[0.0; 4], 2), "▁▁");
        assert_eq!(sparkline(&[], 10), "");
    }

    #[test]
    #[ignore = "prints a report, for human eyes"]
    fn look() {
        for width in [70, 120] {
            println!("{}", plain(&[1.0, 0.3, 0.0, 0.0, 0.9], width));
        }
    }
}
