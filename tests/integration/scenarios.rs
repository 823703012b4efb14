//! Every shipped scenario loads; the headline storm is what its file says.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use stormlab::analysis::summarise;
use stormlab::check::Decision;
use stormlab::check::check;
use stormlab::experiment;
use stormlab::experiment::Plan;
use stormlab::experiment::Silent;
use stormlab::lint::Attempts;
use stormlab::lint::attempts_per_request;
use stormlab::measure::horizon::horizon_rule;
use stormlab::scenario;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::Scenario;

const STORM: &str = "storms/failover-20s.yaml";
const VARIANTS: &str = "storms/failover-20s-variants.yaml";
const SHORT: &str = "storms/failover-20s-short.yaml";

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

fn load(name: &str) -> Scenario {
    let path = scenarios().join(name);
    scenario::load(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every scenario file that is shipped, by its path below `scenarios/`.
fn shipped() -> Vec<String> {
    let root = scenarios();
    let mut names = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "yaml") {
                names.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    names.retain(|name| !name.ends_with(".baseline.yaml"));
    names.sort();
    names
}

/// The system of the base, without how often and how long it is run.
fn base(name: &str) -> Model {
    let Model { mut run, populations, queues, services, edges, policies, triggers, operator } =
        load(name).variants.swap_remove(0).model;
    let of_the_storm = &load(STORM).variants[0].model.run;
    run.horizon = of_the_storm.horizon;
    run.replications = of_the_storm.replications;
    Model { run, populations, queues, services, edges, policies, triggers, operator }
}

#[test]
fn every_shipped_scenario_loads_and_says_what_it_is() {
    let names = shipped();
    for name in [STORM, VARIANTS, SHORT] {
        assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
    }
    for name in &names {
        let scenario = load(name);
        let file = Path::new(name).file_stem().unwrap().to_str().unwrap();
        assert_eq!(scenario.name, file, "{name} is named after its file");
        assert!(!scenario.about.is_empty() && !scenario.source.is_empty(), "{name}");
        for variant in &scenario.variants[1..] {
            assert!(!variant.about.is_empty(), "{name}: {} has no `about`", variant.name);
        }
    }
}

#[test]
fn no_shipped_scenario_is_too_short_for_a_finding() {
    // Those under validation/ are works to be compared on, as others defined them.
    for name in shipped().into_iter().filter(|name| !name.starts_with("validation/")) {
        for variant in load(&name).variants {
            // A few single requests are there for exact figures, and no finding rests on them.
            let model = &variant.model;
            let rates = (0..model.populations.len()).map(|id| model.healthy_rate(id));
            if rates.sum::<f64>() * model.run.horizon.as_secs_f64() < 450.0 {
                continue;
            }
            assert_eq!(horizon_rule(&variant.model), Ok(()), "{name}: {}", variant.name);
        }
    }
}

#[test]
fn the_storm_files_have_one_base() {
    assert_eq!(base(VARIANTS), base(STORM));
    assert_eq!(base(SHORT), base(STORM));
}

/// In the variants file every variant changes one thing: the policies, or the services' own
/// settings, and nothing else.
#[test]
fn variants_meet_the_same_load_and_the_same_trigger() {
    let scenario = load(VARIANTS);
    let base = &scenario.variants[0].model;
    for variant in &scenario.variants[1..] {
        let model = &variant.model;
        assert_eq!(model.run, base.run, "{}", variant.name);
        assert_eq!(model.populations, base.populations, "{}", variant.name);
        assert_eq!(model.triggers, base.triggers, "{}", variant.name);
        assert!(model.operator.is_empty(), "{}", variant.name);
        assert_ne!(model, base, "{} changes nothing", variant.name);
    }
}

#[test]
fn a_request_can_cost_64_attempts_at_the_database() {
    #[track_caller]
    fn check(file: &str, variant: &str, expected: u64) {
        let scenario = load(file);
        let found = scenario.variants.iter().find(|it| it.name == variant).unwrap();
        let services = &found.model.services;
        let database = services.iter().position(|service| service.name == "database").unwrap();
        let attempts = attempts_per_request(&found.model, 0)[database];
        assert_eq!(attempts, Attempts::AtMost(expected), "{variant}");
    }
    check(STORM, "base", 64);
    check(STORM, "full-jitter", 64);
    check(STORM, "one-layer-gateway", 4);
    check(STORM, "all-together", 4);
    check(VARIANTS, "one-layer-repository", 4);
    check(VARIANTS, "two-attempts", 8);
}

/// The whole short form, as a build checks it.
#[test]
fn the_short_form_meets_its_expectations() {
    let scenario = load(SHORT);
    let plan = Plan {
        variants: (0..scenario.variants.len()).collect(),
        replications: None,
        seed: None,
        threads: None,
    };
    let experiment = experiment::run(&scenario, &plan, &Silent, &AtomicBool::new(false)).unwrap();
    let summary = summarise(&scenario, &experiment);
    let judgements = check(&scenario, &summary, &experiment);
    assert_eq!(judgements.len(), scenario.expect.len());
    for judgement in judgements {
        assert_eq!(
            judgement.decision,
            Decision::Pass,
            "{}: {}: {}",
            judgement.variant,
            judgement.text,
            judgement.because
        );
    }
}
