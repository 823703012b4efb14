//! What calls do to a service, and what it remembers of them: reads, writes, idempotency keys.

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::units::Duration;

/// What the attempts along an edge do at their service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// They ask; to ask twice changes nothing.
    #[default]
    Read,
    /// They have an effect; the key by which a repetition can be told, if one is sent.
    Write(Option<MadeOnce>),
}

impl Operation {
    /// Does it have an effect?
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write(_))
    }
}

/// How often an idempotency key is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MadeOnce {
    /// Once for each request of a user and each call in the scenario: it is derived from what the
    /// user wants, and stays the same over the retries of every layer.
    Request,
    /// Once for each call: outside its own retry, and anew when the handler around it runs again.
    Call,
    /// In each attempt: inside the retry, where it tells no repetition.
    Attempt,
}

/// What a service remembers of the keys it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Idempotency {
    /// How long after its answer was stored a key is forgotten.
    pub kept_for: Duration,
    /// What a repetition hears while the first is in progress.
    pub answer: Class,
    /// How long after it began a key without an answer stays in progress.
    pub lasts: Duration,
    /// Which answers are stored.
    pub remembers: Remembers,
}

/// Which answers a service stores under their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remembers {
    /// Good ones; a failure forgets the key.
    Success,
    /// All: whoever repeats a failure hears it again.
    Answers,
}
