//! What a call remembers of its waits.

use crate::units::Duration;

/// What a call remembers of its waits: it begins empty, and goes from wait to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Past {
    /// What the next wait of a kind that remembers is made from.
    pub(super) last: Last,
    /// Retries that do not count: before a restart, or whose wait a hint decided.
    pub(super) skipped: u32,
}

/// What the last wait left behind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Last {
    /// There was none.
    #[default]
    Nothing,
    /// Its length.
    Wait(Duration),
    /// The height of the curve of decorrelated jitter V2.
    Curve(f64),
}

impl Past {
    /// Of a call that has not waited.
    pub const fn new() -> Self {
        Self { last: Last::Nothing, skipped: 0 }
    }

    /// The place of retry `retry` (1, 2, …) in the sequence, at least 1.
    #[inline]
    pub(super) const fn count(&self, retry: u32) -> u32 {
        let place = retry.saturating_sub(self.skipped);
        if place == 0 { 1 } else { place }
    }

    /// The sequence begins again after retry `retry`.
    pub const fn restart(&mut self, retry: u32) {
        *self = Self { last: Last::Nothing, skipped: retry };
    }

    /// A retry was no step of the sequence.
    pub const fn pause(&mut self) {
        self.skipped = self.skipped.saturating_add(1);
    }
}
