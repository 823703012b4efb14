//! What can be said of waits before they are drawn: bounds, mean, median, and of their sum.
//!
//! Means are exact where a closed form exists; otherwise they are worked out on a fixed grid, so
//! that they are the same each time.

use serde::Serialize;

use super::Backoff;
use super::CapOrder;
use super::First;
use super::Grain;
use super::Growth;
use super::Jitter;
use super::Past;
use super::Rounding;
use super::V2_SCALE;
use super::carried;
use crate::random::rising;
use crate::units::Draw;
use crate::units::Duration;

/// Points of a numerical mean.
const POINTS: u32 = 4_096;
/// Retries that are added up one by one; later ones are taken to be like the last of them.
const ADDED_UP: u32 = 1_024;
/// Steps of a sequence that are followed to find its bounds.
const FOLLOWED: u32 = 4_096;

/// The waits before the first retries of one call, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    /// The least they can be.
    pub smallest: Duration,
    /// The most they can be.
    pub largest: Duration,
    /// On average.
    pub mean: Duration,
}

impl Backoff {
    /// The smallest and the largest wait that retry `retry` can have; the largest may be a bound
    /// that is not quite reached.
    pub fn bounds(&self, retry: u32) -> (Duration, Duration) {
        let retry = retry.max(1);
        if let Some(known) = self.known(retry) {
            return (known, known);
        }
        if self.jitter == Jitter::DecorrelatedV2 {
            return (self.finish(Duration::ZERO.min(self.cap)), self.finish(self.v2_most(retry)));
        }
        if self.remembers() {
            return self.followed(retry);
        }
        let (least, most) = match &self.growth {
            Growth::Drawn(drawn) => (drawn.smallest(), drawn.largest().unwrap_or(Duration::MAX)),
            growth => {
                let window = growth.window(retry, self.cap);
                (window, window)
            }
        };
        (self.ends(least, retry).0, self.ends(most, retry).1)
    }

    /// The mean wait before retry `retry`. For a drawn wait of simple jitter, of the distribution
    /// before the cap.
    pub fn mean(&self, retry: u32) -> Duration {
        let retry = retry.max(1);
        if let Some(known) = self.known(retry) {
            return known;
        }
        if self.remembers() {
            return carried::mean(self, retry);
        }
        if let Growth::Drawn(_) = &self.growth {
            let simple = Self { growth: Growth::Constant(self.window(retry)), ..self.clone() };
            return if simple.is_simple() { simple.mean(retry) } else { self.numeric_mean(retry) };
        }
        let (cap_before, cap_after) = self.caps(retry);
        let window = self.growth.window(retry, self.cap).min(cap_before);
        let jitter = self.jitter_of(retry);
        match (jitter, self.rules.grain) {
            (Jitter::None, _) => self.finish(window.min(cap_after)),
            (_, Grain::Fine | Grain::OneMore(_)) => {
                let span = jitter.span(window, retry, cap_before.min(cap_after));
                let width = self.rules.grain.most(span.width).as_nanos() as f64;
                let low = span.from.as_nanos() as f64 - span.less.as_nanos() as f64;
                let (floor, cap) = (self.rules.floor.as_nanos(), cap_after.as_nanos());
                let mean = clamped_mean(low, low + width, floor as f64, cap as f64);
                Duration::from_nanos_f64(match self.rules.rounding {
                    Rounding::None => mean,
                    _ => return self.numeric_mean(retry),
                })
            }
            _ => self.numeric_mean(retry),
        }
    }

    /// The wait that half of the waits before retry `retry` are no longer than.
    pub fn median(&self, retry: u32) -> Duration {
        let retry = retry.max(1);
        if let Some(known) = self.known(retry) {
            return known;
        }
        if self.remembers() {
            return carried::median(self, retry);
        }
        if let Growth::Drawn(_) = &self.growth {
            let mut waits: Vec<_> = self.each_point(retry).collect();
            waits.sort_unstable();
            return waits[waits.len() / 2];
        }
        // A wait never falls as its draw rises.
        self.wait(retry, &mut Past::new(), Draw::MIDDLE)
    }

    /// The waits before the first `retries` retries of one call, together.
    pub fn total(&self, retries: u32) -> Total {
        let (smallest, largest) = self.total_bounds(retries);
        let mean = added_up(retries, |retry| self.mean(retry));
        Total { smallest, largest, mean }
    }

    /// The least and the most that the waits before the first `retries` retries of one call can
    /// come to, together: [`Backoff::total`] without the mean, which takes longer.
    pub fn total_bounds(&self, retries: u32) -> (Duration, Duration) {
        let smallest = added_up(retries, |retry| self.bounds(retry).0);
        let largest = added_up(retries, |retry| self.bounds(retry).1);
        let plain = self.rules.floor.is_zero() && self.rules.rounding == Rounding::None;
        if self.jitter == Jitter::DecorrelatedV2
            && plain
            && self.rules.overflows_at.is_none()
            && !matches!(self.rules.first, First::Fixed(_))
            && retries > 0
        {
            // The sum telescopes, and a wait that is cut is as long as the cap.
            let curve = |t: u32| self.on_curve(rising(self.growth.factor(), f64::from(t)));
            let least = smallest.max(curve(retries - 1).min(self.cap));
            return (least, largest.min(curve(retries)));
        }
        (smallest, largest)
    }

    /// The wait where nothing random decides it.
    fn known(&self, retry: u32) -> Option<Duration> {
        if self.rules.overflows_at.is_some_and(|at| retry >= at) {
            return Some(Duration::ZERO);
        }
        match self.rules.first {
            First::Fixed(wait) if retry == 1 => Some(wait),
            _ => None,
        }
    }

    /// The smallest and the largest wait that jitter makes of a window.
    fn ends(&self, window: Duration, retry: u32) -> (Duration, Duration) {
        let (cap_before, cap_after) = self.caps(retry);
        let window = window.min(cap_before);
        let jitter = self.jitter_of(retry);
        let (low, high) = match (jitter, self.rules.grain) {
            (Jitter::PlusMinus(share), Grain::Fine) => {
                (window.scale(1.0 - share), window.scale(1.0 + share))
            }
            _ => {
                let span = jitter.span(window, retry, cap_before.min(cap_after));
                (span.at(Duration::ZERO), span.at(self.rules.grain.most(span.width)))
            }
        };
        (self.finish(low.min(cap_after)), self.finish(high.min(cap_after)))
    }

    /// The bounds of a sequence, followed step by step along its lowest and its highest road.
    fn followed(&self, retry: u32) -> (Duration, Duration) {
        let (mut low, mut high) = (Past::new(), Past::new());
        let mut bounds = (Duration::ZERO, Duration::ZERO);
        for k in 1..=retry.min(FOLLOWED) {
            let before = (low, high);
            bounds =
                (self.remembered_wait(k, &mut low, 0.0), self.remembered_wait(k, &mut high, 1.0));
            if (low, high) == before {
                return bounds; // Where it stands still once, it stays.
            }
        }
        if retry > FOLLOWED {
            let most = match (self.jitter, self.rules.order) {
                (Jitter::Compounded(share), CapOrder::CapThenJitter) => self.cap.scale(1.0 + share),
                _ => self.cap,
            };
            bounds = (self.finish(Duration::ZERO), self.finish(most));
        }
        bounds
    }

    /// The longest wait of decorrelated jitter V2.
    fn v2_most(&self, retry: u32) -> Duration {
        let curve = |t: u32| rising(self.growth.factor(), f64::from(t));
        let (top, before) = (curve(retry), curve(retry.saturating_sub(2)));
        let most = if before.is_finite() { self.on_curve(top - before) } else { Duration::MAX };
        let none = self.growth.base().is_zero();
        if none { Duration::ZERO } else { most.min(self.cap) }
    }

    /// A height of the curve of decorrelated jitter V2 as a span.
    pub(super) fn on_curve(&self, height: f64) -> Duration {
        match self.growth.base() {
            Duration::ZERO => Duration::ZERO,
            base => Duration::from_nanos_f64(height * base.as_nanos() as f64 / V2_SCALE),
        }
    }

    /// Waits of retry `retry` under draws that stand evenly.
    fn each_point(&self, retry: u32) -> impl Iterator<Item = Duration> {
        (0..POINTS).filter_map(move |i| {
            let draw = Draw::new((f64::from(i) + 0.5) / f64::from(POINTS))?;
            Some(self.wait(retry, &mut Past::new(), draw))
        })
    }

    fn numeric_mean(&self, retry: u32) -> Duration {
        let sum: f64 = self.each_point(retry).map(|wait| wait.as_nanos() as f64).sum();
        Duration::from_nanos_f64(sum / f64::from(POINTS))
    }
}

/// A span of each of the first `retries` retries, added up.
fn added_up(retries: u32, of: impl Fn(u32) -> Duration) -> Duration {
    let near = retries.min(ADDED_UP);
    let sum = (1..=near).fold(Duration::ZERO, |sum, retry| sum.saturating_add(of(retry)));
    let far = retries - near;
    if far == 0 { sum } else { sum.saturating_add(super::times(of(retries), far.into())) }
}

/// The mean of a number uniform on `[low, high)` that is moved into `[least, most]`.
fn clamped_mean(low: f64, high: f64, least: f64, most: f64) -> f64 {
    let most = most.max(least);
    if high - low <= 0.0 {
        return low.clamp(least, most);
    }
    let (from, to) = (low.clamp(least, most), high.clamp(least, most));
    let (below, above) = ((least - low).max(0.0), (high - most).max(0.0));
    let below = below.min(high - low);
    let above = above.min(high - low);
    (below * least + above * most + (to - from) * (from + to) * 0.5) / (high - low)
}
