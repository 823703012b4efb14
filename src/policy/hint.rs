//! What a caller makes of a server's word when to come again: Retry-After, push-back, hints.
//!
//! A server that refuses may say how long it wants to be left alone. Clients differ in whether
//! they listen, in what they do when the word is longer than they care to wait, and in whether
//! their own sequence of waits goes on meanwhile. A herd that obeys the same word exactly comes
//! back in step, so a share of the word may be laid on top of it: never earlier than asked.
//!
//! Invariant: "do not retry" is obeyed by whoever listens at all, and a wait that overrides is
//! never shorter than the word, but for a cap that cuts it and for a fault that draws twice.
//! Source: RFC 9110 §10.2.3 (Retry-After); gRPC proposal A6 (push-back); each rule names the
//! libraries that have it.

#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;

use crate::policy::backoff::Backoff;
use crate::policy::backoff::Past;
use crate::policy::backoff::second;
use crate::policy::outcome::ClassSet;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::Share;

/// A server's word when to come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// After this time; a moment that has passed is no time at all.
    After(Duration),
    /// Not at all: a negative push-back (gRPC), "overloaded; don't retry" (the SRE book).
    Never,
}

/// How a hint becomes a wait. *Own* is the wait that the back-off alone would give.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HintRule {
    /// Nobody listens (Envoy unless told to, cockatiel, resilience4j, botocore before 2026).
    Ignore,
    /// The hint replaces the own wait, and no jitter is laid over it (.NET's handler,
    /// go-retryablehttp, gRPC; with a cap urllib3, undici, ChokaQ, Temporal).
    Override,
    /// The larger of the own wait and the hint (webhook producers).
    Larger,
    /// A known fault: the own wait is drawn to be compared with the hint, and where it is not the
    /// shorter one it is drawn again to be waited, so that the wait may end before the hint (code of
    /// the webhook chapter).
    LargerDrawnTwice,
    /// The larger of the window and the hint, and jitter over it (axios-retry).
    LargerWindow,
    /// The hint, but at least the own wait and at most so much more than it (AWS from 2026: 5 s).
    Clamp(Duration),
    /// `U[hint, hint · (1 + share))` (Envoy's rate-limited back-off: 0.5).
    Scaled(f64),
}

/// What happens to a hint that lies beyond the cap on hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// It counts as the cap (urllib3, undici, ChokaQ).
    Clamp,
    /// The call gives up (got).
    GiveUp,
    /// It is not heard, and the own wait stands (Envoy).
    Ignore,
}

/// What becomes of the own sequence of waits where a hint decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sequence {
    /// It counts the retry as any other.
    GoesOn,
    /// It begins again (gRPC).
    Restarts,
    /// It does not count the retry (Envoy).
    Pauses,
}

/// What a caller makes of hints.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HintConfig {
    /// How a hint becomes a wait.
    pub rule: HintRule,
    /// The longest hint that is obeyed as it is; `Duration::MAX` when there is none.
    pub cap: Duration,
    /// What happens to longer ones.
    pub beyond: Beyond,
    /// A random share of the hint that is laid on top, so that a herd does not come back in step.
    pub spread: f64,
    /// What becomes of the own sequence.
    pub sequence: Sequence,
    /// Is a hint of no time obeyed? Otherwise the own wait stands (urllib3).
    pub obeys_zero: bool,
    /// The failures that are tried again only where they bring a hint along (urllib3: 413, 429, 503).
    #[serde(skip_serializing_if = "is_none")]
    pub needed_after: ClassSet,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(classes: &ClassSet) -> bool {
    *classes == ClassSet::NONE
}

impl HintConfig {
    /// Nobody listens.
    pub const IGNORE: Self = Self {
        rule: HintRule::Ignore,
        cap: Duration::MAX,
        beyond: Beyond::Clamp,
        spread: 0.0,
        sequence: Sequence::GoesOn,
        obeys_zero: true,
        needed_after: ClassSet::NONE,
    };

    /// Hints under a rule, without cap and spread.
    pub const fn of(rule: HintRule) -> Self {
        Self { rule, ..Self::IGNORE }
    }

    /// Does anybody listen?
    pub fn listens(&self) -> bool {
        self.rule != HintRule::Ignore
    }

    /// Of the failures `on` that are tried again, those that are where only failures of `hinted`
    /// bring a hint along.
    #[must_use]
    pub fn retried(&self, on: ClassSet, hinted: ClassSet) -> ClassSet {
        on.minus(self.needed_after.minus(hinted))
    }

    /// Does a call have to remember where its sequence stands?
    pub fn remembers(&self) -> bool {
        self.listens() && self.sequence != Sequence::GoesOn
    }

    /// The wait before retry `retry`; `None`: the call gives up, for the server asked it to, or
    /// asked for more than it will wait.
    pub fn wait(
        &self,
        backoff: &Backoff,
        retry: u32,
        past: &mut Past,
        hint: Option<Hint>,
        draw: Draw,
    ) -> Option<Duration> {
        let asked = match hint {
            Some(Hint::Never) if self.listens() => return None,
            Some(Hint::After(asked)) if self.listens() && (self.obeys_zero || !asked.is_zero()) => {
                asked
            }
            _ => return Some(backoff.wait(retry, past, draw)),
        };
        let asked = match self.beyond {
            _ if asked <= self.cap => asked,
            Beyond::Clamp => self.cap,
            Beyond::GiveUp => return None,
            Beyond::Ignore => return Some(backoff.wait(retry, past, draw)),
        };
        let unheard = matches!(self.rule, HintRule::Override | HintRule::Scaled(_));
        if unheard && self.sequence == Sequence::GoesOn && backoff.remembers() {
            // The own wait is not slept, but its sequence has gone on: Polly works it out before it
            // asks whether there is another.
            let _ = backoff.wait(retry, past, draw);
        }
        let wait = match self.rule {
            HintRule::Ignore | HintRule::Override => asked,
            HintRule::Larger => backoff.wait(retry, past, draw).max(asked),
            HintRule::LargerDrawnTwice => {
                let before = *past;
                let compared = backoff.wait(retry, past, draw);
                if asked > compared {
                    asked
                } else {
                    *past = before;
                    backoff.wait(retry, past, second(second(second(draw))))
                }
            }
            HintRule::LargerWindow => backoff.wait_at_least(asked, retry, past, draw),
            HintRule::Clamp(more) => {
                let own = backoff.wait(retry, past, draw);
                asked.clamp(own, own.saturating_add(more))
            }
            HintRule::Scaled(share) => asked.saturating_add(asked.scale(share * draw.get())),
        };
        match self.sequence {
            Sequence::GoesOn => {}
            Sequence::Restarts => past.restart(retry),
            Sequence::Pauses => past.pause(),
        }
        // A number of its own: the own wait has used the draw, and a second of it where drawn.
        let luck = second(second(draw)).get();
        Some(wait.saturating_add(asked.scale(self.spread * luck)))
    }
}

impl fmt::Display for HintConfig {
    /// As in `a hint overrides the wait; hints above 30s: give up`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| Share::new(share).unwrap_or(Share::ONE);
        let mut text = match self.rule {
            HintRule::Ignore => return f.pad("hints are ignored"),
            HintRule::Override => "a hint overrides the wait".to_owned(),
            HintRule::Larger => "the larger of wait and hint".to_owned(),
            HintRule::LargerDrawnTwice => {
                "the larger of wait and hint, the wait drawn anew after it was compared".to_owned()
            }
            HintRule::LargerWindow => "the larger of window and hint, jitter over it".to_owned(),
            HintRule::Clamp(more) => {
                format!(
                    "a hint within the wait and {more} more overrides it, and is moved into that"
                )
            }
            HintRule::Scaled(share) => format!("a hint and up to {} more", percent(share)),
        };
        if self.cap != Duration::MAX {
            let then = match self.beyond {
                Beyond::Clamp => "count as that",
                Beyond::GiveUp => "give up",
                Beyond::Ignore => "are not heard",
            };
            text += &format!("; hints above {} {then}", self.cap);
        }
        if self.spread > 0.0 {
            text += &format!("; up to {} of it on top", percent(self.spread));
        }
        match self.sequence {
            Sequence::GoesOn => {}
            Sequence::Restarts => text += "; it restarts the sequence of waits",
            Sequence::Pauses => text += "; it is no step in the sequence of waits",
        }
        if !self.obeys_zero {
            text += "; a hint of 0s is not heard";
        }
        if self.needed_after != ClassSet::NONE {
            text += &format!("; none after {} without one", self.needed_after);
        }
        f.pad(&text)
    }
}
