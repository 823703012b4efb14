//! Mistakes, each with its place and a way to mend it.

use std::path::Path;
use stormlab::scenario;

use crate::scenario::FAILOVER;
use crate::scenario::parse;
use crate::scenario::problems;
use crate::scenario::with;

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
    check("workers: 5", "workers: -5", "`-5`: this is negative");
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
