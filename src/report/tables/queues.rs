//! What was in the queues of jobs over time, and what happened to it.

use crate::measure::jobs::QueueWindow;
use crate::report::View;
use crate::report::tables::Table;
use crate::report::tables::columns;
use crate::report::tables::number;
use crate::report::tables::series::entities;
use crate::units::SECOND;

/// `queues-VARIANT.csv`: the example replication, one row for each window.
pub(super) fn queues(view: &View<'_>) -> Table {
    let mut head = vec!["time_s".to_owned()];
    for queue in &view.model().queues {
        let measures = columns(
            "stored_rps claims_rps executions_rps returned_rps done_rps dead_rps at_rest_jobs \
             due_jobs parked_jobs claimed_jobs executing_jobs suspended_destinations oldest_due_s",
        );
        head.extend(measures.map(|measure| format!("{}.{measure}", queue.name)));
    }
    Table { head, rows: (0..view.series().windows).map(|index| row(view, index)).collect() }
}

fn row(view: &View<'_>, index: usize) -> Vec<String> {
    let series = view.series();
    let seconds = series.window.as_secs_f64();
    let mut row = vec![number(series.start_s(index))];
    for queue in entities(&series.queues, series.windows, index) {
        let QueueWindow { stored, claims, executions, returned, done, dead, .. } = *queue;
        let happened = [stored, claims, executions, returned, done, dead];
        row.extend(happened.map(|count| number(f64::from(count) / seconds)));
        let QueueWindow { at_rest, due, parked, claimed, executing, .. } = *queue;
        row.extend([at_rest, due, parked, claimed, executing].map(|jobs| jobs.to_string()));
        row.push(queue.suspended.to_string());
        row.push(number(queue.oldest_due_ns as f64 / SECOND as f64));
    }
    row
}
