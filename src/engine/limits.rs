//! What ends a run that explodes.

use crate::engine::calendar::Calendar;
use crate::engine::event::MAX_SLOTS;
use crate::engine::observe::LimitKind;
use crate::scenario::model::Limits;
use crate::units::Duration;

/// Watches the limits of one run; looked at every few thousand events.
pub(super) struct Watch {
    wall: Option<(std::time::Instant, Duration)>,
}

impl Watch {
    #[expect(clippy::disallowed_methods, reason = "a limit on wall time needs the wall clock")]
    pub(super) fn start(limits: &Limits) -> Self {
        Self { wall: limits.wall.map(|span| (std::time::Instant::now(), span)) }
    }

    /// The limit that has been reached, if any.
    pub(super) fn look(
        &self,
        limits: &Limits,
        in_flight: usize,
        at_rest: u64,
        calendar: &Calendar,
        events: u64,
        bytes: impl FnOnce() -> usize,
    ) -> Option<LimitKind> {
        if in_flight as u64 > limits.in_flight || in_flight >= MAX_SLOTS {
            return Some(LimitKind::InFlight);
        }
        if at_rest > limits.at_rest {
            return Some(LimitKind::AtRest);
        }
        if calendar.pending() as u64 > limits.pending {
            return Some(LimitKind::Pending);
        }
        // The sequence numbers of the calendar run out a little after four thousand million.
        if events > limits.events || calendar.sequences_left() < 1 << 24 {
            return Some(LimitKind::Events);
        }
        if bytes() as u64 > limits.memory_bytes {
            return Some(LimitKind::Memory);
        }
        match self.wall {
            Some((start, span)) if start.elapsed().as_nanos() > u128::from(span.as_nanos()) => {
                Some(LimitKind::Wall)
            }
            _ => None,
        }
    }
}
