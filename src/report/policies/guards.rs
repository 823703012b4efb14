//! Words for what a policy shares between calls: budgets, throttles, breakers, bulkheads.

use crate::policy::breaker::BreakerConfig;
use crate::policy::breaker::Trip;
use crate::policy::breaker::config::Begins;
use crate::policy::breaker::config::Limit;
use crate::policy::breaker::config::Rate;
use crate::policy::breaker::config::WindowKind;
use crate::policy::breaker::opening::OpenGrowth;
use crate::policy::budget::BudgetConfig;
use crate::policy::budget::DepositPoint;
use crate::policy::budget::quota::Costs;
use crate::policy::limiter::BulkheadConfig;
use crate::policy::limiter::adaptive::AdaptiveConfig;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Policy;
use crate::policy::throttle::ThrottleConfig;
use crate::policy::throttle::rate::RateConfig;
use crate::policy::throttle::rate::WhenEmpty;
use crate::report::number::number;
use crate::report::number::percent;
use crate::report::policies::words::classes;
use crate::report::policies::words::is_for_ever;
use crate::report::policies::words::lasting;
use crate::report::policies::words::span;
use crate::report::policies::words::whole;
use crate::units::Duration;

fn tokens(milli: u32) -> String {
    number(f64::from(milli) / 1e3)
}

fn share(milli: u32) -> String {
    percent(f64::from(milli) / 1e3)
}

/// Over how long something is counted.
fn over(window: Duration) -> String {
    if is_for_ever(window) { "for ever".into() } else { format!("over {}", span(window)) }
}

fn deposits(at: DepositPoint) -> &'static str {
    match at {
        DepositPoint::Call => "calls",
        DepositPoint::Success => "successes",
        DepositPoint::FirstSuccess => "first successes",
        DepositPoint::Final => "final answers",
    }
}

/// What retries cost at the least and at the most.
fn costs(it: &Costs) -> String {
    match (it.lowest(), it.highest()) {
        (low, high) if low == high => high.to_string(),
        (low, high) => format!("{low} to {high}"),
    }
}

fn rate(it: &RateConfig) -> String {
    let empty = match it.when_empty {
        WhenEmpty::Wait => "the next one waits",
        WhenEmpty::Refuse => "the next one is refused",
    };
    format!("{}/s and {} at once, {empty}", tokens(it.milli_per_s), it.burst)
}

/// A budget in a few words.
pub(crate) fn budget(it: &BudgetConfig) -> String {
    match it {
        BudgetConfig::TokenBucket {
            max_milli, ratio_milli, threshold_milli, cost_milli, ..
        } => {
            format!(
                "{} tokens, a failure takes {}, a success gives {}, retries above {}",
                tokens(*max_milli),
                tokens(*cost_milli),
                tokens(*ratio_milli),
                tokens(*threshold_milli)
            )
        }
        BudgetConfig::Ratio { ratio_milli, deposit, floor_milli_per_s, cap_milli, .. } => {
            let floor = match *floor_milli_per_s {
                0 => String::new(),
                floor => format!(" and {}/s", tokens(floor)),
            };
            format!(
                "{} of {}{floor}, at most {} saved up",
                share(*ratio_milli),
                deposits(*deposit),
                tokens(*cap_milli)
            )
        }
        BudgetConfig::Quota(it) => format!(
            "{} tokens, a retry costs {}, the last cost comes back on success",
            it.capacity,
            costs(&it.costs)
        ),
        BudgetConfig::Window(it) => format!(
            "{} of {} and {}/s besides, counted {}",
            percent(it.ratio()),
            deposits(it.deposit_at),
            it.min_per_s,
            over(it.ttl)
        ),
        BudgetConfig::Concurrent { limit } => format!("{limit} retries at once"),
        BudgetConfig::ActiveShare(it) => format!(
            "retries at once up to {} of the attempts that are out, {} at least",
            share(it.share_milli),
            it.least
        ),
        BudgetConfig::ClientRatio { share_milli, window } => {
            format!("retries below {} of calls, {}", share(*share_milli), over(*window))
        }
        BudgetConfig::Rate(it) => format!("retries at {}", rate(it)),
        BudgetConfig::Counter(it) => {
            format!("retries up to the failure number {}, counted {}", it.limit, lasting(it.ttl))
        }
    }
}

/// A throttle in a few words.
pub(crate) fn throttle(it: &ThrottleConfig) -> String {
    match it {
        ThrottleConfig::Adaptive(it) => format!(
            "turns away what exceeds {} times the accepts, {}",
            tokens(it.k_milli),
            over(it.window)
        ),
        ThrottleConfig::Admission(it) => format!(
            "turns away up to {} while fewer than {} succeed, {}",
            percent(it.cap.get()),
            percent(it.threshold.get()),
            over(it.window)
        ),
        ThrottleConfig::Cubic { throttled } => {
            format!("a rate that falls by 30% after {} and recovers", classes(*throttled))
        }
        ThrottleConfig::Rate(it) => rate(it),
        ThrottleConfig::FixedWindow(it) => {
            let wait = match it.max_wait {
                Duration::ZERO => "nobody waits for the next".to_owned(),
                wait => format!("others wait for a later one, up to {}", span(wait)),
            };
            format!("{} in each {}; {wait}", it.limit, span(it.period))
        }
    }
}

/// A breaker in a few words.
pub(crate) fn breaker(it: &BreakerConfig) -> String {
    let mut text = format!("opens {}", trip(&it.trip));
    if let Some(failures) = it.or_consecutive {
        text += &format!(", or after {failures} failures in a row");
    }
    if it.trips_at_once != ClassSet::NONE {
        text += &format!(", or on a single failure of {}", classes(it.trips_at_once));
    }
    let grows = match it.growth {
        OpenGrowth::Constant => String::new(),
        OpenGrowth::Times { cap, .. }
        | OpenGrowth::Exponential { cap, .. }
        | OpenGrowth::EqualJittered { cap } => format!(" at first, later up to {}", span(cap)),
        OpenGrowth::Table { .. } => " at first, later as listed".to_owned(),
    };
    text += &format!("; open {}{grows}", lasting(it.open_for));
    if is_for_ever(it.open_for) {
        return text;
    }
    text + match it.probes {
        _ if it.half_open.begins == Begins::Never => ", then lets everybody through".to_owned(),
        1 => ", then 1 probe decides".to_owned(),
        probes => format!(", then {probes} probes decide"),
    }
    .as_str()
}

fn trip(it: &Trip) -> String {
    match it {
        Trip::Consecutive(1) => "on the first failure".to_owned(),
        Trip::Consecutive(failures) => format!("after {failures} failures in a row"),
        Trip::Row { failures, forget_after, clear_every } => {
            let mut text = format!("after {failures} failures in a row");
            if !forget_after.is_zero() {
                text += &format!(" with less than {} between them", span(*forget_after));
            }
            if !clear_every.is_zero() {
                text += &format!(", counted anew every {}", span(*clear_every));
            }
            text
        }
        Trip::Window { length, failure_share, minimum_calls } => format!(
            "when {} of at least {minimum_calls} in {} fail",
            percent(failure_share.get()),
            span(*length)
        ),
        Trip::Rate(rate) => share_of(rate),
        Trip::Average { window, below, .. } => format!(
            "when the moving average of successes {} is below {}",
            over(*window),
            percent(below.get())
        ),
        Trip::Exhausted { attempts, within } => {
            format!("after {attempts} failures within {}", span(*within))
        }
    }
}

fn share_of(it: &Rate) -> String {
    let least = it.minimum_calls;
    let of = match it.window {
        WindowKind::Calls(calls) if least < calls => format!("the last {calls}, {least} at least,"),
        WindowKind::Calls(calls) => format!("the last {calls}"),
        WindowKind::Time { length, .. } => format!("at least {least} in {}", span(length)),
    };
    let text = match it.limit {
        Limit::AtLeast(share) => format!("when {} of {of} fail", percent(share.get())),
        Limit::MoreThan(share) => format!("when more than {} of {of} fail", percent(share.get())),
        Limit::Failures(failures) => format!("when {failures} of {of} fail"),
    };
    let slow = it.slow.map(|slow| {
        let share = percent(slow.share.get());
        format!(", or {share} of them take longer than {}", span(slow.longer_than))
    });
    text + &slow.unwrap_or_default()
}

/// A bulkhead in a few words.
pub(crate) fn bulkhead(it: &BulkheadConfig) -> String {
    let limit = match &it.adapts {
        None => format!("{} at once", whole(it.limit.into())),
        Some(adapts) => format!("{} at once at first, then as {} finds", it.limit, kind(adapts)),
    };
    let queue = match it.queue {
        0 => return format!("{limit}, no queue"),
        BulkheadConfig::UNLIMITED => "any number waiting".to_owned(),
        queue => format!("{} waiting", whole(queue.into())),
    };
    let wait = match it.max_wait {
        wait if is_for_ever(wait) => String::new(),
        wait => format!(" for up to {}", span(wait)),
    };
    format!("{limit}, {queue}{wait}")
}

fn kind(it: &AdaptiveConfig) -> &'static str {
    match it {
        AdaptiveConfig::Aimd(_) => "AIMD",
        AdaptiveConfig::Vegas(_) => "Vegas",
        AdaptiveConfig::Gradient(_) => "Gradient",
        AdaptiveConfig::Gradient2(_) => "Gradient2",
        AdaptiveConfig::MinRtt(_) => "the least round trip",
    }
}

/// What bounds retries over many calls, shortly.
pub(crate) fn limiter(policy: &Policy) -> String {
    let mut all = Vec::new();
    let of_retry = policy.retry.as_ref().and_then(|retry| retry.budget);
    let of_hedge = policy.hedge.as_ref().and_then(|hedge| hedge.budget);
    all.extend(of_retry.iter().chain(&of_hedge).map(|it| budget_shortly(&it.config)));
    all.extend(policy.throttle.as_ref().map(|it| match it.config {
        ThrottleConfig::Adaptive(_) => "adaptive throttle".to_owned(),
        ThrottleConfig::Admission(_) => "admission by success".to_owned(),
        ThrottleConfig::Cubic { .. } => "cubic rate".to_owned(),
        ThrottleConfig::Rate(it) => format!("{}/s", tokens(it.milli_per_s)),
        ThrottleConfig::FixedWindow(it) => format!("{} per {}", it.limit, span(it.period)),
    }));
    all.extend(policy.breaker.as_ref().map(|it| match it.config.trip {
        Trip::Consecutive(failures) | Trip::Row { failures, .. } => {
            format!("breaker {failures} in a row")
        }
        Trip::Window { failure_share, .. } => format!("breaker {}", percent(failure_share.get())),
        Trip::Rate(Rate { limit, .. }) => match limit {
            Limit::AtLeast(share) => format!("breaker {}", percent(share.get())),
            Limit::MoreThan(share) => format!("breaker > {}", percent(share.get())),
            Limit::Failures(failures) => format!("breaker {failures} failures"),
        },
        Trip::Average { below, .. } => format!("breaker < {} well", percent(below.get())),
        Trip::Exhausted { attempts, .. } => format!("breaker {attempts} failures"),
    }));
    all.extend(policy.bulkhead.as_ref().map(|it| match &it.config.adapts {
        None => format!("{} at once", it.config.limit),
        Some(adapts) => format!("{} from {}", kind(adapts), it.config.limit),
    }));
    if all.is_empty() { "–".into() } else { all.join(", ") }
}

fn budget_shortly(it: &BudgetConfig) -> String {
    let with_floor = |share: String, floor: String| match floor.as_str() {
        "0" => share,
        floor => format!("{share} + {floor}/s"),
    };
    match it {
        BudgetConfig::TokenBucket { max_milli, .. } => format!("{} tokens", tokens(*max_milli)),
        BudgetConfig::Ratio { ratio_milli, floor_milli_per_s, .. } => {
            with_floor(share(*ratio_milli), tokens(*floor_milli_per_s))
        }
        BudgetConfig::Quota(it) => format!("{} tokens, {} each", it.capacity, costs(&it.costs)),
        BudgetConfig::Window(it) => with_floor(percent(it.ratio()), it.min_per_s.to_string()),
        BudgetConfig::Concurrent { limit } => format!("{limit} retries at once"),
        BudgetConfig::ActiveShare(it) => format!("{} of active", share(it.share_milli)),
        BudgetConfig::ClientRatio { share_milli, .. } => format!("< {}", share(*share_milli)),
        BudgetConfig::Rate(it) => format!("{}/s, burst {}", tokens(it.milli_per_s), it.burst),
        BudgetConfig::Counter(it) => format!("counter of {}", it.limit),
    }
}
