//! Where jobs are delivered: places in flight, a rate, and the row of failures that suspends.

use std::collections::BTreeSet;
use std::collections::VecDeque;

use crate::engine::jobs::Claimed;
use crate::scenario::model::ClaimOrder;
use crate::scenario::model::DeliveryRate;
use crate::scenario::model::Destinations;
use crate::units::Duration;
use crate::units::SimTime;

/// A destination at run time.
#[derive(Debug, Default)]
pub(in crate::engine) struct Destination {
    /// Executions under way to it, and jobs at rest that hold a place.
    pub(in crate::engine) in_flight: u32,
    /// When the next execution would come if all came evenly (the theoretical arrival time of the
    /// generic cell rate algorithm).
    next_even: SimTime,
    /// An event will tell when the rate allows the next one.
    pub(in crate::engine) is_awaited: bool,
    /// Failures in a row that count.
    pub(in crate::engine) row: u32,
    pub(in crate::engine) is_suspended: bool,
    /// It is to be looked at before anything else happens.
    pub(in crate::engine) is_ready: bool,
    /// Counts suspensions, so that the end of one does not end the next.
    pub(in crate::engine) suspensions: u32,
    /// Jobs in the queue that wait for it: due time, turn, job.
    pub(in crate::engine) parked: BTreeSet<(SimTime, u32, u32)>,
    /// Jobs that wait for it in a worker, with the process.
    pub(in crate::engine) held: VecDeque<(Claimed, u16)>,
}

/// Why a destination lets nobody in just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Parked {
    /// It is suspended.
    Suspended,
    /// All places are taken.
    Full,
    /// The rate allows the next one after this span.
    Rate(Duration),
}

impl Destination {
    /// Lets one in, or says why not.
    pub(in crate::engine) fn enter(
        &mut self,
        now: SimTime,
        settings: &Destinations,
    ) -> Result<(), Parked> {
        if self.is_suspended {
            return Err(Parked::Suspended);
        }
        if settings.in_flight.is_some_and(|limit| self.in_flight >= limit) {
            return Err(Parked::Full);
        }
        if let Some(rate) = settings.rate {
            let wait = self.wait(now, rate);
            if !wait.is_zero() {
                return Err(Parked::Rate(wait));
            }
            self.next_even = self.next_even.max(now) + rate.rate.interval();
        }
        self.in_flight += 1;
        Ok(())
    }

    /// How long until the rate allows another one.
    fn wait(&self, now: SimTime, rate: DeliveryRate) -> Duration {
        let ahead = u64::from(rate.burst - 1).saturating_mul(rate.rate.interval().as_nanos());
        let ahead = Duration::from_nanos(ahead);
        (self.next_even - ahead).since(now)
    }

    /// The next of those that wait in the queue.
    pub(in crate::engine) fn take_parked(&mut self, order: ClaimOrder) -> Option<u32> {
        let next = match order {
            ClaimOrder::OldestDue => self.parked.pop_first(),
            ClaimOrder::NewestDue => self.parked.pop_last(),
        };
        next.map(|(.., job)| job)
    }
}
