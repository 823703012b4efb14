//! Conservation laws, checked at the end of every run, in every build.
//!
//! The counters here are kept apart from the measures: a bug that hides in one shows in the
//! other. A broken law is a bug of ours, never a warning.
//!
//! Source: the invariants that hold for any open or closed network of queues; Little's law as an
//! identity of integers.

use crate::engine::calendar::Counts;

/// What a run counts for its audit.
#[derive(Debug, Default)]
pub(super) struct Audit {
    /// Requests born, shed ones included.
    pub(super) born: u64,
    /// Requests ended, shed ones included.
    pub(super) ended: u64,
    /// Attempts sent, lost ones included.
    pub(super) sent: u64,
    /// Attempts lost on the way.
    pub(super) lost: u64,
    /// Failures that a retry layer heard of.
    pub(super) failures: u64,
    /// Retries granted.
    pub(super) granted: u64,
    /// Retries sent on their way.
    pub(super) retried: u64,
    /// Back-offs cut short because the call ended otherwise.
    pub(super) cut_short: u64,
}

/// What happened at one service.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServiceAudit {
    /// Turned away on arrival.
    pub(super) refused: u64,
    /// Let in.
    pub(super) admitted: u64,
    /// Answered by the handler.
    pub(super) answered: u64,
    /// Ended inside without an answer of the handler.
    pub(super) removed: u64,
    /// Effects of writes; of these the first of a request and a call, and the others.
    pub(super) effects: u64,
    pub(super) first_effects: u64,
    pub(super) duplicate_effects: u64,
    /// Nanoseconds that attempts waited for a worker, those over, modulo 2⁶⁴.
    pub(super) waited: u64,
    /// Nanoseconds that attempts were present, those over, modulo 2⁶⁴.
    pub(super) stayed: u64,
}

/// What is left at the end of a run, counted from the records themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct Left {
    pub(super) requests: u64,
    pub(super) travelling: u64,
    pub(super) backing_off: u64,
    /// The integral of the calls in back-off and the sum of their stays, both modulo 2⁶⁴.
    pub(super) back_off_integral: u64,
    pub(super) back_off_stays: u64,
    /// Places among the retries under way: taken, and held by calls.
    pub(super) retry_places: [u64; 2],
    /// Places that calls and abandoned attempts hold, and calls in a line, by their own records.
    pub(super) places: [u64; 2],
    /// The same by the counts of the bulkheads.
    pub(super) bulkheads: [u64; 2],
    /// What the ledgers of effects say: name of the law, and its sides.
    pub(super) ledgers: [(&'static str, u64, u64); 2],
    /// What the queues of jobs say.
    pub(super) jobs: Vec<(&'static str, u64, u64)>,
    /// Deferred results that wait to be read: by what was written and what has ended, and by the
    /// attempts.
    pub(super) results: [u64; 2],
    pub(super) services: Vec<ServiceLeft>,
    pub(super) calendar: Counts,
    pub(super) pending: u64,
}

/// What happened and what is left at one service.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServiceLeft {
    pub(super) counted: ServiceAudit,
    pub(super) present: u64,
    /// Nanoseconds those present have stayed, modulo 2⁶⁴.
    pub(super) staying: u64,
    /// Nanoseconds those waiting have waited, modulo 2⁶⁴.
    pub(super) waiting: u64,
    /// The server's own integrals: present, waiting, modulo 2⁶⁴.
    pub(super) integrals: [u64; 2],
    /// The server's levels agree with its replicas, within their bounds.
    pub(super) sound: bool,
}

impl Audit {
    /// Checks every law against what is left.
    ///
    /// # Errors
    /// The first law that does not hold, with both sides.
    pub(super) fn close(&self, left: &Left) -> Result<(), String> {
        let law = |name: &str, one: i128, other: i128| {
            if one == other { Ok(()) } else { Err(format!("{name}: {one} against {other}")) }
        };
        let reached: u64 = left
            .services
            .iter()
            .map(|service| service.counted.refused + service.counted.admitted)
            .sum();
        let int = |count: u64| i128::from(count);
        law("requests born = ended + open", int(self.born), int(self.ended + left.requests))?;
        law(
            "attempts sent = lost + travelling + refused + admitted",
            int(self.sent),
            int(self.lost + left.travelling + reached),
        )?;
        law(
            "retries granted = sent + cut short + waiting",
            int(self.granted),
            int(self.retried + self.cut_short + left.backing_off),
        )?;
        let [taken, held] = left.retry_places;
        law("places of retries taken = held", int(taken), int(held))?;
        if self.granted > self.failures {
            return Err(format!("{} retries for {} failures", self.granted, self.failures));
        }
        law("places in bulkheads", int(left.bulkheads[0]), int(left.places[0]))?;
        law("calls in a bulkhead's line", int(left.bulkheads[1]), int(left.places[1]))?;
        law(
            "results written = read to the end + overwritten + unread + waiting",
            int(left.results[0]),
            int(left.results[1]),
        )?;
        let counts = left.calendar;
        law(
            "events scheduled = taken + beyond the end + pending",
            int(counts.pushed),
            int(counts.popped + counts.taken_back + counts.beyond + left.pending),
        )?;
        for (name, one, other) in left.jobs.iter().copied().chain(left.ledgers) {
            law(name, int(one), int(other))?;
        }
        law("Little's law, back-off", left.back_off_integral.into(), left.back_off_stays.into())?;
        for (index, left) in left.services.iter().enumerate() {
            let service = left.counted;
            let law = |name: &str, one: u64, other: u64| {
                if one == other {
                    Ok(())
                } else {
                    Err(format!("service {index}: {name}: {one} against {other}"))
                }
            };
            law(
                "admitted = answered + removed + present",
                service.admitted,
                service.answered + service.removed + left.present,
            )?;
            law(
                "effects = first + duplicate",
                service.effects,
                service.first_effects + service.duplicate_effects,
            )?;
            let stays = service.stayed.wrapping_add(left.staying);
            law("Little's law, present", left.integrals[0], stays)?;
            let waits = service.waited.wrapping_add(left.waiting);
            law("Little's law, waiting", left.integrals[1], waits)?;
            law("levels within bounds", 1, u64::from(left.sound))?;
        }
        Ok(())
    }
}
