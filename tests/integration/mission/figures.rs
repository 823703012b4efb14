//! Figures of the sources that a policy alone decides, by runs of the engine and by its waits. Where
//! a row is a slip, both values are asserted: what the text says, and what follows from its rules.

mod chokaq;
mod dotnet;
mod payments;
mod webhooks;

use std::sync::atomic::AtomicBool;

use stormlab::engine;
use stormlab::engine::observe::Observer;
use stormlab::engine::observe::Reason;
use stormlab::engine::observe::Verdict;
use stormlab::policy::backoff::Backoff;
use stormlab::policy::backoff::Past;
use stormlab::policy::stack::Policy;
use stormlab::random::Keys;
use stormlab::random::Purpose;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Model;
use stormlab::units::SimTime;

use crate::lab;

/// What is kept of a run, in seconds.
#[derive(Debug, Default)]
struct Told {
    /// When attempts reached the service.
    reached: Vec<f64>,
    /// When requests were born and ended, and whether well.
    ends: Vec<(f64, f64, bool)>,
}

impl Observer for Told {
    fn reached(&mut self, now: SimTime, _: usize, _: Reason) {
        self.reached.push(secs(now));
    }
    fn ended(&mut self, now: SimTime, _: usize, born_at: SimTime, verdict: Verdict) {
        self.ends.push((secs(born_at), secs(now), verdict == Verdict::Ok));
    }
}

impl Told {
    /// How many attempts there were in `[from, to)`.
    fn between(&self, from: f64, to: f64) -> usize {
        self.reached.iter().filter(|at| (from..to).contains(*at)).count()
    }

    /// How many attempts there were at that instant.
    fn at(&self, instant: f64) -> usize {
        self.reached.iter().filter(|at| (**at - instant).abs() < 1e-9).count()
    }

    /// The most attempts in any 100 ms from `from` to `to`, counted in tenths from `from` on.
    fn largest_tenth(&self, from: f64, to: f64) -> usize {
        let tenths = ((to - from) * 10.0).round() as u32;
        let edge = |i: u32| from + f64::from(i) / 10.0;
        (0..tenths).map(|i| self.between(edge(i), edge(i + 1))).max().unwrap_or(0)
    }

    /// The share of requests that did not end well.
    fn lost(&self) -> f64 {
        1.0 - self.ends.iter().filter(|it| it.2).count() as f64 / self.ends.len() as f64
    }

    /// How long requests lasted, on average.
    fn mean_latency(&self) -> f64 {
        mean(&self.ends.iter().map(|(born, end, _)| end - born).collect::<Vec<_>>())
    }
}

fn secs(at: SimTime) -> f64 {
    at.as_nanos() as f64 / 1e9
}

/// A system of clients and one service under a policy; maps as a scenario writes them.
fn system(policy: &str, arrivals: &str, server: &str) -> Model {
    lab::model(&format!(
        "
run: {{ horizon: 200h, warm_up: 0s, window: 1min }}
clients: {{ web: {{ arrivals: {arrivals}, calls: server, policy: it }} }}
services: {{ server: {server} }}
policies: {{ it: {policy} }}
"
    ))
}

/// A service that is well.
const WELL: &str = "{ workers: 100000, work: 0s }";

/// A service that ends every attempt with a class.
fn failing(class: &str) -> String {
    format!("{{ workers: 100000, work: 0s, errors: {{ class: {class}, share: 100% }} }}")
}

/// So many requests at the first moment.
fn burst(count: u32) -> String {
    lab::bursts(&[(count, 0)])
}

#[track_caller]
fn run(model: &Model, seed: u64) -> Told {
    let mut told = Told::default();
    engine::observe(model, seed, 0, &AtomicBool::new(false), &mut told).expect("the audit holds");
    told
}

/// The run of a system whose service refuses everybody for so many seconds from the start.
#[track_caller]
fn refused_for(model: Model, outage_s: u64) -> Told {
    run(&lab::with_trigger(model, 0, outage_s * 1_000, Effect::Refuse(0)), 4)
}

/// A policy as a scenario writes it.
#[track_caller]
fn policy(text: &str) -> Policy {
    let model = system(text, &burst(1), WELL);
    model.policies.into_iter().find(|policy| policy.name == "it").expect("it is there")
}

/// The back-off of a policy.
#[track_caller]
fn backoff(text: &str) -> Backoff {
    policy(text).retry.expect("it retries").backoff
}

/// The bounds of a wait, in seconds.
fn bounds(backoff: &Backoff, retry: u32) -> (f64, f64) {
    let (low, high) = backoff.bounds(retry);
    (low.as_secs_f64(), high.as_secs_f64())
}

/// The bounds of the first so many waits together, each at its own bound.
fn summed(backoff: &Backoff, retries: u32) -> (f64, f64) {
    (1..=retries)
        .map(|retry| bounds(backoff, retry))
        .fold((0.0, 0.0), |sum, (low, high)| (sum.0 + low, sum.1 + high))
}

/// `count` sequences of waits under fixed keys, in seconds.
fn sequences(backoff: &Backoff, count: u64, retries: u32) -> Vec<Vec<f64>> {
    let keys = Keys::new(4, 0);
    let sequence = |call| {
        let mut past = Past::new();
        let draw = |retry| keys.draw(Purpose::Backoff, call, retry);
        (1..=retries).map(|r| backoff.wait(r, &mut past, draw(r)).as_secs_f64()).collect()
    };
    (0..count).map(sequence).collect()
}

/// The sums of those sequences.
fn sums(backoff: &Backoff, count: u64, retries: u32) -> Vec<f64> {
    sequences(backoff, count, retries).iter().map(|waits| waits.iter().sum()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(f64::MIN, |a, b| a.max(*b))
}

#[track_caller]
fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found} for {expected} ± {tolerance}");
}

/// Equal but for the last bits of sums of seconds.
#[track_caller]
fn is(what: &str, found: f64, expected: f64) {
    near(what, found, expected, 1e-6);
}
