//! The table of queues of jobs: what was delivered, how late, and at what cost.

use comfy_table::Attribute;
use comfy_table::Cell;
use comfy_table::CellAlignment;
use comfy_table::ContentArrangement;
use comfy_table::Table;

use crate::analysis::jobs::QueueSummary;
use crate::analysis::summary::Estimate;
use crate::report::View;
use crate::report::number::number;
use crate::report::number::percent;
use crate::report::number::seconds;
use crate::report::terminal::table::PADDING;
use crate::report::terminal::table::clipped;

/// The longest name of a variant or a queue that is shown whole.
const MOST_NAME: usize = 20;

/// One row for each queue of each variant; `None` where there is no queue.
pub(super) fn table(views: &[View<'_>]) -> Option<Table> {
    if views.iter().all(|view| view.summary.queues.is_empty()) {
        return None;
    }
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.enforce_styling(); // The stream decides whether colours are seen.
    let titles = ["variant", "jobs of", "delivered", "dead", "runs/job", "late p50", "p99", "left"];
    table.set_header(titles.map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
    for view in views {
        for (name, queue) in &view.summary.queues {
            let mut row = vec![
                Cell::new(clipped(view.name(), MOST_NAME)),
                Cell::new(clipped(name, MOST_NAME)),
            ];
            let numbers = cells(queue).into_iter();
            row.extend(numbers.map(|it| Cell::new(it).set_alignment(CellAlignment::Right)));
            table.add_row(row);
        }
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, PADDING as u16));
    }
    Some(table)
}

/// Delivered, dead, executions per job, lateness, and what is left at the end.
fn cells(queue: &QueueSummary) -> [String; 6] {
    let shown = |value: Option<f64>, words: fn(f64) -> String| value.map_or("–".into(), words);
    let left = queue.at_rest.estimate.zip(queue.parked.estimate);
    let of = |estimate: &Estimate, words| shown(estimate.estimate, words);
    [
        of(&queue.delivered_share, percent),
        of(&queue.dead_letters, number),
        of(&queue.executions, number),
        shown(queue.lateness_s.p50, seconds),
        shown(queue.lateness_s.p99, seconds),
        shown(left.map(|(at_rest, parked)| at_rest + parked), number),
    ]
}
