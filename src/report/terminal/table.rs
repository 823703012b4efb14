//! The table of variants, with a sparkline of each one's goodput.

use comfy_table::Attribute;
use comfy_table::Cell;
use comfy_table::CellAlignment;
use comfy_table::Color;
use comfy_table::ContentArrangement;
use comfy_table::Table;

use crate::analysis::summary::Estimate;
use crate::analysis::summary::Finding;
use crate::report::View;
use crate::report::number::number;
use crate::report::number::percent;
use crate::report::road;
use crate::report::words;

/// From this width on the table has all its columns.
const FULL_TABLE: usize = 92;

/// The table of variants. Names are cut and columns left out until every row is one line.
pub(super) fn table(views: &[View<'_>], width: usize) -> Table {
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
    titles.extend((spark > 0).then_some("median goodput"));
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
pub(super) const PADDING: usize = 2;
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
    let median = view.summary.recovery_time_s.median.estimate;
    median.map_or(view.not_reached().into(), |median| words::recovery(view.model(), median))
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
pub(super) fn clipped(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_shows_the_fall_and_the_return() {
        assert_eq!(sparkline(&[8.0, 8.0, 0.0, 0.0, 4.0, 8.0], 6), "██▁▁▅█");
        assert_eq!(sparkline(&[0.0; 4], 2), "▁▁");
        assert_eq!(sparkline(&[], 10), "");
    }
}
