//! `run`: lengths that fit one another, and limits.

use crate::scenario::defaults;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::file::WrittenRun;
use crate::scenario::model::Limits;
use crate::scenario::model::RecoverySettings;
use crate::scenario::model::RunSettings;
use crate::scenario::reader::Spanned;
use crate::units::Duration;
use crate::units::Share;

/// Simulated time of one run, warm-up included: 50 years. The clock of a run ends at 73.
const LONGEST_RUN: Duration = Duration::from_secs(18_250 * 86_400);
/// Windows of one run: each costs memory in every series.
const MOST_WINDOWS: u64 = 1_000_000;

/// Everything but `recovery`, which depends on the system.
pub(super) fn settings(written: &WrittenRun, problems: &mut Problems) -> RunSettings {
    let window = written.window.map_or(defaults::WINDOW, |window| window.value);
    let horizon = written.horizon.map_or(defaults::HORIZON, |horizon| horizon.value);
    // A default must not contradict a window set by hand: the next whole number of windows.
    let warm_up = match written.warm_up {
        Some(warm_up) => warm_up.value,
        None => whole_windows(defaults::WARM_UP, window),
    };
    let at = |value: Option<Spanned<Duration>>| {
        value.or(written.window).map(|value| value.place).unwrap_or_default()
    };
    check_whole("the horizon", horizon, window, at(written.horizon), problems);
    check_whole("the warm-up", warm_up, window, at(written.warm_up), problems);
    if horizon.saturating_add(warm_up) > LONGEST_RUN {
        problems.push_with(
            at(written.horizon),
            "horizon and warm-up are too long",
            format!("together they may last up to {LONGEST_RUN}"),
        );
    }
    let windows = horizon.saturating_add(warm_up).as_nanos() / window.as_nanos().max(1);
    if windows > MOST_WINDOWS {
        problems.push_with(
            at(written.horizon),
            format!("the run has {windows} windows; {MOST_WINDOWS} are allowed"),
            "widen `window` or shorten `horizon`",
        );
    }
    let limits = Limits::default();
    let written_limits = &written.limits;
    RunSettings {
        horizon,
        warm_up,
        window,
        replications: written.replications.map_or(defaults::REPLICATIONS, |n| n.value),
        seed: written.seed.map_or(defaults::SEED, |seed| seed.value),
        recovery: RecoverySettings {
            window,
            hold: window,
            tolerance: Share::ZERO,
            baseline: window,
        },
        limits: Limits {
            in_flight: written_limits.in_flight.map_or(limits.in_flight, |n| n.value),
            at_rest: written_limits.at_rest.map_or(limits.at_rest, |n| n.value),
            pending: written_limits.pending.map_or(limits.pending, |n| n.value),
            events: written_limits.events.map_or(limits.events, |n| n.value),
            memory_bytes: written_limits.memory.map_or(limits.memory_bytes, |n| n.value),
            wall: written_limits.wall.map(|wall| wall.value),
        },
    }
}

/// `span` rounded up to whole windows.
pub(super) fn whole_windows(span: Duration, window: Duration) -> Duration {
    let window = window.as_nanos().max(1);
    Duration::from_nanos(span.as_nanos().div_ceil(window).saturating_mul(window))
}

/// Notes when `span` is not a whole number of windows.
pub(super) fn check_whole(
    what: &str,
    span: Duration,
    window: Duration,
    place: Place,
    problems: &mut Problems,
) {
    if span.as_nanos().is_multiple_of(window.as_nanos().max(1)) {
        return;
    }
    problems.push_with(
        place,
        format!("{what} of {span} is not a whole number of windows of {window}"),
        format!("{} would do", whole_windows(span, window)),
    );
}
