//! `run: recovery`: the yardstick of recovery, from the system where it is not set by hand.
//!
//! Source: docs/model.md, "Judging a run".

use crate::policy::composition::AttemptTree;
use crate::policy::stack::Policy;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Problems;
use crate::scenario::file::WrittenRecovery;
use crate::scenario::model::RecoverySettings;
use crate::scenario::model::RunSettings;
use crate::scenario::reader::Spanned;
use crate::scenario::scalar::LONGEST;
use crate::scenario::validate::run::check_whole;
use crate::scenario::validate::run::whole_windows;
use crate::scenario::validate::system::System;
use crate::units::Duration;
use crate::units::Share;

/// Above this the counting noise of a window hides what it should show.
const MOST_NOISE: f64 = 0.2;
/// A recovery window covers at least so many windows of the series.
const LEAST_WINDOWS: u64 = 3;

pub(super) fn settings(
    written: &WrittenRecovery,
    run: &RunSettings,
    system: &System,
    first_trigger: Option<Spanned<Duration>>,
    problems: &mut Problems,
) -> RecoverySettings {
    let until = first_trigger.map_or(run.horizon, |at| at.value);
    // λ, in births per second.
    let births: f64 = system.populations.iter().map(|it| it.mean_rate(run.warm_up, until)).sum();
    let window = match written.window {
        Some(window) => {
            check_window(window, run, births, problems);
            window.value
        }
        None => default_window(run, system, births, first_trigger.is_some()),
    };
    let times = |n: u32| Duration::from_nanos(window.as_nanos().saturating_mul(n.into()));
    let hold = match written.hold {
        Some(hold) => {
            check_whole("the hold", hold.value, run.window, hold.place, problems);
            hold.value
        }
        None => times(defaults::HOLD_WINDOWS),
    };
    let least = times(defaults::BASELINE_WINDOWS_LEAST);
    let baseline = match written.baseline {
        Some(baseline) => {
            if baseline.value < least {
                problems.push_with(
                    baseline.place,
                    format!(
                        "a baseline of {} is shorter than three recovery windows of {window}",
                        baseline.value
                    ),
                    format!("{least} or more would do"),
                );
            } else if let Some(at) = first_trigger
                && baseline.value > at.value
            {
                problems.push_with(
                    at.place,
                    format!(
                        "the baseline of {} does not fit before the first trigger",
                        baseline.value
                    ),
                    format!("a first trigger at {} or later would do", baseline.value),
                );
            }
            baseline.value
        }
        None => {
            if let Some(at) = first_trigger
                && at.value < least
            {
                problems.push_with(
                    at.place,
                    format!(
                        "recovery is judged against a baseline of at least three recovery windows \
                         of {window}, and before this trigger there is only {}",
                        at.value
                    ),
                    format!(
                        "`at: {least}` or later would do, or a shorter `run: recovery: window`"
                    ),
                );
            }
            times(defaults::BASELINE_WINDOWS).min(until)
        }
    };
    let tolerance = match written.tolerance {
        Some(tolerance) => {
            if tolerance.value.get() > MOST_NOISE {
                problems.push_with(
                    tolerance.place,
                    format!("with a tolerance of {} a storm passes for recovery", tolerance.value),
                    "accepted are 0% to 20%",
                );
            }
            tolerance.value
        }
        None => Share::new(defaults::TOLERANCE).unwrap_or_default(),
    };
    RecoverySettings { window, hold, tolerance, baseline }
}

/// w = max(5 s, 5 T, 20 windows, 600/λ, 20 looks of a queue, 5 polls), in whole windows.
fn default_window(run: &RunSettings, system: &System, births: f64, triggered: bool) -> Duration {
    let times =
        |span: Duration, n: u32| Duration::from_nanos(span.as_nanos().saturating_mul(n.into()));
    let for_births = if births > 0.0 {
        Duration::from_secs_f64(defaults::RECOVERY_WINDOW_BIRTHS / births)
    } else {
        Duration::ZERO
    };
    let window = defaults::RECOVERY_WINDOW_LEAST
        .max(times(longest_attempt(system), defaults::RECOVERY_WINDOW_TIMEOUTS))
        .max(times(run.window, defaults::RECOVERY_WINDOW_WINDOWS))
        .max(for_births)
        .max(times(longest_look(system), defaults::RECOVERY_WINDOW_WINDOWS))
        .max(times(longest_poll(system), defaults::RECOVERY_WINDOW_TIMEOUTS))
        .min(LONGEST);
    let window = whole_windows(window, run.window);
    // Without a trigger nothing is refused, so the window must fit into the run by itself.
    if triggered { window } else { window.min(whole_windows(run.horizon, run.window)) }
}

/// T: the longest attempt timeout (its mean, where it is drawn) of a policy in use that makes more
/// than one attempt, or of one inside it.
fn longest_attempt(system: &System) -> Duration {
    system
        .edges
        .iter()
        .map(|edge| &system.policies[edge.policy])
        .filter(|policy| AttemptTree::of(policy).most_attempts() != Some(1))
        .flat_map(Policy::nested)
        .filter_map(|policy| policy.attempt_timeout.as_ref())
        .map(|timeout| timeout.after.mean())
        .max()
        .unwrap_or(Duration::ZERO)
}

/// How far apart the processes of a queue look for jobs, whose answers come together then.
fn longest_look(system: &System) -> Duration {
    let used = system.populations.iter().filter_map(|population| population.queue);
    let looks = used.filter_map(|queue| system.queues.get(queue)).map(|queue| queue.claim.every);
    looks.max().unwrap_or(Duration::ZERO)
}

/// How far apart callers look for results that come later.
fn longest_poll(system: &System) -> Duration {
    let deferred = system.edges.iter().filter_map(|edge| edge.deferred.as_ref());
    deferred.filter_map(|deferred| deferred.poll).max().unwrap_or(Duration::ZERO)
}

fn check_window(
    window: Spanned<Duration>,
    run: &RunSettings,
    births: f64,
    problems: &mut Problems,
) {
    check_whole("the recovery window", window.value, run.window, window.place, problems);
    let least = Duration::from_nanos(run.window.as_nanos().saturating_mul(LEAST_WINDOWS));
    if window.value < least {
        problems.push_with(
            window.place,
            format!(
                "a recovery window of {} covers fewer than three windows of {}",
                window.value, run.window
            ),
            format!("{least} or more would do"),
        );
    }
    // 3 √(2/n) above 20 %: fewer than 450 births.
    let births_needed = 2.0 * (3.0 / MOST_NOISE) * (3.0 / MOST_NOISE);
    let expected = births * window.value.as_secs_f64();
    if births > 0.0 && expected < births_needed {
        let enough = whole_windows(Duration::from_secs_f64(births_needed / births), run.window);
        problems.push_with(
            window.place,
            format!("a recovery window of {} expects only {expected:.0} requests: too few to tell a relapse from noise", window.value),
            format!("{enough} or more would do"),
        );
    }
}
