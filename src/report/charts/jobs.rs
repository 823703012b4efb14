//! Queues of jobs over time: what rests in each, and how long the oldest due job has been due.
//! One row for each queue.

use crate::measure::jobs::QueueWindow;
use crate::report::View;
use crate::report::charts::ChartError;
use crate::report::charts::canvas::Picture;
use crate::report::charts::frame;
use crate::report::charts::palette::BLUE;
use crate::report::charts::palette::Colour;
use crate::report::charts::palette::PURPLE;
use crate::report::charts::state;
use crate::report::charts::state::Panel;
use crate::report::number::counted;
use crate::report::number::seconds;
use crate::units::SECOND;

/// Rows that one page holds.
const MOST_ROWS: usize = 5;

/// The chart.
pub(super) fn draw(view: &View<'_>) -> Result<Picture, ChartError> {
    let all = view.model().queues.len();
    let shown = fullest(view, all);
    let column = |around, colour, value: fn(&QueueWindow) -> f64| -> Vec<Panel> {
        shown.iter().map(|&id| panel(view, id, around, colour, value)).collect()
    };
    let columns = [
        column(["", ", jobs at rest"], BLUE, |window| resting(window) as f64),
        column(["oldest job due in ", ", seconds"], PURPLE, overdue),
    ];
    let columns: Vec<_> = columns.into_iter().filter(|panels| !panels.is_empty()).collect();
    let mut caption = state::caption(view);
    if shown.len() < all {
        caption += &format!(" {} of {all} queues, the fullest ones.", shown.len());
    }
    caption += " Jobs that wait for their destination rest, too.";
    state::page(view, [title(view, all), caption], &frame::shades(view), &columns)
}

/// Jobs at rest, those that wait for their destination among them.
const fn resting(window: &QueueWindow) -> u64 {
    window.at_rest + window.parked
}

fn overdue(window: &QueueWindow) -> f64 {
    window.oldest_due_ns as f64 / SECOND as f64
}

fn panel(
    view: &View<'_>,
    id: usize,
    around: [&'static str; 2],
    colour: Colour,
    value: fn(&QueueWindow) -> f64,
) -> Panel {
    Panel {
        around,
        service: view.model().queues[id].name.clone(),
        values: view.series().queue(id).map(value).collect(),
        colour,
        limit: None,
        crashes: Vec::new(),
    }
}

/// What one sees: the most that any queue held, and the longest that a job was due.
fn title(view: &View<'_>, all: usize) -> String {
    let windows = || (0..all).flat_map(|id| view.series().queue(id));
    match windows().map(resting).max() {
        Some(most) if most > 0 => {
            let longest = windows().map(overdue).fold(0.0, f64::max);
            let jobs = counted(most, "job");
            format!("{}: up to {jobs} at rest, due for up to {}", view.name(), seconds(longest))
        }
        _ => format!("{}: no job rests", view.name()),
    }
}

/// The queues that fit on the page, in the order of the scenario.
fn fullest(view: &View<'_>, all: usize) -> Vec<usize> {
    let most = |id: &usize| view.series().queue(*id).map(resting).max().unwrap_or(0);
    let mut by_peak: Vec<_> = (0..all).collect();
    by_peak.sort_by_key(|id| std::cmp::Reverse(most(id)));
    by_peak.truncate(MOST_ROWS);
    by_peak.sort_unstable();
    by_peak
}
