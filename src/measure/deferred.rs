//! What became of the deferred results of a service, counted from time 0.

use serde::Serialize;

use crate::engine::observe::Deferral;
use crate::engine::observe::WaitEnd;
use crate::units::Duration;

/// What became of the deferred results of one service: counts over one run, from time 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeferredCounts {
    /// Results written under their keys.
    pub written: u64,
    /// Of these, those that do not keep the contract.
    pub malformed: u64,
    /// Reads that found a result which the caller took for none.
    pub misread: u64,
    /// Results that a read took away while the caller waits on.
    pub destroyed: u64,
    /// Ends of waits, by `WaitEnd as usize`.
    pub ends: [u64; WaitEnd::COUNT],
    /// How long results had been there when waits ended that had one to read, in nanoseconds: the
    /// sum and the largest.
    pub idle_ns: u64,
    /// The largest.
    pub longest_idle_ns: u64,
}

impl DeferredCounts {
    /// Counts something that happens to a result.
    pub(super) fn count(&mut self, what: Deferral) {
        match what {
            Deferral::Written { malformed } => {
                self.written += 1;
                self.malformed += u64::from(malformed);
            }
            Deferral::Misread => self.misread += 1,
            Deferral::Destroyed => self.destroyed += 1,
            Deferral::Ended { why, idle } => {
                self.ends[why as usize] += 1;
                if why != WaitEnd::Unread {
                    self.idle_ns = self.idle_ns.saturating_add(idle.as_nanos());
                    self.longest_idle_ns = self.longest_idle_ns.max(idle.as_nanos());
                }
            }
        }
    }

    /// Waits that ended so.
    pub const fn ended(&self, why: WaitEnd) -> u64 {
        self.ends[why as usize]
    }

    /// Waits that the caller's timer ended.
    pub const fn by_timer(&self) -> u64 {
        self.ended(WaitEnd::Overwritten)
            + self.ended(WaitEnd::RanOut)
            + self.ended(WaitEnd::Vanished)
    }

    /// Waits whose caller was there to the end.
    const fn heard(&self) -> u64 {
        self.ended(WaitEnd::Done)
            + self.ended(WaitEnd::Failed)
            + self.ended(WaitEnd::FalseSuccess)
            + self.by_timer()
    }

    /// The share of waits whose recorded outcome is not the true one: false successes, and timeouts
    /// of jobs that had a result or were lost. `None` before any has ended.
    pub fn mislabelled_share(&self) -> Option<f64> {
        let wrong = self.ended(WaitEnd::FalseSuccess)
            + self.ended(WaitEnd::Overwritten)
            + self.ended(WaitEnd::Vanished);
        let heard = self.heard();
        (heard > 0).then(|| (wrong as f64 / heard as f64).min(1.0))
    }

    /// How long results had been there when their waits ended, on average in seconds: the time for
    /// which a job is shown as running that is over. `None` before any has ended.
    pub fn mean_idle_s(&self) -> Option<f64> {
        let late = self.heard() - self.ended(WaitEnd::RanOut) - self.ended(WaitEnd::Vanished);
        (late > 0).then(|| Duration::from_nanos(self.idle_ns).as_secs_f64() / late as f64)
    }

    /// The longest of these times, in seconds; `None` before any has ended.
    pub fn longest_idle_s(&self) -> Option<f64> {
        self.mean_idle_s().map(|_| Duration::from_nanos(self.longest_idle_ns).as_secs_f64())
    }
}

impl std::iter::Sum for DeferredCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, other| {
            sum.written += other.written;
            sum.malformed += other.malformed;
            sum.misread += other.misread;
            sum.destroyed += other.destroyed;
            for (sum, count) in sum.ends.iter_mut().zip(other.ends) {
                *sum += count;
            }
            sum.idle_ns = sum.idle_ns.saturating_add(other.idle_ns);
            sum.longest_idle_ns = sum.longest_idle_ns.max(other.longest_idle_ns);
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_waits_add_up_to_shares_and_times() {
        let mut counts = DeferredCounts::default();
        assert_eq!((counts.mislabelled_share(), counts.mean_idle_s()), (None, None));
        for (why, idle_s) in [
            (WaitEnd::Done, 1),
            (WaitEnd::Failed, 3),
            (WaitEnd::FalseSuccess, 0),
            (WaitEnd::Overwritten, 7_320),
            (WaitEnd::RanOut, 0),
            (WaitEnd::Vanished, 0),
            (WaitEnd::Unread, 50_000),
        ] {
            counts.count(Deferral::Ended { why, idle: Duration::from_secs(idle_s) });
        }
        // A timeout of a job that still runs is true; nobody is there for one that is unread.
        assert_eq!(counts.mislabelled_share(), Some(3.0 / 6.0));
        assert_eq!(counts.mean_idle_s(), Some(7_324.0 / 4.0));
        assert_eq!(counts.longest_idle_s(), Some(7_320.0));
        assert_eq!(counts.by_timer(), 3);
        let both: DeferredCounts = [counts, counts].into_iter().sum();
        assert_eq!((both.by_timer(), both.longest_idle_s()), (6, Some(7_320.0)));
    }
}
