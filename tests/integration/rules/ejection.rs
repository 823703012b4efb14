//! R4: replicas that a caller leaves out. A request comes every 10 ms from 10 ms on, replicas are
//! asked in turn, and the first one is bad.

use stormlab::policy::outcome::Class;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Errors;
use stormlab::scenario::model::ErrorsOf;
use stormlab::scenario::model::Model;
use stormlab::units::Share;

use super::system;
use crate::lab::Diary;
use crate::lab::diary;
use crate::lab::with_trigger;

const EACH_10_MS: &str = "{ constant: 100/s }";
const TEN: &str = "{ replicas: 10, workers: 99, work: 0s }";
const ERRORS: Effect = Effect::Errors {
    service: 0,
    errors: Errors { class: Class::Internal, share: Share::percent(100), of: ErrorsOf::Attempts },
};

/// The first so many replicas do this for a while.
fn bad(model: Model, replicas: u32, (at_ms, lasts_ms): (u64, u64), effect: Effect) -> Model {
    let mut model = with_trigger(model, at_ms, lasts_ms, effect);
    for trigger in &mut model.triggers {
        trigger.replicas = Some(replicas);
    }
    model
}

/// Ten replicas, so many of which answer with errors for all of the time.
fn with_errors(settings: &str, replicas: u32, server: &str) -> Diary {
    let policy = format!("{{ ejection: {{ {settings} }} }}");
    diary(&bad(system(EACH_10_MS, &policy, server), replicas, (0, 60_000), ERRORS))
}

fn errors(diary: &Diary) -> Vec<f64> {
    diary.moments_ms(&["answered", "error"])
}

/// A row of moments.
fn every(ms: u32, from: u32, until: u32) -> Vec<f64> {
    (from..until).step_by(ms as usize).map(f64::from).collect()
}

/// Five errors in a row, one in ten requests: it is out from 410 ms on. Its 15 s are over at
/// 15.41 s, and at the look of 20 s it is back: the request of that moment is the 1950th since the
/// round became one of nine at 510 ms: 216 rounds and six, so it goes to the seventh replica, and
/// the first has its turn at 20.04 s. The second time it is out for 30 s.
#[test]
fn r4_a_bad_replica_gets_its_share_then_nothing_and_its_share_again() {
    let outlier = "outlier: { base_ejection: 15s, success_rate: none }";
    let told = with_errors(outlier, 1, TEN);
    let again = every(100, 20_040, 20_441);
    assert_eq!(errors(&told), [every(100, 10, 411), again].concat());
    assert_eq!(told.count(&["answered", "ok"]), 2_999 - 10);
    assert_eq!(told.count(&["rejected"]), 0);
    // By lot, the moments are others, and the same holds.
    let by_lot = "{ replicas: 10, workers: 99, work: 0s, balance: random }";
    let told = errors(&with_errors(outlier, 1, by_lot));
    assert_eq!(told.len(), 10);
    assert!(told[4] < 5_000.0 && told[5] >= 20_000.0, "{told:?}");
}

/// The first is out from 410 ms on; the second has its five errors 10 ms later, and stays. From
/// 510 ms on it is asked once in nine requests: nobody gets the share of whoever is out.
#[test]
fn r4_no_more_are_out_than_may_be_and_their_share_is_everybodys() {
    let told = errors(&with_errors("outlier: { success_rate: none }", 2, TEN));
    let mut expected = [every(100, 10, 411), every(100, 20, 421), every(90, 510, 30_000)].concat();
    expected.sort_by(f64::total_cmp);
    assert_eq!(told, expected);
    let both = "outlier: { success_rate: none, most_ejected: 20% }";
    assert_eq!(errors(&with_errors(both, 2, TEN)).len(), 10);
}

/// Three of four are bad, and out after an error each. With a quarter in, less than half, all are
/// asked; without panic only the fourth.
#[test]
fn r4_when_too_few_are_in_all_are_used() {
    let four = "{ replicas: 4, workers: 99, work: 0s }";
    let outlier = "outlier: { consecutive: 1, success_rate: none, most_ejected: 100% }";
    let told = with_errors(outlier, 3, four);
    assert_eq!(told.moments_ms(&["answered", "ok"]), every(40, 40, 30_000));
    assert_eq!(errors(&told).len(), 2_999 - 749);
    let told = with_errors(&format!("{outlier}, panic: 0%"), 3, four);
    assert_eq!(errors(&told), [10.0, 20.0, 30.0]);
    assert_eq!(told.count(&["answered", "ok"]), 2_996);
    // Two of four in is half, and no less.
    assert_eq!(errors(&with_errors(outlier, 2, four)), [10.0, 20.0]);
}

#[test]
fn r4_when_nobody_is_in_the_call_is_turned_away() {
    let outlier = "outlier: { consecutive: 1, success_rate: none, most_ejected: 100% }, panic: 0%";
    let told = with_errors(outlier, 2, "{ replicas: 2, workers: 99, work: 0s }");
    assert_eq!(errors(&told), [10.0, 20.0]);
    assert_eq!(told.count(&["rejected", "breaker_open"]), 2_997);
    assert_eq!(told.count(&["reached"]), 2);
}

/// Three errors in a row open the breaker of the first replica at 210 ms; each second one request
/// finds out whether it is back (then it is its turn: 90 requests are ten rounds of the others).
/// It is well from 3.5 s to 4.3 s, so that the probe of 4.21 s lets it in again.
#[test]
fn r4_a_breaker_of_each_replica_lets_a_probe_in_when_its_time_is_over() {
    let breaker = "breaker: { consecutive: 3, open_for: 1s, counts: [internal] }";
    let calm = system(EACH_10_MS, &format!("{{ ejection: {{ {breaker} }} }}"), TEN);
    let ill = bad(calm, 1, (0, 3_500), ERRORS);
    let told = errors(&diary(&bad(ill, 1, (4_300, 60_000), ERRORS)));
    let row = [every(100, 10, 211), every(1_000, 1_210, 3_211), every(100, 4_310, 4_511)].concat();
    assert_eq!(told, [row, every(1_000, 5_510, 30_000)].concat());
}

/// A replica that hangs is known by timeouts, whichever they are. Whoever got an answer from
/// another one first does not know that this one would not have answered.
#[test]
fn r4_timeouts_count_and_attempts_given_up_do_not() {
    let hanging = |policy: &str| {
        let outlier = "ejection: { outlier: { success_rate: none } }";
        let calm = system("{ constant: 10/s }", &format!("{{ {policy}, {outlier} }}"), TEN);
        let told = diary(&bad(calm, 1, (0, 60_000), Effect::Hang(0)));
        told.moments_ms(&["refused", "silence"])
    };
    let five = every(1_000, 100, 4_101);
    assert_eq!(hanging("attempt_timeout: 40ms"), five);
    assert_eq!(hanging("timeout: 40ms"), five);
    // The second attempt goes to the next replica, so a round takes nine requests.
    assert_eq!(hanging("hedge: { after: 50ms }"), every(900, 100, 30_000));
    assert_eq!(hanging("hedge: { after: 50ms }, attempt_timeout: 40ms"), every(900, 100, 3_701));
}

/// `slow` and `refuse` strike the first replicas too.
#[test]
fn r4_some_replicas_are_slow_or_refuse_and_the_others_do_not() {
    let calm = || system("{ constant: 10/s }", "{}", "{ replicas: 10, workers: 9, work: 10ms }");
    let slow = diary(&bad(calm(), 2, (0, 60_000), Effect::Slow { service: 0, factor: 3.0 }));
    assert_eq!(slow.count(&["worked", "30ms"]), 60);
    assert_eq!(slow.count(&["worked", "10ms"]), 239);
    let refusing = diary(&bad(calm(), 2, (5_000, 10_000), Effect::Refuse(0)));
    let refused = refusing.moments_ms(&["refused", "unavailable"]);
    assert_eq!(refused.len(), 20);
    assert_eq!(refused[..2], [5_100.0, 5_200.0]);
}
