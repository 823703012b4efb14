//! `check`: run scenarios, judge what they expect.

use std::path::Path;
use std::sync::Arc;

use anstyle::AnsiColor;
use anstyle::Style;
use serde::Serialize;

use crate::analysis::summary::Estimate;
use crate::check;
use crate::check::Decision;
use crate::check::Exit;
use crate::check::Judgement;
use crate::cli::Error;
use crate::cli::arguments::CheckArguments;
use crate::cli::console::Console;
use crate::cli::interrupt::Interrupt;
use crate::cli::load;
use crate::cli::run;
use crate::cli::work::Done;
use crate::cli::work::work;
use crate::report::number::number;
use crate::report::number::percent;
use crate::report::words;

/// What became of one file.
#[derive(Debug, Serialize)]
struct Checked {
    file: String,
    /// The exit code that it would have had alone.
    exit: u8,
    /// What went wrong before anything could be judged.
    error: Option<String>,
    /// False when the runs were interrupted or a limit ended one.
    complete: bool,
    /// Did somebody interrupt? Then expectations of variants that were cut short are undecided.
    interrupted: bool,
    judgements: Vec<Judgement>,
}

/// Checks every file; the worst of them decides.
pub(super) fn check(arguments: &CheckArguments, console: &mut Console) -> Result<Exit, Error> {
    let interrupt = Interrupt::listen();
    let mut worst = Exit::Success;
    let mut all = Vec::new();
    for file in &arguments.files {
        let (checked, exit) = match check_one(file, arguments, console, &interrupt) {
            Ok(done) => done,
            Err(error) => {
                let exit = error.exit();
                (failed(file, error.to_string(), exit), exit)
            }
        };
        worst = worst.worst(exit);
        if !arguments.json {
            console.say(&lines(&checked));
            if let Some(error) = &checked.error {
                console.note(error);
            }
        }
        all.push(checked);
        if exit.is_early() {
            let left = arguments.files.len() - all.len();
            let was = if left == 1 { "was" } else { "were" };
            if left > 0 {
                console.note(&format!("interrupted: {left} of the files {was} not checked"));
            }
            break;
        }
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&all).map_err(crate::report::ReportError::from)?;
        console.say(&(text + "\n"));
    }
    Ok(worst)
}

fn failed(file: &Path, error: String, exit: Exit) -> Checked {
    Checked {
        file: file.display().to_string(),
        exit: exit.code(),
        error: Some(error),
        complete: false,
        interrupted: exit.is_early(),
        judgements: Vec::new(),
    }
}

fn check_one(
    file: &Path,
    arguments: &CheckArguments,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<(Checked, Exit), Error> {
    let scenario = Arc::new(load(file, console)?);
    if scenario.expect.is_empty() {
        let name = file.display();
        return Err(Error::Usage(format!("{name} has no `expect`: there is nothing to check")));
    }
    // Every variant, as `run` does: times to recovery are cut alike only among all of them.
    let variants = (0..scenario.variants.len()).collect();
    let Some(done) = work(&scenario, variants, &arguments.runs, console, interrupt)? else {
        let exit = interrupt.exit();
        return Ok((
            failed(file, "interrupted before anything could be judged".into(), exit),
            exit,
        ));
    };
    let Done { experiment, summary } = done;
    let judgements = check::check(&scenario, &summary, &experiment);
    if let Some(parent) = &arguments.out {
        let command = format!("stormlab check {}", file.display());
        run::write_under(parent, &scenario, &experiment, &summary, &command)?;
    }
    let exit = match run::exit(console, &scenario, &experiment, interrupt) {
        early if early.is_early() => early,
        other => other.worst(Exit::of(&judgements)),
    };
    let checked = Checked {
        file: file.display().to_string(),
        exit: exit.code(),
        error: None,
        complete: !experiment.interrupted && experiment.limits_hit.is_empty(),
        interrupted: experiment.interrupted,
        judgements,
    };
    Ok((checked, exit))
}

/// A line for the file and one for each expectation.
fn lines(checked: &Checked) -> String {
    let bold = Style::new().bold();
    let mut out = format!("{bold}{}{bold:#}\n", checked.file);
    for judgement in &checked.judgements {
        let (mark, colour) = match judgement.decision {
            Decision::Pass => ('✓', AnsiColor::Green),
            Decision::Fail => ('✗', AnsiColor::Red),
            Decision::Undecided => ('?', AnsiColor::Yellow),
        };
        let style = Style::new().fg_color(Some(colour.into()));
        let Judgement { variant, text, line, .. } = judgement;
        out +=
            &format!("  {style}{mark}{style:#} {variant}: {text}; found {}\n", actual(judgement));
        if judgement.decision != Decision::Pass {
            out += &format!("      line {line}: {}\n", judgement.because);
        }
    }
    if checked.interrupted && checked.error.is_none() {
        let decided = |it: &&Judgement| it.decision != Decision::Undecided;
        let (decided, all) =
            (checked.judgements.iter().filter(decided).count(), checked.judgements.len());
        out += &format!("  interrupted: {decided} of {all} expectations were decided\n");
    }
    out
}

/// What was found, with its interval.
fn actual(judgement: &Judgement) -> String {
    if let Some(finding) = judgement.finding {
        return words::finding(finding).into();
    }
    let Estimate { estimate, low, high } = judgement.measured;
    let share =
        judgement.text.split_whitespace().next().is_some_and(|name| name.ends_with("share"));
    let shown = |value: f64| if share { percent(value) } else { number(value) };
    let value = estimate.map_or("not known".into(), shown);
    match (low, high) {
        (Some(low), Some(high)) => format!("{value} ({} to {})", shown(low), shown(high)),
        (Some(low), None) => format!("{value} (at least {})", shown(low)),
        (None, Some(high)) => format!("{value} (at most {})", shown(high)),
        (None, None) => value,
    }
}
