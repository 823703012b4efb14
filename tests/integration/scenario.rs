//! The scenario language as its users meet it: a file in, a model or every problem out.

use std::path::Path;

use proptest::prelude::*;
use stormlab::lint;
use stormlab::policy::backoff::Growth;
use stormlab::policy::backoff::Jitter;
use stormlab::policy::outcome::ClassSet;
use stormlab::policy::stack::Layer;
use stormlab::scenario;
use stormlab::scenario::diagnostic::Diagnostic;
use stormlab::scenario::model::Arrivals;
use stormlab::scenario::model::Caller;
use stormlab::scenario::model::Comparison;
use stormlab::scenario::model::Deed;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::ExpectedMeasure;
use stormlab::scenario::model::Process;
use stormlab::scenario::model::Scenario;
use stormlab::units::Duration;

/// The example that the language was designed with.
pub(crate) const FAILOVER: &str = r#"
# yaml-language-server: $schema=../schema/scenario.schema.json
schema: 1
name: failover-20s
about: A planned 20 s database failover meets three layers that each try 1 + 3 times.
source: where the numbers come from; what is left out

run:
  horizon: 60min            # simulated time after warm-up
  warm_up: 2min
  window: 1s                # width of the time series
  replications: 100
  seed: 1

clients:                    # one entry per population
  web:
    population: 1000        # instances
    arrivals: { poisson: 25/s }
    calls: gateway
    policy: browser

services:
  gateway:
    replicas: 2
    workers: 400            # per replica
    holds_worker: false
    queue: { limit: 1000, order: fifo, when_full: reply }
    work: { lognormal: { mean: 1ms, cv: 0.5 } }
    calls:
      - { to: orders, policy: thrice }
  orders: { workers: 400, holds_worker: false, work: { constant: 1ms }, calls: [{ to: repository, policy: thrice }] }
  repository: { workers: 400, holds_worker: false, work: { constant: 1ms }, calls: [{ to: database, policy: thrice }] }
  database:
    workers: 5
    work: { exponential: 20ms }
    queue: { limit: 1000 }
    overload:
      crashes_at: { connections: 400 }
      restarts_after: 20s
      cold: { work_factor: 2, lasts: 30s }

links:
  default: { latency: { constant: 500us } }
  "orders -> repository": { loss: 0.1% }

policies:
  browser: { attempt_timeout: 30s }
  thrice:
    attempt_timeout: 2s
    retry:
      max_attempts: 4
      backoff: { exponential: { base: 2s, factor: 2, cap: 8s } }
      jitter: none
      on: [transient]

triggers:
  - at: 5min
    lasts: 20s
    service: database
    effect: refuse

variants:
  full-jitter: { policies: { thrice: { retry: { jitter: full } } } }
  operator:
    about: People shed load.
    operator:
      - at: 45min
        shed: { clients: web, share: 90%, lasts: 2min }
      - at: 50min
        set: { policies.thrice.retry.max_attempts: 1, services.database.workers: 10 }

expect:
  - { variant: base, stuck_share: ">= 95%" }
  - { variant: full-jitter, stuck_share: ">= 50%" }
  - { service: database, peak_amplification: ">= 30" }
  - { variant: operator, recovered_after_action_share: ">= 95%", within: 5min }
"#;

fn parse(text: &str) -> Result<Scenario, Vec<Diagnostic>> {
    scenario::parse("test.yaml", text.as_bytes())
}

#[track_caller]
fn valid(text: &str) -> Scenario {
    parse(text).unwrap_or_else(|problems| {
        panic!("{}", problems.iter().map(ToString::to_string).collect::<String>())
    })
}

/// The canonical file with one text replaced.
#[track_caller]
fn with(from: &str, to: &str) -> String {
    assert!(FAILOVER.contains(from), "nothing to replace: {from}");
    FAILOVER.replacen(from, to, 1)
}

/// `line:column problem` of every problem.
fn problems(text: &str) -> Vec<String> {
    match parse(text) {
        Ok(_) => Vec::new(),
        Err(found) => {
            found.iter().map(|d| format!("{}:{} {}", d.line, d.column, d.problem)).collect()
        }
    }
}

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
    assert_eq!(retry.backoff.growth, Growth::Exponential { base: base_wait, factor: 2.0 });
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

/// A file that uses every element of the language.
const EVERYTHING: &str = r#"
schema: 1
name: everything
run:
  horizon: 40min
  warm_up: 10s
  window: 500ms
  recovery: { window: 2min, hold: 4min, tolerance: 10%, baseline: 8min }
  limits: { in_flight: 1_000, pending: 2_000, events: 3_000, memory: 4MiB, wall: 5min }
clients:
  web:
    population: 7
    arrivals: [ { schedule: { rates: [ { rate: 6/min }, { at: 5min, rate: 9/s, ramp: 30s }, { at: 20min, rate: 8/s } ] } }, { burst: { count: 5, at: 1s } } ]
    calls: front
    policy: bucket
    deadline: 9s
  steady: { arrivals: { constant: 40/s }, calls: front, policy: ratio }
  people: { population: 3, users: { think: { uniform: { low: 1s, high: 3s } } }, calls: back }
services:
  front:
    workers: 2
    work: { empirical: [[25%, 1ms], [100%, 4ms]] }
    queue: { limit: 0, order: lifo, when_full: drop, drop_expired: true }
    cancellation: full
    errors: { class: not_found, share: 1% }
    overload: { crashes_at: { connections: 9 }, restarts_after: 3s }
    balance: random
    calls: [ { to: back, policy: other }, { to: back } ]
  back: { workers: 3, work: { pareto: { mean: 2ms, alpha: 2.5 } }, overload: { cold: { work_factor: 1.5, lasts: 9s } }, cancellation: queue }
links:
  default: { latency: { gamma: { mean: 1ms, cv: 0.3 } }, loss: 2% }
  "front -> back": { latency: { weibull: { mean: 1ms, shape: 1.7 } } }
policies:
  bucket:
    attempt_timeout: { after: { exponential: 2s }, scope: queue }
    timeout: 8s
    retry:
      max_attempts: unlimited
      backoff: { linear: { base: 1s, step: 2s, cap: 20s } }
      jitter: { plus_minus: 20% }
      on: [transient, internal, breaker_open]
      budget: { token_bucket: { max_tokens: 10, token_ratio: 0.1, counts: timeout, per: [group] } }
    breaker: { window: { length: 30s, failure_share: 50%, minimum_calls: 20 }, open_for: 5s, probes: 2, late_results: count, counts: [internal], per: [target] }
    bulkhead: { limit: 4, queue: 6, per: [] }
    order: [timeout, breaker, retry, bulkhead, attempt_timeout]
  ratio:
    retry: { backoff: { drawn: { lognormal: { mean: 1s, cv: 0.5 } }, cap: 3s }, jitter: equal, budget: { ratio: { share: 20%, deposit: success, floor: 10/s, cap: 140, start: 20 } } }
    breaker: { consecutive: 5, open_for: 10s }
  other: { retry: { backoff: 300ms, jitter: decorrelated } }
triggers:
  - { at: 9min, lasts: 1min, service: back, effect: { slow: 4 } }
  - { at: 8min, lasts: 1min, service: back, effect: { errors: { class: internal, share: 30% } } }
  - { at: 10min, lasts: 1min, service: back, effect: { workers: 50% } }
  - { at: 11min, lasts: 1min, service: front, effect: restart }
  - { at: 12min, lasts: 1min, service: front, effect: hang }
  - { at: 13min, lasts: 1min, clients: steady, effect: { surge: 3 } }
operator:
  - { at: 16min, flush: back }
  - { at: 15min, restart: front }
  - { at: 17min, set: { policies.other.retry.max_attempts: 1, clients.people.policy: ratio } }
  - { at: 18min, set: { services.back.workers: 9, "links.people -> back.loss": 0 } }
expect:
  - { stuck_share: "<= 5%", lost_share: "<= 0.1", goodput_ratio_before: ">= 99%", control_healthy_share: ">= 95%" }
  - { recovered_share: ">= 95%", within: 1min }
  - { recovery_median: "<= 30s", recovery_restricted_mean: "<= 1min" }
  - { finding: safe }
  - { service: back, whole_amplification: "<= 2.5", goodput_ratio_during: ">= 0", goodput_ratio_after: ">= 90%" }
"#;

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
fn a_file_that_is_not_there_says_so() {
    let error = scenario::load(Path::new("no/such/file.yaml")).unwrap_err().to_string();
    assert!(error.contains("no/such/file.yaml could not be read"), "{error}");
}

#[test]
fn each_mistake_is_named_with_its_place() {
    #[track_caller]
    fn check(from: &str, to: &str, expected: &str) {
        let found = problems(&with(from, to));
        assert!(
            found.iter().any(|problem| problem.contains(expected)),
            "{to:?}: expected {expected:?} in {found:#?}"
        );
    }
    check("schema: 1", "schema: 2", "3:9 this program does not know schema 2");
    check("schema: 1\n", "", "a scenario needs `schema`");
    check("name: failover-20s", "name: ../etc", "cannot name a folder");
    check("    workers: 5\n", "", "33:3 a service needs `workers`");
    check("    work: { exponential: 20ms }\n", "", "a service needs `work`");
    check("calls: gateway", "calls: gatway", "there is no service `gatway`");
    check("policy: browser", "policy: brwser", "there is no policy `brwser`");
    check("workers: 5", "workers: 0", "0 is out of range");
    check("workers: 5", "workers: -5", "`-5`: this is not a whole number");
    check("workers: 5", "workers: \"5\"", "a number is wanted here");
    check("workers: 5", "workers: five", "not a whole number");
    check("exponential: 20ms", "exponential: 0s", "longer than 0s");
    check("exponential: 20ms", "exponential: 1e999", "not a unit");
    check("exponential: 20ms", "exponental: 20ms", "no distribution `exponental`");
    check("cv: 0.5", "cv: 1e999", "too large");
    check("cv: 0.5", "cv: nan", "not a number");
    check("poisson: 25/s", "poisson: 0/s", "above 0/s");
    check("horizon: 60min", "horizon: 200000d", "too long");
    check("horizon: 60min", "horizon: 3600.5s", "not a whole number of windows");
    check("holds_worker: false", "holds_worker: no", "a switch is wanted");
    check("on: [transient]", "on: [transcient]", "`transcient` is none of the words");
    check("effect: refuse", "effect: slow", "`slow` needs a value");
    check("effect: refuse", "effect: { surge: 3 }", "strikes `clients`, not `service`");
    check("at: 5min", "at: 59min50s", "after the horizon");
    check("at: 5min", "at: 1min", "at least three recovery windows of 24s");
    check(
        "calls: [{ to: database",
        "calls: [{ to: orders",
        "circle: orders -> repository -> orders",
    );
    check(
        "\"orders -> repository\"",
        "\"orders -> database\"",
        "`orders` does not call `database`",
    );
    check("variant: full-jitter", "variant: full-jiter", "there is no variant `full-jiter`");
    check("\">= 95%\" }\n  - { variant: full", "95% }\n  - { variant: full", "begins with `>=`");
    check("share: 90%", "share: 190%", "out of range");
    check(
        "policies.thrice.retry.max_attempts: 1",
        "policies.twice.timeout: 1s",
        "no policy `twice`",
    );
    check("policies.thrice.retry.max_attempts: 1", "services.gateway.replicas: 1", "cannot be set");
    check("policies.thrice.retry.max_attempts: 1", "policies.thrice.timeout: soon", "not a span");
    check("  full-jitter:", "  base:", "`base` is the scenario without changes");
    check("seed: 1", "sweep: 1", "`run` has no key `sweep`");
    check("web:\n", "gateway:\n", "`gateway` is the name of a service, too");
    check("max_attempts: 4", "max_attempts: 4\n    retry: {}", "the key `retry` occurs twice");
    check("thrice:\n", "none:\n", "`none` is the policy that does nothing");
    check("window: 1s", "window: 1s\n  recovery: { window: 10s }", "expects only 250 requests");
    check("window: 1s", "window: 1s\n  recovery: { window: 24500ms }", "whole number of windows");
    check("window: 1s", "window: 1s\n  recovery: { baseline: 10min }", "does not fit");
    check("window: 1s", "window: 1ms", "3720000 windows; 1000000 are allowed");
}

#[test]
fn every_problem_is_found_in_one_pass() {
    let text = with("workers: 5", "workres: 5").replace("calls: gateway", "calls: gatway");
    let text = text.replace("jitter: none", "jitter: nnoe").replace("seed: 1", "seed: one");
    let found = problems(&text);
    for expected in ["no key `workres`", "needs `workers`", "`gatway`", "`nnoe`", "`one`"] {
        assert!(found.iter().any(|problem| problem.contains(expected)), "{expected}: {found:#?}");
    }
    assert_eq!(found.len(), 5, "each once, variants included: {found:#?}");
}

#[test]
fn an_unknown_key_names_the_nearest_and_the_accepted_ones() {
    let found = parse(&with("holds_worker: false\n", "hold_worker: false\n")).unwrap_err();
    let help = found[0].help.as_ref().unwrap();
    assert!(help.starts_with("did you mean `holds_worker`? accepted: replicas, workers"), "{help}");
}

#[test]
fn a_problem_prints_as_the_style_guide_shows() {
    let found = parse(&with("attempt_timeout: 2s", "attempt_timeout: 2000")).unwrap_err();
    assert_eq!(
        found[0].to_string(),
        "error: `2000`: a span of time needs a unit\n  --> test.yaml:49:22\n  49 |     \
         attempt_timeout: 2000\n     |                      ^^^^\n     = help: write a span as \
         `200ms`, `1.5s`, `2min` or `1m30s`\n"
    );
    let json = serde_json::to_value(&found[0]).unwrap();
    assert_eq!(
        (&json["line"], &json["column"], &json["found"]),
        (&49.into(), &22.into(), &"2000".into())
    );
}

#[test]
fn a_problem_inside_a_variant_points_at_the_variant() {
    let line = FAILOVER.lines().position(|line| line.contains("full-jitter: {")).unwrap() + 1;
    let found = problems(&with("jitter: full } } }", "jitter: fool } } }"));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with(&format!("{line}:")), "{found:?}");
    // A variant that breaks something written in the base says which variant it is.
    let found = problems(&with(
        "jitter: full } } }",
        "max_attempts: null }, attempt_timeout: 20s } }, services: { database: { workers: null } }",
    ));
    let all = found.join("\n");
    assert!(all.contains(&format!("{line}:")) && all.contains("needs `workers`"), "{all}");
    let found = problems(&with("retry: { jitter: full } } }", "attempt_timeout: 200s } }"));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("in the variant `full-jitter`: recovery is judged"), "{found:?}");
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

#[test]
fn hostile_sizes_are_refused_quickly() {
    let many: String = (0..9_000).map(|i| format!("  v{i}: {{}}\n")).collect();
    let large = with("variants:\n", &format!("variants:\n{many}"));
    assert!(problems(&large)[0].contains("too large a scenario"), "{:?}", &problems(&large)[..1]);
    let chain: String = (0..9_000)
        .map(|i| {
            format!(
                "  s{i}: {{ workers: 1, work: 1ms, calls: [{{ to: s{} }}] }}\n",
                (i + 1) % 9_000
            )
        })
        .collect();
    let circle = format!(
        "schema: 1\nname: c\nclients: {{ c: {{ arrivals: {{ poisson: 1/s }}, calls: s0 }} }}\nservices:\n{chain}"
    );
    let found = problems(&circle);
    assert!(found.iter().any(|problem| problem.contains("in a circle")), "{found:?}");
    let unknown: String = (0..40_000).map(|i| format!("k{i}: 1\n")).collect();
    assert_eq!(problems(&unknown).len(), 100);
    assert_eq!(problems(&"a".repeat(2 << 20)), ["1:1 the file is larger than 1 MiB"]);
    let powers: String = (0..9)
        .map(|i| {
            format!(
                "  s{i}: {{ workers: 1, work: 1ms, calls: [{{ to: s{}, policy: p }}] }}\n",
                i + 1
            )
        })
        .collect();
    let product = format!(
        "schema: 1\nname: c\nclients: {{ c: {{ arrivals: {{ poisson: 1/s }}, calls: s0 }} }}\n\
         policies: {{ p: {{ retry: {{ max_attempts: 1000000 }} }} }}\nservices:\n{powers}  s9: {{ workers: 1, work: 1ms }}\n"
    );
    assert!(problems(&product)[0].contains("more than 2^64 attempts"), "{:?}", problems(&product));
}

#[test]
fn text_that_is_not_utf8_is_refused_with_its_place() {
    let mut bytes = FAILOVER.as_bytes().to_vec();
    bytes[20] = 0xff;
    let found = scenario::parse("x", &bytes).unwrap_err();
    assert_eq!(found[0].problem, "the file is not text in UTF-8");
    assert_eq!(found[0].line, 2);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    /// No bytes make the reader panic or hang, and a refusal always names a place.
    #[test]
    fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Err(found) = scenario::parse("random", &bytes) {
            prop_assert!(!found.is_empty());
            prop_assert!(found.iter().all(|d| d.line >= 1 && d.column >= 1));
        }
    }

    /// Neither do small changes to a valid file, which get much further.
    #[test]
    fn mutated_scenarios_are_safe(
        everything in any::<bool>(),
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), 0usize..24, 0usize..40), 1..6)
    ) {
        const PIECES: [&str; 24] = [
            "", "\n", " ", ":", "- ", "{", "}", "[", "]", "\"", "'", "#", "&a ", "*a", "!x ", "| ",
            "> ", "null", "-1", "1e999", "999999999d", "unlimited", "\u{202e}", "ä",
        ];
        let mut text = if everything { EVERYTHING } else { FAILOVER }.to_owned();
        for (at, piece, cut) in edits {
            let mut start = at.index(text.len().max(1));
            while !text.is_char_boundary(start) { start -= 1; }
            let mut end = (start + cut).min(text.len());
            while !text.is_char_boundary(end) { end -= 1; }
            text.replace_range(start..end.max(start), PIECES[piece]);
        }
        match parse(&text) {
            Ok(scenario) => for variant in &scenario.variants {
                lint::explain(&scenario, &variant.name);
            },
            Err(found) => for problem in found {
                let hides = problem.to_string().contains('\u{202e}');
                prop_assert!(!hides);
            },
        }
    }
}
