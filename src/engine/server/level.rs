//! How much is present at a service, now and over time.

use crate::engine::observe::ServiceLevel;
use crate::units::SimTime;

/// How much is present, and its integral over time.
///
/// The integral of a number that grows by `d` at `t` is the sum of `d · (end − t)`, so a level and
/// the sum of `−d · t` say it all. Sums are kept modulo 2⁶⁴, which is exact for differences.
#[derive(Debug, Default)]
pub(super) struct Level {
    present: u32,
    waiting: u32,
    busy: u32,
    /// The sums of `−d · t`, in the order of `counts`.
    moments: [u64; 3],
    /// The integrals at the start of the window.
    at_window: [u64; 3],
}

impl Level {
    #[inline(always)]
    pub(super) fn change(&mut self, now: SimTime, present: i32, waiting: i32, busy: i32) {
        self.present = self.present.wrapping_add_signed(present);
        self.waiting = self.waiting.wrapping_add_signed(waiting);
        self.busy = self.busy.wrapping_add_signed(busy);
        for (moment, change) in self.moments.iter_mut().zip([present, waiting, busy]) {
            *moment = moment.wrapping_sub(now.as_nanos().wrapping_mul(i64::from(change) as u64));
        }
    }

    /// Attempts present, waiting, busy workers.
    pub(super) const fn counts(&self) -> [u32; 3] {
        [self.present, self.waiting, self.busy]
    }

    /// Their integrals since the start.
    pub(super) fn integrals(&self, now: SimTime) -> [u64; 3] {
        let mut integrals = self.moments;
        for (integral, count) in integrals.iter_mut().zip(self.counts()) {
            *integral = integral.wrapping_add(now.as_nanos().wrapping_mul(count.into()));
        }
        integrals
    }

    pub(super) fn end_window(&mut self, now: SimTime, replicas_up: u32) -> ServiceLevel {
        let integrals = self.integrals(now);
        let before = std::mem::replace(&mut self.at_window, integrals);
        let since = |which: usize| integrals[which].wrapping_sub(before[which]);
        ServiceLevel {
            waiting: self.waiting,
            present: self.present,
            busy: self.busy,
            replicas_up,
            present_ns: since(0),
            waiting_ns: since(1),
            busy_ns: since(2),
        }
    }
}
