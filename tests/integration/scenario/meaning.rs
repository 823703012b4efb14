//! What a scenario means.

use std::path::Path;

use stormlab::lint;
use stormlab::policy::backoff::Growth;
use stormlab::policy::backoff::Jitter;
use stormlab::policy::outcome::ClassSet;
use stormlab::policy::stack::Layer;
use stormlab::scenario;
use stormlab::scenario::model::Arrivals;
use stormlab::scenario::model::Caller;
use stormlab::scenario::model::Comparison;
use stormlab::scenario::model::Deed;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::ExpectedMeasure;
use stormlab::scenario::model::Process;
use stormlab::units::Duration;

use crate::scenario::EVERYTHING;
use crate::scenario::FAILOVER;
use crate::scenario::valid;
use crate::scenario::with;

#[test]
fn the_design_example_means_what_it_says() {
    let scenario = valid(FAILOVER);
    assert_eq!(scenario.name, "failover-20s");
    let names: Vec<_> = scenario.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["base", "full-jitter", "operator"]);
    let base = &scenario.variants[0].model;

    assert_eq!(base.run.horizon, Duration::from_secs(3_600));
    assert_eq!(base.run.replications, 100);
    // w = max(5 s, 5 × 2 s, 20 × 1 s, 600 / 25 per second) = 24 s.
    assert_eq!(base.run.recovery.window, Duration::from_secs(24));
    assert_eq!(base.run.recovery.hold, Duration::from_secs(72));
    assert_eq!(base.run.recovery.tolerance.get(), 0.05);
    assert_eq!(base.run.recovery.baseline, Duration::from_secs(240));

    let Arrivals::Open(arrivals) = &base.populations[0].arrivals else { panic!("open") };
    assert_eq!(arrivals.process, Process::Poisson);
    assert_eq!(arrivals.segments.len(), 1);
    assert_eq!(arrivals.segments[0].until, Duration::MAX);

    let services: Vec<_> = base.services.iter().map(|service| service.name.as_str()).collect();
    assert_eq!(services, ["gateway", "orders", "repository", "database"]);
    assert_eq!(base.edges.len(), 4);
    assert_eq!(base.edges[0].caller, Caller::Population(0));
    assert_eq!(base.edges[2].caller, Caller::Service(1));
    assert_eq!(base.edges[2].link.loss.get(), 0.001);
    assert_eq!(base.edges[2].link.latency, base.edges[3].link.latency);
    assert_eq!(base.edges[3].link.loss.get(), 0.0);
    assert_eq!(base.services[1].queue.limit, None);
    assert_eq!(base.services[3].overload.unwrap().crashes_at, Some(400));

    let thrice = base.policy_of(1);
    assert_eq!(thrice.order, [Layer::Retry, Layer::AttemptTimeout]);
    let retry = thrice.retry.as_ref().unwrap();
    assert_eq!(retry.max_attempts, Some(4));
    assert_eq!(retry.on, ClassSet::TRANSIENT);
    assert_eq!(retry.backoff.cap, Duration::from_secs(8));
    let base_wait = Duration::from_secs(2);
    assert_eq!(
        retry.backoff.growth,
        Growth::Exponential { base: base_wait, factor: 2.0, start: 0 }
    );
    assert_eq!(base.triggers[0].effect, Effect::Refuse(3));

    let jittered = scenario.variants[1].model.policy_of(1).retry.as_ref().unwrap();
    assert_eq!(jittered.backoff.jitter, Jitter::Full);
    assert_eq!(jittered.max_attempts, Some(4));

    let operator = &scenario.variants[2];
    assert_eq!(operator.about, "People shed load.");
    assert!(matches!(operator.model.operator[0].what, Deed::Shed { population: 0, .. }));
    let Deed::Set { change, model } = &operator.model.operator[1].what else { panic!("set") };
    assert_eq!(change, "policies.thrice.retry.max_attempts: 1, services.database.workers: 10");
    assert_eq!(model.policy_of(1).retry.as_ref().unwrap().max_attempts, Some(1));
    assert_eq!(model.services[3].workers, 10);
    assert_eq!(model.run, operator.model.run);

    assert_eq!(scenario.expect[0].comparison, Comparison::AtLeast(0.95));
    assert_eq!(scenario.expect[2].measure, ExpectedMeasure::PeakAmplification(3));
    assert_eq!(scenario.expect[2].text, "peak_amplification of database >= 30");
    let within = Duration::from_secs(300);
    assert_eq!(scenario.expect[3].measure, ExpectedMeasure::RecoveredAfterActionShare(within));
    let line = FAILOVER.lines().position(|line| line.contains("peak_ampl")).unwrap() + 1;
    assert_eq!(scenario.expect[2].line, line);
}

#[test]
fn every_element_of_the_language_is_understood() {
    let scenario = valid(EVERYTHING);
    let model = &scenario.variants[0].model;
    let starts: Vec<_> = model.triggers.iter().map(|t| t.at.as_secs_f64() / 60.0).collect();
    assert_eq!(starts, [8.0, 9.0, 10.0, 11.0, 12.0, 13.0], "by time");
    let acts: Vec<_> = model.operator.iter().map(|a| a.at.as_secs_f64() / 60.0).collect();
    assert_eq!(acts, [15.0, 16.0, 17.0, 18.0], "by time");
    let Deed::Set { model: last, .. } = &model.operator[3].what else { panic!("set") };
    assert_eq!(last.services[1].workers, 9);
    let other = last.policies.iter().find(|policy| policy.name == "other").unwrap();
    let attempts = other.retry.as_ref().unwrap().max_attempts;
    assert_eq!(attempts, Some(1), "a later `set` builds on the earlier one");
    let none = model.policies.last().unwrap();
    assert_eq!((none.name.as_str(), none.order.len()), ("none", 0));
    assert_eq!(scenario.expect.len(), 11);
}

#[test]
fn what_explain_prints_is_a_scenario_that_means_the_same() {
    for text in [FAILOVER, EVERYTHING] {
        let scenario = valid(text);
        for variant in &scenario.variants {
            let printed = lint::explain(&scenario, &variant.name);
            let again = valid(&printed);
            let same = again.variants[0].model == variant.model;
            assert!(same, "{}\n{:#?}\n{:#?}", printed, again.variants[0].model, variant.model);
        }
    }
}

#[test]
fn explain_says_what_shows_on_paper() {
    let scenario = valid(FAILOVER);
    let text = lint::explain(&scenario, "base");
    for expected in [
        "  limit: unlimited  # default",
        "# database: vulnerable. 25/s against 250/s: 10% busy without retries, 640% with every attempt used.",
        "#   One request makes up to 64 attempts here.",
        "# orders -> repository (thrice): 4 attempts, at most 22s.",
        "#   Whoever waits for orders gives up after 2s while this call may go on for 22s: orphaned work.",
        "#       3        8s        8s        8s        8s",
    ] {
        assert!(text.lines().any(|line| line.ends_with(expected)), "{expected}\n{text}");
    }
    assert!(lint::explain(&scenario, "nobody").contains("there are: base, full-jitter, operator"));
    let found = lint::explanation(&scenario, "base").unwrap();
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["services"][3]["attempts_per_request"], 64);
    assert_eq!(json["services"][3]["class"], "vulnerable");
}

#[test]
fn json_of_the_same_shape_means_the_same() {
    let json = r#"{"schema": 1, "name": "j", "clients": {"c": {"arrivals": {"poisson": "5/s"},
        "calls": "s"}}, "services": {"s": {"workers": 2, "work": {"exponential": "10ms"},
        "queue": {"limit": 5, "drop_expired": true}}}}"#;
    let yaml = "schema: 1\nname: j\nclients: {c: {arrivals: {poisson: 5/s}, calls: s}}\nservices:\n  \
                s:\n    workers: 2\n    work: {exponential: 10ms}\n    queue: {limit: 5, \
                drop_expired: true}\n";
    assert_eq!(valid(json).variants[0].model, valid(yaml).variants[0].model);
}

#[test]
fn shipped_basics_load() {
    for name in ["mm1", "calm"] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/basics/{name}.yaml"));
        let scenario = scenario::load(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.name, name);
    }
}

#[test]
fn variants_replace_choices_and_lists_whole_and_null_removes() {
    let change = "full-jitter: { policies: { thrice: { retry: { backoff: { constant: 1s } }, \
                  attempt_timeout: null } }, triggers: null }";
    let text = with("full-jitter: { policies: { thrice: { retry: { jitter: full } } } }", change);
    let model = &valid(&text).variants[1].model;
    let thrice = model.policy_of(1);
    let growth = &thrice.retry.as_ref().unwrap().backoff.growth;
    assert_eq!(*growth, Growth::Constant(Duration::from_secs(1)));
    assert_eq!(thrice.attempt_timeout, None);
    assert!(model.triggers.is_empty());
}

#[test]
fn schedules_express_ramps_and_spikes() {
    let arrivals = "arrivals: [ { schedule: { process: constant, rates: [ { rate: 25/s }, \
                    { at: 5min, rate: 250/s }, { at: 6min, rate: 25/s, ramp: 1min } ] } }, \
                    { burst: { count: 500, at: 10min } } ]";
    let scenario = valid(&with("arrivals: { poisson: 25/s }", arrivals));
    let Arrivals::Open(open) = &scenario.variants[0].model.populations[0].arrivals else {
        panic!("open")
    };
    assert_eq!(open.process, Process::Even);
    let shown: Vec<_> = open
        .segments
        .iter()
        .map(|s| format!("{}..{} {}..{}", s.from, s.until, s.start, s.end))
        .collect();
    // The warm-up of 2 min comes first.
    assert_eq!(
        shown,
        [
            "0s..7min 25/s..25/s",
            "7min..8min 250/s..250/s",
            "8min..9min 250/s..25/s",
            "9min..for ever 25/s..25/s"
        ]
    );
    assert_eq!(open.bursts[0].at, Duration::from_secs(720));
}
