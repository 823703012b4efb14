//! Hedges and policies inside policies, laid over what was written.

use stormlab::policy::backoff::Backoff;
use stormlab::policy::backoff::Growth;
use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::budget::DepositPoint;
use stormlab::policy::hedge::HedgeConfig;
use stormlab::policy::hedge::HedgeDelay;
use stormlab::policy::hedge::latency::PercentileConfig;
use stormlab::policy::limiter::bulkhead::Abandoned;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::policy::stack::Hedging;
use stormlab::policy::stack::Layer;
use stormlab::policy::stack::Policy;
use stormlab::policy::stack::Scope;
use stormlab::policy::stack::Scoped;
use stormlab::scenario::model::Model;
use stormlab::units::Duration;

use super::Tape;

/// Some policies of a system get a hedge, some get another one inside.
pub(super) fn nest(model: &mut Model, tape: &mut Tape<'_>) {
    for id in (0..model.policies.len()).rev() {
        if tape.rarely(4) {
            hedge(&mut model.policies[id], tape);
        }
        let later = model.policies.len() - 1 - id;
        if later > 0 && tape.rarely(4) {
            let mut inner = model.policies[id + 1 + tape.up_to(later - 1)].clone();
            let policy = &mut model.policies[id];
            inner.name = format!("{} inside", policy.name);
            policy.inner = Some(Box::new(inner));
            sees_calls(policy);
        }
    }
}

/// A bulkhead around calls cannot follow an attempt to its end.
fn sees_calls(policy: &mut Policy) {
    if let Some(bulkhead) = &mut policy.bulkhead {
        bulkhead.config.abandoned = Abandoned::Free;
    }
}

fn hedge(policy: &mut Policy, tape: &mut Tape<'_>) {
    let span = Duration::from_millis(tape.pick(&[50, 100, 10, 300]));
    let percentile = PercentileConfig { per_mille: 900, window: span, minimum: 3 };
    let delay = match tape.up_to(4) {
        0 => HedgeDelay::After(span),
        1 => HedgeDelay::After(Duration::ZERO),
        2 => HedgeDelay::OnFailure,
        3 => HedgeDelay::OnTimeout(span),
        _ => HedgeDelay::AtPercentile(percentile),
    };
    let scope = Scope::DEFAULT;
    let budget = tape.rarely(2).then(|| {
        let config = match tape.up_to(1) {
            0 => BudgetConfig::Concurrent { limit: 1 },
            _ => BudgetConfig::Ratio {
                ratio_milli: 200,
                deposit: tape.pick(&[DepositPoint::Call, DepositPoint::Success]),
                floor_milli_per_s: 0,
                cap_milli: 5_000,
                start_milli: 1_000,
            },
        };
        Scoped { config, per: scope }
    });
    let on = tape.pick(&[ClassSet::TRANSIENT, ClassSet::of(&[Class::Timeout])]);
    policy.hedge = Some(Hedging {
        config: HedgeConfig { delay, max_attempts: 1 + tape.up_to(3) as u32, on },
        backoff: Backoff { growth: Growth::Constant(span), ..Backoff::NONE },
        obeys_hints: tape.rarely(2),
        budget,
        per: scope,
    });
    // Anywhere inside the time of the call and around that of an attempt.
    let place = |of: Layer| policy.order.iter().position(|layer| *layer == of);
    let first = place(Layer::Timeout).map_or(0, |at| at + 1);
    let last = place(Layer::AttemptTimeout).unwrap_or(policy.order.len());
    let at = first + tape.up_to(last - first);
    policy.order.insert(at, Layer::Hedge);
    sees_calls(policy);
}
