//! Quotas and throttles against their closed forms.

use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::budget::Failure;
use stormlab::policy::budget::Tab;
use stormlab::policy::budget::quota::Costs;
use stormlab::policy::budget::quota::QuotaConfig;
use stormlab::policy::budget::quota::Refund;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::policy::throttle::Passage;
use stormlab::policy::throttle::ThrottleConfig;
use stormlab::policy::throttle::adaptive::AdaptiveConfig;
use stormlab::policy::throttle::adaptive::Asks;
use stormlab::policy::throttle::adaptive::Counted;
use stormlab::policy::throttle::rate::RateConfig;
use stormlab::policy::throttle::rate::WhenEmpty;
use stormlab::random::Keys;
use stormlab::random::Purpose;
use stormlab::units::Duration;
use stormlab::units::SimTime;

/// 1,000 requests of three attempts in a total outage, one after another: ⌊500 ÷ cost⌋
/// retries, then none.
#[test]
fn r_8_a_quota_in_a_total_outage() {
    #[track_caller]
    fn check(class: Class, costs: Costs, [retries, first_without, left]: [u64; 3]) {
        let (now, config) = (
            SimTime::ZERO,
            BudgetConfig::Quota(QuotaConfig {
                capacity: 500,
                costs,
                reward: 1,
                refund: Refund::Call,
                waits_when_refused: false,
            }),
        );
        let mut budget = config.start(now);
        let mut attempts_of = Vec::new();
        for _ in 0..1_000 {
            let mut tab = Tab::NEW;
            let mut attempts = 1;
            loop {
                let failure = Failure { class, retried: true, last: attempts == 3 };
                budget.attempt_failed(&config, now, failure, &mut tab);
                if attempts == 3 || !budget.may_retry(&config, now, class, &mut tab).is_granted() {
                    break;
                }
                attempts += 1;
            }
            attempts_of.push(attempts);
        }
        assert_eq!(attempts_of.iter().sum::<u64>(), 1_000 + retries);
        let first = attempts_of.iter().position(|attempts| *attempts == 1);
        assert_eq!(first.map(|index| index as u64 + 1), Some(first_without));
        assert_eq!(budget.balance(&config), left as i64);
    }
    let timeout = ClassSet::of(&[Class::Timeout]);
    let old = Costs::all(5).with(timeout, 10);
    check(Class::Unavailable, old, [100, 51, 0]);
    check(Class::Timeout, old, [50, 26, 0]);
    check(Class::Unavailable, Costs::all(14), [35, 19, 10]);
}

/// a demand of 1,000/s on a backend that accepts 100/s, with room for 50 at once: K times
/// what is accepted is sent, the rest ends at the client. 1 % over ten minutes after ten.
#[test]
fn r_23_adaptive_throttling() {
    #[track_caller]
    fn check(k_milli: u32, sent: f64, slack: f64) {
        let config = ThrottleConfig::Adaptive(AdaptiveConfig {
            k_milli,
            window: Duration::from_secs(120),
            refusals: ClassSet::TRANSIENT,
            count: Counted::Asked,
            asks: Asks::Attempts,
        });
        let limit = RateConfig { milli_per_s: 100_000, burst: 50, when_empty: WhenEmpty::Refuse };
        let keys = Keys::new(23, 0);
        let mut throttle = config.start(SimTime::ZERO);
        let mut backend = limit.start(SimTime::ZERO);
        let (mut now, mut counts) = (0.0, [0.0; 2]);
        for request in 0..1_200_000 {
            now += keys.exponential(Purpose::Arrival, request, 0) * 1e6;
            let at = SimTime::from_nanos(now as u64);
            let draw = keys.draw(Purpose::Throttle, request, 1);
            if throttle.ask(&config, at, draw, false) == Passage::Reject {
                continue;
            }
            let accepted = backend.take(&limit, at).is_some();
            throttle.settle(&config, at, (!accepted).then_some(Class::Overloaded));
            if request >= 600_000 {
                counts[0] += 1.0 / 600.0;
                counts[1] += f64::from(u8::from(accepted)) / 600.0;
            }
        }
        let near = |what, found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < slack, "K {k_milli}: {what} {found}");
        };
        near("sent", counts[0], sent);
        near("rejected locally", 1_000.0 - counts[0], 1_000.0 - sent);
        near("accepted", counts[1], 100.0);
    }
    check(2_000, 200.0, 0.01);
    check(3_000, 300.0, 0.01);
}
