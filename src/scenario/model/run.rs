//! How a scenario is run and judged, and what ends a run that explodes.

use serde::Serialize;

use crate::units::Duration;
use crate::units::Share;

/// How a scenario is run and judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSettings {
    /// Simulated time after the warm-up, a whole number of windows; time 0 of every moment in the
    /// scenario is the end of the warm-up.
    pub horizon: Duration,
    /// Simulated before time 0 and left out of every measure; a whole number of windows.
    pub warm_up: Duration,
    /// Width of the time series.
    pub window: Duration,
    /// Independent runs.
    pub replications: u32,
    /// The first seed; replication `i` is keyed by `(seed, i)`.
    pub seed: u64,
    /// How recovery is judged.
    pub recovery: RecoverySettings,
    /// What ends a run that explodes.
    pub limits: Limits,
}

/// How recovery is judged (defaults: w = max(5 s, 5 T, 20 windows, 600/λ), hold 3 w, 5 %, 10 w).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecoverySettings {
    /// w: the span over which goodput is averaged; a whole number of windows.
    pub window: Duration,
    /// How long the criterion must hold; a whole number of windows.
    pub hold: Duration,
    /// eps: how far below the baseline still counts as recovered.
    pub tolerance: Share,
    /// B: the span before the first trigger that gives the baseline.
    pub baseline: Duration,
}

/// Limits of one run. Reaching one ends it, keeps what was measured and says which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Requests and attempts in flight (whichever is more).
    pub in_flight: u64,
    /// Jobs at rest in queues.
    pub at_rest: u64,
    /// Events pending.
    pub pending: u64,
    /// Events of the run, at most 4 · 10⁹.
    pub events: u64,
    /// Memory of the engine's own structures, in bytes.
    pub memory_bytes: u64,
    /// Wall time of one run; `None`: without limit.
    pub wall: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 2_000_000,
            at_rest: 50_000_000,
            pending: 20_000_000,
            events: 2_000_000_000,
            memory_bytes: 4 << 30,
            wall: None,
        }
    }
}
