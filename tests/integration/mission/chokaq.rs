//! The ChokaQ article: what its scenarios show beyond their `expect`, in moments, equal counts and
//! warnings. Its schedules and the presets are held in `figures/chokaq.rs`.

use std::path::Path;

use stormlab::engine::observe::DeadLetter;
use stormlab::measure::jobs::JobCounts;
use stormlab::scenario;
use stormlab::scenario::model::Model;

use crate::lab;

fn text(file: &str) -> Vec<u8> {
    let path = format!("scenarios/mission/chokaq{file}.yaml");
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a scenario")
}

#[track_caller]
fn variant(file: &str, name: &str) -> Model {
    let all = scenario::parse(file, &text(file)).expect("a sound scenario").variants;
    let found = all.into_iter().find(|it| it.name == name);
    found.unwrap_or_else(|| panic!("no variant {name}")).model
}

/// The jobs of one run.
#[track_caller]
fn jobs(file: &str, name: &str) -> JobCounts {
    lab::run(&variant(file, name)).jobs[0].counts
}

/// When attempts reached a service, in seconds from the end of the warm-up.
#[track_caller]
fn reached(file: &str, name: &str, service: &str) -> Vec<f64> {
    let model = variant(file, name);
    let warm_up = model.run.warm_up.as_secs_f64();
    let moments = lab::diary(&model).moments_ms(&[service, "reached"]);
    moments.into_iter().map(|ms| ms / 1e3 - warm_up).collect()
}

/// What is doubtful about a scenario.
fn doubts(file: &str) -> String {
    let (_, doubts) = scenario::parse_with_doubts(file, &text(file)).expect("a sound scenario");
    doubts.iter().map(ToString::to_string).collect()
}

/// [K1, K2, K22] The moments of one poisoned job: by the prose, by the shipped code, and fatal. K3: the
/// shipped list does not have the null reference, and so it is retried.
#[test]
fn k1_k2_k3_k22_the_moments_of_one_poisoned_job() {
    let of = |name| reached("-poison", name, "handler");
    assert_eq!(of("base"), [10.0, 13.0, 19.0, 31.0]);
    assert_eq!(of("shipped"), [10.0, 16.0, 28.0]);
    assert_eq!(of("fast-fail"), [10.0]);
    assert_eq!(of("shipped-listed"), [10.0]);
    let jittered = of("shipped-jitter");
    let first = jittered[1] - jittered[0];
    // A look each 10 ms comes on top.
    assert!(jittered.len() == 3 && (6.0..7.02).contains(&first), "6 to 7 s, not 3 to 4: {first}");
    assert!((3.0..4.02).contains(&(of("uniform-jitter")[1] - 10.0)));
}

/// [K11, a slip] The text names 3, 6 and 12 s, the waits; the waves come 3, 9 and 21 s after the
/// failure. [K13] What jitter spread over a second comes back at one look.
#[test]
fn k11_k13_the_instants_of_the_waves() {
    let of = |name| {
        let mut moments = reached("-wave", name, "api");
        assert_eq!(moments.len(), 400);
        moments.dedup();
        moments
    };
    assert_eq!(of("base"), [10.0, 13.0, 19.0, 31.0]);
    assert!(of("jitter").len() > 150);
    assert_eq!(of("poll-2s"), [10.0, 14.0, 22.0, 36.0]);
}

/// [K18, K19, K21] The poison is never done, whatever the variant: with the same arrivals the same
/// jobs are done, and what differs is the price.
#[test]
fn k18_k21_the_same_jobs_are_done_at_another_price() {
    let [uniform, classified, together] =
        ["base", "poison-classified", "poison-together"].map(|name| jobs("", name));
    assert_eq!((uniform.done, uniform.stored), (classified.done, classified.stored));
    assert_eq!((together.done, together.all_dead()), (classified.done, classified.all_dead()));
    assert_eq!(uniform.executions_of_dead, 4 * uniform.all_dead());
    assert_eq!(classified.executions_of_dead, classified.all_dead());
    // Under an outage too, with both: nothing dies of attempts, and the dead are the poisoned.
    let all = jobs("", "both-together");
    assert_eq!((all.done, all.all_dead()), (classified.done, classified.all_dead()));
    assert_eq!(all.dead[DeadLetter::Attempts as usize], 0);
    assert!(jobs("", "both-classified").dead[DeadLetter::Attempts as usize] > 400);
    // Classification does nothing for an outage, to the last event.
    let outage = |name| lab::run(&variant("", name)).fingerprint;
    assert_eq!(outage("outage-neither"), outage("outage-classified"));
}

/// [K14, K16] An open breaker that archives loses the arrival rate times the time open: the payments
/// that come between its first word and its last, and the five that opened it. Mails come through.
#[test]
fn k14_k16_what_is_lost_is_what_comes_while_it_is_open() {
    let diary = lab::diary(&variant("-breaker", "base"));
    let refused = diary.moments_ms(&["payments>gateway", "rejected"]);
    let (first, last) = (refused[0], *refused.last().expect("it was open"));
    let born = diary.moments_ms(&["payments", "born"]);
    // Claimed at the next look, which is 100 ms away at most.
    let while_open = born.iter().filter(|at| (first - 100.0..last).contains(*at)).count();
    assert!((55_000.0..65_000.0).contains(&(last - first)), "two open times of 30 s");
    let lost = diary.count(&["payments", "ended", "breaker"]);
    assert_eq!(lost, refused.len());
    assert!(lost.abs_diff(while_open) <= 6, "{lost} lost, {while_open} born");
    assert_eq!(diary.count(&["mails>gateway", "rejected"]), 0);
    assert_eq!(diary.count(&["mails", "ended", "breaker"]), 0);
}

/// [K17] When the payments' probe is out again after the one that was not used: with the next job to
/// ask, or after the lease of probes, or never.
#[test]
fn k17_a_permit_that_is_released_goes_to_the_next_job() {
    // The report ends at 380 s. What the first stale claim took, the next one has.
    let first_after = |name, from: f64| {
        let moments = reached("-permits", name, "gateway");
        moments.into_iter().find(|at| *at > from).map(|at| at.round())
    };
    let released = first_after("base", 330.0).expect("a probe");
    let leased = first_after("stale-lease-leaked-lease", 330.0).expect("a probe");
    assert!((380.0..=386.0).contains(&released), "{released}");
    assert!((410.0..=416.0).contains(&leased), "{leased}");
    assert_eq!(first_after("stale-lease-leaked", 330.0), None);
    // The probe of 331 s is called off after 5 s, that of a worker that stops at 333 s.
    assert!(first_after("cancelled", 336.0).is_some_and(|at| at <= 342.0));
    assert_eq!(first_after("cancelled-leaked", 336.0), None);
    assert!(first_after("shutdown", 333.0).is_some_and(|at| at <= 340.0));
    assert_eq!(first_after("shutdown-leaked", 333.0), None);
}

/// [K23] A hundred jobs that are put off at one instant ask again at one instant, every 5 s, until the
/// breaker lets them in.
#[test]
fn k23_what_is_put_off_together_asks_again_together() {
    let diary = lab::diary(&lab::model(&format!(
        "
run: {{ horizon: 1min, warm_up: 0s, window: 1s }}
clients: {{ jobs: {{ arrivals: {}, calls: api, policy: job, queue: jobs }} }}
queues:
  jobs:
    workers: 200
    claim: {{ every: 10ms, batch: 200 }}
    refused: {{ postpone: {{ after: 5s, consumes_attempt: false }} }}
services: {{ api: {{ workers: 200, work: 10ms, errors: {{ class: unavailable, share: 100% }} }} }}
policies: {{ job: {{ breaker: {{ consecutive: 5, open_for: 30s }} }} }}
",
        lab::bursts(&[(5, 5), (100, 1_005)])
    )));
    let mut asked = diary.moments_ms(&["jobs", "Postponed"]);
    asked.dedup();
    let steps = [1_010.0, 6_010.0, 11_010.0, 16_010.0, 21_010.0, 26_010.0, 31_010.0];
    assert_eq!(asked[..7], steps);
    // At 31 s one of them is the probe, which fails, and the others are put off once more.
    assert_eq!(diary.count(&["api", "reached"]), 6);
}

/// [K10, K13, K16, K23] What shows on paper is said before a run.
#[test]
fn k10_k13_k23_the_scenarios_are_warned_of() {
    let wave = doubts("-wave");
    assert!(wave.contains("by less than a tenth (1s of 13s)"), "{wave}");
    assert!(wave.contains("over at most 1s, and due jobs are looked for every 2s"), "{wave}");
    assert!(!wave.contains("`jitter: equal` spreads"), "{wave}");
    let breaker = doubts("-breaker");
    assert!(breaker.contains("after exactly 5s: without jitter all of it asks again in step"));
}
