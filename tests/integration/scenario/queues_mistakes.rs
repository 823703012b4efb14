//! Queues of jobs that are none: each mistake with its place, what is accepted, and a help.

use crate::scenario::hedges::problem;
use crate::scenario::parse;
use crate::scenario::queues::file;

/// The only problem of a text is at the mark `^`, says `message`, and `help` tells a way out.
#[track_caller]
fn marked(text: &str, message: &str, help: &str) {
    let at = text.find('^').expect("a mark");
    let line = text[..at].matches('\n').count() + 1;
    let column = at - text[..at].rfind('\n').map_or(0, |end| end + 1) + 1;
    let (place, found, advice) = problem(&text.replacen('^', "", 1));
    assert_eq!(place, format!("{line}:{column}"), "{text}: {found}");
    assert!(found.contains(message), "{message:?}: {found}");
    assert!(advice.contains(help), "{help:?}: {advice}");
}

/// A mistake in the settings of the only queue.
#[track_caller]
fn check(settings: &str, message: &str, help: &str) {
    marked(&file(&format!("{{ workers: 4, {settings} }}")), message, help);
}

#[test]
fn each_mistake_of_a_queue_has_its_place_and_a_help() {
    marked(&file("^7"), "a queue of jobs is a map", "as `{ workers: 20");
    marked(&file("{}").replace("q: {}", "^q: {}"), "needs `workers`", "nobody can guess it");
    marked(&file("{ workers: ^0 }"), "0 is out of range", "from 1 to 1000000");
    check("processes: ^0", "0 is out of range", "from 1 to 10000");
    check("processes: ^1.5", "1.5", "whole numbers");
    check("^worker: 3", "has no key `worker`", "did you mean `workers`?");
    check("^limit: 3", "a queue of jobs has no key `limit`", "accepted: processes, workers");
    check("lease: ^0s", "must be longer than 0s", "accepted are 1ns");
    check("lease: ^for_ever", "`for_ever`", "200ms");
    check("elsewhere: ^maybe", "a switch is wanted", "`true` or `false`");
    check("signed_once: ^1", "a switch is wanted", "`true` or `false`");
    check("requeue: ^checked", "`checked` is none of", "compare_and_set, blind");
}

#[test]
fn each_mistake_of_claims_has_its_place_and_a_help() {
    check("claim: ^1s", "`claim` is a map", "as `{ every: 1s, batch: 100 }`");
    check("claim: { every: ^0s }", "longer than 0s", "accepted are 1ns");
    check("claim: { every: ^100 }", "`100`", "200ms");
    check("claim: { batch: ^0 }", "0 is out of range", "from 1 to 1000000");
    check("claim: { prefetch: ^unlimited }", "`unlimited`", "whole numbers from 0");
    check("claim: { order: ^fifo }", "`fifo` is none of", "oldest_due, newest_due");
    check("claim: { rate: ^0/s }", "must be above 0/s", "above 0/s");
    check("claim: { ^interval: 1s }", "has no key `interval`", "accepted: every, batch");
}

#[test]
fn each_mistake_of_retries_and_refusals_has_its_place_and_a_help() {
    let budget = "retry: { budget: ^{ ratio: { share: 10%, deposit: call } } }";
    check(budget, "a queue has no `budget`", "destinations: { rate: 10/s }");
    check("retry: { max_attempts: ^0 }", "0 is out of range", "1 to 1000000");
    check("retry: { on: ^never }", "`never` is none of", "transient");
    check("retry: { ^backof: 1s }", "has no key `backof`", "did you mean `backoff`?");
    let both = "retry: { max_attempts: 3 }, counter: ^{ gives_up_at: 2 }";
    check(both, "in place of `max_attempts`, and `q` has both", "max_attempts: unlimited");
    let ends =
        "retry: { backoff: { table: { waits: [1s], ends: true } } }, counter: ^{ gives_up_at: 2 }";
    check(ends, "and `q` has both", "that `ends` is a number of attempts");
    check("refused: ^postpone", "`postpone` needs a value", "{ postpone: { after: 5s");
    check("refused: ^drop", "`drop` is none of", "fails, dead_letter");
    check("^refused: {}", "`refused` needs `postpone`", "consumes_attempt");
    check("refused: { postpone: ^5s }", "`postpone` is a map", "as `{ after: 5s");
    check("refused: { ^postpone: {} }", "`postpone` needs `after`", "as `5s`");
    check("refused: { postpone: { after: ^0s } }", "longer than 0s", "1ns");
}

#[test]
fn each_mistake_of_destinations_has_its_place_and_a_help() {
    check("destinations: ^10", "`destinations` is a map", "in_flight: 10");
    check("destinations: { in_flight: ^0 }", "0 is out of range", "from 1");
    check("destinations: { in_flight: ^many }", "`unlimited` is wanted", "1 to 1000000");
    check("destinations: { when_full: ^waits }", "`waits` is none of", "returns, holds_worker");
    check("destinations: { rate: ^10 }", "`10`", "25/s");
    check("destinations: { ^rate: { burst: 3 } }", "needs `rate`", "as `10/s`");
    check("destinations: { rate: { rate: 1/s, burst: ^0 } }", "0 is out of range", "from 1");
    check("destinations: { ^suspend: {} }", "`suspend` needs `at`", "101 for more than 100");
    check("destinations: { suspend: ^100 }", "`suspend` is a map", "at: 101");
    check("destinations: { suspend: { at: ^0 } }", "0 is out of range", "from 1");
    check("destinations: { suspend: { at: 1, on: ^[] } }", "`on` names none", "on: permanent");
    check("destinations: { suspend: { at: 1, jobs: ^drop } }", "`drop`", "wait, dead_letter");
    check("destinations: { suspend: { at: 1, lasts: ^0s } }", "longer than 0s", "1ns");
}

#[test]
fn each_mistake_of_worker_errors_and_counters_has_its_place_and_a_help() {
    check("worker_errors: ^1%", "`worker_errors` is a map", "share: 0.1%");
    check("^worker_errors: {}", "needs `share`", "as `0.1%`");
    check("worker_errors: { share: ^110% }", "`110%`", "0% to 100%");
    check("worker_errors: { share: 1%, of: ^requests }", "`requests`", "executions, jobs");
    check("worker_errors: { share: 1%, returns: ^at_once }", "`at_once`", "with_lease");
    check("worker_errors: { share: 1%, returns: ^30 }", "`30`", "200ms");
    check("counter: ^3", "a queue's `counter` is a map", "gives_up_at: 2");
    check("^counter: { scope: job }", "needs `gives_up_at`", "as 2 for one retry");
    check("counter: { gives_up_at: ^0 }", "0 is out of range", "from 1");
    let scopes = "job, job_step, entity, nodes, new_id";
    check("counter: { gives_up_at: 2, scope: ^step }", "`step` is none of", scopes);
    let none = "counter: { gives_up_at: 2, without_ttl: ^1% }";
    check(none, "without a `ttl` that none of them has", "set a `ttl`");
}

#[test]
fn what_names_a_queue_names_one_that_is_there() {
    let text = |more: &str| file("{ workers: 4, processes: 2 }") + more;
    let trigger = |more: &str| text(&format!("triggers: [{{ at: 20min, lasts: 1min, {more} }}]\n"));
    let other = file("{ workers: 4 }").replace("queue: q }", "queue: ^r }");
    marked(&other, "there is no queue of jobs `r`", "accepted: q");
    let far = trigger("queue: q, effect: ^{ crash: 3 }");
    marked(&far, "`q` has 2 processes", "accepted are 1 to 2");
    marked(&trigger("queue: ^r, effect: { crash: 1 }"), "no queue of jobs `r`", "accepted: q");
    marked(&trigger("queue: q, effect: { crash: ^0 }"), "0 is out of range", "from 1");
    marked(&trigger("queue: q, effect: ^shutdown"), "needs a value", "{ shutdown: 1 }");
    let wrong = "strikes `service`, not `queue`";
    marked(&trigger("queue: ^q, effect: refuse"), wrong, "`crash` and `shutdown` a `queue`");
    let wrong = "strikes `queue`, not `service`";
    marked(&trigger("service: ^server, effect: { crash: 1 }"), wrong, "a `queue`");
    let both = trigger("service: ^server, queue: q, effect: { crash: 1 }");
    marked(&both, "strikes `queue`, not `service`", "a `queue`");
    let bare = text("triggers: [^{ at: 20min, lasts: 1min, effect: { shutdown: 1 } }]\n");
    marked(&bare, "needs `queue`", "`crash` and `shutdown`");
    let resumed = text("operator: [{ at: 20min, resume: ^server }]\n");
    marked(&resumed, "no queue of jobs `server`", "accepted: q");
    let list = file("{ workers: 4 }").replace("queues:\n  q: { workers: 4 }", "queues: ^[q]");
    let found = parse(&list.replace('^', "")).expect_err("it is wrong");
    let said = found.iter().any(|it| it.problem.contains("`queues` is a map from names"));
    assert!(said, "{found:?}");
}

#[test]
fn a_queue_changes_during_a_run_only_in_what_may_change() {
    let set = |change: &str| {
        file("{ workers: 4 }") + &format!("operator: [{{ at: 20min, set: {{ {change} }} }}]\n")
    };
    for change in [
        "queues.q.workers: 8",
        "queues.q.claim.every: 100ms",
        "queues.q.lease: 1min",
        "queues.q.retry.max_attempts: 3",
        "queues.q.refused: dead_letter",
    ] {
        assert!(parse(&set(change)).is_ok(), "{change}");
    }
    for change in [
        "^queues.q.processes: 2",
        "^queues.q.counter: { gives_up_at: 2 }",
        "^queues.q.destinations.in_flight: 2",
        "^queues.q.retry.jitter: full",
        "^queues.q.retry: { max_attempts: 2 }",
        "^queues.q: { workers: 2 }",
        "^clients.web.queue: q",
    ] {
        marked(&set(change), "cannot be set during a run", "`queues.NAME` and `workers`");
    }
    marked(&set("^queues.r.workers: 2"), "no queue of jobs `r`", "accepted: q");
}

#[test]
fn mistakes_outside_a_queue_that_it_brings_along() {
    let service = |settings: &str| {
        file("{ workers: 4 }").replace("work: 5ms", &format!("work: 5ms, {settings}"))
    };
    marked(&service("balance: ^by_queue"), "`by_queue`", "by_destination, by_process");
    marked(&service("replay_window: ^0s"), "longer than 0s", "1ns");
    marked(&service("^replay_window: {}"), "needs `lasts`", "as `5min`");
    let local = service("replay_window: { lasts: 5min, answer: ^breaker_open }");
    marked(&local, "made by a caller's policy", "name what the service answers");
    let limits =
        file("{ workers: 4 }").replace("horizon: 1h", "horizon: 1h, limits: { at_rest: ^0 }");
    marked(&limits, "0 is out of range", "from 1");
    let many: String =
        (0..11).map(|i| format!("  r{i}: {{ workers: 1, processes: 10000 }}\n")).collect();
    let crowd = file("{ workers: 4 }") + &many;
    let (_, found, _) = problem(&crowd);
    assert!(found.contains("the queues have 110001 processes; 100000 are allowed"), "{found}");
}
