//! The work W2 as a model that any framework can drive: it supplies calendar and dispatch, this
//! file says what happens.
//!
//! Eight workers with a mean service time of 10 ms, 720 requests per second, a timeout of 30 ms for
//! each attempt, three retries after U(0, 20 ms · 2ᵏ) capped at 1 s, room for 16 to wait, abandoned
//! work still served, no service begun from 60 s to 80 s of 180 s. Timers are not cancelled: a
//! stale one is recognised when it comes, which is the cheapest way in every framework here.
//! `scenarios/validation/w2.yaml` is the same for Stormlab.

use std::collections::VecDeque;
use std::time::Duration;

use rand::RngExt;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::Distribution;
use rand_distr::Exp1;

const WORKERS: usize = 8;
const MEAN_WORK: f64 = 0.010;
const RATE: f64 = 720.0;
const TIMEOUT: f64 = 0.030;
const RETRIES: u8 = 3;
const BASE: f64 = 0.020;
const CAP: f64 = 1.0;
const ROOM: usize = 16;
const PAUSE: std::ops::Range<f64> = 60.0..80.0;

/// The end of a run, in seconds.
pub const HORIZON: f64 = 180.0;

/// What can happen; indices name requests and attempts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A request is born.
    Birth,
    /// A worker has done with an attempt.
    Done(u32),
    /// The time of an attempt has run out; the number tells it from an earlier one in its place.
    Timeout(u32, u32),
    /// A request is tried again.
    Retry(u32),
    /// The pause is over.
    Resume,
}

/// What happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    requests: u64,
    completions: u64,
    timeouts: u64,
    retries: u64,
    ok: u64,
}

#[derive(Clone, Copy, Default)]
struct Attempt {
    request: u32,
    use_number: u32,
    awaited: bool,
}

/// One run.
pub struct Model {
    random: SmallRng,
    busy: usize,
    queue: VecDeque<u32>,
    attempts: Vec<Attempt>,
    free_attempts: Vec<u32>,
    tries: Vec<u8>,
    free_requests: Vec<u32>,
    counts: Counts,
}

impl Model {
    /// A run that has not begun.
    pub fn new(seed: u64) -> Self {
        Self {
            random: SmallRng::seed_from_u64(seed),
            busy: 0,
            queue: VecDeque::new(),
            attempts: Vec::new(),
            free_attempts: Vec::new(),
            tries: Vec::new(),
            free_requests: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        let sample: f64 = Exp1.sample(&mut self.random);
        sample * mean
    }

    /// Schedules the first events; `after` takes a delay in seconds.
    pub fn begin(&mut self, mut after: impl FnMut(f64, Event)) {
        after(self.exponential(1.0 / RATE), Event::Birth);
        after(PAUSE.end, Event::Resume);
    }

    /// An event happens, and schedules what follows.
    #[inline]
    pub fn happen(&mut self, now: f64, event: Event, mut after: impl FnMut(f64, Event)) {
        match event {
            Event::Birth => {
                self.counts.requests += 1;
                after(self.exponential(1.0 / RATE), Event::Birth);
                let request = self.free_requests.pop().unwrap_or_else(|| {
                    self.tries.push(0);
                    self.tries.len() as u32 - 1
                });
                self.tries[request as usize] = 0;
                self.send(now, request, &mut after);
            }
            Event::Retry(request) => self.send(now, request, &mut after),
            Event::Done(attempt) => {
                self.counts.completions += 1;
                self.busy -= 1;
                self.serve_next(now, &mut after);
                let record = &mut self.attempts[attempt as usize];
                record.use_number += 1;
                if record.awaited {
                    self.counts.ok += 1;
                    self.free_requests.push(record.request);
                }
                self.free_attempts.push(attempt);
            }
            Event::Timeout(attempt, use_number) => {
                let record = &mut self.attempts[attempt as usize];
                if record.use_number == use_number && record.awaited {
                    record.awaited = false;
                    let request = record.request;
                    self.counts.timeouts += 1;
                    self.fail(request, &mut after);
                }
            }
            Event::Resume => {
                while self.busy < WORKERS && !self.queue.is_empty() {
                    self.serve_next(now, &mut after);
                }
            }
        }
    }

    fn send(&mut self, now: f64, request: u32, after: &mut impl FnMut(f64, Event)) {
        if self.queue.len() >= ROOM {
            return self.fail(request, after);
        }
        let attempt = self.free_attempts.pop().unwrap_or_else(|| {
            self.attempts.push(Attempt::default());
            self.attempts.len() as u32 - 1
        });
        let record = &mut self.attempts[attempt as usize];
        record.request = request;
        record.awaited = true;
        after(TIMEOUT, Event::Timeout(attempt, record.use_number));
        self.queue.push_back(attempt);
        if self.busy < WORKERS {
            self.serve_next(now, after);
        }
    }

    fn serve_next(&mut self, now: f64, after: &mut impl FnMut(f64, Event)) {
        if PAUSE.contains(&now) {
            return;
        }
        if let Some(attempt) = self.queue.pop_front() {
            self.busy += 1;
            after(self.exponential(MEAN_WORK), Event::Done(attempt));
        }
    }

    fn fail(&mut self, request: u32, after: &mut impl FnMut(f64, Event)) {
        let tries = &mut self.tries[request as usize];
        if *tries == RETRIES {
            self.free_requests.push(request);
            return;
        }
        let window = (BASE * f64::from(1u32 << *tries)).min(CAP);
        *tries += 1;
        self.counts.retries += 1;
        let wait = self.random.random::<f64>() * window;
        after(wait, Event::Retry(request));
    }
}

/// Runs as often as the first argument says, and prints the line that comparisons read.
pub fn report(peer: &str, mut run: impl FnMut(u64) -> Counts) {
    let runs = std::env::args().nth(1).and_then(|runs| runs.parse().ok()).unwrap_or(1);
    let before = processor_time();
    let counts: Vec<Counts> = (1..=runs).map(&mut run).collect();
    let cpu = processor_time() - before;
    let events: u64 =
        counts.iter().map(|c| c.requests + c.completions + c.timeouts + c.retries).sum();
    let ok: u64 = counts.iter().map(|c| c.ok).sum();
    println!(
        "{{\"peer\": \"{peer}\", \"events\": {events}, \"ok\": {ok}, \"cpu_s\": {:.6}}}",
        cpu.as_secs_f64()
    );
}

/// Time that this thread has been on a processor, as Linux counts it.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}
