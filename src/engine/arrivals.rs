//! When requests are born: Poisson, even, bursts, ramps.
//!
//! A unit-rate process is stretched by the integral of the rate, so a surge or a ramp moves the
//! same requests closer together: request number i keeps its draws whatever the rate does.
//! Only additions, multiplications, divisions and square roots are used, which give the same bits
//! everywhere.

use crate::random::Keys;
use crate::random::Purpose;
use crate::scenario::model::Effect;
use crate::scenario::model::Model;
use crate::scenario::model::OpenArrivals;
use crate::scenario::model::Process;
use crate::units::Duration;
use crate::units::SECOND;
use crate::units::SimTime;

/// So many areas are drawn at once.
const AHEAD: usize = 16;

/// A straight piece of the rate, in arrivals per nanosecond.
#[derive(Clone, Copy, Debug)]
struct Piece {
    until: f64,
    start: f64,
    slope: f64,
}

/// The births of one open-loop population.
#[derive(Debug)]
pub(super) struct Arrivals {
    population: u64,
    process: Process,
    pieces: Vec<Piece>,
    piece: usize,
    piece_from: f64,
    /// Where the process stands, in nanoseconds, not rounded.
    at: f64,
    /// Arrivals whose areas have been used.
    used: u32,
    /// The areas up to the coming arrivals, drawn ahead: draws of one batch overlap in the
    /// processor, and nothing waits for them.
    ahead: [f64; AHEAD],
    /// The next arrival of the process.
    next: SimTime,
    /// Bursts not yet over: when, and how many requests are left of it; the next one last.
    bursts: Vec<(SimTime, u32)>,
}

impl Arrivals {
    /// The arrivals of population `index` under the surges of the model.
    pub(super) fn new(index: usize, open: &OpenArrivals, model: &Model, keys: &Keys) -> Self {
        let mut bursts: Vec<_> =
            open.bursts.iter().map(|burst| (SimTime::ZERO + burst.at, burst.count)).collect();
        bursts.sort_unstable();
        bursts.reverse();
        let mut arrivals = Self {
            population: index as u64,
            process: open.process,
            pieces: pieces(index, open, model),
            piece: 0,
            piece_from: 0.0,
            at: 0.0,
            used: 0,
            ahead: [1.0; AHEAD],
            next: SimTime::ZERO,
            bursts,
        };
        arrivals.next = arrivals.find_next(keys);
        arrivals
    }

    /// The moment of the next birth.
    #[inline]
    pub(super) fn next(&self) -> SimTime {
        match self.bursts.last() {
            Some(&(at, _)) => at.min(self.next),
            None => self.next,
        }
    }

    /// The next birth has happened.
    #[inline]
    pub(super) fn take(&mut self, keys: &Keys) {
        if let Some(burst) = self.bursts.last_mut()
            && burst.0 <= self.next
        {
            burst.1 -= 1;
            if burst.1 == 0 {
                self.bursts.pop();
            }
            return;
        }
        self.next = self.find_next(keys);
    }

    /// The area under the rate from one arrival to the next.
    #[inline(always)]
    fn area(&mut self, keys: &Keys) -> f64 {
        let place = self.used as usize % AHEAD;
        if place == 0 && self.process == Process::Poisson {
            self.draw_ahead(keys);
        }
        self.used += 1;
        self.ahead[place]
    }

    #[inline(never)]
    fn draw_ahead(&mut self, keys: &Keys) {
        for (area, number) in self.ahead.iter_mut().zip(self.used..) {
            *area = keys.exponential(Purpose::Arrival, self.population, number);
        }
    }

    /// The moment at which the next area is used up.
    #[inline]
    fn find_next(&mut self, keys: &Keys) -> SimTime {
        let mut area = self.area(keys);
        loop {
            let Some(piece) = self.pieces.get(self.piece) else { return SimTime::NEVER };
            let rate = piece.start + piece.slope * (self.at - self.piece_from);
            let step = if piece.slope == 0.0 {
                area / rate
            } else {
                // The root of rate·t + slope·t²/2 = area that is stable for either sign; NaN or
                // infinite where the piece cannot hold so much.
                2.0 * area / (rate + (rate * rate + 2.0 * piece.slope * area).sqrt())
            };
            // A comparison with NaN is false, which leads on to the next piece.
            if self.at + step < piece.until {
                self.at += step;
                return SimTime::from_nanos((self.at + 0.5) as u64);
            }
            let span = piece.until - self.at;
            let held = rate * span + 0.5 * piece.slope * span * span;
            area = (area - held).max(0.0);
            self.at = piece.until;
            self.piece_from = piece.until;
            self.piece += 1;
        }
    }
}

/// The pieces of the rate, cut where a surge begins or ends.
fn pieces(index: usize, open: &OpenArrivals, model: &Model) -> Vec<Piece> {
    let end = model.run.warm_up.saturating_add(model.run.horizon);
    let surges: Vec<_> = model
        .triggers
        .iter()
        .filter_map(|trigger| match trigger.effect {
            Effect::Surge { population, factor } if population == index => {
                let from = model.run.warm_up.saturating_add(trigger.at);
                Some((from, from.saturating_add(trigger.lasts), factor))
            }
            _ => None,
        })
        .collect();
    let mut pieces = Vec::new();
    for segment in &open.segments {
        let until = segment.until.min(end.saturating_add(Duration::from_secs(1)));
        let mut cuts = vec![segment.from, until];
        cuts.extend(surges.iter().flat_map(|surge| [surge.0, surge.1]));
        cuts.retain(|cut| (segment.from..=until).contains(cut));
        cuts.sort_unstable();
        cuts.dedup();
        let span = segment.until.saturating_sub(segment.from).as_nanos() as f64;
        let (start, finish) = (segment.start.as_per_second(), segment.end.as_per_second());
        let rate_at = |moment: Duration| {
            if start == finish {
                return start;
            }
            start
                + (finish - start) * (moment.saturating_sub(segment.from).as_nanos() as f64 / span)
        };
        for pair in cuts.windows(2) {
            let &[from, until] = pair else { continue };
            let factor: f64 = surges
                .iter()
                .filter(|surge| surge.0 <= from && from < surge.1)
                .map(|surge| surge.2)
                .product();
            let per_nano = factor / SECOND as f64;
            let (start, finish) = (rate_at(from) * per_nano, rate_at(until) * per_nano);
            let span = until.saturating_sub(from).as_nanos() as f64;
            pieces.push(Piece {
                until: until.as_nanos() as f64,
                start,
                slope: if start == finish { 0.0 } else { (finish - start) / span },
            });
        }
    }
    pieces
}
