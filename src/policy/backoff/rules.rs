//! In what libraries differ when growth, cap and jitter are the same.

use serde::Serialize;

use super::Backoff;
use super::part;
use crate::policy::outcome::ClassSet;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::SECOND;

/// In what a back-off differs from the plain reading of its growth, cap and jitter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rules {
    /// Which comes first, cap or jitter. Kinds of jitter that remember have their own order, but
    /// for `Compounded`.
    pub order: CapOrder,
    /// Does the sequence end where the window passes the cap? See [`Backoff::most_retries`].
    pub cap_ends: bool,
    /// What the first wait has of its own.
    pub first: First,
    /// The shortest wait, after jitter and cap (Stripe's clients).
    pub floor: Duration,
    /// Whole units, last of all.
    pub rounding: Rounding,
    /// Whole units of what is drawn.
    pub grain: Grain,
    /// What kinds that remember take with them.
    pub recall: Recall,
    /// Other back-offs after failures of certain classes: the first that holds the class.
    pub by_class: Vec<(ClassSet, Backoff)>,
    /// A known fault: from that retry on there is no wait at all, as where a product overflows, or
    /// turns negative and is skipped.
    pub overflows_at: Option<u32>,
}

impl Rules {
    /// Nothing is different.
    pub const PLAIN: Self = Self {
        order: CapOrder::CapThenJitter,
        cap_ends: false,
        first: First::Alike,
        floor: Duration::ZERO,
        rounding: Rounding::None,
        grain: Grain::Fine,
        recall: Recall::Capped,
        by_class: Vec::new(),
        overflows_at: None,
    };
}

/// Which comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CapOrder {
    /// The window is capped; jitter may go beyond the cap (gRPC, cenkalti, backon, AWS).
    CapThenJitter,
    /// The wait is capped, so that waits pile up on the cap (Polly, resilience4j, tenacity, EF
    /// Core, retry).
    JitterThenCap,
}

/// What the first wait has of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum First {
    /// Nothing: it is as the others.
    Alike,
    /// It is exactly this (urllib3, httpx and SqlClient: nothing).
    Fixed(Duration),
    /// No cap bounds it (grpc-js; backon).
    Uncapped,
    /// No jitter is laid over it (Finagle's equal jitter).
    Unjittered,
}

/// Whole units of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// As it is.
    None,
    /// What is over is cut (cockatiel, the AWS SDK for JavaScript, BullMQ: milliseconds).
    Down(Duration),
    /// To the nearest, halves up (BullMQ without jitter).
    Nearest(Duration),
}

impl Rounding {
    /// A wait in whole units.
    pub(super) fn of(self, wait: Duration) -> Duration {
        let (unit, added) = match self {
            Self::None => return wait,
            Self::Down(unit) => (unit.as_nanos().max(1), 0),
            Self::Nearest(unit) => (unit.as_nanos().max(1), unit.as_nanos() / 2),
        };
        let nanos = wait.as_nanos().saturating_add(added);
        Duration::from_nanos(nanos - nanos % unit)
    }
}

/// Whole units of what is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grain {
    /// `U[0, width)`.
    Fine,
    /// `U{0, 1, … , width − 1}` units (Envoy, Sidekiq, ChokaQ's storage).
    Whole(Duration),
    /// `U{0, 1, … , width}` units, the end among them (Celery, Google's resumable media).
    WholeWithEnd(Duration),
    /// `U[0, width + 1 unit)`, to be cut to whole units with the wait (resilience4j).
    OneMore(Duration),
    /// A known fault: whole seconds and the rest are drawn apart and each cut, so that a width
    /// of one second gives nothing (tower 0.5.3).
    SecondsApart,
}

impl Grain {
    /// What is drawn of a width.
    pub(super) fn part(self, width: Duration, draw: Draw) -> Duration {
        match self {
            Self::Fine => part(width, draw),
            Self::Whole(unit) => {
                let unit = unit.as_nanos().max(1);
                // Cut before the unit is multiplied in, so that nothing is lost on the way.
                let cells = width.as_nanos() as f64 / unit as f64 * draw.get();
                Duration::from_nanos((cells as u64).saturating_mul(unit)).min(width)
            }
            Self::WholeWithEnd(unit) => {
                let unit = unit.as_nanos().max(1);
                let cells = ((width.as_nanos() / unit) as f64 + 1.0) * draw.get();
                Duration::from_nanos((cells as u64).saturating_mul(unit)).min(width)
            }
            Self::OneMore(unit) => part(width.saturating_add(unit), draw),
            Self::SecondsApart => Self::apart(width, draw.get()),
        }
    }

    /// Whole seconds and the rest of a span, each multiplied and cut.
    pub(super) fn apart(span: Duration, factor: f64) -> Duration {
        let (seconds, rest) = (span.as_nanos() / SECOND, span.as_nanos() % SECOND);
        let seconds = (seconds as f64 * factor) as u64;
        let rest = (rest as f64 * factor) as u64;
        Duration::from_nanos(seconds.saturating_mul(SECOND).saturating_add(rest))
    }

    /// The most that can be drawn of a width, and may not quite be reached.
    pub(super) fn most(self, width: Duration) -> Duration {
        match self {
            Self::Fine | Self::SecondsApart => width,
            Self::Whole(unit) => {
                let unit = unit.as_nanos().max(1);
                Duration::from_nanos(width.as_nanos().div_ceil(unit).saturating_sub(1) * unit)
            }
            Self::WholeWithEnd(unit) => {
                let unit = unit.as_nanos().max(1);
                Duration::from_nanos(width.as_nanos() / unit * unit)
            }
            Self::OneMore(unit) => width.saturating_add(unit),
        }
    }
}

/// What kinds of jitter that remember take with them to the next wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recall {
    /// The wait as the cap left it (the AWS article).
    Capped,
    /// The wait before the cap: the sequence goes on growing unseen.
    Uncapped,
}
