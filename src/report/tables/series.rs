//! Tables over time: goodput over the replications, and everything of one of them.

use crate::report::View;
use crate::report::tables::Table;
use crate::report::tables::columns;
use crate::report::tables::number;
use crate::scenario::model::Caller;
use crate::scenario::model::Model;

/// `band-VARIANT.csv`: goodput over the replications.
pub(super) fn band(view: &View<'_>) -> Table {
    let band = &view.result.band;
    let head = columns(
        "time_s arrivals_mean_rps goodput_p10_rps goodput_median_rps \
         goodput_p90_rps",
    );
    let rows = (0..band.start_s.len()).map(|index| {
        [
            &band.start_s,
            &band.arrivals_rps,
            &band.goodput_low_rps,
            &band.goodput_median_rps,
            &band.goodput_high_rps,
        ]
        .map(|values| number(values.get(index).copied()))
        .into()
    });
    Table { head: head.collect(), rows: rows.collect() }
}

/// `series-VARIANT.csv`: the example replication, one row for each window.
pub(super) fn series(view: &View<'_>) -> Table {
    let (model, series) = (view.model(), view.series());
    let mut head = vec!["time_s".to_owned()];
    for population in &model.populations {
        let measures = columns(
            "born_rps shed_rps ok_rps late_rps failed_rps born_ok_rps \
             born_lost_rps",
        );
        head.extend(measures.map(|measure| format!("{}.{measure}", population.name)));
    }
    for (id, service) in model.services.iter().enumerate() {
        let measures = columns(
            "attempts_first_rps attempts_retry_after_timeout_rps \
             attempts_retry_after_refusal_rps attempts_retry_after_error_rps \
             attempts_hedge_rps \
             refused_rps completed_ok_rps completed_error_rps removed_rps \
             busy_workers wasted_workers waiting_attempts present_attempts \
             replicas_up crashes",
        );
        let of_writes =
            columns("effects_rps duplicate_effects_rps replayed_rps conflicts_rps mismatches_rps");
        let of_writes = of_writes.filter(|_| model.is_written_to(id));
        head.extend(measures.chain(of_writes).map(|it| format!("{}.{it}", service.name)));
    }
    for edge in edge_names(model) {
        let measures = columns(
            "calls_rps rejected_by_breaker_rps rejected_by_bulkhead_rps \
             rejected_by_throttle_rps denied_by_budget_rps timeouts_rps backing_off_calls \
             breakers_open breakers",
        );
        head.extend(measures.map(|measure| format!("{edge}.{measure}")));
    }
    head.push("backlog_attempts".into());
    let rows = (0..series.windows).map(|index| series_row(view, index));
    Table { head, rows: rows.collect() }
}

fn series_row(view: &View<'_>, index: usize) -> Vec<String> {
    let series = view.series();
    let seconds = series.window.as_secs_f64();
    let nanos = series.window.as_nanos() as f64;
    let rate = |count: u32| number(f64::from(count) / seconds);
    let mut row = vec![number(series.start_s(index))];
    for p in entities(&series.populations, series.windows, index) {
        row.extend([p.born, p.shed, p.ok, p.late, p.failed, p.born_ok, p.born_lost].map(rate));
    }
    for (id, s) in entities(&series.services, series.windows, index).iter().enumerate() {
        row.extend(
            [
                s.first,
                s.retry_after_timeout,
                s.retry_after_refusal,
                s.retry_after_error,
                s.hedge,
                s.refused,
                s.completed_ok,
                s.completed_error,
                s.removed,
            ]
            .map(rate),
        );
        row.extend([s.busy_ns, s.wasted_ns].map(|busy| number(busy as f64 / nanos)));
        row.extend([s.waiting, s.present, s.replicas_up, s.crashes].map(|n| n.to_string()));
        if view.model().is_written_to(id) {
            let of_writes = [s.effects, s.duplicate_effects, s.replays, s.conflicts, s.mismatches];
            row.extend(of_writes.map(rate));
        }
    }
    for e in entities(&series.edges, series.windows, index) {
        row.extend(
            [
                e.calls,
                e.rejected_by_breaker,
                e.rejected_by_bulkhead,
                e.rejected_by_throttle,
                e.denied_by_budget,
                e.timeouts,
            ]
            .map(rate),
        );
        row.extend([e.backing_off, e.breakers_open, e.breakers].map(|n| n.to_string()));
    }
    row.push(series.backlog.get(index).map_or(String::new(), u32::to_string));
    row
}

/// The entries of one window in a series of all windows.
pub(super) fn entities<T>(all: &[T], windows: usize, index: usize) -> &[T] {
    let each = all.len() / windows.max(1);
    all.get(index * each..(index + 1) * each).unwrap_or_default()
}

/// `web>gateway`, with a number where two edges would share a name.
pub(super) fn edge_names(model: &Model) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for edge in &model.edges {
        let caller = match edge.caller {
            Caller::Population(id) => &model.populations[id].name,
            Caller::Service(id) => &model.services[id].name,
        };
        let name = format!("{caller}>{}", model.services[edge.target].name);
        let same =
            names.iter().filter(|n| **n == name || n.starts_with(&format!("{name}#"))).count();
        names.push(if same == 0 { name } else { format!("{name}#{}", same + 1) });
    }
    names
}
