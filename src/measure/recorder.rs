//! Listens to one run and writes its record.

use std::sync::atomic::AtomicBool;

use crate::engine;
use crate::engine::RunError;
use crate::engine::RunReport;
use crate::engine::observe::Cause;
use crate::engine::observe::Deferral;
use crate::engine::observe::EdgeLevel;
use crate::engine::observe::JobEnd;
use crate::engine::observe::Observer;
use crate::engine::observe::QueueLevel;
use crate::engine::observe::Reason;
use crate::engine::observe::Return;
use crate::engine::observe::ServiceLevel;
use crate::engine::observe::Verdict;
use crate::measure::deferred::DeferredCounts;
use crate::measure::jobs::JobRecorder;
use crate::measure::record::EdgeWindow;
use crate::measure::record::Latencies;
use crate::measure::record::PopulationWindow;
use crate::measure::record::RunRecord;
use crate::measure::record::Series;
use crate::measure::record::ServiceWindow;
use crate::measure::record::Verdicts;
use crate::policy::outcome::Class;
use crate::scenario::model::Model;
use crate::units::Duration;
use crate::units::SimTime;

/// Runs `model` once under the keys `(seed, replication)` and leaves its record.
///
/// # Errors
/// As [`engine::observe()`].
pub fn simulate(
    model: &Model,
    seed: u64,
    replication: u32,
    stop: &AtomicBool,
) -> Result<RunRecord, RunError> {
    let mut recorder = Recorder::new(model);
    let report = engine::observe(model, seed, replication, stop, &mut recorder)?;
    Ok(recorder.into_record(replication, report))
}

/// Counts what an engine tells, window by window.
#[derive(Clone, Debug)]
pub struct Recorder {
    start: SimTime,
    window_ns: u64,
    /// The start of the present window.
    window_start: SimTime,
    populations: Vec<PopulationWindow>,
    services: Vec<ServiceWindow>,
    /// Attempts that reached each service, by reason.
    reached: Vec<[u32; Reason::COUNT]>,
    edges: Vec<EdgeWindow>,
    verdicts: Vec<Verdicts>,
    deferred: Vec<DeferredCounts>,
    series: Series,
    latencies: Vec<Latencies>,
    jobs: Vec<JobRecorder>,
    /// Jobs stored that nobody executes, of all queues, at the end of the window.
    waiting_jobs: u32,
}

impl Recorder {
    /// A recorder for runs of `model`.
    pub fn new(model: &Model) -> Self {
        let window = model.run.window;
        let warm_up_windows = model.run.warm_up.as_nanos() / window.as_nanos();
        let windows = warm_up_windows + model.run.horizon.as_nanos() / window.as_nanos();
        let planned = windows as usize;
        let (populations, services, edges, queues) =
            (model.populations.len(), model.services.len(), model.edges.len(), model.queues.len());
        Self {
            start: SimTime::ZERO + model.run.warm_up,
            window_ns: window.as_nanos(),
            window_start: SimTime::ZERO,
            populations: vec![PopulationWindow::default(); populations],
            services: vec![ServiceWindow::default(); services],
            reached: vec![[0; Reason::COUNT]; services],
            edges: vec![EdgeWindow::default(); edges],
            verdicts: vec![Verdicts::default(); populations],
            deferred: vec![DeferredCounts::default(); services],
            series: Series {
                window,
                warm_up_windows: warm_up_windows as usize,
                windows: 0,
                populations: Vec::with_capacity(planned * populations),
                services: Vec::with_capacity(planned * services),
                edges: Vec::with_capacity(planned * edges),
                queues: Vec::with_capacity(planned * queues),
                backlog: Vec::with_capacity(planned),
            },
            latencies: vec![Latencies::default(); populations],
            jobs: vec![JobRecorder::new(SimTime::ZERO + model.run.warm_up); queues],
            waiting_jobs: 0,
        }
    }

    /// The record of the run that has been listened to.
    pub fn into_record(mut self, replication: u32, report: RunReport) -> RunRecord {
        for (population, born_at) in &report.open {
            if *born_at >= self.start {
                self.verdicts[*population].open += 1;
            }
        }
        let mut all = Latencies::default();
        self.latencies.iter().for_each(|latencies| all.merge(latencies));
        RunRecord {
            replication,
            ending: report.ending,
            events: report.events,
            fingerprint: report.fingerprint,
            peak_attempts: report.peak_attempts,
            verdicts: self.verdicts,
            deferred: self.deferred,
            series: self.series,
            latency_ok: all.ok,
            latency_failed: all.failed,
            latencies: self.latencies,
            jobs: self.jobs.into_iter().map(|queue| queue.record).collect(),
        }
    }

    /// The window in which a request was born: the present one, or one already closed.
    fn window_of(&mut self, population: usize, moment: SimTime) -> &mut PopulationWindow {
        if moment >= self.window_start {
            return &mut self.populations[population];
        }
        let window = (moment.as_nanos() / self.window_ns) as usize;
        &mut self.series.populations[window * self.populations.len() + population]
    }
}

impl Observer for Recorder {
    #[inline]
    fn born(&mut self, now: SimTime, population: usize, shed: bool) {
        let counted = u64::from(now >= self.start);
        let row = &mut self.populations[population];
        row.born += 1;
        row.shed += u32::from(shed);
        let verdicts = &mut self.verdicts[population];
        verdicts.born += counted;
        verdicts.failed[Cause::Shed as usize] += counted * u64::from(shed);
    }

    #[inline]
    fn ended(&mut self, now: SimTime, population: usize, born_at: SimTime, verdict: Verdict) {
        let ok = verdict == Verdict::Ok;
        let cohort = self.window_of(population, born_at);
        cohort.born_ok += u32::from(ok);
        cohort.born_lost += u32::from(!ok);
        let row = &mut self.populations[population];
        match verdict {
            Verdict::Ok => row.ok += 1,
            Verdict::Late => row.late += 1,
            Verdict::Failed(_) => row.failed += 1,
        }
        if born_at < self.start {
            return;
        }
        let latency = now.since(born_at).as_nanos();
        let verdicts = &mut self.verdicts[population];
        match verdict {
            Verdict::Ok => verdicts.ok += 1,
            Verdict::Late => verdicts.late += 1,
            Verdict::Failed(cause) => verdicts.failed[cause as usize] += 1,
        }
        let latencies = &mut self.latencies[population];
        if ok { latencies.ok.record(latency) } else { latencies.failed.record(latency) }
    }

    #[inline]
    fn call_began(&mut self, _now: SimTime, edge: usize) {
        self.edges[edge].calls += 1;
    }

    #[inline]
    fn rejected(&mut self, _now: SimTime, edge: usize, class: Class) {
        let row = &mut self.edges[edge];
        match class {
            Class::BreakerOpen => row.rejected_by_breaker += 1,
            Class::Throttled => row.rejected_by_throttle += 1,
            _ => row.rejected_by_bulkhead += 1,
        }
    }

    #[inline]
    fn denied(&mut self, _now: SimTime, edge: usize) {
        self.edges[edge].denied_by_budget += 1;
    }

    #[inline]
    fn timed_out(&mut self, _now: SimTime, edge: usize) {
        self.edges[edge].timeouts += 1;
    }

    #[inline]
    fn reached(&mut self, _now: SimTime, service: usize, reason: Reason) {
        // By number: which reason it is nobody can guess, and a wrong guess is dear.
        self.reached[service][reason as usize] += 1;
    }

    #[inline]
    fn refused(&mut self, _now: SimTime, service: usize, _class: Option<Class>) {
        self.services[service].refused += 1;
    }

    #[inline]
    fn worked(&mut self, _now: SimTime, service: usize, span: Duration, wasted: bool) {
        if wasted {
            self.services[service].wasted_ns += span.as_nanos();
        }
    }

    #[inline]
    fn answered(&mut self, _now: SimTime, service: usize, _arrived_at: SimTime, ok: bool) {
        let row = &mut self.services[service];
        row.completed_ok += u32::from(ok);
        row.completed_error += u32::from(!ok);
    }

    #[inline]
    fn took_effect(&mut self, _now: SimTime, service: usize, times: u32) {
        let row = &mut self.services[service];
        row.effects += 1;
        row.duplicate_effects += u32::from(times > 1);
        row.duplicated += u32::from(times == 2);
    }

    #[inline]
    fn replayed(&mut self, _now: SimTime, service: usize) {
        self.services[service].replays += 1;
    }

    #[inline]
    fn conflicted(&mut self, _now: SimTime, service: usize) {
        self.services[service].conflicts += 1;
    }

    #[inline]
    fn mismatched(&mut self, _now: SimTime, service: usize) {
        self.services[service].mismatches += 1;
    }

    #[inline]
    fn removed(&mut self, _now: SimTime, service: usize, _arrived_at: SimTime) {
        self.services[service].removed += 1;
    }

    #[inline]
    fn crashed(&mut self, _now: SimTime, service: usize) {
        self.services[service].crashes += 1;
    }

    fn deferred(&mut self, now: SimTime, service: usize, what: Deferral) {
        if now >= self.start {
            self.deferred[service].count(what);
        }
    }

    #[inline]
    fn enqueued(&mut self, now: SimTime, queue: usize, _population: usize) {
        self.jobs[queue].enqueued(now);
    }

    #[inline]
    fn claimed(&mut self, now: SimTime, queue: usize, due_at: SimTime) {
        self.jobs[queue].claimed(now, due_at);
    }

    #[inline]
    fn executed(&mut self, now: SimTime, queue: usize, _nth: u32) {
        self.jobs[queue].executed(now);
    }

    #[inline]
    fn returned(&mut self, now: SimTime, queue: usize, why: Return, _due_at: SimTime) {
        self.jobs[queue].returned(now, why);
    }

    #[inline]
    fn job_ended(&mut self, now: SimTime, end: &JobEnd) {
        self.jobs[end.queue].ended(now, end);
    }

    #[inline]
    fn reopened(&mut self, now: SimTime, queue: usize, put_back: bool) {
        self.jobs[queue].reopened(now, put_back);
    }

    #[inline]
    fn suspended(&mut self, now: SimTime, queue: usize, is: bool) {
        self.jobs[queue].suspended(now, is);
    }

    fn queues_at_window_end(&mut self, now: SimTime, queues: &[QueueLevel]) {
        let ended =
            self.jobs.iter_mut().zip(queues).map(|(jobs, level)| jobs.window_ends(now, level));
        self.series.queues.extend(ended);
        let waiting = |level: &QueueLevel| {
            level.at_rest + level.parked + level.claimed.saturating_sub(level.executing)
        };
        let waiting: u64 = queues.iter().map(waiting).sum();
        self.waiting_jobs = waiting.try_into().unwrap_or(u32::MAX);
    }

    fn window_ends(&mut self, now: SimTime, services: &[ServiceLevel], edges: &[EdgeLevel]) {
        for (row, reached) in self.services.iter_mut().zip(&mut self.reached) {
            let reached = std::mem::take(reached);
            row.first = reached[Reason::First as usize];
            row.retry_after_timeout = reached[Reason::AfterTimeout as usize];
            row.retry_after_refusal = reached[Reason::AfterRefusal as usize];
            row.retry_after_error = reached[Reason::AfterError as usize];
            row.hedge = reached[Reason::Hedge as usize];
        }
        for (row, level) in self.services.iter_mut().zip(services) {
            row.busy_ns = level.busy_ns;
            row.waiting = level.waiting;
            row.present = level.present;
            row.replicas_up = level.replicas_up;
        }
        for (row, level) in self.edges.iter_mut().zip(edges) {
            row.backing_off = level.backing_off;
            row.breakers_open = level.breakers_open;
            row.breakers = level.breakers;
        }
        let series = &mut self.series;
        let present: u32 = services.iter().map(|level| level.present).sum();
        series.backlog.push(present.saturating_add(self.waiting_jobs));
        series.populations.extend_from_slice(&self.populations);
        series.services.extend_from_slice(&self.services);
        series.edges.extend_from_slice(&self.edges);
        series.windows += 1;
        self.window_start = now;
        self.populations.fill(PopulationWindow::default());
        self.services.fill(ServiceWindow::default());
        self.edges.fill(EdgeWindow::default());
    }
}
