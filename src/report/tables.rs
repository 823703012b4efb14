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

mod deferred;
mod queues;
mod series;

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
        outputs.push(Output::new(format!("series-{name}.csv"), series::series(&view).encoded()?));
        outputs.push(Output::new(format!("band-{name}.csv"), series::band(&view).encoded()?));
        if !view.model().queues.is_empty() {
            let table = queues::queues(&view).encoded()?;
            outputs.push(Output::new(format!("queues-{name}.csv"), table));
        }
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
        let measures = columns(
            "effects duplicate_effects replayed_attempts conflicting_attempts mismatched_attempts",
        );
        head.extend(measures.map(|measure| format!("{name}.{measure}")));
    }
    let deferring = deferred::deferring(material, &services);
    for name in &deferring {
        head.extend(deferred::OF_RUNS.map(|measure| format!("{name}.{measure}")));
    }
    head.extend(["events".into(), "fingerprint".into()]);
    let rows = material.views().flat_map(|view| {
        let names = [&services, &written, &deferring];
        view.result.runs.iter().map(move |run| run_row(&view, run, names))
    });
    Table { head, rows: rows.collect() }
}

fn run_row(
    view: &View<'_>,
    run: &RunOutcome,
    [services, written, deferring]: [&Vec<String>; 3],
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
                let counts = [it.effects, it.duplicates, it.replays, it.conflicts, it.mismatches];
                counts.map(|count| count.to_string())
            }
            None => Default::default(),
        });
    }
    for name in deferring {
        row.extend(deferred::of_run(id_of(name).and_then(|id| run.deferred.get(id))));
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
            LimitKind::AtRest => "limit_at_rest",
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
        for measure in ["duplicate_effects", "duplicated_share", "conflicts", "mismatches"] {
            measures.push(format!("{name}.{measure}"));
        }
    }
    let deferring = deferred::deferring(material, &services);
    for name in &deferring {
        measures.extend(deferred::OF_VARIANTS.map(|measure| format!("{name}.{measure}")));
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
            estimates.extend(found.map_or([Estimate::default(); 4], |it| {
                [it.duplicate_effects, it.duplicated_share, it.conflicts, it.mismatches]
            }));
        }
        for name in &deferring {
            estimates.extend(deferred::of_variant(summary.deferred.as_ref(), name));
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
        let names = series::edge_names(&model);
        assert_eq!(names[4..], ["gateway>orders#2", "gateway>orders#3"]);
    }
}
