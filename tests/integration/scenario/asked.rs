//! Expectations on what each run counts, from the text of a scenario to the verdict.

use std::sync::atomic::AtomicBool;

use stormlab::analysis;
use stormlab::check::Decision;
use stormlab::check::Judgement;
use stormlab::check::check;
use stormlab::experiment;
use stormlab::experiment::Plan;
use stormlab::experiment::Silent;
use stormlab::scenario::model::Scenario;

use crate::scenario::effective::again;
use crate::scenario::parse;
use crate::scenario::valid;

/// Nothing is left to chance: 16 good writes of 10 ms at 1 s; 4 requests at 2 s that fail four
/// times, 5 ms each, one second between; 5 more writes that the end of the run cuts short.
const BURSTS: &str = r#"
schema: 1
name: bursts
run: { horizon: 100s, warm_up: 0s, window: 100ms, replications: 2, seed: 1 }
clients:
  web: { arrivals: { burst: { count: 16, at: 1s } }, calls: shop, operation: write }
  batch: { arrivals: { burst: { count: 4, at: 2s } }, calls: broken, policy: four }
  last: { arrivals: { burst: { count: 5, at: 99.995s } }, calls: shop, operation: write }
services:
  shop: { workers: 16, work: { constant: 10ms } }
  broken: { workers: 4, work: { constant: 5ms }, errors: { share: 100%, class: unavailable } }
policies:
  four: { retry: { max_attempts: 4, backoff: { constant: 1s }, jitter: none } }
expect:
"#;

fn judged(scenario: &Scenario) -> Vec<Judgement> {
    let never = AtomicBool::new(false);
    let experiment =
        experiment::run(scenario, &Plan::everything(scenario), &Silent, &never).expect("it runs");
    check(scenario, &analysis::summarise(scenario, &experiment), &experiment)
}

/// One line, its first words in the report, and what was measured.
#[rustfmt::skip]
const LINES: [(&str, &str, f64); 24] = [
    ("service: broken, attempts: \"== 16\"", "attempts of broken == 16", 16.0),
    // Sent at 2 s, 3.005 s, 4.01 s and 5.015 s.
    ("service: broken, attempts: \"== 4\", from: 3s, to: 4s", "attempts of broken from 3s to 4s == 4", 4.0),
    ("service: broken, attempts: \"== 8\", to: 4s", "attempts of broken to 4s == 8", 8.0),
    ("service: broken, attempts: \"== 12\", from: 3s", "attempts of broken from 3s == 12", 12.0),
    ("service: broken, attempts: \"== 0\", from: 10s, to: 100s", "attempts of broken from 10s to 100s == 0", 0.0),
    ("service: broken, most_attempts: \"== 4\", within: 1s", "most_attempts of broken within 1s == 4", 4.0),
    ("service: broken, most_attempts: \"== 8\", within: 1.1s", "most_attempts of broken within 1.1s == 8", 8.0),
    ("service: shop, effects: \"== 16\"", "effects of shop == 16", 16.0),
    ("effects: \">= 16, <= 16\"", "effects >= 16", 16.0),
    ("ok_share: \"== 80%\"", "ok_share == 80%", 0.8),
    ("failed_share: \"== 20%\"", "failed_share == 20%", 0.2),
    ("late_share: \"== 0%\"", "late_share == 0%", 0.0),
    ("failed_share: \"== 20%\", cause: attempts", "failed_share by attempts == 20%", 0.2),
    ("failed_share: \"== 0%\", cause: budget", "failed_share by budget == 0%", 0.0),
    ("failed_share: \"== 100%\", population: batch", "failed_share of batch == 100%", 1.0),
    ("ok_share: \"== 100%\", population: web", "ok_share of web == 100%", 1.0),
    ("unanswered_share: \"== 20%\"", "unanswered_share == 20%", 0.2),
    ("unanswered_share: \"== 100%\", population: last", "unanswered_share of last == 100%", 1.0),
    ("latency: \"== 10ms\", quantile: mean", "latency at mean == 10ms", 0.01),
    ("latency: \"<= 10ms\", population: web, quantile: max", "latency of web at max <= 10ms", 0.01),
    ("latency: \"== 10ms\", population: web, quantile: 99.9%", "latency of web at 99.9% == 10ms", 0.01),
    ("latency: \"== 3.02s\", population: batch, quantile: 50%, failed: true", "latency of batch at 50% of failures == 3.02s", 3.02),
    ("latency: \"== 3.02s\", quantile: mean, failed: true", "latency at mean of failures == 3.02s", 3.02),
    ("service: broken, rejected: \"== 0\", class: breaker_open", "rejected of broken by breaker_open == 0", 0.0),
];

#[test]
fn every_figure_is_the_one_worked_out_by_hand() {
    let lines: String = LINES.iter().map(|(line, ..)| format!("  - {{ {line} }}\n")).collect();
    let scenario = valid(&format!("{BURSTS}{lines}"));
    let mut judged = judged(&scenario);
    // The line of two bounds is two expectations.
    let second = judged.remove(9);
    assert_eq!((second.text.as_str(), second.decision), ("effects <= 16", Decision::Pass));
    assert_eq!(judged.len(), LINES.len());
    for (judgement, (_, text, value)) in judged.iter().zip(LINES) {
        assert_eq!(judgement.text, text);
        assert_eq!(judgement.decision, Decision::Pass, "{judgement:?}");
        let found = judgement.measured.estimate.expect("it was measured");
        assert!((found - value).abs() <= 1e-9 * value, "{text}: {found}");
    }
    // What is written again means the same.
    assert_eq!(again(&scenario).expect, {
        let mut expect = scenario.expect.clone();
        expect.iter_mut().zip(&again(&scenario).expect).for_each(|(old, new)| old.line = new.line);
        expect
    });
}

#[test]
fn a_wrong_figure_fails_and_what_nobody_measured_is_undecided() {
    let scenario = valid(&format!(
        "{BURSTS}
  - {{ service: broken, attempts: \"== 17\" }}
  - {{ ok_share: \"== 80.0001%\" }}
  - {{ latency: \"<= 9ms\", quantile: max }}
  - {{ latency: \"<= 9ms\", quantile: max, population: web, failed: true }}
"
    ));
    let judged = judged(&scenario);
    let decisions: Vec<_> = judged.iter().map(|judgement| judgement.decision).collect();
    assert_eq!(decisions, [Decision::Fail, Decision::Fail, Decision::Fail, Decision::Undecided]);
    let because = |index: usize| judged[index].because.as_str();
    assert!(because(0).ends_with("16 to 16, is not the number expected and nothing else"));
    assert_eq!(because(3), "no run had anything to measure");
}

#[test]
fn what_is_missing_or_idle_is_told_with_its_place() {
    #[track_caller]
    fn check(line: &str, problem: &str) {
        let text = format!("{BURSTS}  - {{ {line} }}\n");
        let problems = parse(&text).expect_err("it is wrong");
        let all: String = problems.iter().map(ToString::to_string).collect();
        assert!(problems[0].to_string().contains(problem), "{all}");
        assert!(all.contains(":15:"), "{all}");
    }
    check("attempts: \"== 16\"", "attempts are those at one service");
    check("rejected: \"== 16\"", "rejections are those on the way to one service");
    check("service: shop, most_attempts: \"== 16\"", "the most within what span?");
    check("service: shop, most_attempts: \"== 1\", within: 50ms", "50ms is not a whole number");
    check("service: shop, attempts: \"== 1\", from: 50ms", "50ms is not a whole number of windows");
    check("service: shop, attempts: \"== 1\", from: 2s, to: 2s", "this span is empty");
    check("service: shop, attempts: \"== 1\", to: 101s", "the run ends at 100s");
    check("service: shop, attempts: \"== 1\", to: 0s", "this span must be longer than 0s");
    check("service: shop, attempts: \"== 1\", from: 100s", "this span is empty");
    check("latency: \"<= 1s\"", "which of all the values?");
    check("latency: \"<= 1s\", quantile: median", "`median` is no quantile");
    check("latency: \"<= 1s\", quantile: 101%", "`101%`: this share is out of range");
    check("latency: \"<= 10\", quantile: 50%", "`<= 10`:");
    check("ok_share: \"<= 1%\", population: wbe", "there is no population `wbe`");
    check("failed_share: \"<= 1%\", cause: bugdet", "`bugdet` is none of the words known here");
    check("ok_share: \"<= 1%\", cause: budget", "no measure of this line heeds `cause`");
    check("effects: \"<= 1\", population: web", "no measure of this line heeds `population`");
    check("effects: \"<= 1\", from: 1s", "no measure of this line heeds `from`");
    check("rejected: \"<= 1\", service: shop, class: timeout", "`timeout` is none of the words");
    check("stuck_share: \"== 0%\"", "`== 0%`: the interval of this measure is never a point");
    check("effects: \"<= 1, 2\"", "`2`: a bound begins with `>=`, `<=` or `==`");
    check("effects: \"<= 1, >= 0, >= 0\"", "`>= 0, >= 0`: ");
    check("effects: \"= 1\"", "`= 1`: a bound begins with `>=`, `<=` or `==`");
}

/// Five poisoned jobs that are executed four times, and twenty good ones for ten workers that look
/// for work once a second. Each execution takes 10 ms and 100 ms.
const JOBS: &str = r#"
schema: 1
name: jobs
run: { horizon: 100s, warm_up: 0s, window: 1s, replications: 2, seed: 1 }
clients:
  bad: { arrivals: { burst: { count: 5, at: 1.005s } }, calls: broken, policy: p, queue: poison }
  good: { arrivals: { burst: { count: 20, at: 1.005s } }, calls: shop, policy: p, queue: healthy }
services:
  shop: { workers: 20, work: { constant: 100ms } }
  broken: { workers: 5, work: { constant: 10ms }, errors: { share: 100%, class: unavailable } }
policies:
  p: { attempt_timeout: 1s }
queues:
  poison:
    workers: 10
    claim: { every: 10ms, batch: 100 }
    retry: { max_attempts: 4, backoff: { exponential: { base: 3s, factor: 2 } }, jitter: none }
  healthy: { workers: 10, claim: { every: 1s, batch: 100 } }
expect:
"#;

/// [K1, K19] Executions at 1.01, 4.02, 10.03 and 22.04 s, the first failure at 1.02 s, the dead
/// letters at 22.05 s; good jobs are claimed at 2 s and at 3 s.
#[rustfmt::skip]
const OF_JOBS: [(&str, f64); 24] = [
    ("queue: poison, delivered_share: \"== 0%\"", 0.0),
    ("queue: healthy, delivered_share: \"== 100%\"", 1.0),
    ("queue: poison, dead_letters: \"== 5\"", 5.0),
    ("queue: poison, dead_letters: \"== 5\", reason: attempts", 5.0),
    ("queue: poison, dead_letters: \"== 0\", reason: permanent", 0.0),
    ("queue: healthy, dead_letters: \"== 0\"", 0.0),
    ("queue: poison, executions: \"== 4\"", 4.0),
    ("queue: poison, executions_per_dead_letter: \"== 4\"", 4.0),
    ("queue: poison, useless_share: \"== 100%\"", 1.0),
    ("queue: healthy, useless_share: \"== 0%\"", 0.0),
    ("queue: healthy, executions: \"== 1\"", 1.0),
    ("queue: poison, storage_writes: \"== 8\"", 8.0),
    ("queue: healthy, storage_writes: \"== 2\"", 2.0),
    ("queue: poison, to_dead_letter: \"== 21.03s\", quantile: mean", 21.03),
    ("queue: poison, to_dead_letter: \"<= 21.03s\", quantile: max", 21.03),
    ("queue: poison, first_dead_letter: \"== 22.05s\"", 22.05),
    ("queue: healthy, lateness: \"== 1.595s\", quantile: mean", 1.595),
    ("queue: healthy, lateness: \"== 2.095s\", quantile: max", 2.095),
    ("queue: healthy, claim_lag: \"== 1.495s\", quantile: mean", 1.495),
    ("queue: healthy, most_at_rest: \"== 20\"", 20.0),
    ("queue: healthy, oldest_due: \"== 1.995s\"", 1.995),
    ("queue: healthy, at_rest: \"== 0\"", 0.0),
    ("queue: healthy, suspended: \"== 0\"", 0.0),
    ("queue: healthy, suspensions: \"== 0\"", 0.0),
];

#[test]
fn every_figure_of_jobs_is_the_one_worked_out_by_hand() {
    let lines: String = OF_JOBS.iter().map(|(line, ..)| format!("  - {{ {line} }}\n")).collect();
    let scenario = valid(&format!("{JOBS}{lines}"));
    let judged = judged(&scenario);
    let wrong: Vec<_> = judged
        .iter()
        .zip(OF_JOBS)
        .filter(|(judgement, (_, value))| {
            let found = judgement.measured.estimate.expect("it was measured");
            judgement.decision != Decision::Pass || (found - value).abs() > 1e-9 * value
        })
        .map(|(judgement, _)| format!("{}: {:?}", judgement.text, judgement.measured.estimate))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(judged[3].text, "dead_letters of poison by attempts == 5");
    assert_eq!(judged[13].text, "to_dead_letter of poison at mean == 21.03s");
    let expect = again(&scenario).expect;
    let measures = expect.iter().map(|line| &line.measure);
    assert!(measures.eq(scenario.expect.iter().map(|line| &line.measure)));
}

#[test]
fn what_is_missing_of_a_queue_is_told() {
    #[track_caller]
    fn check(line: &str, problem: &str) {
        let problems = parse(&format!("{JOBS}  - {{ {line} }}\n")).expect_err("it is wrong");
        let all: String = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 1, "{all}");
        assert!(all.contains(problem), "{all}");
    }
    check("dead_letters: \"== 1\"", "jobs are those of one queue");
    check("queue: poisn, dead_letters: \"== 1\"", "there is no queue `poisn`");
    check("queue: poison, dead_letters: \"== 1\", reason: old", "`old` is none of the words");
    check("queue: poison, lateness: \"== 1s\"", "which of all the values?");
    check(
        "queue: poison, executions: \"== 1\", reason: age",
        "no measure of this line heeds `reason`",
    );
    check("queue: poison, ok_share: \"== 100%\"", "no measure of this line heeds `queue`");
}
