//! Words, tables, pictures: what people see of a scenario's runs.
//!
//! Everything is made in memory from the summary and the records, and nothing from the clock: the
//! same results give the same files, byte for byte. `files.rs` alone writes to the disc.

pub mod charts;
pub mod files;
pub mod number;
pub mod page;
pub mod policies;
pub mod tables;
pub mod terminal;

mod road;
#[cfg(test)]
mod synthetic;
pub(crate) mod words;

use crate::analysis::summary::AmplificationSummary;
use crate::analysis::summary::Summary;
use crate::analysis::summary::VariantSummary;
use crate::experiment::result::VariantResult;
use crate::lint;
use crate::measure::horizon::horizon_rule;
use crate::measure::outcome::RunOutcome;
use crate::measure::record::Cause;
use crate::measure::record::Series;
use crate::report::charts::ChartError;
use crate::report::files::Folder;
use crate::report::files::Manifest;
use crate::report::files::Output;
use crate::report::files::WriteError;
use crate::scenario::model::Model;
use crate::scenario::model::Scenario;
use crate::scenario::model::Variant;

/// Everything a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// The scenario as meant.
    pub scenario: &'a Scenario,
    /// The runs, one entry for each variant that was run.
    pub results: &'a [VariantResult],
    /// Their measures.
    pub summary: &'a Summary,
    /// The command that makes the same results again.
    pub command: &'a str,
    /// The most attempts per request that a service can be made to meet, on paper: for each
    /// variant of the scenario, for each of its services; empty, or `None`, where nobody knows.
    pub worst_case: &'a [Vec<Option<f64>>],
}

/// One variant: its system, its runs and their measures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    scenario: &'a Scenario,
    variant: &'a Variant,
    result: &'a VariantResult,
    summary: &'a VariantSummary,
    seed: u64,
}

impl<'a> Material<'a> {
    /// The variants that have results, in the order of the results.
    pub(crate) fn views(&self) -> impl Iterator<Item = View<'a>> {
        let Self { scenario, results, summary, .. } = *self;
        results.iter().filter_map(move |result| {
            let variant = scenario.variants.get(result.variant)?;
            let (_, measures) = summary.variants.iter().find(|(name, _)| *name == variant.name)?;
            Some(View { scenario, variant, result, summary: measures, seed: summary.seed })
        })
    }

    /// What is on paper for a service of a variant.
    fn worst_case(&self, variant: usize, service: usize) -> Option<f64> {
        self.worst_case.get(variant)?.get(service).copied().flatten()
    }
}

impl<'a> View<'a> {
    fn name(&self) -> &'a str {
        &self.variant.name
    }

    fn model(&self) -> &'a Model {
        &self.variant.model
    }

    /// Did the operator shed requests?
    fn sheds(&self) -> bool {
        let shed = |(cause, requests): &(String, u64)| cause == Cause::Shed.name() && *requests > 0;
        self.summary.requests.failed.iter().any(shed)
    }

    /// Is the horizon too short to tell slow from stuck?
    fn too_short(&self) -> bool {
        horizon_rule(self.model()).is_err()
    }

    /// What to write where half of the runs were not seen to recover.
    fn not_reached(&self) -> &'static str {
        if self.too_short() { "too short" } else { "not reached" }
    }

    /// The time series of the run that charts show.
    fn series(&self) -> &'a Series {
        &self.result.example.series
    }

    /// What the run that charts show came to.
    fn example_outcome(&self) -> Option<&'a RunOutcome> {
        self.result.runs.iter().find(|run| run.replication == self.replication())
    }

    /// Which replication charts show.
    fn replication(&self) -> u32 {
        self.result.example.replication
    }

    /// Scenario and variant, in the scenario's own words.
    fn subtitle(&self) -> String {
        let about =
            if self.variant.about.is_empty() { &self.scenario.about } else { &self.variant.about };
        if about.is_empty() {
            self.scenario.name.clone()
        } else {
            format!("{}: {about}", self.scenario.name)
        }
    }

    /// The amplification of a service by its name.
    fn amplification(&self, service: &str) -> Option<&'a AmplificationSummary> {
        let found = self.summary.amplification.iter().find(|(name, _)| name == service);
        found.map(|(_, amplification)| amplification)
    }
}

/// Why a report was not written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The disc would not have it.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A picture could not be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// A table or a summary could not be put into words.
    #[error("results could not be encoded: {0}")]
    Encode(String),
}

impl From<csv::Error> for ReportError {
    fn from(error: csv::Error) -> Self {
        Self::Encode(error.to_string())
    }
}

impl From<serde_json::Error> for ReportError {
    fn from(error: serde_json::Error) -> Self {
        Self::Encode(error.to_string())
    }
}

/// What became of the files in a folder; paths are relative to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The files written.
    pub paths: Vec<String>,
    /// Files of an earlier run that this one did not make again, and that are gone.
    pub removed: Vec<String>,
}

/// Makes every file of a report and puts them into `folder`; what an earlier run left there and
/// this one does not make again is removed.
///
/// # Errors
/// When a file could not be made or written; every file is then either the old or the new one.
pub fn write(
    folder: &Folder,
    material: &Material<'_>,
    charts: bool,
) -> Result<Written, ReportError> {
    let mut outputs = vec![
        Output::new("summary.json".into(), summary_json(material.summary)?.into_bytes()),
        Output::new(
            "scenario.effective.json".into(),
            lint::effective(material.scenario).into_bytes(),
        ),
    ];
    outputs.extend(tables::all(material)?);
    if charts {
        outputs.extend(charts::draw(material)?);
    }
    let before = listed(folder);
    let paths = folder.write(&outputs, Manifest::of(material))?;
    let gone = |path: &String| !paths.contains(path) && !folder.path().join(path).exists();
    Ok(Written { removed: before.into_iter().filter(gone).collect(), paths })
}

/// The files that the manifest of an earlier run lists and that are still there.
fn listed(folder: &Folder) -> Vec<String> {
    let text = std::fs::read_to_string(folder.path().join("manifest.json")).unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let files = manifest["files"].as_object();
    let paths = files.into_iter().flat_map(|files| files.keys().cloned());
    paths.filter(|path| folder.path().join(path).exists()).collect()
}

/// The content of `summary.json`.
///
/// # Errors
/// When a number in it has no form in JSON, which would be a bug of ours.
pub fn summary_json(summary: &Summary) -> Result<String, ReportError> {
    pretty(summary)
}

/// JSON for machines and for readers: two blanks of indent, a line break at the end.
fn pretty<T: serde::Serialize>(value: &T) -> Result<String, ReportError> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::made;

    #[test]
    fn files_that_are_not_made_again_are_named() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let (two, one) = (made(&[1.0, 0.3]), made(&[1.0]));
        let write = |made: &synthetic::Made| write(&folder, &made.material(), false).unwrap();
        assert_eq!(write(&two).removed, Vec::<String>::new());
        assert_eq!(write(&two).removed, Vec::<String>::new(), "the same once more");
        let written = write(&one);
        assert_eq!(written.removed, ["band-full-jitter.csv", "series-full-jitter.csv"]);
        let said = terminal::files(folder.path(), &written, "stormlab run");
        assert!(said.contains("Removed there: 2 files of an earlier run"), "{said}");
        assert!(!terminal::files(folder.path(), &write(&one), "").contains("Removed"));
    }
}
