//! Two counts over a sliding window, in thirty slots that end at multiples of their length.
//!
//! Invariant: the sums are those of the slots, and nothing older than the window is among them.

use crate::units::Duration;
use crate::units::SimTime;

/// The window slides in so many steps: one second each for Envoy's thirty.
const SLOTS: usize = 30;

/// Two counts, each with what the last window holds of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::policy) struct Tally {
    slots: [[u32; 2]; SLOTS],
    sums: [u64; 2],
    /// The number of the slot that is being filled, counted from the start of the run.
    epoch: u64,
}

impl Tally {
    pub(in crate::policy) const NEW: Self = Self { slots: [[0; 2]; SLOTS], sums: [0; 2], epoch: 0 };

    /// Adds to each count.
    #[inline]
    pub(in crate::policy) fn add(&mut self, window: Duration, now: SimTime, counts: [u32; 2]) {
        self.advance(window, now);
        let slot = &mut self.slots[(self.epoch % SLOTS as u64) as usize];
        for ((kept, sum), count) in slot.iter_mut().zip(&mut self.sums).zip(counts) {
            // What does not fit is not in the sum either.
            let room = count.min(u32::MAX - *kept);
            *kept += room;
            *sum += u64::from(room);
        }
    }

    /// What the window that ends now holds of each.
    #[inline]
    pub(in crate::policy) fn sums(&mut self, window: Duration, now: SimTime) -> [u64; 2] {
        self.advance(window, now);
        self.sums
    }

    #[inline]
    fn advance(&mut self, window: Duration, now: SimTime) {
        if window == Duration::MAX {
            return;
        }
        let epoch = now.as_nanos() / (window.as_nanos() / SLOTS as u64).max(1);
        if epoch > self.epoch {
            self.expire(epoch);
        }
    }

    fn expire(&mut self, epoch: u64) {
        for gone in 1..=(epoch - self.epoch).min(SLOTS as u64) {
            let slot = &mut self.slots[((self.epoch + gone) % SLOTS as u64) as usize];
            let old = std::mem::take(slot);
            for (sum, count) in self.sums.iter_mut().zip(old) {
                *sum -= u64::from(count);
            }
        }
        self.epoch = epoch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        /// Against a list of everything ever added.
        #[test]
        fn the_sums_are_those_of_the_window(
            steps in vec((0u64..90_000, 0u32..4, 0u32..4), 1..300),
        ) {
            let window = Duration::from_nanos(300_000);
            let mut tally = Tally::NEW;
            let mut all = Vec::new();
            let mut now = 0;
            for (pause, one, other) in steps {
                now += pause;
                tally.add(window, SimTime::from_nanos(now), [one, other]);
                all.push((now / 10_000, one, other));
                let live = all.iter().filter(|(slot, ..)| slot + 30 > now / 10_000);
                let sums = live.fold([0, 0], |sums, (_, one, other)| {
                    [sums[0] + u64::from(*one), sums[1] + u64::from(*other)]
                });
                prop_assert_eq!(tally.sums(window, SimTime::from_nanos(now)), sums);
            }
        }
    }

    #[test]
    fn for_ever_is_a_window_too() {
        let mut tally = Tally::NEW;
        tally.add(Duration::MAX, SimTime::ZERO, [1, 0]);
        tally.add(Duration::MAX, SimTime::from_nanos(u64::MAX), [1, 1]);
        assert_eq!(tally.sums(Duration::MAX, SimTime::NEVER), [2, 1]);
    }
}
