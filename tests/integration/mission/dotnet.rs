//! The .NET article: its figures, event by event, from the scenarios that are shipped.
//!
//! The ids are those of the rules and figures that the article states. What takes many requests or
//! many runs is asserted by the scenarios themselves, under `expect`.

mod budget;
mod invoices;
mod lints;
mod waves;

use std::path::Path;

use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::scenario;
use stormlab::scenario::model::Model;

use crate::lab::Diary;
use crate::lab::diary;

/// A variant of `scenarios/mission/dotnet-failover….yaml`.
#[track_caller]
fn variant(file: &str, name: &str) -> Model {
    let path = format!("scenarios/mission/dotnet-failover{file}.yaml");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let scenario = scenario::load(&path).unwrap_or_else(|error| panic!("{error}"));
    let found = scenario.variants.into_iter().find(|it| it.name == name);
    found.unwrap_or_else(|| panic!("no variant {name}")).model
}

/// What happens in its first run.
#[track_caller]
fn lived(file: &str, name: &str) -> Diary {
    diary(&variant(file, name))
}

/// Seconds since the failover began, at 10 s, at which attempts reach a service.
fn reached(diary: &Diary, service: &str) -> Vec<f64> {
    diary
        .moments_ms(&[service, "reached"])
        .into_iter()
        .map(|ms| (ms - 10_000.0).round() / 1e3)
        .collect()
}

/// How the requests ended: each line without its moment and its population.
fn endings(diary: &Diary) -> Vec<String> {
    let lines = diary.lines(&["ended"]).into_iter();
    lines.map(|line| line.splitn(3, ' ').nth(2).unwrap_or_default().to_owned()).collect()
}

/// [N2, a slip] Three layers of four attempts, refused at once for 20 s: seven attempts, the last
/// of which succeeds. The article counts 64.
#[test]
fn n2_the_failover_alone_takes_seven_attempts() {
    let diary = lived("", "base");
    assert_eq!(reached(&diary, "database"), [0.0, 2.0, 6.0, 14.0, 16.0, 18.0, 22.0]);
    assert_eq!(endings(&diary), ["ended ok after 22s"]);
}

/// [N1, N2] 64 attempts take 294 s of failure: 14 s for one layer, 70 s for two.
#[test]
fn n1_64_attempts_take_294_seconds_of_failure() {
    #[track_caller]
    fn check(name: &str, attempts: [usize; 4], ended: &str) {
        let diary = lived("", name);
        let of = |service| diary.count(&[service, "reached"]);
        assert_eq!(["gateway", "orders", "repository", "database"].map(of), attempts, "{name}");
        assert_eq!(endings(&diary), [ended], "{name}");
    }
    check("down-for-good", [1, 4, 16, 64], "ended attempts after 294s");
    check("back-after-293s", [1, 4, 16, 64], "ended ok after 294s");
    check("two-layers", [1, 1, 4, 16], "ended attempts after 70s");
    // [N28] One layer, wherever it is: 4 instead of 64.
    check("one-layer-bottom", [1, 1, 1, 4], "ended attempts after 14s");
    check("one-layer-middle", [1, 1, 4, 4], "ended attempts after 14s");
    check("one-layer-top", [1, 4, 4, 4], "ended attempts after 14s");
    // [N29] A retry over a library that retries: 4 × 6.
    check("over-ef-core", [1, 1, 1, 24], "ended attempts after 98s");
}

/// [N3, ours] Upper layers that wait 3 s for a layer that takes 14 s: the tree of 64 goes on for
/// nobody; with cancellation each try of the gateway is cut after the first wait below.
#[test]
fn n3_upper_layers_that_give_up_too_soon() {
    let orphans = lived("", "hasty-above");
    let cancelled = lived("", "hasty-above-cancelled");
    let ended = "ended attempts after 26s"; // Four times 3 s, and 14 s of waits.
    assert_eq!([endings(&orphans), endings(&cancelled)], [[ended], [ended]]);
    assert_eq!([&orphans, &cancelled].map(|it| it.count(&["database", "reached"])), [64, 8]);
    let late = reached(&orphans, "database").into_iter().filter(|at| *at > 26.0).count();
    assert_eq!(late, 28, "attempts for a request that has failed");
}

/// [N4] What is retried where nothing else is said: an allow list.
#[test]
fn n4_what_is_transient() {
    let retried: Vec<_> =
        Class::ALL.into_iter().filter(|class| ClassSet::TRANSIENT.contains(*class)).collect();
    let listed = [
        Class::Unavailable,    // 503, a refused connection, a name that is not found
        Class::Overloaded,     // 503
        Class::RateLimited,    // 429
        Class::Timeout,        // the attempt timeout, 408
        Class::GatewayTimeout, // 504
        Class::BadGateway,     // 502
        Class::ConnectionLost, // a connection that is reset
    ];
    assert_eq!(retried, listed);
}

/// [N15] The hint replaces the own wait, longer or shorter, the cap does not bound it, and one of
/// nothing is none.
#[test]
fn n15_a_hint_replaces_the_wait() {
    let at = |name: &str| reached(&lived("-hints", name), "supplier");
    assert_eq!(at("three-seconds"), [0.0, 3.0, 6.0]);
    assert_eq!(at("shorter-than-own"), [0.0, 0.1, 0.2, 0.3]);
    assert_eq!(at("beyond-the-cap"), [0.0, 60.0]);
    assert_eq!(at("no-hint-given"), [0.0, 0.5, 1.5, 3.5]);
}

/// [N16, N17] A hint of 60 s and 10 s in all: the call ends at once; who cuts the wait sits until
/// the 10 s are over; who ignores it tries four times; a queue above delivers after a minute.
#[test]
fn n17_a_hint_that_does_not_fit_ends_the_call() {
    let told = |name: &str| {
        let diary = lived("-hints", name);
        (reached(&diary, "supplier"), endings(&diary).concat())
    };
    assert_eq!(told("base"), (vec![0.0], "ended time after 0s".into()));
    assert_eq!(told("sits-it-out"), (vec![0.0], "ended time after 10s".into()));
    assert_eq!(told("ignored"), (vec![0.0, 0.5, 1.5, 3.5], "ended attempts after 3.5s".into()));
    assert_eq!(told("queue-above"), (vec![0.0, 60.0], "ended ok after 1min".into()));
}

/// [N40, N41, a slip] 4 × 2 s and 3.5 s of waits are 11.5 s. Under a total of 10 s the fourth
/// attempt does take place: it starts at 9.5 s and is cut half a second old.
#[test]
fn n41_the_third_retry_is_cut_and_not_left_out() {
    let told = |name: &str| {
        let diary = lived("-time", name);
        let mut at = reached(&diary, "supplier");
        at.dedup();
        let mut ends = endings(&diary);
        ends.dedup();
        (at, ends.concat())
    };
    assert_eq!(told("base"), (vec![0.0, 2.5, 5.5, 9.5], "ended time after 10s".into()));
    let all = vec![0.0, 2.5, 5.5, 9.5];
    assert_eq!(told("no-total"), (all.clone(), "ended attempts after 11.5s".into()));
    assert_eq!(told("longer-total"), (all, "ended attempts after 11.5s".into()));
    assert_eq!(told("two-retries"), (vec![0.0, 2.5, 5.5], "ended attempts after 7.5s".into()));
}

/// [N41] With the listing's own jitter every fourth attempt starts, at 8.85 s or before; about half
/// of the calls are cut in it; without the total all are over by 10.85 s.
#[test]
fn n41_with_jitter_half_of_the_calls_are_cut() {
    let cut = lived("-time", "as-listed");
    assert_eq!(cut.count(&["supplier", "reached"]), 4_000);
    let last = reached(&cut, "supplier").into_iter().fold(0.0, f64::max);
    assert!((8.5..=8.852).contains(&last), "{last}");
    let by_time = cut.count(&["ended", "time"]);
    // 51 % of 1000, and four standard deviations.
    assert!((447..=573).contains(&by_time), "{by_time}");
    let whole = lived("-time", "as-listed-no-total");
    let ends = whole.moments_ms(&["ended"]).into_iter().fold(0.0, f64::max) - 10_000.0;
    assert!((10_500.0..=10_852.0).contains(&ends), "{ends}");
}
