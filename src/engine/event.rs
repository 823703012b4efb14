//! Everything that can happen, in the order a request meets it.
//!
//! An event is sixteen bytes: when, of which class, the how-manieth to be scheduled, what, and
//! whom it is about. Comparing the number as a whole is rule R13: at one instant completions come
//! before removals and timeouts, these before retries, these before arrivals, and within a class
//! the event scheduled first. (Control, which comes before all of them, is not in the calendar:
//! see `trigger.rs`.)
//!
//! ```text
//!  127            67 66  64 63        32 31   28 27          0
//! | time in ns (61) | class | sequence  | kind  | slot        |
//! ```

/// Entities of one kind that a run can hold at once.
pub(super) const MAX_SLOTS: usize = 1 << SLOT_BITS;
/// The last moment that an event can carry, about 73 years.
pub(super) const MAX_TIME: u64 = (1 << 61) - 1;

const SLOT_BITS: u32 = 28;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Classes of events in the calendar (control is apart).
pub(super) const CLASSES: usize = 4;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A population bears its next request (slot: population).
    Birth,
    /// A closed-loop user has thought (slot: client).
    UserWakes,
    /// An attempt reaches the replica it was sent to (slot: attempt).
    AttemptArrives,
    /// A worker ends its own work on an attempt (slot: attempt).
    WorkEnds,
    /// A reply reaches its caller (slot: attempt).
    ReplyArrives,
    /// The time of an attempt has run out (slot: call).
    AttemptTimesOut,
    /// The time of a call has run out (slot: call).
    CallTimesOut,
    /// The word that a caller left reaches the server (slot: attempt).
    CancelArrives,
    /// A back-off is over (slot: call).
    RetryDue,
    /// A call has waited long enough for a place in a bulkhead (slot: call).
    PatienceEnds,
    /// It is time for another attempt beside those that are out (slot: call).
    HedgeDue,
    /// A process looks for due jobs (slot: process, of all queues).
    ProcessLooks,
    /// The lease of a claimed job ends (slot: job).
    LeaseEnds,
    /// The rate of a destination allows another execution (slot: destination).
    RateAllows,
    /// A caller is told of its result, or looks for it (slot: attempt).
    ReadDue,
}

impl Kind {
    #[cfg(test)]
    const ALL: [Self; 15] = [
        Self::Birth,
        Self::UserWakes,
        Self::AttemptArrives,
        Self::WorkEnds,
        Self::ReplyArrives,
        Self::AttemptTimesOut,
        Self::CallTimesOut,
        Self::CancelArrives,
        Self::RetryDue,
        Self::PatienceEnds,
        Self::HedgeDue,
        Self::ProcessLooks,
        Self::LeaseEnds,
        Self::RateAllows,
        Self::ReadDue,
    ];

    /// The class that decides between events of one instant, from 0.
    pub(super) const fn class(self) -> u8 {
        match self {
            Self::WorkEnds | Self::ReplyArrives | Self::ReadDue => 0,
            Self::AttemptTimesOut
            | Self::CallTimesOut
            | Self::CancelArrives
            | Self::PatienceEnds
            | Self::LeaseEnds => 1,
            Self::RetryDue | Self::HedgeDue | Self::RateAllows => 2,
            Self::Birth | Self::UserWakes | Self::AttemptArrives | Self::ProcessLooks => 3,
        }
    }
}

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event(u128);

impl Event {
    /// Later than every event.
    pub(super) const NONE: Self = Self(u128::MAX);

    #[inline(always)]
    pub(super) const fn new(at: u64, kind: Kind, sequence: u32, slot: u32) -> Self {
        Self::packed(at, kind.class(), sequence, (kind as u32) << SLOT_BITS | slot)
    }

    #[inline(always)]
    pub(super) const fn packed(at: u64, class: u8, sequence: u32, payload: u32) -> Self {
        let high = at << 3 | class as u64;
        Self((high as u128) << 64 | (sequence as u128) << 32 | payload as u128)
    }

    /// Does this event come before `other`, which was scheduled earlier? Then the sequence cannot
    /// be why: time and class decide.
    #[inline(always)]
    pub(super) const fn overtakes(self, other: Self) -> bool {
        ((self.0 >> 64) as u64) < (other.0 >> 64) as u64
    }

    /// Nanoseconds since the start of the run.
    #[inline(always)]
    pub(super) const fn nanos(self) -> u64 {
        (self.0 >> 67) as u64
    }

    #[inline(always)]
    pub(super) const fn sequence(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline(always)]
    pub(super) const fn payload(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    pub(super) const fn kind(self) -> Kind {
        match self.payload() >> SLOT_BITS {
            0 => Kind::Birth,
            1 => Kind::UserWakes,
            2 => Kind::AttemptArrives,
            3 => Kind::WorkEnds,
            4 => Kind::ReplyArrives,
            5 => Kind::AttemptTimesOut,
            6 => Kind::CallTimesOut,
            7 => Kind::CancelArrives,
            8 => Kind::RetryDue,
            9 => Kind::PatienceEnds,
            10 => Kind::HedgeDue,
            11 => Kind::ProcessLooks,
            12 => Kind::LeaseEnds,
            13 => Kind::RateAllows,
            14 => Kind::ReadDue,
            _ => unreachable!(), // Retries are common: they go through the one jump of the match.
        }
    }

    #[inline(always)]
    pub(super) const fn slot(self) -> u32 {
        self.payload() & SLOT_MASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_instant_are_ordered_by_class_then_as_scheduled() {
        let order = [
            Event::new(7, Kind::WorkEnds, 9, 0),
            Event::new(7, Kind::AttemptTimesOut, 3, 5),
            Event::new(7, Kind::RetryDue, 2, 1),
            Event::new(7, Kind::AttemptArrives, 1, 8),
            Event::new(7, Kind::Birth, 4, 0),
            Event::new(8, Kind::WorkEnds, 0, 0),
        ];
        assert!(order.is_sorted());
    }

    #[test]
    fn an_event_gives_back_what_was_put_in() {
        for kind in Kind::ALL {
            let event = Event::new(MAX_TIME, kind, u32::MAX, SLOT_MASK);
            assert_eq!(
                (event.nanos(), event.kind(), event.sequence(), event.slot()),
                (MAX_TIME, kind, u32::MAX, SLOT_MASK)
            );
        }
    }
}
