//! CSV files, units in the column names; numbers in the shortest form that reads back the same.
//!
//! Columns of an entity begin with its name and a dot: `database.attempts_first_rps`. A column
//! that a row has no value for is empty, never zero. What may have a fraction is written with one
//! (`25.0`), so that readers who guess a column's type from its first rows guess right.

use crate::analysis::summary::Estimate;
use crate::measure::outcome::RunOutcome;
use crate::measure::outcome::Survival;
use crate::measure::record::Cause;
use crate::measure::record::Ending;
use crate::measure::record::LimitKind;
use crate::report::Material;
use crate::report::ReportError;
use crate::report::View;
use crate::report::files::Output;
use crate::report::files::safe_name;
use crate::report::words;
use crate::scenario::model::Caller;
use crate::scenario::model::Model;

/// A table: names of the columns, then rows.
struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn encoded(&self) -> Result<Vec<u8>, ReportError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.head)?;
        for row in &self.rows {
            writer.write_record(row)?;
        }
        writer.into_inner().map_err(|error| ReportError::Encode(error.to_string()))
    }
}

/// Every table of a report.
///
/// # Errors
/// When a table could not be encoded, which would be a bug of ours.
pub fn all(material: &Material<'_>) -> Result<Vec<Output>, ReportError> {
    let mut outputs = vec![
        Output::new("runs.csv".into(), runs(material).encoded()?),
        Output::new("comparison.csv".into(), comparison(material).encoded()?),
    ];
    for view in material.views() {
        let name = safe_name(view.name());
        outputs.push(Output::new(format!("series-{name}.csv"), series(&view).encoded()?));
        outputs.push(Output::new(format!("band-{name}.csv"), band(&view).encoded()?));
    }
    Ok(outputs)
}

/// The names of columns, written with blanks between them.
fn columns(names: &str) -> impl Iterator<Item = String> {
    names.split_whitespace().map(String::from)
}

fn number(value: impl Into<Option<f64>>) -> String {
    let value = value.into().filter(|value| value.is_finite());
    value.map_or(String::new(), |value| format!("{value:?}"))
}

/// The services of all variants together, in the order in which they first appear.
fn services(material: &Material<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for service in material.views().flat_map(|view| &view.variant.model.services) {
        if !names.contains(&service.name) {
            names.push(service.name.clone());
        }
    }
    names
}

/// The services that any variant writes to.
fn written(material: &Material<'_>, services: &[String]) -> Vec<String> {
    let is_written = |name: &&String| {
        material.views().any(|view| {
            let id = view.model().services.iter().position(|service| service.name == **name);
            id.is_some_and(|id| view.model().is_written_to(id))
        })
    };
    services.iter().filter(is_written).cloned().collect()
}

/// `runs.csv`: one row for each run of each variant.
fn runs(material: &Material<'_>) -> Table {
    let services = services(material);
    let mut head: Vec<String> = columns(
        "variant replication class ending control_class control_healthy recovered \
         recovery_time_s goodput_recovered goodput_recovery_time_s amplification_recovered \
         amplification_recovery_time_s drained drain_time_s \
         recovered_after_action recovery_after_action_time_s first_failure_s good_at_end \
         goodput_ratio_before goodput_ratio_during goodput_ratio_after \
         lost_share wasted_share born_requests ok_requests late_requests \
         open_requests",
    )
    .collect();
    head.extend(Cause::ALL.iter().map(|cause| format!("failed_{}_requests", cause.name())));
    for name in &services {
        let measures = columns(
            "amplification_whole amplification_peak \
             amplification_after_trigger first_attempts \
             retry_after_timeout_attempts retry_after_refusal_attempts \
             retry_after_error_attempts hedge_attempts",
        );
        head.extend(measures.map(|measure| format!("{name}.{measure}")));
    }
    let written = written(material, &services);
    for name in &written {
        let measures = columns("effects duplicate_effects replayed_attempts conflicting_attempts");
        head.extend(measures.map(|measure| format!("{name}.{measure}")));
    }
    head.extend(["events".into(), "fingerprint".into()]);
    let rows = material.views().flat_map(|view| {
        let names = [&services, &written];
        view.result.runs.iter().map(move |run| run_row(&view, run, names))
    });
    Table { head, rows: rows.collect() }
}

fn run_row(
    view: &View<'_>,
    run: &RunOutcome,
    [services, written]: [&Vec<String>; 2],
) -> Vec<String> {
    let id_of = |name: &String| view.model().services.iter().position(|it| it.name == *name);
    let control = view.result.controls.iter().find(|twin| twin.replication == run.replication);
    let mut row = vec![
        view.name().to_owned(),
        run.replication.to_string(),
        words::class_name(run.class).into(),
        ending(run.ending).into(),
        control.map_or(String::new(), |twin| words::class_name(twin.class).into()),
        control.map_or(String::new(), |twin| twin.healthy.to_string()),
    ];
    row.extend(survival(Some(run.recovery)));
    row.extend(survival(Some(run.goodput_recovery)));
    row.extend(survival(Some(run.amplification_recovery)));
    row.extend(survival(Some(run.drain)));
    row.extend(survival(run.recovery_after_action));
    row.extend([number(run.first_failure_s), run.good_at_end.to_string()]);
    row.extend(run.goodput_ratio.map(number));
    row.extend([number(run.lost_share), number(run.wasted_share)]);
    let verdicts = &run.verdicts;
    row.extend([verdicts.born, verdicts.ok, verdicts.late, verdicts.open].map(|n| n.to_string()));
    row.extend(verdicts.failed.iter().map(u64::to_string));
    for name in services {
        match id_of(name).and_then(|id| run.amplification.get(id)) {
            Some(service) => {
                row.extend([service.whole, service.peak, service.after_trigger].map(number));
                row.extend(service.by_reason.iter().map(u64::to_string));
            }
            None => row.extend(std::iter::repeat_n(String::new(), 8)),
        }
    }
    for name in written {
        row.extend(match id_of(name).and_then(|id| run.effects.get(id)) {
            Some(it) => {
                [it.effects, it.duplicates, it.replays, it.conflicts].map(|count| count.to_string())
            }
            None => Default::default(),
        });
    }
    row.extend([run.events.to_string(), format!("{:016x}", run.fingerprint)]);
    row
}

/// Did it happen, and after how long; where it did not, the time is a lower bound.
fn survival(survival: Option<Survival>) -> [String; 2] {
    survival.map_or_else(Default::default, |survival| {
        [survival.happened.to_string(), number(survival.time_s)]
    })
}

const fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Complete => "complete",
        Ending::Limit { limit, .. } => match limit {
            LimitKind::InFlight => "limit_in_flight",
            LimitKind::Pending => "limit_pending",
            LimitKind::Events => "limit_events",
            LimitKind::Memory => "limit_memory",
            LimitKind::Wall => "limit_wall",
            LimitKind::NoProgress => "limit_no_progress",
        },
    }
}

/// `comparison.csv`: one row for each variant.
fn comparison(material: &Material<'_>) -> Table {
    let services = services(material);
    let mut head: Vec<String> = columns("variant replications finding").collect();
    let mut measures: Vec<String> = columns(
        "stuck_share recovered_share control_healthy_share recovery_median_s \
         recovery_p95_s recovery_restricted_mean_s goodput_ratio_before \
         goodput_ratio_during goodput_ratio_after lost_share wasted_share",
    )
    .collect();
    for name in &services {
        for measure in ["whole", "peak", "after_trigger"] {
            measures.push(format!("{name}.amplification_{measure}"));
        }
    }
    let written = written(material, &services);
    for name in &written {
        for measure in ["duplicate_effects", "duplicated_share", "conflicts"] {
            measures.push(format!("{name}.{measure}"));
        }
    }
    for measure in &measures {
        head.extend([measure.clone(), format!("{measure}_low"), format!("{measure}_high")]);
    }
    head.push("recovery_tau_s".into());
    let rows = material.views().map(|view| {
        let summary = view.summary;
        let (time, ratio) = (&summary.recovery_time_s, &summary.goodput_ratio);
        let mut estimates = vec![
            summary.stuck_share,
            summary.recovered_share,
            summary.control_healthy_share,
            time.median,
            time.p95,
            time.restricted_mean,
            ratio.before,
            ratio.during,
            ratio.after,
            summary.lost_share,
            summary.wasted_share,
        ];
        for name in &services {
            let service = view.amplification(name);
            estimates.extend(service.map_or([Estimate::default(); 3], |service| {
                [service.whole, service.peak, service.after_trigger]
            }));
        }
        for name in &written {
            let found = summary.writes.as_ref().and_then(|writes| writes.service(name));
            estimates.extend(found.map_or([Estimate::default(); 3], |it| {
                [it.duplicate_effects, it.duplicated_share, it.conflicts]
            }));
        }
        let mut row = vec![
            view.name().to_owned(),
            summary.replications.to_string(),
            words::finding(summary.finding).into(),
        ];
        row.extend(estimates.iter().flat_map(|e| [e.estimate, e.low, e.high]).map(number));
        row.push(number(time.tau));
        row
    });
    Table { head, rows: rows.collect() }
}

/// `band-VARIANT.csv`: goodput over the replications.
fn band(view: &View<'_>) -> Table {
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
fn series(view: &View<'_>) -> Table {
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
        let of_writes = columns("effects_rps duplicate_effects_rps replayed_rps conflicts_rps");
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
            row.extend([s.effects, s.duplicate_effects, s.replays, s.conflicts].map(rate));
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
fn entities<T>(all: &[T], windows: usize, index: usize) -> &[T] {
    let each = all.len() / windows.max(1);
    all.get(index * each..(index + 1) * each).unwrap_or_default()
}

/// `web>gateway`, with a number where two edges would share a name.
fn edge_names(model: &Model) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::made;

    /// A table as columns by name.
    fn read(outputs: &[Output], path: &str) -> Vec<std::collections::BTreeMap<String, String>> {
        let output = outputs.iter().find(|output| output.path == path).unwrap();
        let mut reader = csv::Reader::from_reader(output.bytes.as_slice());
        reader.deserialize().map(|row| row.unwrap()).collect()
    }

    #[test]
    fn columns_stand_over_their_values() {
        let made = made(&[1.0, 0.3]);
        let outputs = all(&made.material()).unwrap();

        let series = read(&outputs, "series-base.csv");
        let index = 120 + 1_234;
        let record = &made.results[0].example.series;
        assert_eq!(series.len(), record.windows);
        let (row, window) = (&series[index], record.service(3).nth(index).unwrap());
        assert_eq!(row["time_s"], "1234.0");
        assert_eq!(row["database.attempts_first_rps"], format!("{}.0", window.first));
        let errors = &row["database.attempts_retry_after_error_rps"];
        assert_eq!(*errors, format!("{}.0", window.retry_after_error));
        assert_eq!(row["database.present_attempts"], window.present.to_string());
        assert_eq!(row["database.crashes"], window.crashes.to_string());
        let edge = record.edge(3).nth(index).unwrap();
        assert_eq!(row["repository>database.backing_off_calls"], edge.backing_off.to_string());
        assert_eq!(row["backlog_attempts"], record.backlog[index].to_string());

        let runs = read(&outputs, "runs.csv");
        assert_eq!(runs.len(), 200);
        assert_eq!((&*runs[0]["class"], &*runs[0]["recovered"]), ("stuck", "false"));
        assert_eq!(runs[0]["recovery_time_s"], "3208.0");
        assert_eq!(runs[0]["born_requests"], "90000");
        assert_eq!(runs[0]["database.amplification_peak"], "71.3");
        assert_eq!(runs[0]["fingerprint"], "000000000000feed");

        let comparison = read(&outputs, "comparison.csv");
        assert_eq!(comparison[1]["stuck_share"], "0.3");
        assert_eq!(comparison[0]["recovery_median_s"], ""); // Not reached is not zero.
        assert_eq!(comparison[0]["recovery_tau_s"], "3208.0");
    }

    #[test]
    fn edges_that_share_their_ends_keep_their_own_columns() {
        let mut model = crate::report::synthetic::model(0, 1);
        model.edges.push(model.edges[1].clone());
        model.edges.push(model.edges[1].clone());
        let names = edge_names(&model);
        assert_eq!(names[4..], ["gateway>orders#2", "gateway>orders#3"]);
    }
}
