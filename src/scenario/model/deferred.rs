//! Replies that come later: how a service tells of its results, and how its caller reads them.

use serde::Serialize;

use crate::policy::deferred::Consumer;
use crate::policy::deferred::FailedRead;
use crate::policy::deferred::Fault;
use crate::policy::deferred::ReadKind;
use crate::random::Distribution;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::Share;

/// The attempts of a call are submits: what the service has to say it writes under a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deferred {
    /// The word that a result is there; `None`: there is none. This or `poll` is there.
    pub notification: Option<Notification>,
    /// The caller reads every so often, counted from when its submit was taken; `None`: it does
    /// not.
    pub poll: Option<Duration>,
    /// How it reads.
    pub read: ReadKind,
    /// Reads that fail on their way.
    pub read_errors: Option<ReadErrors>,
    /// What it makes of what it reads.
    pub consumer: Consumer,
    /// Replies that do not keep the contract.
    pub malformed: Malformed,
    /// What a reply that says *failed* tells of the failure.
    pub failures: Told,
}

/// The word that a result is there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notification {
    /// How long it is on its way.
    pub latency: Distribution,
    /// The share that never arrives.
    pub loss: Share,
}

/// Reads that fail on their way to the store or back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReadErrors {
    /// How many of those that would have found something.
    pub share: Share,
    /// What becomes of the value.
    pub value: FailedRead,
}

/// What a reply tells of a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// Its class: the caller can tell what is worth another try.
    #[default]
    Class,
    /// That there was one: whatever it was, the caller hears `internal`.
    Nothing,
}

impl Told {
    /// Each with its name in scenarios.
    pub const NAMED: [(&'static str, Self); 2] =
        [("told", Self::Class), ("unknown", Self::Nothing)];

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        Self::NAMED[self as usize].0
    }
}

/// The shares of replies that do not keep the contract, in the order of [`Fault::NAMED`]; at most 1
/// together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Malformed(pub [Share; Fault::NAMED.len()]);

impl Malformed {
    /// What is wrong with a reply, if anything.
    pub fn fault(&self, draw: Draw) -> Option<Fault> {
        let mut below = 0.0;
        for (share, (_, fault)) in self.0.iter().zip(Fault::NAMED) {
            below += share.get();
            if draw.get() < below {
                return Some(fault);
            }
        }
        None
    }

    /// Do all replies keep the contract?
    pub fn is_never(&self) -> bool {
        self.0.iter().all(|share| *share == Share::ZERO)
    }

    /// The share of all replies that do not.
    pub fn whole(&self) -> f64 {
        self.0.iter().map(|share| share.get()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_drawn_in_their_shares() {
        let shares = [10, 0, 20, 0, 30].map(Share::percent);
        let malformed = Malformed(shares);
        let mut found = [0; 6];
        for i in 0..1000_u32 {
            let draw = Draw::new((f64::from(i) + 0.5) / 1000.0).expect("below one");
            let fault = malformed.fault(draw);
            let at = Fault::NAMED.iter().position(|it| Some(it.1) == fault).unwrap_or(5);
            found[at] += 1;
        }
        assert_eq!(found, [100, 0, 200, 0, 300, 400]);
        assert!(!malformed.is_never() && Malformed::default().is_never());
    }
}
