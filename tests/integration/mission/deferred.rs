//! The article on destructive reads: its figures, from the scenarios that are shipped.
//!
//! The ids are those of the rules and figures that the article states. Each rule of its own is held
//! in `rules/deferred.rs`, the places of probes in `probes.rs`; here stand figures.

use std::path::Path;

use stormlab::engine::observe::WaitEnd;
use stormlab::measure::deferred::DeferredCounts;
use stormlab::measure::record::RunRecord;
use stormlab::scenario;
use stormlab::scenario::model::Model;

use crate::lab;
use crate::lab::Diary;
use crate::lab::diary;

#[track_caller]
fn variant(file: &str, name: &str) -> Model {
    let path = format!("scenarios/mission/deferred-result{file}.yaml");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let all = scenario::load(&path).unwrap_or_else(|error| panic!("{error}")).variants;
    let found = all.into_iter().find(|it| it.name == name);
    found.unwrap_or_else(|| panic!("no variant {name}")).model
}

#[track_caller]
fn run(file: &str, name: &str) -> RunRecord {
    lab::run(&variant(file, name))
}

fn results(record: &RunRecord) -> DeferredCounts {
    record.deferred.iter().copied().sum()
}

fn slowest_failure_s(record: &RunRecord) -> f64 {
    record.latency_failed.max().map_or(0.0, |nanos| nanos as f64 / 1e9)
}

/// [D1] Two figures for one fault: 122 min where something ended the wait then, over 6 h where the
/// safety timer did.
#[test]
fn d1_shown_as_running_for_122_minutes_or_for_more_than_six_hours() {
    let by_hand = results(&run("", "by-hand"));
    assert_eq!(by_hand.longest_idle_s(), Some(122.0 * 60.0));
    let old = run("", "base");
    assert_eq!(slowest_failure_s(&old), 6.0 * 3600.0 + 600.0);
    assert_eq!(results(&old).longest_idle_s(), Some(22_200.0 - 69.0));
    // Both, of one job that takes four hours to fail.
    let slow = run("", "four-hours");
    assert_eq!(slowest_failure_s(&slow), 6.0 * 3600.0 + 600.0);
    assert_eq!(results(&slow).longest_idle_s(), Some(122.0 * 60.0));
}

/// [D2, D18, D23] Two attempts on two nodes and the producer's own error, 139 s after the submit: at
/// least 155 times sooner than 6 h.
#[test]
fn d2_after_the_mend_a_job_has_failed_twice_in_139_seconds() {
    let mended = run("", "mended");
    assert_eq!(
        (mended.latency_failed.min(), slowest_failure_s(&mended)),
        (Some(139_000_000_000), 139.0)
    );
    assert!(6.0 * 3600.0 / slowest_failure_s(&mended) >= 155.0);
    let counts = results(&mended);
    assert_eq!(counts.mislabelled_share(), Some(0.0), "the cause is kept");
    assert_eq!(counts.by_timer(), 0);
    let reached: Vec<_> = mended.series.service(0).map(|it| (it.first, it.retries())).collect();
    let (first, again) = reached.iter().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let failed = mended.verdicts[0].failed.iter().sum::<u64>();
    let open = mended.verdicts[0].open as u32;
    assert!(u64::from(again).abs_diff(failed) <= u64::from(open), "one retry for each that fails");
    assert!(first > 1_000 && failed > 200);
}

/// [D8] Of the failures that the naive consumer reads away, all hang until the safety timer; of the
/// typed consumer's none.
#[test]
fn d8_every_failure_that_is_read_away_hangs_until_the_timer() {
    let naive = results(&run("", "base"));
    let over = naive.ended(WaitEnd::Overwritten);
    assert_eq!(naive.ended(WaitEnd::Failed), 0);
    assert!(over > 200 && naive.destroyed - over < 140, "the last ones still hang: {naive:?}");
    assert_eq!(naive.destroyed, naive.misread);
    let typed = results(&run("", "destructive-typed"));
    assert_eq!((typed.destroyed, typed.misread, typed.by_timer()), (0, 0, 0));
}

/// [D7] Of destructive reads each result is handed out at most once.
#[test]
fn d7_no_result_is_handed_out_twice() {
    for name in ["base", "destructive-typed", "mended", "mended-answer-lost", "wrapped"] {
        let counts = results(&run("", name));
        let read: u64 = [WaitEnd::Done, WaitEnd::Failed, WaitEnd::FalseSuccess]
            .map(|why| counts.ended(why))
            .iter()
            .sum();
        assert!(read + counts.destroyed <= counts.written, "{name}: {counts:?}");
    }
    let plain = results(&run("", "plain-naive"));
    assert!(plain.misread > 100 * plain.written, "a plain read hands one out at every look");
}

/// [D16] The class lost in a wrapper: the same run as the naive consumer's, event by event.
#[test]
fn d16_a_typed_consumer_without_the_class_is_a_naive_one() {
    assert_eq!(run("", "wrapped").fingerprint, run("", "base").fingerprint);
    assert_ne!(run("", "destructive-typed").fingerprint, run("", "base").fingerprint);
}

/// [D13, D14, D15] Four faults of five are false successes behind a reject list: four fifths of the
/// malformed replies, and none without any or behind an accept list.
#[test]
fn d14_d15_corrupted_results_are_those_that_are_malformed() {
    let behind = results(&run("-replies", "base"));
    let silent = behind.ended(WaitEnd::FalseSuccess);
    let heard = behind.ended(WaitEnd::Failed);
    assert!(silent > 250 && heard > 40);
    let waiting = behind.written - behind.ends.iter().sum::<u64>();
    assert!(behind.malformed - silent - heard <= waiting, "{behind:?}");
    for name in ["well-formed", "typed", "naive"] {
        assert_eq!(results(&run("-replies", name)).ended(WaitEnd::FalseSuccess), 0, "{name}");
    }
    let typed = results(&run("-replies", "typed"));
    assert_eq!(typed.malformed, typed.ended(WaitEnd::Failed), "each is seen");
}

/// [D10] Behind a destructive read there is nothing to read again; a plain read finds the same.
#[test]
fn d10_reading_again_does_not_help() {
    let away = results(&run("-replies", "naive"));
    assert_eq!(away.misread, away.destroyed);
    let kept = results(&run("-replies", "naive-plain"));
    assert_eq!((kept.destroyed, kept.ended(WaitEnd::Failed)), (0, 0));
    assert!(kept.misread > 500 * kept.ended(WaitEnd::Overwritten));
}

/// [D17, D39] A retry of everything costs an execution for each failure; one of what may pass
/// rescues as many jobs for half of them.
#[test]
fn d17_d39_a_reply_that_says_so_spares_the_useless_retries() {
    let of = |name| {
        let record = run("-retries", name);
        let compute = 0;
        let retries: u64 =
            record.series.service(compute).map(|window| u64::from(window.retries())).sum();
        (record.verdicts[0].ok, retries)
    };
    let (none, all, told) = (of("base"), of("one-retry"), of("told"));
    assert_eq!(none.1, 0);
    // Those out of memory are rescued by either, and by the same draws.
    assert!(all.0 > none.0 + 400 && all.0.abs_diff(told.0) <= 2, "{all:?} {told:?}");
    let useless = all.1 - told.1;
    assert!(useless > 500 && told.1 > 500, "{all:?} {told:?}");
}

/// [D41] What the old consumer records is `timeout`, of jobs that failed for another reason.
#[test]
fn d41_the_label_of_the_timer_covers_the_cause() {
    let old = results(&run("", "base"));
    let ends: u64 = old.ends.iter().sum();
    let share = old.ended(WaitEnd::Overwritten) as f64 / ends as f64;
    assert_eq!(old.mislabelled_share(), Some(share));
    assert!((0.15..0.25).contains(&share));
}

/// What happens in the first run of a variant.
#[track_caller]
fn lived(file: &str, name: &str) -> Diary {
    diary(&variant(file, name))
}

/// Seconds at which attempts reach a service, from 10 min on, when the job of these files is claimed.
fn reached_s(told: &Diary, service: &str) -> Vec<f64> {
    told.moments_ms(&[service, "reached"]).iter().map(|ms| ms / 1e3 - 600.0).collect()
}

/// [D12] What a crash between read, commit and deletion leaves of one result.
#[test]
fn d12_a_crash_before_the_commit_loses_what_was_read_away() {
    let commits = |name| reached_s(&lived("-commit", name), "records");
    assert_eq!(commits("base"), [0.0], "nobody comes again");
    assert_eq!(commits("read-commit-delete"), [0.0, 300.0], "when the lease has ended");
    assert_eq!(commits("after-commit"), [0.0]);
    assert_eq!(commits("read-commit-delete-after-commit"), [0.0, 300.0]);
}

/// [D20, D21, D22, D30] The list of nodes on one node: a breaker that counts what fails idles the
/// worker and so slows the loop, three rounds and one for each probe; one that does not lets it run.
/// No consumer is heard of by its timer, and no general count of attempts ends it.
#[test]
fn d22_an_accident_slows_the_loop_and_a_counter_ends_it() {
    let mut refused = vec![0.0, 1.0, 2.0];
    refused.extend((1..=11).map(|probe| 2.0 + f64::from(probe) * 300.0));
    assert_eq!(reached_s(&lived("-one-job", "list-refused"), "compute"), refused);
    let every_second: Vec<f64> = (0..3_600).map(f64::from).collect();
    let loose = lived("-one-job", "list-refused-uncounted");
    assert_eq!(reached_s(&loose, "compute"), every_second);
    let uncounted = lived("-one-job", "list-failing-uncounted");
    let rounds: Vec<f64> = (0..52).map(|round| f64::from(round) * 70.0).collect();
    assert_eq!(
        reached_s(&uncounted, "main"),
        rounds.iter().map(|at| at + 10.0).collect::<Vec<_>>()
    );
    for told in [loose, uncounted] {
        assert_eq!((told.count(&["over"]), told.count(&["ended"])), (0, 0));
    }
    assert_eq!(lived("-one-job", "counter-failing").count(&["main", "reached"]), 2);
}

/// [D23, D26] The failure of the preparing step is not the main one's.
#[test]
fn d26_a_preparing_step_has_its_own_allowance() {
    let steps = |name| {
        let told = lived("-one-job", name);
        (reached_s(&told, "preparing"), reached_s(&told, "main"))
    };
    assert_eq!(steps("base"), (vec![0.0, 70.0, 199.0], vec![80.0, 209.0]));
    assert_eq!(steps("declared-step"), (vec![0.0, 70.0], vec![80.0]));
}

/// [D37] One consumer counts 1 and puts the job back for 188 s, the other counts 2 and gives it up at
/// 149 s: it runs again. Where requeues compare, the first is not heard, and the second counts 1.
#[test]
fn d37_a_job_that_is_given_up_runs_again() {
    let blind = lived("-one-job", "two-consumers-blind");
    assert_eq!(blind.lines(&["over"]), ["749000ms jobs over counter executions 2"]);
    assert_eq!(blind.moments_ms(&["reopened"])[0], 749_000.0);
    assert_eq!(reached_s(&blind, "compute"), [0.0, 80.0, 188.0]);
    let compared = lived("-one-job", "two-consumers");
    assert_eq!(compared.lines(&["over"]), ["878000ms jobs over done executions 3"]);
    assert_eq!(compared.count(&["reopened"]), 0);
}

/// [D32, D33, D34, D35] When good jobs reach the node, from 20 min on, the moment of the probe.
#[test]
fn d32_to_d35_what_a_probe_without_a_verdict_leaves_behind() {
    let after = |name| {
        let all = reached_s(&lived("-probe", name), "compute");
        all.into_iter().map(|at| at - 600.0).filter(|at| *at >= 0.0).collect::<Vec<_>>()
    };
    assert_eq!(after("base"), [12.0, 12.0, 65.0, 65.0, 65.0, 80.0], "D33");
    assert_eq!(after("leak"), [0.0; 0], "D32");
    assert_eq!(after("nothing"), [12.0, 65.0, 65.0, 65.0, 72.0, 80.0], "K17");
    assert_eq!(after("early"), [5.0, 65.0, 65.0, 72.0, 72.0, 80.0], "D34");
    assert_eq!(after("early-unguarded"), [5.0, 12.0, 12.0, 65.0, 65.0, 80.0], "D34");
    assert_eq!(after("early-unguarded-nothing"), [5.0, 12.0, 65.0, 65.0, 72.0, 80.0], "D34");
    assert_eq!(after("shutdown"), [5.0, 9.0], "D35");
    assert_eq!(after("shutdown-success"), [5.0, 9.0, 12.0, 12.0, 65.0, 65.0, 80.0], "D35");
    assert_eq!(after("shutdown-leak"), [5.0], "D35");
}
