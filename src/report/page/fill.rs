//! Numbers, tables and charts put into the text of a template.

use std::ops::Range;

use crate::analysis::summary::Summary;
use crate::experiment::result::Experiment;
use crate::report::Material;
use crate::report::ReportError;
use crate::report::charts;
use crate::report::files::Output;
use crate::report::files::safe_name;
use crate::report::page::measure::Found;
use crate::report::page::measure::Unknown;
use crate::report::page::measure::find;
use crate::report::page::template::ABOUT;
use crate::report::page::template::Column;
use crate::report::page::template::Piece;
use crate::report::page::template::Template;
use crate::scenario::diagnostic::Diagnostic;
use crate::scenario::model::Scenario;

/// What a scenario file of a template came to.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'a> {
    /// Scenario, results, and the command that makes them again.
    pub material: Material<'a>,
    /// All of the runs.
    pub experiment: &'a Experiment,
}

/// A page and its charts, by their paths beside one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The page first.
    pub files: Vec<Output>,
}

impl Template {
    /// The page named `name`, of what the files of the template came to, in their order. Problems
    /// are told as the inner error.
    ///
    /// # Errors
    /// When a chart could not be drawn; the inner one names every placeholder without an answer.
    pub fn fill(
        &self,
        name: &str,
        runs: &[Ran<'_>],
    ) -> Result<Result<Page, Vec<Diagnostic>>, ReportError> {
        let mut text = format!(
            "<!-- Made by scripts/pages.sh from {}: change that file, not this one. -->\n\n",
            self.name()
        );
        let (mut charts, mut problems) = (Vec::<Output>::new(), Vec::new());
        for piece in self.pieces() {
            match piece {
                Piece::Text(place) => text += self.text(place),
                Piece::Commands => text += &commands(runs),
                Piece::Value { file, variant, wanted } => {
                    let place = || wanted.place.clone();
                    match find(wanted, variant, &runs[*file]) {
                        Ok(Found::Words(words)) => text += &words,
                        Ok(Found::Nothing(because)) => {
                            let problem = format!("there is no number: {because}");
                            problems.push(self.problem(place(), problem, None));
                        }
                        Err(it) => problems.push(self.problem(place(), it.problem, it.help)),
                    }
                }
                Piece::Table { file, columns, .. } => {
                    let ran = &runs[*file];
                    let variants = piece.variants(ran.material.scenario);
                    match table(&variants, columns, ran) {
                        Ok(rows) => text += &rows,
                        Err((place, it)) => {
                            problems.push(self.problem(place, it.problem, it.help));
                        }
                    }
                }
                Piece::Chart { file, variant, kind, words, place } => {
                    let Some(png) = charts::one(&runs[*file].material, kind, variant)? else {
                        let problem = "there is no such chart".to_owned();
                        problems.push(self.problem(place.clone(), problem, None));
                        continue;
                    };
                    let path = chart_name(name, kind, variant, &charts);
                    text += &format!("![{words}]({path})");
                    charts.push(Output::new(path, png));
                }
            }
        }
        if !problems.is_empty() {
            return Ok(Err(problems));
        }
        let text = text.trim_end().to_owned() + "\n";
        let page = Output::new(format!("{name}.md"), text.into_bytes());
        Ok(Ok(Page { files: std::iter::once(page).chain(charts).collect() }))
    }
}

/// The first chart bears the name of the page, the others their own besides.
fn chart_name(page: &str, kind: &str, variant: &str, before: &[Output]) -> String {
    if before.is_empty() {
        return format!("{page}.png");
    }
    let of = if variant.is_empty() { String::new() } else { format!("-{}", safe_name(variant)) };
    let name = format!("{page}-{kind}{of}");
    let taken = |name: &str| before.iter().any(|chart| chart.path == format!("{name}.png"));
    let names = std::iter::once(name.clone()).chain((2..).map(|it| format!("{name}-{it}")));
    let free = names.into_iter().find(|name| !taken(name)).unwrap_or(name);
    format!("{free}.png")
}

/// The commands that make the runs of a page again, as a block of shell.
fn commands(runs: &[Ran<'_>]) -> String {
    let lines: Vec<_> = runs.iter().map(|ran| ran.material.command).collect();
    format!("```sh\n{}\n```", lines.join("\n"))
}

/// A place and what is wrong there.
type Problem = (Range<usize>, Unknown);

/// A table in Markdown, one variant to a row.
fn table(variants: &[&str], columns: &[Column], ran: &Ran<'_>) -> Result<String, Problem> {
    let heads: Vec<_> = columns.iter().map(|column| column.head.as_str()).collect();
    let mut text = format!("| variant | {} |\n", heads.join(" | "));
    text += &format!("| --- |{}", " --- |".repeat(columns.len()));
    for variant in variants {
        let cells = columns.iter().map(|column| cell(variant, column, ran));
        let cells = cells.collect::<Result<Vec<_>, _>>()?;
        text += &format!("\n| {variant} | {} |", cells.join(" | "));
    }
    Ok(text)
}

fn cell(variant: &str, column: &Column, ran: &Ran<'_>) -> Result<String, Problem> {
    let Material { scenario, summary, .. } = ran.material;
    let wanted = &column.wanted;
    if wanted.measure == ABOUT {
        return Ok(about(variant, scenario, summary).replace('|', "\\|"));
    }
    match find(wanted, variant, ran) {
        Ok(Found::Words(words)) => Ok(words),
        // A median that half of the runs did not reach is a result; the rest was not measured.
        Ok(Found::Nothing(_)) if wanted.measure == "recovery_median" => Ok("not reached".into()),
        Ok(Found::Nothing(_)) => Ok("–".into()),
        Err(it) => Err((wanted.place.clone(), it)),
    }
}

/// What a variant changes, or what the scenario is.
fn about(variant: &str, scenario: &Scenario, summary: &Summary) -> String {
    let own = summary.variant(variant).map_or("", |found| found.about.as_str());
    let words = if own.is_empty() { &scenario.about } else { own };
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
