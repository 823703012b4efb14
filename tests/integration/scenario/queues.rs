//! Queues of jobs as written: what each text means.

use stormlab::lint;
use stormlab::policy::backoff::Jitter;
use stormlab::policy::hint::HintRule;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::scenario::defaults;
use stormlab::scenario::model::Balance;
use stormlab::scenario::model::Claim;
use stormlab::scenario::model::ClaimOrder;
use stormlab::scenario::model::Counter;
use stormlab::scenario::model::CounterScope;
use stormlab::scenario::model::Deed;
use stormlab::scenario::model::DeliveryRate;
use stormlab::scenario::model::Destinations;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::ErrorsOf;
use stormlab::scenario::model::JobQueue;
use stormlab::scenario::model::JobsMeanwhile;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::Refused;
use stormlab::scenario::model::ReplayWindow;
use stormlab::scenario::model::Requeue;
use stormlab::scenario::model::Returns;
use stormlab::scenario::model::Stop;
use stormlab::scenario::model::Suspend;
use stormlab::scenario::model::WhenFullyInFlight;
use stormlab::scenario::model::WorkerErrors;
use stormlab::units::Duration;
use stormlab::units::Rate;
use stormlab::units::Share;

use crate::scenario::effective::again;
use crate::scenario::valid;

/// A small system whose one queue is this.
pub(super) fn file(queue: &str) -> String {
    format!(
        "schema: 1
name: test
run: {{ horizon: 1h }}
clients: {{ web: {{ population: 50, arrivals: {{ poisson: 20/s }}, calls: server, policy: p, queue: q }} }}
services: {{ server: {{ workers: 9, work: 5ms }} }}
policies: {{ p: {{ attempt_timeout: 15s, breaker: {{ consecutive: 5, open_for: 10s }} }} }}
queues:
  q: {queue}
"
    )
}

fn per_second(rate: f64) -> Rate {
    Rate::per_second(rate).expect("a rate")
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The model of a valid file, which means the same when it is printed and read again.
#[track_caller]
fn model(text: &str) -> Model {
    let scenario = valid(text);
    again(&scenario);
    scenario.variants[0].model.clone()
}

#[track_caller]
fn queue(settings: &str) -> JobQueue {
    model(&file(&format!("{{ workers: 4, {settings} }}"))).queues[0].clone()
}

#[test]
fn what_a_queue_does_not_say_is_the_default() {
    let model = model(&file("{ workers: 4 }"));
    assert_eq!(model.populations[0].queue, Some(0));
    let it = &model.queues[0];
    assert_eq!((it.name.as_str(), it.processes, it.workers), ("q", 1, 4));
    assert_eq!((it.claim, it.lease), (defaults::CLAIM, None));
    assert_eq!((it.retry.max_attempts, it.retry.on), (Some(1), ClassSet::TRANSIENT));
    assert_eq!((it.refused, it.destinations), (Refused::Fails, Destinations::default()));
    assert_eq!((it.worker_errors, it.counter), (None, None));
    assert_eq!((it.requeue, it.elsewhere, it.signed_once), (Requeue::CompareAndSet, false, false));
    assert_eq!(queue("retry: {}").retry.max_attempts, Some(defaults::MAX_ATTEMPTS));
}

#[test]
fn each_setting_of_a_queue_means_what_it_says_and_means_it_again() {
    let claim = queue(
        "claim: { every: 250ms, batch: 7, prefetch: 3, order: newest_due, rate: 10000/s, \
         idles_when_open: true }",
    );
    let expected = Claim {
        every: Duration::from_millis(250),
        batch: 7,
        prefetch: 3,
        order: ClaimOrder::NewestDue,
        rate: Some(per_second(10_000.0)),
        idles_when_open: true,
    };
    assert_eq!(claim.claim, expected);
    assert_eq!(queue("lease: 5min").lease, Some(seconds(300)));
    assert_eq!(queue("lease: unlimited").lease, None);
    assert_eq!(queue("processes: 3").processes, 3);
    let others = queue("requeue: blind, elsewhere: true, signed_once: true");
    assert_eq!(
        (others.requeue, others.elsewhere, others.signed_once),
        (Requeue::Blind, true, true)
    );
}

#[test]
fn a_queue_retries_as_a_policy_does_without_a_budget() {
    // W6, W8, W15, W21: the schedule of the webhook chapter.
    let it = queue(
        "retry: { max_attempts: 16, backoff: { exponential: { base: 1min, cap: 1h } }, jitter: \
         equal, on: [transient, ambiguous], hint: larger, max_elapsed: 72h }",
    );
    let retry = &it.retry;
    assert_eq!((retry.max_attempts, retry.backoff.jitter), (Some(16), Jitter::Equal));
    assert_eq!(retry.on, ClassSet::TRANSIENT.union(ClassSet::AMBIGUOUS));
    assert_eq!(retry.hint.rule, HintRule::Larger);
    assert_eq!(retry.max_elapsed.map(|limit| limit.after), Some(seconds(72 * 3_600)));
    assert_eq!(retry.backoff.window(7), seconds(3_600));
}

#[test]
fn what_a_refusal_does_is_one_of_three() {
    assert_eq!(queue("refused: fails").refused, Refused::Fails);
    assert_eq!(queue("refused: dead_letter").refused, Refused::DeadLetter); // K16
    let after = seconds(5);
    let postponed = queue("refused: { postpone: { after: 5s } }").refused;
    assert_eq!(postponed, Refused::Postpone { after, consumes_attempt: false });
    let spent = queue("refused: { postpone: { after: 5s, consumes_attempt: true } }").refused;
    assert_eq!(spent, Refused::Postpone { after, consumes_attempt: true });
}

#[test]
fn destinations_have_places_a_rate_and_an_end_of_patience() {
    // W24, W31, W33.
    let all = queue(
        "destinations: { in_flight: 10, when_full: holds_worker, rate: { rate: 10/s, burst: 20 }, \
         suspend: { on: [denied, gone], at: 101, lasts: 24h, jobs: dead_letter } }",
    );
    let expected = Destinations {
        in_flight: Some(10),
        when_full: WhenFullyInFlight::HoldsWorker,
        rate: Some(DeliveryRate { rate: per_second(10.0), burst: 20 }),
        suspend: Some(Suspend {
            on: ClassSet::of(&[Class::Denied, Class::Gone]),
            at: 101,
            lasts: Some(seconds(86_400)),
            jobs: JobsMeanwhile::DeadLetter,
        }),
    };
    assert_eq!(all.destinations, expected);
    let plain = queue("destinations: { in_flight: unlimited, rate: 90/min, suspend: { at: 3 } }");
    let suspend =
        Suspend { on: ClassSet::PERMANENT, at: 3, lasts: None, jobs: JobsMeanwhile::Wait };
    let rate = DeliveryRate { rate: per_second(1.5), burst: 1 };
    let expected = Destinations {
        in_flight: None,
        when_full: WhenFullyInFlight::Returns,
        rate: Some(rate),
        suspend: Some(suspend),
    };
    assert_eq!(plain.destinations, expected);
}

#[test]
fn workers_fail_by_execution_or_by_job_and_the_job_comes_back() {
    // W29, W30.
    let errors = |settings: &str| queue(&format!("worker_errors: {{ {settings} }}")).worker_errors;
    let plain = WorkerErrors {
        share: Share::percent(1),
        of: ErrorsOf::Attempts,
        returns: Returns::Due(Duration::ZERO),
        consumes_attempt: false,
    };
    assert_eq!(errors("share: 1%"), Some(plain));
    let jobs = WorkerErrors {
        of: ErrorsOf::Requests,
        returns: Returns::WithLease,
        consumes_attempt: true,
        ..plain
    };
    let text = "share: 1%, of: jobs, returns: with_lease, consumes_attempt: true";
    assert_eq!(errors(text), Some(jobs));
    let later = WorkerErrors { returns: Returns::Due(seconds(30)), ..plain };
    assert_eq!(errors("share: 1%, of: executions, returns: 30s"), Some(later));
}

#[test]
fn a_counter_outside_the_job_takes_the_place_of_attempts() {
    // D19 to D28.
    let it =
        queue("counter: { scope: nodes, gives_up_at: 2, ttl: 12h, without_ttl: 1% }, retry: {}");
    let expected = Counter {
        scope: CounterScope::Nodes,
        gives_up_at: 2,
        ttl: Some(seconds(12 * 3_600)),
        without_ttl: Share::percent(1),
    };
    assert_eq!((it.counter, it.retry.max_attempts), (Some(expected), None));
    let it = queue("counter: { gives_up_at: 1 }");
    let expected =
        Counter { scope: CounterScope::Job, gives_up_at: 1, ttl: None, without_ttl: Share::ZERO };
    assert_eq!((it.counter, it.retry.max_attempts), (Some(expected), None));
    for (word, scope) in [
        ("job", CounterScope::Job),
        ("job_step", CounterScope::JobStep),
        ("entity", CounterScope::Entity),
        ("new_id", CounterScope::NewId),
    ] {
        let it = queue(&format!("counter: {{ scope: {word}, gives_up_at: 2 }}"));
        assert_eq!(it.counter.map(|it| it.scope), Some(scope), "{word}");
    }
}

#[test]
fn services_know_receivers_nodes_and_the_age_of_signatures() {
    // W37.
    let service = |settings: &str| {
        let text = file("{ workers: 4 }").replace("work: 5ms", &format!("work: 5ms, {settings}"));
        model(&text).services[0].clone()
    };
    let of_each = service("replicas: 50, balance: by_destination, replay_window: 5min");
    assert_eq!(of_each.balance, Balance::ByDestination);
    let window = ReplayWindow { lasts: seconds(300), answer: Class::Denied };
    assert_eq!(of_each.replay_window, Some(window));
    let node = service("balance: by_process, replay_window: { lasts: 1h, answer: rejected }");
    assert_eq!(node.balance, Balance::ByProcess);
    let window = ReplayWindow { lasts: seconds(3_600), answer: Class::Rejected };
    assert_eq!(node.replay_window, Some(window));
}

#[test]
fn processes_go_away_destinations_are_resumed_and_jobs_at_rest_are_limited() {
    let text = file("{ workers: 4, processes: 3, destinations: { suspend: { at: 3 } } }")
        .replace("horizon: 1h", "horizon: 1h, limits: { at_rest: 1_000 }")
        + "triggers:
  - { at: 20min, lasts: 1min, queue: q, effect: { crash: 2 } }
  - { at: 30min, lasts: 1min, queue: q, effect: { shutdown: 3 } }
operator:
  - { at: 40min, resume: q }
";
    let model = model(&text);
    assert_eq!(model.run.limits.at_rest, 1_000);
    let effects: Vec<_> = model.triggers.iter().map(|trigger| trigger.effect).collect();
    let stop = |processes, how| Effect::Stop { queue: 0, processes, how };
    assert_eq!(effects, [stop(2, Stop::Crash), stop(3, Stop::Shutdown)]);
    assert_eq!(model.operator[0].what, Deed::Resume(0));
}

#[test]
fn a_variant_changes_a_queue_by_name() {
    let text = file("{ workers: 4, lease: 5min, retry: { max_attempts: 16 } }")
        + "variants:
  no-lease: { queues: { q: { lease: null } } }
  more: { queues: { q: { workers: 8, refused: { postpone: { after: 5s } } } } }
  second: { queues: { r: { workers: 1 } }, clients: { web: { queue: r } } }
  at-once: { clients: { web: { queue: null } } }
";
    let scenario = valid(&text);
    again(&scenario);
    let models: Vec<_> = scenario.variants.iter().map(|variant| &variant.model).collect();
    assert_eq!(models[1].queues[0].lease, None);
    assert_eq!(models[1].queues[0].retry.max_attempts, Some(16));
    assert_eq!((models[2].queues[0].workers, models[2].queues[0].lease), (8, Some(seconds(300))));
    assert_eq!((models[3].queues.len(), models[3].populations[0].queue), (2, Some(1)));
    assert_eq!(models[4].populations[0].queue, None);
}

/// What `explain` says of a queue, and that keys and waits are those of all executions [W15, N26].
#[test]
fn explain_describes_a_queue() {
    let text = file(
        "{ workers: 40, lease: 1min, retry: { max_attempts: 16, backoff: { exponential: { base: 1min, \
         cap: 1h } }, jitter: equal, max_elapsed: 72h }, destinations: { in_flight: 10 }, refused: \
         dead_letter }",
    )
    .replace("work: 5ms", "work: 5ms, idempotency: { kept_for: 5h }")
    .replace("queue: q", "queue: q, operation: { write: { key: request } }");
    let said = lint::explain(&valid(&text), "base");
    for line in [
        "# Queues of jobs",
        "# q (fed by web): up to 16 executions per job.",
        "#   20 jobs/s come in; 40 workers, which claim at most 40 jobs/s.",
        "#   A job is given up by its attempts, after at most 603min of waits (mean 27140s): before its \
         age of 3d, unless something else delays it.",
        "#       7        1h     30min        1h     45min",
        "#   50 destinations: 10 in flight to each, at most 0.67/s to one whose answers take their \
         longest.",
        "#   breaker: one state per [caller, target], 1 of them.",
        "its key is forgotten after 5h, while attempts may follow one another for",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    let again = lint::explain(&valid(&said), "base");
    assert_eq!(again, said, "what it prints is a scenario");
    let once = lint::explain(&valid(&file("{ workers: 1 }")), "base");
    assert!(once.contains("#   No job is tried again."), "{once}");
}
