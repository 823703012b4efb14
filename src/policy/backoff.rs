//! The wait before the nth retry.
//!
//! A *window* grows with each retry, a *cap* bounds it, and *jitter* spreads the wait over it. The
//! window of the first retry is `base` (libraries that start at `base · factor` have start 1).
//! Real libraries differ in what comes first, in what they cut to whole units, and in what they
//! remember; [`Rules`] holds these differences, and says nothing unless it is told to.
//!
//! Invariant: every wait is finite and within [`Backoff::bounds`], for any retry up to `u32::MAX`:
//! growth saturates, it neither wraps round nor turns negative.
//! Source: Brooker, "Exponential Backoff And Jitter" (2015) with its simulator for full, equal and
//! decorrelated jitter; gRPC proposal A6 for ± 20 % around the capped window; for every other kind
//! the library named at it.

mod carried;
mod growth;
mod jitter;
mod past;
mod rules;
mod schedule;
mod words;

#[cfg(test)]
mod kinds;
#[cfg(test)]
mod tests;

pub use growth::Growth;
pub use jitter::Jitter;
pub use past::Past;
pub use rules::CapOrder;
pub use rules::First;
pub use rules::Grain;
pub use rules::Recall;
pub use rules::Rounding;
pub use rules::Rules;
pub use schedule::Total;

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::random::mix;
use crate::random::rising;
use crate::units::Draw;
use crate::units::Duration;
use growth::power;
use past::Last;

/// What decorrelated jitter V2 divides its curve by, so that the first median is about the base.
const V2_SCALE: f64 = 1.4;

/// A back-off: growth, cap and jitter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Backoff {
    /// The window before jitter.
    pub growth: Growth,
    /// The longest window; `Duration::MAX` when there is none.
    pub cap: Duration,
    /// The spread laid over the window.
    pub jitter: Jitter,
    /// In what it differs from the plain reading of the three.
    pub rules: Rules,
}

impl Backoff {
    /// No wait: every retry follows at once.
    pub const NONE: Self = Self {
        growth: Growth::None,
        cap: Duration::MAX,
        jitter: Jitter::None,
        rules: Rules::PLAIN,
    };

    /// `base · factor^(k − 1)` up to `cap`, with `jitter` laid over it.
    pub const fn exponential(base: Duration, factor: f64, cap: Duration, jitter: Jitter) -> Self {
        let growth = Growth::Exponential { base, factor, start: 0 };
        Self { growth, cap, jitter, rules: Rules::PLAIN }
    }

    /// With other rules.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// The back-off after a failure of that class: this one, or the one that its rules name.
    pub fn after(&self, class: Class) -> &Self {
        let other = self.rules.by_class.iter().find(|(classes, _)| classes.contains(class));
        other.map_or(self, |(_, backoff)| backoff)
    }

    /// The window before retry `retry` (1, 2, …): `min(cap, growth(retry))`, before jitter. For a
    /// drawn wait, where it is random itself, its mean.
    #[inline]
    pub fn window(&self, retry: u32) -> Duration {
        self.growth.window(retry, self.cap).min(self.cap)
    }

    /// The wait before retry `retry` (1, 2, …) under `draw`. `past` belongs to the call; only
    /// kinds that remember ([`Backoff::remembers`]) and restarted sequences look at it.
    #[inline]
    pub fn wait(&self, retry: u32, past: &mut Past, draw: Draw) -> Duration {
        let retry = past.count(retry);
        if self.rules.overflows_at.is_some_and(|at| retry >= at) {
            return Duration::ZERO;
        }
        if self.remembers() {
            return self.remembered_wait(retry, past, draw.get());
        }
        if let (1, First::Fixed(wait)) = (retry, self.rules.first) {
            return wait;
        }
        let (window, draw) = match &self.growth {
            // The window and the jitter laid over it need a number each.
            Growth::Drawn(distribution) => (distribution.sample(draw), second(draw)),
            growth => (growth.window(retry, self.cap), draw),
        };
        self.wait_in(window, retry, self.caps(retry), draw)
    }

    /// The wait before retry `retry` where the window is at least `least`, whatever the cap; a
    /// kind that remembers has no window, and its wait is at least that long.
    pub(super) fn wait_at_least(
        &self,
        least: Duration,
        retry: u32,
        past: &mut Past,
        draw: Draw,
    ) -> Duration {
        let place = past.count(retry);
        if self.remembers() {
            return self.wait(retry, past, draw).max(least);
        }
        if self.window(place) >= least {
            return self.wait(retry, past, draw);
        }
        self.wait_in(least, place, (Duration::MAX, Duration::MAX), draw)
    }

    /// The wait that jitter makes of a window, before retry `retry` of the sequence.
    fn wait_in(
        &self,
        window: Duration,
        retry: u32,
        (cap_before, cap_after): (Duration, Duration),
        draw: Draw,
    ) -> Duration {
        let window = window.min(cap_before);
        let jitter = self.jitter_of(retry);
        let wait = match (jitter, self.rules.grain) {
            // In one product, as the libraries have it.
            (Jitter::PlusMinus(share), Grain::Fine) => {
                window.scale(1.0 - share + 2.0 * share * draw.get())
            }
            // The window is cut, not its share.
            (Jitter::AddedShare(share), Grain::SecondsApart) => {
                window.saturating_add(Grain::apart(window, share * draw.get()))
            }
            _ => {
                let span = jitter.span(window, retry, cap_before.min(cap_after));
                span.at(self.rules.grain.part(span.width, draw))
            }
        };
        self.finish(wait.min(cap_after))
    }

    /// The jitter of retry `retry` of the sequence.
    fn jitter_of(&self, retry: u32) -> Jitter {
        match self.rules.first {
            First::Unjittered if retry == 1 => Jitter::None,
            _ => self.jitter,
        }
    }

    /// What bounds the window, and what bounds the wait.
    fn caps(&self, retry: u32) -> (Duration, Duration) {
        if retry == 1 && self.rules.first == First::Uncapped {
            return (Duration::MAX, Duration::MAX);
        }
        match self.rules.order {
            CapOrder::CapThenJitter => (self.cap, Duration::MAX),
            CapOrder::JitterThenCap => (Duration::MAX, self.cap),
        }
    }

    /// The floor, then whole units.
    fn finish(&self, wait: Duration) -> Duration {
        self.rules.rounding.of(wait.max(self.rules.floor))
    }

    /// The wait of a kind whose next wait depends on its last.
    fn remembered_wait(&self, retry: u32, past: &mut Past, u: f64) -> Duration {
        let first = match (past.last, self.rules.first) {
            (Last::Nothing, First::Fixed(wait)) => Some(wait),
            _ => None,
        };
        if self.jitter == Jitter::DecorrelatedV2 {
            let t = f64::from(retry - 1) + u;
            let curve = rising(self.growth.factor(), t);
            let before = match past.last {
                Last::Curve(before) => before,
                _ => 0.0,
            };
            past.last = Last::Curve(curve);
            if let Some(wait) = first {
                return wait;
            }
            let base = self.growth.base().as_nanos() as f64;
            let wait = if curve.is_finite() && before.is_finite() {
                Duration::from_nanos_f64((curve - before) * base / V2_SCALE)
            } else if base == 0.0 {
                Duration::ZERO
            } else {
                Duration::MAX // The power is out of range, so the wait is as long as may be.
            };
            return self.finish(wait.min(self.cap));
        }
        let previous = match past.last {
            Last::Wait(previous) => Some(previous),
            _ => None,
        };
        let wait = first.unwrap_or_else(|| self.step(retry, previous, u));
        past.last = Last::Wait(match self.rules.recall {
            Recall::Capped => wait.min(self.cap),
            Recall::Uncapped => wait,
        });
        if first.is_some() { wait } else { self.finish(wait.min(self.bound())) }
    }

    /// Where the waits of kinds that remember end.
    fn bound(&self) -> Duration {
        match (self.jitter, self.rules.order) {
            (Jitter::Compounded(_), CapOrder::CapThenJitter) => Duration::MAX,
            _ => self.cap,
        }
    }

    /// The next wait of a sequence, before its cap.
    fn step(&self, retry: u32, previous: Option<Duration>, u: f64) -> Duration {
        let base = self.growth.base();
        match (self.jitter, previous) {
            (Jitter::Decorrelated, _) => {
                let ceiling = times(previous.unwrap_or(base), 3);
                base.saturating_add(share_of(ceiling.saturating_sub(base), u))
            }
            (Jitter::Monotone | Jitter::Compounding, None) => base,
            (Jitter::Monotone, Some(previous)) => {
                let ceiling = times(previous, 3).min(self.cap.max(previous));
                previous.saturating_add(share_of(ceiling.saturating_sub(previous), u))
            }
            (Jitter::Compounding, Some(previous)) => {
                let ceiling = previous.scale(power(2.0, i64::from(retry) - 1));
                if ceiling >= self.cap { self.cap } else { share_of(ceiling, u) }
            }
            (Jitter::Compounded(share), _) => {
                let window = previous.map_or(base, |previous| previous.scale(self.growth.factor()));
                let window = match self.rules.order {
                    CapOrder::CapThenJitter => window.min(self.cap),
                    CapOrder::JitterThenCap => window,
                };
                window.scale(1.0 - share + 2.0 * share * u)
            }
            _ => self.window(retry), // No other kind remembers.
        }
    }

    /// The wait that jitter makes of a window: what `wait` gives where the window is the retry's
    /// and [`Backoff::is_simple`] holds.
    #[inline(always)]
    pub fn spread(&self, window: Duration, draw: Draw) -> Duration {
        match self.jitter {
            Jitter::Full => part(window, draw),
            Jitter::Equal => {
                let half = Duration::from_nanos(window.as_nanos() / 2);
                half.saturating_add(part(window.saturating_sub(half), draw))
            }
            Jitter::PlusMinus(share) => window.scale(1.0 - share + 2.0 * share * draw.get()),
            _ => window,
        }
    }

    /// Is a wait decided by its retry's window and one of the four plainest kinds of jitter? Then
    /// windows can be worked out ahead.
    pub fn is_simple(&self) -> bool {
        let jitter = matches!(
            self.jitter,
            Jitter::None | Jitter::Full | Jitter::Equal | Jitter::PlusMinus(_)
        );
        jitter && self.rules == Rules::PLAIN && !matches!(self.growth, Growth::Drawn(_))
    }

    /// Does a wait depend on the one before?
    #[inline]
    pub const fn remembers(&self) -> bool {
        self.jitter.remembers()
    }

    /// Has anything that is random a part in the waits?
    pub fn is_random(&self) -> bool {
        self.jitter != Jitter::None || matches!(self.growth, Growth::Drawn(_))
    }

    /// How many retries the sequence has; `None`: it never ends. A table may end, and so may a
    /// growth whose cap ends it: then retry k is the last where the window of retry k + 1 would
    /// lie above the cap. (Kubernetes' `wait.Backoff` still sleeps once after that, and then gives
    /// up; that sleep, which no retry follows, is left out.)
    pub fn most_retries(&self) -> Option<u32> {
        let of_table = match &self.growth {
            Growth::Table { waits, ends: true } => Some(waits.len() as u32),
            _ => None,
        };
        let above = |retry: u32| self.growth.window(retry, Duration::MAX) > self.cap;
        let of_cap = (self.rules.cap_ends && above(u32::MAX)).then(|| {
            // Windows never fall, so the first above the cap is found by halving.
            let (mut within, mut beyond) = (0, u32::MAX);
            while beyond - within > 1 {
                let middle = within + (beyond - within) / 2;
                if above(middle) {
                    beyond = middle;
                } else {
                    within = middle;
                }
            }
            beyond.saturating_sub(2)
        });
        of_table.into_iter().chain(of_cap).min()
    }

    /// The same with every span of its own multiplied by `factor`.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let cap = if self.cap == Duration::MAX { self.cap } else { self.cap.scale(factor) };
        let mut scaled = Self { growth: self.growth.scaled(factor), cap, ..self.clone() };
        scaled.jitter = self.jitter.scaled(factor);
        scaled.rules.floor = self.rules.floor.scale(factor);
        if let First::Fixed(wait) = self.rules.first {
            scaled.rules.first = First::Fixed(wait.scale(factor));
        }
        scaled
    }
}

/// `U[0, span)`.
#[inline]
fn part(span: Duration, draw: Draw) -> Duration {
    share_of(span, draw.get())
}

/// The share `u` of a span.
#[inline]
fn share_of(span: Duration, u: f64) -> Duration {
    // Rounded down, so that the end of the window is never reached.
    Duration::from_nanos((span.as_nanos() as f64 * u) as u64)
}

/// `count` times a span, saturating.
#[inline]
fn times(span: Duration, count: u64) -> Duration {
    Duration::from_nanos(span.as_nanos().saturating_mul(count))
}

/// A number that is independent of `draw` for every practical purpose.
pub(crate) fn second(draw: Draw) -> Draw {
    Draw::from_bits(mix(draw.get().to_bits(), 0))
}
