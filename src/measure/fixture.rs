//! A small model and records written by hand, for tests.

use std::ops::Range;

use crate::measure::deferred::DeferredCounts;
use crate::measure::record::Ending;
use crate::measure::record::PopulationWindow;
use crate::measure::record::RunRecord;
use crate::measure::record::Series;
use crate::measure::record::ServiceWindow;
use crate::measure::record::Verdicts;
use crate::policy::backoff::Backoff;
use crate::policy::backoff::Growth;
use crate::policy::stack::Policy;
use crate::random::Distribution;
use crate::scenario::model::*;
use crate::stats::histogram::Histogram;
use crate::units::Duration;
use crate::units::Rate;
use crate::units::Share;

/// Requests born per second in `record`.
pub(crate) const BORN: u32 = 2_000;

/// Clients asking one service, which refuses from 100 s to 110 s. Windows of 1 s after 10 s of
/// warm-up; w = 5 s, hold 15 s, baseline 50 s.
pub(crate) fn model() -> Model {
    let seconds = Duration::from_secs;
    let rate = Rate::per_second(f64::from(BORN)).unwrap();
    let level = RateSegment { from: Duration::ZERO, until: Duration::MAX, start: rate, end: rate };
    Model {
        run: RunSettings {
            horizon: seconds(400),
            warm_up: seconds(10),
            window: seconds(1),
            replications: 20,
            seed: 7,
            recovery: RecoverySettings {
                window: seconds(5),
                hold: seconds(15),
                tolerance: Share::new(0.05).unwrap(),
                baseline: seconds(50),
            },
            limits: Limits::default(),
        },
        populations: vec![Population {
            name: "web".into(),
            size: 1,
            arrivals: Arrivals::Open(OpenArrivals {
                process: Process::Poisson,
                segments: vec![level],
                bursts: Vec::new(),
            }),
            calls: 0,
            deadline: None,
            queue: None,
        }],
        queues: Vec::new(),
        services: vec![Service {
            name: "shop".into(),
            replicas: 1,
            workers: 1,
            holds_worker: false,
            queue: Queue {
                limit: None,
                order: QueueOrder::Fifo,
                when_full: WhenFull::Reply,
                drop_expired: false,
                codel: None,
            },
            cancellation: Cancellation::None,
            work: Distribution::constant(Duration::from_nanos(250_000)),
            errors: None,
            retry_after: Vec::new(),
            calls: Vec::new(),
            overload: None,
            balance: Balance::RoundRobin,
            idempotency: None,
            replay_window: None,
        }],
        edges: vec![Edge {
            caller: Caller::Population(0),
            target: 0,
            policy: 0,
            link: Link { latency: Distribution::constant(Duration::ZERO), loss: Share::ZERO },
            operation: Operation::Read,
            answers: Vec::new(),
            deferred: None,
        }],
        policies: vec![
            Policy::plain("thrice")
                .with_attempt_timeout(seconds(1))
                .with_retry(3, Backoff { growth: Growth::Constant(seconds(2)), ..Backoff::NONE }),
        ],
        triggers: vec![Trigger {
            at: seconds(100),
            lasts: seconds(10),
            effect: Effect::Refuse(0),
            replicas: None,
        }],
        operator: Vec::new(),
    }
}

/// A run of `model` in which every window is calm: all answered, one attempt each, two inside.
pub(crate) fn calm(model: &Model, replication: u32) -> RunRecord {
    let warm_up_windows = (model.run.warm_up.as_nanos() / model.run.window.as_nanos()) as usize;
    let measured = (model.run.horizon.as_nanos() / model.run.window.as_nanos()) as usize;
    let windows = warm_up_windows + measured;
    let born = u64::from(BORN) * measured as u64;
    RunRecord {
        replication,
        ending: Ending::Complete,
        events: 5 * born,
        fingerprint: u64::from(replication),
        peak_attempts: 5,
        verdicts: vec![Verdicts { born, ok: born, ..Verdicts::default() }],
        deferred: vec![DeferredCounts::default(); model.services.len()],
        series: Series {
            window: model.run.window,
            warm_up_windows,
            windows,
            populations: vec![
                PopulationWindow {
                    born: BORN,
                    ok: BORN,
                    born_ok: BORN,
                    ..PopulationWindow::default()
                };
                windows
            ],
            services: vec![
                ServiceWindow {
                    first: BORN,
                    busy_ns: 500_000_000,
                    ..ServiceWindow::default()
                };
                windows
            ],
            edges: Vec::new(),
            queues: Vec::new(),
            backlog: vec![2; windows],
        },
        latency_ok: Histogram::default(),
        latency_failed: Histogram::default(),
        latencies: Vec::new(),
        jobs: Vec::new(),
    }
}

impl RunRecord {
    /// Rewrites the windows of a span of seconds after time 0 (one window is one second).
    pub(crate) fn rewrite(
        mut self,
        span: Range<usize>,
        change: impl Fn(&mut PopulationWindow, &mut ServiceWindow, &mut u32),
    ) -> Self {
        let zero = self.series.warm_up_windows;
        for index in span.start + zero..(span.end + zero).min(self.series.windows) {
            change(
                &mut self.series.populations[index],
                &mut self.series.services[index],
                &mut self.series.backlog[index],
            );
        }
        self
    }

    /// A span of seconds in which a share of the requests is answered, with three attempts each.
    pub(crate) fn storm(self, span: Range<usize>, answered: f64, backlog: u32) -> Self {
        self.rewrite(span, |population, service, inside| {
            population.ok = (f64::from(population.born) * answered) as u32;
            population.born_ok = population.ok;
            population.born_lost = population.born - population.ok;
            service.retry_after_timeout = 2 * service.first;
            service.wasted_ns = service.busy_ns / 2;
            *inside = backlog;
        })
    }
}

/// A scenario of named models, the base first, with a seed of its own.
pub(crate) fn scenario(models: Vec<(&str, Model)>) -> Scenario {
    let variants = models
        .into_iter()
        .map(|(name, model)| Variant { name: name.into(), about: String::new(), model })
        .collect();
    Scenario {
        name: "synthetic".into(),
        about: String::new(),
        source: String::new(),
        variants,
        expect: Vec::new(),
        fingerprint: String::new(),
    }
}
