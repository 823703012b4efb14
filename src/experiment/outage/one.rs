//! One call in an outage, followed by the engine: what it does where its policy is more than a row
//! of tries, as with hedges and policies inside policies.

use std::sync::atomic::AtomicBool;

use serde::Serialize;

use crate::engine;
use crate::engine::RunError;
use crate::engine::observe::Observer;
use crate::engine::observe::Reason;
use crate::engine::observe::Verdict;
use crate::experiment::outage::Down;
use crate::experiment::outage::model;
use crate::policy::stack::Policy;
use crate::scenario::model::Arrivals;
use crate::scenario::model::Burst;
use crate::scenario::model::OpenArrivals;
use crate::scenario::model::Process;
use crate::units::Duration;
use crate::units::SimTime;

/// Moments that are kept.
const KEPT: usize = 16;

/// What one call did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OneCall {
    /// When its first attempts reached the service, since it began; no more than 16 of them.
    pub attempts_at: Vec<Duration>,
    /// How many there were.
    pub attempts: u64,
    /// When it ended; `None`: not within the hour.
    pub ended_after: Option<Duration>,
}

impl Observer for OneCall {
    fn reached(&mut self, now: SimTime, _: usize, _: Reason) {
        self.attempts += 1;
        if self.attempts_at.len() < KEPT {
            self.attempts_at.push(now.since(SimTime::ZERO));
        }
    }
    fn ended(&mut self, now: SimTime, _: usize, born_at: SimTime, _: Verdict) {
        self.ended_after = Some(now.since(born_at));
    }
}

/// One call, where the service refuses and where it hangs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OneCalls {
    /// The service refuses at once.
    pub refusing: OneCall,
    /// The service never answers.
    pub hanging: OneCall,
}

/// One call under `policy` in either outage; `None` where its tries follow one another, so that the
/// schedule of the policy says it all.
///
/// # Errors
/// When an invariant of the engine breaks, which is a bug.
pub fn one_calls(policy: &Policy) -> Result<Option<OneCalls>, RunError> {
    if policy.hedge.is_none() && policy.inner.is_none() {
        return Ok(None);
    }
    let (refusing, hanging) = (one_call(policy, Down::Refusing)?, one_call(policy, Down::Hanging)?);
    Ok(Some(OneCalls { refusing, hanging }))
}

/// One call under `policy`, from the first moment of the outage on.
///
/// # Errors
/// When an invariant of the engine breaks, which is a bug.
fn one_call(policy: &Policy, down: Down) -> Result<OneCall, RunError> {
    let mut model = model(policy, down);
    for population in &mut model.populations {
        population.arrivals = Arrivals::Open(OpenArrivals {
            process: Process::Even,
            segments: Vec::new(),
            bursts: vec![Burst { at: Duration::ZERO, count: 1 }],
        });
    }
    let mut one = OneCall::default();
    engine::observe(&model, 1, 0, &AtomicBool::new(false), &mut one)?;
    Ok(one)
}
