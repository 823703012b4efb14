//! Listens to a run from a moment on, and keeps means, second moments, tails and time averages.

use stormlab::engine::observe::EdgeLevel;
use stormlab::engine::observe::Observer;
use stormlab::engine::observe::Reason;
use stormlab::engine::observe::ServiceLevel;
use stormlab::engine::observe::Verdict;
use stormlab::policy::outcome::Class;
use stormlab::scenario::model::Model;
use stormlab::stats::histogram::Histogram;
use stormlab::units::Duration;
use stormlab::units::SimTime;

/// Spans of time: their mean, mean square and tail.
#[derive(Clone, Default)]
pub(super) struct Spans {
    histogram: Histogram,
    squares: f64,
}

impl Spans {
    fn add(&mut self, span: Duration) {
        self.histogram.record(span.as_nanos());
        self.squares += span.as_secs_f64() * span.as_secs_f64();
    }

    pub(super) fn count(&self) -> f64 {
        self.histogram.count() as f64
    }

    /// In seconds.
    pub(super) fn mean(&self) -> f64 {
        self.histogram.mean().expect("there are spans") / 1e9
    }

    /// In seconds squared.
    pub(super) fn mean_square(&self) -> f64 {
        self.squares / self.count()
    }

    /// The share longer than `seconds`.
    pub(super) fn share_above(&self, seconds: f64) -> f64 {
        self.histogram.share_above((seconds * 1e9) as u64).expect("there are spans")
    }

    /// In seconds.
    pub(super) fn quantile(&self, p: f64) -> f64 {
        self.histogram.quantile(p).expect("there are spans") / 1e9
    }
}

/// What happened at one service.
#[derive(Clone, Default)]
pub(super) struct Station {
    pub(super) reached: f64,
    pub(super) refused: f64,
    pub(super) answered: f64,
    /// In the queue, of those that a worker took up.
    pub(super) waits: Spans,
    /// At the service, of those that were answered.
    pub(super) sojourns: Spans,
    present_ns: f64,
    waiting_ns: f64,
    busy_ns: f64,
}

/// What happened on the caller's side of one edge.
#[derive(Clone, Default)]
pub(super) struct Side {
    pub(super) calls: f64,
    pub(super) rejected: f64,
    pub(super) timed_out: f64,
    pub(super) backoffs: Spans,
    backing_off_ns: f64,
    breakers_not_closed: f64,
}

/// What happened in a run from `since` on.
#[derive(Clone)]
pub(super) struct Meter {
    since: SimTime,
    span_ns: f64,
    windows: f64,
    pub(super) born: f64,
    pub(super) ok: f64,
    pub(super) failed: f64,
    /// From birth to verdict, well or not.
    pub(super) latencies: Spans,
    pub(super) stations: Vec<Station>,
    pub(super) sides: Vec<Side>,
}

impl Meter {
    /// From the end of the warm-up.
    pub(super) fn new(model: &Model) -> Self {
        Self {
            since: SimTime::ZERO + model.run.warm_up,
            span_ns: model.run.horizon.as_nanos() as f64,
            windows: 0.0,
            born: 0.0,
            ok: 0.0,
            failed: 0.0,
            latencies: Spans::default(),
            stations: vec![Station::default(); model.services.len()],
            sides: vec![Side::default(); model.edges.len()],
        }
    }

    /// From `span` after the end of the warm-up, a whole number of windows.
    pub(super) fn later(model: &Model, span: Duration) -> Self {
        let whole = Self::new(model);
        let left = model.run.horizon.saturating_sub(span);
        Self { since: whole.since + span, span_ns: left.as_nanos() as f64, ..whole }
    }

    /// Events per second.
    pub(super) fn rate(&self, events: f64) -> f64 {
        events / self.span_ns * 1e9
    }

    /// L: the mean number at a service.
    pub(super) fn present(&self, service: usize) -> f64 {
        self.stations[service].present_ns / self.span_ns
    }

    /// Lq: the mean number waiting for a worker.
    pub(super) fn waiting(&self, service: usize) -> f64 {
        self.stations[service].waiting_ns / self.span_ns
    }

    /// The mean number of busy workers.
    pub(super) fn busy(&self, service: usize) -> f64 {
        self.stations[service].busy_ns / self.span_ns
    }

    /// The mean number of calls in back-off.
    pub(super) fn orbit(&self, edge: usize) -> f64 {
        self.sides[edge].backing_off_ns / self.span_ns
    }

    /// Breakers that were open or half-open at the end of a window, on average.
    pub(super) fn breakers_not_closed(&self, edge: usize) -> f64 {
        self.sides[edge].breakers_not_closed / self.windows
    }

    /// Attempts at a service per request born.
    pub(super) fn amplification(&self, service: usize) -> f64 {
        self.stations[service].reached / self.born
    }

    /// The share of requests that failed.
    pub(super) fn failing(&self) -> f64 {
        self.failed / (self.ok + self.failed)
    }

    fn counts(&self, now: SimTime) -> f64 {
        f64::from(u8::from(now >= self.since))
    }
}

impl Observer for Meter {
    fn born(&mut self, now: SimTime, _population: usize, _shed: bool) {
        self.born += self.counts(now);
    }

    fn ended(&mut self, now: SimTime, _population: usize, born_at: SimTime, verdict: Verdict) {
        if now >= self.since {
            self.latencies.add(now.since(born_at));
            *(if verdict == Verdict::Ok { &mut self.ok } else { &mut self.failed }) += 1.0;
        }
    }

    fn call_began(&mut self, now: SimTime, edge: usize) {
        self.sides[edge].calls += self.counts(now);
    }

    fn rejected(&mut self, now: SimTime, edge: usize, _class: Class) {
        self.sides[edge].rejected += self.counts(now);
    }

    fn timed_out(&mut self, now: SimTime, edge: usize) {
        self.sides[edge].timed_out += self.counts(now);
    }

    fn backs_off(&mut self, now: SimTime, edge: usize, wait: Duration) {
        if now >= self.since {
            self.sides[edge].backoffs.add(wait);
        }
    }

    fn reached(&mut self, now: SimTime, service: usize, _reason: Reason) {
        self.stations[service].reached += self.counts(now);
    }

    fn refused(&mut self, now: SimTime, service: usize, _class: Option<Class>) {
        self.stations[service].refused += self.counts(now);
    }

    fn started(&mut self, now: SimTime, service: usize, arrived_at: SimTime) {
        if now >= self.since {
            self.stations[service].waits.add(now.since(arrived_at));
        }
    }

    fn answered(&mut self, now: SimTime, service: usize, arrived_at: SimTime, _ok: bool) {
        if now >= self.since {
            self.stations[service].answered += 1.0;
            self.stations[service].sojourns.add(now.since(arrived_at));
        }
    }

    fn window_ends(&mut self, now: SimTime, services: &[ServiceLevel], edges: &[EdgeLevel]) {
        if now <= self.since {
            return;
        }
        self.windows += 1.0;
        for (station, level) in self.stations.iter_mut().zip(services) {
            station.present_ns += level.present_ns as f64;
            station.waiting_ns += level.waiting_ns as f64;
            station.busy_ns += level.busy_ns as f64;
        }
        for (side, level) in self.sides.iter_mut().zip(edges) {
            side.backing_off_ns += level.backing_off_ns as f64;
            side.breakers_not_closed += f64::from(level.breakers_open);
        }
    }
}
