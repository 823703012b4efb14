//! What a run says and writes of queues of jobs.

use std::fs;

use crate::cli::out;
use crate::cli::place;
use crate::cli::stormlab;

/// Five poisoned jobs, executed at 1.01, 4.02 and 10.03 s, and a service without a queue beside.
const JOBS: &str = "schema: 1
name: jobs
about: Poison.
run: { horizon: 20s, warm_up: 0s, window: 1s, replications: 2, seed: 1 }
clients:
  bad: { arrivals: { burst: { count: 5, at: 1.005s } }, calls: broken, policy: p, queue: poison }
services:
  broken: { workers: 5, work: { constant: 10ms }, errors: { share: 100%, class: unavailable } }
policies:
  p: { attempt_timeout: 1s }
queues:
  poison:
    workers: 10
    claim: { every: 10ms, batch: 100 }
    retry: { max_attempts: 3, backoff: { exponential: { base: 3s, factor: 2 } }, jitter: none }
variants:
  none: { clients: { bad: { queue: null } }, queues: null }
";

#[test]
fn queues_have_a_table_for_people_a_file_over_time_and_a_chart() {
    let place = place();
    fs::write(place.path().join("jobs.yaml"), JOBS).unwrap();
    let said =
        out(&stormlab(place.path()).args(["run", "jobs.yaml", "--out", "o"]).assert().success());
    let heading = said.lines().find(|line| line.contains("jobs of")).expect("a heading");
    assert_eq!(
        heading.split_whitespace().collect::<Vec<_>>().join(" "),
        "variant jobs of delivered dead runs/job late p50 p99 left"
    );
    let row = said.lines().find(|line| line.contains("poison")).expect("a row");
    let row: Vec<_> = row.split_whitespace().collect();
    assert_eq!(row, ["base", "poison", "0%", "5", "3", "–", "–", "0"]);

    let folder = place.path().join("o");
    let table = fs::read_to_string(folder.join("queues-base.csv")).unwrap();
    let mut lines = table.lines();
    assert!(lines.next().unwrap().starts_with("time_s,poison.stored_rps,poison.claims_rps,"));
    // Stored, claims, executions, returned, done, dead; at rest, due, parked, claimed, executing,
    // suspended, oldest due.
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines.len(), 20);
    assert_eq!(lines[0], "0.0,0.0,0.0,0.0,0.0,0.0,0.0,0,0,0,0,0,0,0.0");
    assert_eq!(lines[1], "1.0,5.0,5.0,5.0,5.0,0.0,0.0,5,0,0,0,0,0,0.0");
    assert_eq!(lines[4], "4.0,0.0,5.0,5.0,5.0,0.0,0.0,5,0,0,0,0,0,0.0");
    assert_eq!(lines[10], "10.0,0.0,5.0,5.0,0.0,0.0,5.0,0,0,0,0,0,0,0.0");

    let chart = fs::read_to_string(folder.join("charts/jobs-base.svg")).unwrap();
    assert!(chart.contains("base: up to 5 jobs at rest, due for up to"), "the title");
    for absent in ["queues-none.csv", "charts/jobs-none.svg"] {
        assert!(!folder.join(absent).exists(), "{absent}");
    }

    let summary = fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let base = &summary["variants"]["base"];
    let queue = &base["queues"]["poison"];
    assert_eq!(queue["dead_letters"]["estimate"], 5.0);
    assert_eq!(queue["dead_letters_by_reason"]["attempts"], 10); // Of two runs.
    assert_eq!(queue["storage_writes"]["estimate"], 6.0);
    assert_eq!(queue["first_dead_letter_s"]["estimate"], 10.04);
    assert_eq!(queue["to_dead_letter_s"]["max"], 9.02); // From 1.02 s.
    assert_eq!(base["populations"]["bad"]["requests"]["failed"]["attempts"], 10);
    assert_eq!(base["populations"]["bad"]["latency_failed_ms"]["mean"], 9_035.0);
    assert_eq!(base["latency_failed_ms"]["mean"], 9_035.0);
    assert!(summary["variants"]["none"].get("queues").is_none());
}
