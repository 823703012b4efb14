//! What gets a service out of a storm: fewer attempts, less stale work, a budget, patience.

use stormlab::measure::record::RunRecord;

use crate::theory::check;
use crate::theory::check_within;
use crate::theory::full;
use crate::theory::mean;
use crate::theory::model;
use crate::theory::models;
use crate::theory::records;
use crate::theory::share;
use crate::theory::size;
use crate::theory::storms::goodput;
use crate::theory::storms::is_stuck;
use crate::theory::storms::outage;

/// after an outage of 1.3 s (1.155 s is critical) everything is stuck; each of these changes
/// alone gets it out. At most 5 % of runs may differ.
#[test]
fn r_37_what_rescues_a_stuck_service() {
    let text = outage("1300ms", "40s")
        + "
variants:
  one-attempt: { policies: { again: { retry: { max_attempts: 1 } } } }
  drop-expired: { services: { server: { queue: { drop_expired: true } } } }
  room-for-500: { services: { server: { queue: { limit: 499 } } } }
  lifo: { services: { server: { queue: { order: lifo } } } }
  backoff: { policies: { again: { retry: { backoff: { drawn: { exponential: 10s } } } } } }
";
    let stuck: Vec<_> =
        models(&text).iter().map(|model| share(&records(model, size(40)), is_stuck)).collect();
    check_within("R-37 base stuck", stuck[0], 0.95, 1.0);
    let names = ["one attempt", "drop expired", "room for 500", "LIFO", "back-off"];
    for (name, stuck) in names.into_iter().zip(&stuck[1..]) {
        check_within(&format!("R-37 {name} stuck"), *stuck, 0.0, 0.05);
    }
}

/// back-off moves the tipping point and leaves the storm where it was, for n λ > μ: outages
/// of 1.3 s are survived, of 10 s not. At most 5 % of runs may differ.
#[test]
fn r_38_backoff_moves_the_tipping_point() {
    let stuck = |lasts| {
        let text = outage(lasts, "150s").replace("backoff: none", BACKOFF);
        share(&records(&model(&text), size(40)), is_stuck)
    };
    const BACKOFF: &str = "backoff: { drawn: { exponential: 10s } }";
    check_within("R-38 stuck after 1.3 s", stuck("1300ms"), 0.0, 0.05);
    check_within("R-38 stuck after 10 s", stuck("10s"), 0.95, 1.0);
}

/// a budget of r = 20 % restores recovery, slowly: answers are in time again
/// (λ (1 + r) D − μ T)/(μ − λ (1 + r)) = 46.25 s after an outage of D = 10 s.
/// ± 4 s on the mean of 40 runs.
#[test]
fn r_39_a_budget_restores_recovery() {
    let budget = "backoff: none, budget: { ratio: { share: 20%, deposit: call, cap: 140 } }";
    let text = outage("10s", "120s").replace("backoff: none", budget);
    // From the end of the outage at 15 s, in windows of 100 ms, until 10 s are good.
    let back =
        |record: &RunRecord| (150..=1_100).find(|from| goodput(record, *from, from + 100) >= 0.9);
    let times: Vec<_> = records(&model(&text), size(40))
        .iter()
        .map(back)
        .map(|window| (window.expect("every run recovers") as f64 - 150.0) / 10.0)
        .collect();
    let tolerance = if full() { 4.0 } else { 4.0 / 10f64.sqrt() };
    check("R-39 seconds until in time", mean(&times), 46.25, tolerance);
}
