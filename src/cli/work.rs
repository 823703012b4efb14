//! The work of a command: all runs and their summary, away from the thread that hears signals.
//!
//! Runs look at the stop flag themselves and keep what has finished. Summarising many runs takes
//! its time, too, and cannot be cut short; whoever interrupts it is let go, and nothing is written.

use std::sync::Arc;
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::analysis::summarise;
use crate::analysis::summary::Summary;
use crate::cli::Error;
use crate::cli::arguments::Runs;
use crate::cli::console::Console;
use crate::cli::interrupt::Interrupt;
use crate::cli::progress::Shown;
use crate::experiment;
use crate::experiment::Experiment;
use crate::experiment::ExperimentError;
use crate::experiment::Plan;
use crate::scenario::model::Scenario;

/// How long a signal may go unheard.
const LISTEN_EVERY: Duration = Duration::from_millis(50);

/// What came of the work.
pub(super) struct Done {
    /// The runs.
    pub(super) experiment: Experiment,
    /// What they mean.
    pub(super) summary: Summary,
}

/// Runs and summarises, with progress shown. `None` when somebody interrupted and there is nothing
/// to keep; that has been said.
pub(super) fn work(
    scenario: &Arc<Scenario>,
    variants: Vec<usize>,
    runs: &Runs,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<Option<Done>, Error> {
    let plan =
        Plan { variants, replications: runs.replications, seed: runs.seed, threads: runs.threads };
    let progress = Arc::new(Shown::new(runs.quiet));
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::spawn({
        let (scenario, progress) = (Arc::clone(scenario), Arc::clone(&progress));
        let stop = interrupt.shared_flag();
        move || {
            // Nobody listens any more when the work has been given up.
            let _ = sender.send(do_it(&scenario, &plan, &progress, &stop));
        }
    });
    let mut told = false;
    let result = loop {
        match receiver.recv_timeout(LISTEN_EVERY) {
            Ok(result) => break result,
            Err(RecvTimeoutError::Timeout) => {
                if !interrupt.is_raised() || told {
                    continue;
                }
                told = true;
                if progress.all_done() {
                    progress.finish();
                    console.note("interrupted while summarising the runs; nothing was written");
                    return Ok(None);
                }
                console.note("stopping; what has finished is put together, again stops at once");
            }
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("a worker that ends has sent its result"),
            },
        }
    };
    progress.finish();
    let done = result?;
    if done.is_none() {
        console.note("interrupted before any run had finished; nothing was written");
    }
    Ok(done)
}

fn do_it(
    scenario: &Scenario,
    plan: &Plan,
    progress: &Shown,
    stop: &std::sync::atomic::AtomicBool,
) -> Result<Option<Done>, ExperimentError> {
    let experiment = experiment::run(scenario, plan, progress, stop)?;
    if experiment.results.is_empty() {
        return Ok(None);
    }
    let summary = summarise(scenario, &experiment);
    Ok(Some(Done { experiment, summary }))
}
