//! The command line: wiring only, one file per command.
//!
//! Words for people and results go to standard output, everything else to standard error. A closed
//! pipe ends the words, never the work. What goes wrong becomes an exit code here and nowhere
//! else.

mod arguments;
mod check;
mod console;
mod diff;
mod explain;
mod interrupt;
mod limits;
mod named;
mod page;
mod presets;
mod progress;
mod run;
mod work;

use std::ffi::OsString;
use std::path::Path;

use clap::Parser;

use crate::check::Exit;
use crate::cli::arguments::Arguments;
use crate::cli::arguments::Command;
use crate::cli::console::Console;
use crate::experiment::ExperimentError;
use crate::report::ReportError;
use crate::report::files::WriteError;
use crate::scenario;
use crate::scenario::LoadError;
use crate::scenario::model::Scenario;

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// The scenario is none; the message names every problem.
    #[error("{0}")]
    Scenario(#[from] LoadError),
    /// The arguments make no sense together with the scenario.
    #[error("error: {0}")]
    Usage(String),
    /// The runs broke.
    #[error("error: {0}")]
    Experiment(#[from] ExperimentError),
    /// The report could not be made or written.
    #[error("error: {0}")]
    Report(#[from] ReportError),
    /// The output folder could not be had.
    #[error("error: {0}")]
    Write(#[from] WriteError),
}

impl Error {
    /// The exit code it leads to.
    const fn exit(&self) -> Exit {
        match self {
            Self::Scenario(_) | Self::Usage(_) | Self::Experiment(ExperimentError::Threads(_)) => {
                Exit::Usage
            }
            Self::Write(WriteError::Unfit { .. })
            | Self::Report(ReportError::Write(WriteError::Unfit { .. })) => Exit::Usage,
            Self::Write(_) | Self::Report(ReportError::Write(_)) => Exit::Output,
            Self::Experiment(ExperimentError::Invariant { .. }) | Self::Report(_) => Exit::Bug,
        }
    }
}

/// Reads a scenario and says what is doubtful about it.
fn load(file: &Path, console: &Console) -> Result<Scenario, Error> {
    let (scenario, doubts) = scenario::load_with_doubts(file)?;
    for doubt in doubts {
        console.note(&doubt.to_string());
    }
    Ok(scenario)
}

/// Does what the arguments say; the first of them is the program's name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help goes to standard output and is no error; a closed pipe has had enough of it.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Success };
        }
    };
    arguments.color.write_global();
    let mut console = Console::new();
    let result = match &arguments.command {
        Command::Run(run) => run::run(run, &mut console),
        Command::Check(check) => check::check(check, &mut console),
        Command::Explain(explain) => explain::explain(explain, &mut console),
        Command::Presets(presets) => presets::presets(presets, &mut console),
        Command::Diff(diff) => diff::diff(diff, &mut console),
        Command::Page(page) => page::page(page, &mut console),
    };
    let exit = result.unwrap_or_else(|error| {
        console.note(&error.to_string());
        error.exit()
    });
    console.close(exit)
}
