//! What a breaker counts: outcomes of the last calls, or of the last while.
//!
//! Memory is taken once, when a window is made; counting takes none.
//!
//! Invariant: a window's sums are those of its buckets, or of its ring.
//! Source: Polly 8 (`RollingHealthMetrics`), cockatiel 3.2.1 (`CountBreaker`, `SamplingBreaker`),
//! resilience4j 2 (`FixedSizeSlidingWindowMetrics`, `SlidingTimeWindowMetrics`).

use crate::policy::breaker::config::Divisor;
use crate::policy::breaker::config::Limit;
use crate::policy::breaker::config::Rate;
use crate::policy::breaker::config::Turns;
use crate::policy::breaker::config::WindowKind;
use crate::units::Duration;
use crate::units::Share;
use crate::units::SimTime;

/// How many outcomes, and how many of them failed or were slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) calls: u32,
    pub(super) failures: u32,
    pub(super) slow: u32,
}

/// Outcomes of the last while, or the last so many.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Window {
    Time(Buckets),
    Calls(Ring),
}

/// Outcomes in buckets of time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Buckets {
    buckets: Box<[Bucket]>,
    /// The oldest bucket in use.
    oldest: u32,
    /// How many are in use.
    used: u32,
    /// Over all buckets in use.
    sums: Sums,
    /// The number of the last turn at which the window was judged.
    judged_to: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bucket {
    begins_at: SimTime,
    sums: Sums,
}

/// The last so many outcomes, two bits each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ring {
    failed: Box<[u64]>,
    slow: Box<[u64]>,
    size: u32,
    next: u32,
    sums: Sums,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.failures = self.failures.saturating_add(other.failures);
        self.slow = self.slow.saturating_add(other.slow);
    }

    fn take(&mut self, other: Self) {
        self.calls -= other.calls;
        self.failures -= other.failures;
        self.slow -= other.slow;
    }

    /// Does it open a breaker under `rate`?
    pub(super) fn reach(self, rate: &Rate) -> bool {
        self.calls >= rate.minimum_calls && self.exceed(rate)
    }

    /// The same, whatever the minimum.
    pub(super) fn exceed(self, rate: &Rate) -> bool {
        let failing = match rate.limit {
            Limit::AtLeast(share) => is_share(self.failures, share, self.calls, true),
            Limit::MoreThan(share) => is_share(self.failures, share, self.calls, false),
            Limit::Failures(most) => self.failures >= most,
        };
        failing || rate.slow.is_some_and(|slow| is_share(self.slow, slow.share, self.calls, true))
    }
}

/// Is `part` at least (or else more than) `share` of `whole`?
fn is_share(part: u32, share: Share, whole: u32, or_equal: bool) -> bool {
    const PARTS: f64 = 1e9;
    // In whole parts: 7 of 100 reach 7 %, although 0.07 · 100 is more than 7 in floating point.
    let wanted = (share.get() * PARTS).round() as u64 * u64::from(whole);
    let found = u64::from(part) * PARTS as u64;
    found > wanted || or_equal && found == wanted
}

impl Window {
    /// An empty window.
    pub(super) fn new(kind: WindowKind) -> Self {
        match kind {
            WindowKind::Calls(size) => {
                let words = size.max(1).div_ceil(64) as usize;
                Self::Calls(Ring {
                    failed: vec![0; words].into_boxed_slice(),
                    slow: vec![0; words].into_boxed_slice(),
                    size: size.max(1),
                    next: 0,
                    sums: Sums::default(),
                })
            }
            WindowKind::Time { buckets, .. } => Self::Time(Buckets {
                buckets: vec![Bucket::default(); buckets.max(1) as usize].into_boxed_slice(),
                oldest: 0,
                used: 0,
                sums: Sums::default(),
                judged_to: 0,
            }),
        }
    }

    /// Is it a window of that kind? The settings may have changed while it ran.
    pub(super) fn fits(&self, kind: WindowKind) -> bool {
        match (self, kind) {
            (Self::Calls(ring), WindowKind::Calls(size)) => ring.size == size.max(1),
            (Self::Time(time), WindowKind::Time { buckets, .. }) => {
                time.buckets.len() == buckets.max(1) as usize
            }
            _ => false,
        }
    }

    /// What is in it.
    pub(super) const fn sums(&self) -> Sums {
        match self {
            Self::Time(time) => time.sums,
            Self::Calls(ring) => ring.sums,
        }
    }

    /// An outcome.
    pub(super) fn record(&mut self, rate: &Rate, now: SimTime, failed: bool, slow: bool) {
        let (failures, slow_ones) = (u32::from(failed), u32::from(slow));
        match (self, rate.window) {
            (Self::Time(time), WindowKind::Time { length, turns, .. }) => {
                let calls = u32::from(rate.divisor == Divisor::Outcomes);
                time.add(now, length, turns, Sums { calls, failures, slow: slow_ones });
            }
            (Self::Calls(ring), _) => ring.record(failed, slow),
            (Self::Time(_), WindowKind::Calls(_)) => {}
        }
    }

    /// A call begins or is refused, where these are what shares are taken of.
    pub(super) fn fire(&mut self, rate: &Rate, now: SimTime) {
        if let (Self::Time(time), WindowKind::Time { length, turns, .. }) = (self, rate.window) {
            time.add(now, length, turns, Sums { calls: 1, failures: 0, slow: 0 });
        }
    }

    /// Nothing has happened yet.
    pub(super) fn clear(&mut self) {
        match self {
            Self::Time(time) => (time.used, time.sums) = (0, Sums::default()),
            Self::Calls(ring) => {
                ring.failed.fill(0);
                ring.slow.fill(0);
                (ring.next, ring.sums) = (0, Sums::default());
            }
        }
    }

    /// The first turn up to `now`, not yet judged, at which the whole buckets open a breaker.
    pub(super) fn judge_turns(&mut self, rate: &Rate, now: SimTime) -> Option<SimTime> {
        let (Self::Time(time), WindowKind::Time { length, .. }) = (self, rate.window) else {
            return None;
        };
        let step = time.step(length);
        let last = now.as_nanos() / step;
        while time.judged_to < last {
            if time.used == 0 {
                time.judged_to = last; // An empty window opens nothing.
                return None;
            }
            time.judged_to += 1;
            let turn = SimTime::from_nanos(time.judged_to * step);
            // A bucket is in the window as long as it ended at most a whole window ago.
            time.drop_before(turn.as_nanos().saturating_sub(step * time.buckets.len() as u64));
            if time.sums.reach(rate) && turn.since(SimTime::ZERO) >= rate.warm_up {
                return Some(turn);
            }
        }
        None
    }

    /// Turns before `now` are not judged any more.
    pub(super) fn skip_turns(&mut self, rate: &Rate, now: SimTime) {
        if let (Self::Time(time), WindowKind::Time { length, .. }) = (self, rate.window) {
            time.judged_to = time.judged_to.max(now.as_nanos() / time.step(length));
        }
    }
}

impl Buckets {
    /// The length of a bucket, rounded up so that no more than all of them begin within a window.
    fn step(&self, length: Duration) -> u64 {
        length.as_nanos().div_ceil(self.buckets.len() as u64).max(1)
    }

    fn len(&self) -> u32 {
        self.buckets.len() as u32
    }

    /// Adds to the bucket of `now`, and drops what has left the window.
    fn add(&mut self, now: SimTime, length: Duration, turns: Turns, what: Sums) {
        let step = self.step(length);
        let begins_at = match turns {
            Turns::OnTheClock => SimTime::from_nanos(now.as_nanos() / step * step),
            Turns::Lazily | Turns::WithOutcomes => now,
        };
        match turns {
            Turns::Lazily => {
                while self.used > 0 && now.since(self.at(0).begins_at) >= length {
                    self.drop_oldest();
                }
            }
            Turns::OnTheClock => {
                let whole = step * u64::from(self.len() - 1);
                self.drop_before(begins_at.as_nanos().saturating_sub(whole));
            }
            Turns::WithOutcomes => {}
        }
        let newest = self.used.wrapping_sub(1);
        let goes_on = self.used > 0 && now.since(self.at(newest).begins_at).as_nanos() < step;
        if !goes_on {
            if self.used == self.len() {
                self.drop_oldest(); // With outcomes; else only after the window was made longer.
            }
            let place = self.place(self.used);
            self.buckets[place] = Bucket { begins_at, sums: Sums::default() };
            self.used += 1;
        }
        let place = self.place(self.used - 1);
        self.buckets[place].sums.add(what);
        self.sums.add(what);
    }

    /// The index of the `nth` bucket in use, from the oldest.
    fn place(&self, nth: u32) -> usize {
        let at = self.oldest as usize + nth as usize;
        if at >= self.buckets.len() { at - self.buckets.len() } else { at }
    }

    fn at(&self, nth: u32) -> &Bucket {
        &self.buckets[self.place(nth)]
    }

    /// Drops the buckets that began before that moment.
    fn drop_before(&mut self, nanos: u64) {
        while self.used > 0 && self.at(0).begins_at.as_nanos() < nanos {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let sums = self.at(0).sums;
        self.sums.take(sums);
        self.oldest = self.place(1) as u32;
        self.used -= 1;
    }
}

impl Ring {
    fn record(&mut self, failed: bool, slow: bool) {
        let (word, bit) = (self.next as usize / 64, 1u64 << (self.next % 64));
        if self.sums.calls == self.size {
            self.sums.failures -= u32::from(self.failed[word] & bit != 0);
            self.sums.slow -= u32::from(self.slow[word] & bit != 0);
        } else {
            self.sums.calls += 1;
        }
        put(&mut self.failed[word], bit, failed);
        put(&mut self.slow[word], bit, slow);
        self.sums.failures += u32::from(failed);
        self.sums.slow += u32::from(slow);
        self.next = if self.next + 1 == self.size { 0 } else { self.next + 1 };
    }
}

fn put(word: &mut u64, bit: u64, value: bool) {
    *word = if value { *word | bit } else { *word & !bit };
}
