//! A storm made up for tests: the shapes of a real one, without running an engine.

use crate::analysis::summary::AmplificationSummary;
use crate::analysis::summary::Estimate;
use crate::analysis::summary::Finding;
use crate::analysis::summary::GoodputRatio;
use crate::analysis::summary::LatencySummary;
use crate::analysis::summary::RecoveryTime;
use crate::analysis::summary::Requests;
use crate::analysis::summary::Summary;
use crate::analysis::summary::VariantSummary;
use crate::experiment::result::Band;
use crate::experiment::result::VariantResult;
use crate::measure::deferred::DeferredCounts;
use crate::measure::outcome::Amplification;
use crate::measure::outcome::EffectCounts;
use crate::measure::outcome::RunClass;
use crate::measure::outcome::RunOutcome;
use crate::measure::outcome::Survival;
use crate::measure::record::EdgeWindow;
use crate::measure::record::Ending;
use crate::measure::record::PopulationWindow;
use crate::measure::record::RunRecord;
use crate::measure::record::Series;
use crate::measure::record::ServiceWindow;
use crate::measure::record::Verdicts;
use crate::policy::stack::Policy;
use crate::random::Distribution;
use crate::report::Material;
use crate::scenario::model::*;
use crate::stats::histogram::Histogram;
use crate::units::Duration;
use crate::units::Rate;
use crate::units::Share;

/// A scenario, its made-up results and their summary.
pub(crate) struct Made {
    pub(crate) scenario: Scenario,
    pub(crate) results: Vec<VariantResult>,
    pub(crate) summary: Summary,
    pub(crate) worst_case: Vec<Vec<Option<f64>>>,
}

impl Made {
    pub(crate) fn material(&self) -> Material<'_> {
        Material {
            scenario: &self.scenario,
            results: &self.results,
            summary: &self.summary,
            command: "stormlab run failover-20s.yaml",
            worst_case: &self.worst_case,
        }
    }
}

const SERVICES: [(&str, u32, u64); 4] =
    [("gateway", 800, 1), ("orders", 400, 1), ("repository", 400, 1), ("database", 5, 20)];

fn service(name: &str, workers: u32, work_ms: u64, calls: Vec<EdgeId>) -> Service {
    Service {
        name: name.into(),
        replicas: 1,
        workers,
        holds_worker: false,
        queue: Queue {
            limit: Some(1_000),
            order: QueueOrder::Fifo,
            when_full: WhenFull::Reply,
            drop_expired: false,
            codel: None,
        },
        cancellation: Cancellation::None,
        work: Distribution::constant(Duration::from_millis(work_ms)),
        errors: None,
        retry_after: Vec::new(),
        calls,
        overload: None,
        balance: Balance::RoundRobin,
        idempotency: None,
        replay_window: None,
    }
}

/// Four services in a chain, `extra` of them besides; a database that refuses for 20 s.
pub(crate) fn model(extra: usize, triggers: usize) -> Model {
    let mut services: Vec<_> = SERVICES
        .iter()
        .enumerate()
        .map(|(index, (name, workers, work))| {
            let calls = if index + 1 < SERVICES.len() { vec![index + 1] } else { Vec::new() };
            service(name, *workers, *work, calls)
        })
        .collect();
    for index in 0..extra {
        services.push(service(&format!("dependency-with-a-long-name-{index}"), 4, 5, Vec::new()));
    }
    let link =
        Link { latency: Distribution::constant(Duration::from_millis(1)), loss: Share::ZERO };
    let edges = (0..services.len())
        .map(|target| Edge {
            caller: match target {
                0 => Caller::Population(0),
                1..4 => Caller::Service(target - 1),
                _ => Caller::Service(0),
            },
            target,
            policy: 0,
            link: link.clone(),
            operation: Operation::Read,
            answers: Vec::new(),
            deferred: None,
        })
        .collect();
    let rate = Rate::per_second(25.0).unwrap();
    let segment =
        RateSegment { from: Duration::ZERO, until: Duration::MAX, start: rate, end: rate };
    Model {
        run: RunSettings {
            horizon: Duration::from_secs(3_600),
            warm_up: Duration::from_secs(120),
            window: Duration::from_secs(1),
            replications: 100,
            seed: 1,
            recovery: RecoverySettings {
                window: Duration::from_secs(24),
                hold: Duration::from_secs(72),
                tolerance: Share::new(0.05).unwrap(),
                baseline: Duration::from_secs(240),
            },
            limits: Limits::default(),
        },
        populations: vec![Population {
            name: "web".into(),
            size: 1_000,
            arrivals: Arrivals::Open(OpenArrivals {
                process: Process::Poisson,
                segments: vec![segment],
                bursts: Vec::new(),
            }),
            calls: 0,
            deadline: None,
            queue: None,
        }],
        queues: Vec::new(),
        services,
        edges,
        policies: vec![Policy::plain("thrice")],
        triggers: (0..triggers)
            .map(|index| Trigger {
                at: Duration::from_secs(300 + 40 * index as u64),
                lasts: Duration::from_secs(20),
                effect: Effect::Refuse(3),
                replicas: None,
            })
            .collect(),
        operator: Vec::new(),
    }
}

/// A number in `[0, 1)` that looks random and is always the same.
fn noise(key: usize) -> f64 {
    let mixed = (key as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 40) as f64 / (1_u64 << 24) as f64
}

/// A storm that ends `until` seconds after the warm-up; 25 requests per second before and after.
fn series(model: &Model, until: f64) -> Series {
    let windows = 3_720;
    let mut series =
        Series { window: model.run.window, warm_up_windows: 120, windows, ..Series::default() };
    for index in 0..windows {
        let at = series.start_s(index);
        let storm = !model.triggers.is_empty() && at >= 300.0 && at < until;
        // Waves every 30 s that grow over two minutes and then keep their height.
        let wave = if storm { (1.0 - ((at % 30.0) / 9.0 - 1.0).abs()).max(0.0) } else { 0.0 };
        let height = ((at - 300.0) / 120.0).clamp(0.1, 1.0);
        let born = (15.0 + 20.0 * noise(index)) as u32;
        let ok = if storm { (1.5 * noise(index * 7)) as u32 } else { born };
        series.populations.push(PopulationWindow {
            born,
            ok,
            failed: born - ok.min(born),
            born_ok: ok,
            born_lost: born - ok.min(born),
            ..PopulationWindow::default()
        });
        let mut backlog = 0;
        for (id, _) in model.services.iter().enumerate() {
            let most = [25.0, 100.0, 400.0, 1_600.0, 60.0][id.min(4)] * height;
            let retries = most * wave * (0.8 + 0.4 * noise(index * 11 + id));
            let present = if storm { (most * (0.2 + wave) / 4.0) as u32 } else { born / 10 };
            let crashed = id == 3 && storm && (at % 30.0) == 9.0;
            backlog += present;
            series.services.push(ServiceWindow {
                first: born,
                retry_after_timeout: (retries * 0.45) as u32,
                retry_after_refusal: (retries * 0.45) as u32,
                retry_after_error: (retries * 0.1) as u32,
                completed_ok: ok,
                present,
                waiting: present.saturating_sub(5),
                replicas_up: u32::from(!crashed),
                crashes: u32::from(crashed),
                ..ServiceWindow::default()
            });
        }
        for id in 0..model.edges.len() {
            let backing_off =
                if storm { (40.0 * id as f64 * (1.2 - wave) * height) as u32 } else { 0 };
            series.edges.push(EdgeWindow { calls: born, backing_off, ..EdgeWindow::default() });
        }
        series.backlog.push(backlog);
    }
    series
}

fn band(series: &Series) -> Band {
    let step = 7;
    let mut band = Band { step_s: step as f64, ..Band::default() };
    for start in (0..series.windows).step_by(step) {
        let part: Vec<_> = series.population(0).skip(start).take(step).collect();
        let mean = |value: fn(&PopulationWindow) -> u32| {
            part.iter().map(|window| f64::from(value(window))).sum::<f64>() / part.len() as f64
        };
        band.start_s.push(series.start_s(start));
        band.arrivals_rps.push(mean(|window| window.born));
        let ok = mean(|window| window.ok);
        band.goodput_low_rps.push((ok - 2.0 - noise(start)).max(0.0));
        band.goodput_median_rps.push(ok);
        band.goodput_high_rps.push(ok + 2.0 + noise(start * 3));
    }
    band
}

fn estimate(value: f64, half: f64) -> Estimate {
    Estimate { estimate: Some(value), low: Some(value - half), high: Some(value + half) }
}

fn outcome(
    replication: u32,
    services: usize,
    stuck: bool,
    recovery_s: f64,
    peak: f64,
) -> RunOutcome {
    let recovery = Survival { time_s: recovery_s, happened: !stuck };
    RunOutcome {
        replication,
        ending: Ending::Complete,
        class: if stuck { RunClass::Stuck } else { RunClass::Recovered },
        recovery,
        goodput_recovery: recovery,
        recovery_after_action: None,
        amplification_recovery: recovery,
        drain: recovery,
        first_failure_s: Some(300.0),
        good_at_end: !stuck,
        baseline_ratio: Some(1.0),
        tolerance: 0.05,
        healthy: false,
        amplification: (0..services)
            .map(|id| Amplification {
                whole: Some(peak * 0.8 / [64.0, 16.0, 4.0, 1.0, 32.0][id.min(4)]),
                peak: Some(peak / [64.0, 16.0, 4.0, 1.0, 32.0][id.min(4)]),
                after_trigger: None,
                by_reason: [100, 40, 30, 5, 0],
            })
            .collect(),
        effects: vec![EffectCounts::default(); services],
        deferred: vec![DeferredCounts::default(); services],
        goodput_ratio: [Some(1.0), Some(0.05), Some(if stuck { 0.01 } else { 0.97 })],
        lost_share: Some(if stuck { 0.98 } else { 0.03 }),
        wasted_share: Some(0.5),
        verdicts: Verdicts { born: 90_000, ok: 7_000, ..Verdicts::default() },
        populations: Vec::new(),
        jobs: Vec::new(),
        answers: Vec::new(),
        events: 12_345_678,
        fingerprint: 0xfeed,
    }
}

/// A variant in which a share of the runs is stuck.
fn variant(scenario: &Scenario, index: usize, share: f64) -> (VariantResult, VariantSummary) {
    let model = &scenario.variants[index].model;
    let until = if share >= 0.5 { f64::INFINITY } else { 420.0 + 40.0 * index as f64 };
    let peak = if share >= 0.5 { 71.3 } else { 1.0 + 30.0 * noise(index * 31) };
    let series = series(model, until);
    let services = model.services.len();
    let runs: Vec<_> = (0..100_u32)
        .map(|replication| {
            let stuck = (f64::from(replication) + 0.5) / 100.0 < share;
            outcome(replication, services, stuck, if stuck { 3_208.0 } else { until - 320.0 }, peak)
        })
        .collect();
    let band = band(&series);
    let names = model.services.iter().map(|service| service.name.clone());
    let recovered = 1.0 - share;
    let mean = share * 3_208.0 + recovered * 120.0;
    let summary = VariantSummary {
        about: scenario.variants[index].about.clone(),
        replications: 100,
        finding: match share {
            0.0 => Finding::Safe,
            _ if share >= 0.6 => Finding::Metastable,
            _ => Finding::Vulnerable,
        },
        because: "the interval of the share of stuck runs says so".into(),
        classes: vec![
            (RunClass::Recovered, (recovered * 100.0).round() as u32),
            (RunClass::Stuck, (share * 100.0).round() as u32),
        ],
        stuck_share: Estimate {
            estimate: Some(share),
            low: Some((share - 0.06).max(0.0)),
            high: Some((share + 0.06).min(1.0)),
        },
        recovered_share: Estimate { estimate: Some(recovered), low: Some(0.0), high: Some(1.0) },
        control_healthy_share: estimate(1.0, 0.0),
        recovery_time_s: RecoveryTime {
            median: if share < 0.5 { estimate(96.0, 4.0) } else { Estimate::default() },
            p95: Estimate::default(),
            restricted_mean: estimate(mean, mean * 0.05),
            tau: Some(3_208.0),
        },
        recovery_after_action_s: None,
        writes: None,
        deferred: None,
        versus_base: None,
        amplification: names
            .enumerate()
            .map(|(id, name)| {
                let least = peak / [64.0, 16.0, 4.0, 1.0, 32.0][id.min(4)];
                let summary = AmplificationSummary {
                    whole: estimate(least * 0.8, least * 0.01),
                    peak: estimate(least, least * 0.03),
                    after_trigger: Estimate::default(),
                    by_reason: [1.0, 30.0, 25.0, 2.0, 0.0],
                };
                (name, summary)
            })
            .collect(),
        goodput_ratio: GoodputRatio {
            before: estimate(1.0, 0.0),
            during: estimate(0.05, 0.01),
            after: estimate(recovered, 0.01),
        },
        lost_share: estimate(share, 0.01),
        wasted_share: estimate(0.5, 0.01),
        requests: Requests::default(),
        latency_ok_ms: LatencySummary::default(),
        latency_failed_ms: LatencySummary::default(),
        populations: Vec::new(),
        queues: Vec::new(),
        events: 1_234_567_800,
        marks: Vec::new(),
    };
    let example = RunRecord {
        replication: 0,
        ending: Ending::Complete,
        events: 12_345_678,
        fingerprint: 0xfeed,
        peak_attempts: 4_000,
        verdicts: vec![Verdicts::default()],
        deferred: vec![DeferredCounts::default(); services],
        series,
        latency_ok: Histogram::default(),
        latency_failed: Histogram::default(),
        latencies: Vec::new(),
        jobs: Vec::new(),
    };
    let result = VariantResult {
        variant: index,
        controls: runs
            .iter()
            .map(|run| RunOutcome { class: RunClass::Unaffected, ..run.clone() })
            .collect(),
        runs,
        example,
        band,
        latency_ok: Histogram::default(),
        latency_failed: Histogram::default(),
        latencies: Vec::new(),
        jobs: Vec::new(),
        planned: 100,
    };
    (result, summary)
}

/// Results of variants with the shares of stuck runs given; the first is the base.
pub(crate) fn made(shares: &[f64]) -> Made {
    made_of(&model(0, 1), shares)
}

/// The same for a system of one's own.
pub(crate) fn made_of(model: &Model, shares: &[f64]) -> Made {
    let names =
        ["base", "full-jitter", "no-retries", "retry-budget-of-10-percent-per-caller", "operator"];
    let variants = (0..shares.len()).map(|index| Variant {
        name: names.get(index).map_or_else(|| format!("variant-{index}"), |name| (*name).into()),
        about: String::new(),
        model: model.clone(),
    });
    let scenario = Scenario {
        name: "failover-20s".into(),
        about: "A planned 20 s database failover meets three layers that each try 1 + 3 times."
            .into(),
        source: String::new(),
        variants: variants.collect(),
        expect: Vec::new(),
        fingerprint: "0".repeat(64),
    };
    let (results, summaries): (Vec<_>, Vec<_>) =
        shares.iter().enumerate().map(|(index, &share)| variant(&scenario, index, share)).unzip();
    let names = scenario.variants.iter().map(|variant| variant.name.clone());
    let summary = Summary {
        scenario: scenario.name.clone(),
        schema: 1,
        version: "0.1.0".into(),
        seed: 1,
        level: 0.95,
        complete: true,
        variants: names.zip(summaries).collect(),
    };
    let worst_case = shares.iter().map(|_| vec![Some(1.0), Some(4.0), Some(16.0), Some(64.0)]);
    Made { worst_case: worst_case.collect(), scenario, results, summary }
}
