//! `run`: all variants, all replications, everything written.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use crate::analysis::summary::Summary;
use crate::check::Exit;
use crate::cli::Error;
use crate::cli::arguments::RunArguments;
use crate::cli::console::Console;
use crate::cli::interrupt::Interrupt;
use crate::cli::limits;
use crate::cli::load;
use crate::cli::work::Done;
use crate::cli::work::work;
use crate::experiment::Experiment;
use crate::lint;
use crate::report;
use crate::report::Material;
use crate::report::files::Folder;
use crate::report::files::safe_name;
use crate::report::terminal;
use crate::scenario::model::Model;
use crate::scenario::model::Scenario;

/// Runs a scenario, writes its report, says what happened.
pub(super) fn run(arguments: &RunArguments, console: &mut Console) -> Result<Exit, Error> {
    let scenario = Arc::new(load(&arguments.file, console)?);
    let variants = chosen(&scenario, &arguments.variant)?;
    let interrupt = Interrupt::listen();
    // Before the work, so that a folder that cannot be had costs no waiting.
    let folder = Folder::open(&folder_of(&scenario, arguments.out.as_deref()))?;
    let Some(done) = work(&scenario, variants, &arguments.runs, console, &interrupt)? else {
        return Ok(interrupt.exit());
    };
    let Done { experiment, summary } = done;
    let command = command(arguments);
    let worst_case = worst_case(&scenario);
    let material = Material {
        scenario: &scenario,
        results: &experiment.results,
        summary: &summary,
        command: &command,
        worst_case: &worst_case,
    };
    // Charts take longer than somebody who interrupts wants to wait.
    let charts = !arguments.no_charts && !interrupt.is_raised();
    let written = report::write(&folder, &material, charts)?;
    if arguments.json {
        console.say(&report::summary_json(&summary)?);
    } else if !arguments.runs.quiet {
        console.say(&terminal::render(&material, console.width()));
        console.say(&terminal::files(folder.path(), &written, &command));
    }
    Ok(exit(console, &scenario, &experiment, &interrupt))
}

/// What the runs themselves mean for the exit code; says so where they did not end well.
pub(super) fn exit(
    console: &Console,
    scenario: &Scenario,
    experiment: &Experiment,
    interrupt: &Interrupt,
) -> Exit {
    if let Some(note) = limits::note(scenario, experiment) {
        console.note(&note);
    }
    if experiment.interrupted {
        console.note("interrupted: what had finished is kept and marked as incomplete");
        return interrupt.exit();
    }
    if interrupt.is_raised() {
        console.note("interrupted after the last run: nothing is missing");
        return interrupt.exit();
    }
    if experiment.limits_hit.is_empty() { Exit::Success } else { Exit::Limit }
}

/// The most attempts that one request can cost, on paper: for each variant, at each service, of
/// whichever population costs most.
pub(super) fn worst_case(scenario: &Scenario) -> Vec<Vec<Option<f64>>> {
    let of = |model: &Model| {
        let mut most = vec![None; model.services.len()];
        for population in 0..model.populations.len() {
            let attempts = lint::attempts_per_request(model, population);
            for (most, attempts) in most.iter_mut().zip(attempts) {
                *most = Some(attempts.as_f64().max(most.unwrap_or(0.0)));
            }
        }
        most
    };
    scenario.variants.iter().map(|variant| of(&variant.model)).collect()
}

/// Where the results go.
fn folder_of(scenario: &Scenario, out: Option<&Path>) -> PathBuf {
    out.map_or_else(|| Path::new("output").join(safe_name(&scenario.name)), Path::to_owned)
}

/// The indices of the variants named, in the order of the scenario; all where none is named.
fn chosen(scenario: &Scenario, names: &[String]) -> Result<Vec<usize>, Error> {
    for name in names {
        find(scenario, name)?;
    }
    let wanted =
        |index: &usize| names.is_empty() || names.contains(&scenario.variants[*index].name);
    Ok((0..scenario.variants.len()).filter(wanted).collect())
}

/// The index of a variant by its name.
pub(super) fn find(scenario: &Scenario, name: &str) -> Result<usize, Error> {
    let names = || scenario.variants.iter().map(|variant| variant.name.as_str());
    names().position(|known| known == name).ok_or_else(|| {
        let near = names()
            .map(|known| (strsim::jaro_winkler(known, name), known))
            .filter(|(likeness, _)| *likeness > 0.8)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let help = match near {
            Some((_, known)) => format!("did you mean `{known}`?"),
            None => format!("it has: {}", names().collect::<Vec<_>>().join(", ")),
        };
        Error::Usage(format!("`{}` has no variant `{name}`; {help}", scenario.name))
    })
}

/// The command that makes the same results again.
fn command(arguments: &RunArguments) -> String {
    let mut words = vec!["stormlab run".to_owned(), quoted(&arguments.file.to_string_lossy())];
    let runs = &arguments.runs;
    words.extend(runs.replications.map(|number| format!("--replications {number}")));
    words.extend(runs.seed.map(|number| format!("--seed {number}")));
    words.extend(arguments.variant.iter().map(|name| format!("--variant {}", quoted(name))));
    words.extend(arguments.no_charts.then(|| "--no-charts".to_owned()));
    words.join(" ")
}

/// A word as a shell takes it.
pub(super) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./,:=@%+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Writes the report of a scenario under a folder of folders, as `check --out` does.
pub(super) fn write_under(
    parent: &Path,
    scenario: &Scenario,
    experiment: &Experiment,
    summary: &Summary,
    command: &str,
) -> Result<(), Error> {
    let folder = Folder::open(&parent.join(safe_name(&scenario.name)))?;
    let worst_case = worst_case(scenario);
    let results = &experiment.results;
    let material = Material { scenario, results, summary, command, worst_case: &worst_case };
    report::write(&folder, &material, !experiment.interrupted)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted_into_a_shell() {
        #[track_caller]
        fn check(word: &str, expected: &str) {
            assert_eq!(quoted(word), expected);
        }
        check("storms/a-b.yaml", "storms/a-b.yaml");
        check("my file.yaml", "'my file.yaml'");
        check("it's", r"'it'\''s'");
        check("", "''");
        check("$(rm)", "'$(rm)'");
    }
}
