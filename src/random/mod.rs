//! Draws by purpose, entity and index: the same key gives the same number.
//!
//! Nothing here is a stream. A draw is a function of (seed, replication, purpose, entity, index),
//! so it does not depend on how many draws came before it, and variants under the same seed meet
//! the same arrivals, the same service demands and the same errors however differently they act.
//!
//! This is the one module on the path from seed to counts that calls transcendental functions,
//! and it takes them from the `libm` crate: the platform's differ in their last bits.
//!
//! Invariant: equal keys, equal draws, on every platform and in whatever order they are asked for.

mod curve;
mod distribution;
mod gamma;
mod logarithm;
mod normal;
mod philox;
mod powers;

#[cfg(test)]
mod tests;

pub use curve::rising;
pub use distribution::Distribution;
pub use powers::cube_root;
pub use powers::power;

use crate::units::Draw;
use philox::philox2x64;

/// What a draw decides. Different purposes never share a number.
///
/// The discriminants are part of every result: new purposes go to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Purpose {
    /// When the next request is born.
    Arrival = 0,
    /// Which instance of a population bears it.
    Instance = 1,
    /// How long a worker works on an attempt.
    Work = 2,
    /// Does the service fail of its own accord?
    ServiceError = 3,
    /// The wait before a retry.
    Backoff = 4,
    /// The time of the message to the server.
    Latency = 5,
    /// The time of the reply.
    ReplyLatency = 6,
    /// Is the message to the server lost?
    Loss = 7,
    /// Is the reply lost?
    ReplyLoss = 8,
    /// Which replica is asked.
    Balance = 9,
    /// The longest wait for an attempt, where it is drawn.
    AttemptTimeout = 10,
    /// How long a user thinks.
    Think = 11,
    /// Does the operator shed this request?
    Shed = 12,
    /// Does a trigger make the attempt fail?
    TriggerError = 13,
    /// The time of the message that the caller has left.
    CancelLatency = 14,
    /// Does a caller's own throttle turn the attempt away?
    Throttle = 15,
    /// When an adaptive limit is probed.
    LimitProbe = 16,
    /// How long a circuit breaker stays open.
    BreakerOpening = 17,
    /// How long a server asks its caller to wait.
    RetryAfter = 18,
    /// How long a replica is left out.
    Ejection = 19,
    /// Does a request fail at every attempt?
    RequestError = 20,
    /// Is the answer of a handler lost, whatever the network does?
    AnswerLoss = 21,
    /// Does a worker fail before it executes a job?
    WorkerError = 22,
    /// Does the maker of a counter die before its time to live is set?
    CounterDies = 23,
    /// Does a deferred reply keep the contract?
    ReplyForm = 24,
    /// Does a read of a deferred reply fail?
    ReadError = 25,
    /// The time of the word that a deferred reply is there.
    Notification = 26,
    /// Is this word lost?
    NotificationLoss = 27,
    /// Does a repetition come with another body than the first attempt under its key?
    OtherBody = 30,
}

/// The keys of one run: everything random in it is a function of these and of what is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys(u64);

impl Keys {
    /// The keys of replication `replication` under `seed`.
    ///
    /// Both are folded into the 64-bit key of the generator by [`mix`]: under one seed no two
    /// replications share a key, and neighbouring seeds share nothing but by accident.
    pub const fn new(seed: u64, replication: u32) -> Self {
        Self(mix(mix(0, seed), replication as u64))
    }

    /// 128 random bits for an entity and whatever else tells draws apart.
    ///
    /// [`Keys::draw`] uses the indices `index << 8 | purpose`; bits taken directly share that
    /// space, so use a purpose here too.
    #[inline]
    pub const fn block(&self, entity: u64, index_purpose: u64) -> [u64; 2] {
        philox2x64(self.0, [entity, index_purpose])
    }

    /// The uniform number that decides `purpose` for the `index`-th time in the life of `entity`.
    ///
    /// An entity is a number that does not depend on the history of the run: the number of a
    /// request, or a key derived from it with [`mix`].
    #[inline]
    pub fn draw(&self, purpose: Purpose, entity: u64, index: u32) -> Draw {
        Draw::from_bits(self.bits(purpose, entity, index))
    }

    /// The bits that [`Keys::draw`] makes its number of.
    #[inline]
    pub const fn bits(&self, purpose: Purpose, entity: u64, index: u32) -> u64 {
        let [bits, _] = self.block(entity, (index as u64) << 8 | purpose as u64);
        bits
    }

    /// A draw from the exponential distribution of mean 1.
    #[inline]
    pub fn exponential(&self, purpose: Purpose, entity: u64, index: u32) -> f64 {
        logarithm::hazard(self.draw(purpose, entity, index).get())
    }
}

/// e⁻ˣ: what is left of a weight after `x` times the time in which it falls to 1/e.
#[inline]
pub fn decay(x: f64) -> f64 {
    libm::exp(-x)
}

/// The key of a child: of a call from its parent's key and its place in the handler's order, of an
/// attempt from its call's key and its number.
///
/// One to one in `parent` for each `step` and in `step` for each `parent`, so siblings never share
/// a key. Keys further apart agree as rarely as random 64-bit numbers do: among a thousand million
/// keys there is one such pair at a chance of 3 %, and then two draws agree that should not.
///
/// Source: the step is spread by an odd multiplier; the finaliser is Evensen's "moremur" (2019), a
/// strengthened finaliser of MurmurHash3.
#[inline]
pub const fn mix(parent: u64, step: u64) -> u64 {
    let mut z = parent ^ step.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 27)).wrapping_mul(0x3C79_AC49_2BA7_B653);
    z = (z ^ (z >> 33)).wrapping_mul(0x1C69_B3F7_4AC4_AE35);
    z ^ (z >> 27)
}
