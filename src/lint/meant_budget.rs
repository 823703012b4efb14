//! Budgets and throttles as meant, as text.

use crate::lint::meant::Lines;
use crate::policy::budget::Asked;
use crate::policy::budget::BudgetConfig;
use crate::policy::budget::Credit;
use crate::policy::budget::DepositPoint;
use crate::policy::budget::counter::TtlFrom;
use crate::policy::budget::elapsed::ElapsedLimit;
use crate::policy::budget::quota::QuotaConfig;
use crate::policy::budget::quota::Refund;
use crate::policy::budget::window::WindowRule;
use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Scoped;
use crate::policy::throttle::ThrottleConfig;
use crate::policy::throttle::adaptive::Asks;
use crate::policy::throttle::adaptive::Counted;
use crate::policy::throttle::rate::RateConfig;
use crate::policy::throttle::rate::WhenEmpty;
use crate::scenario::defaults;
use crate::units::Duration;

/// Thousandths as a number.
fn tokens(milli: u32) -> f64 {
    f64::from(milli) / 1_000.0
}

/// Thousandths as a share.
fn share(milli: u32) -> String {
    format!("{}%", f64::from(milli) / 10.0)
}

fn span(it: Duration) -> String {
    if it == Duration::MAX { "unlimited".to_owned() } else { it.to_string() }
}

pub(super) fn budget(out: &mut Lines, it: &Scoped<BudgetConfig>) {
    out.open(3, "budget");
    match it.config {
        BudgetConfig::TokenBucket { .. } => token_bucket(out, &it.config),
        BudgetConfig::Ratio { ratio_milli, deposit, floor_milli_per_s, cap_milli, start_milli } => {
            out.open(4, "ratio");
            out.put(5, "share", tokens(ratio_milli));
            out.put(5, "deposit", deposit_point(deposit));
            let floor = format!("{}/s", tokens(floor_milli_per_s));
            out.put_or(5, "floor", (floor_milli_per_s, 0), floor);
            let cap = defaults::BUDGET_CAP_TOKENS * 1_000;
            out.put_or(5, "cap", (cap_milli, cap), tokens(cap_milli));
            out.put_or(5, "start", (start_milli, cap_milli), tokens(start_milli));
        }
        BudgetConfig::Quota(config) => quota(out, &config),
        BudgetConfig::Window(config) => {
            out.open(4, "window");
            out.put(5, "share", share(config.ratio_milli));
            out.put(5, "deposit", deposit_point(config.deposit_at));
            out.put_or(5, "ttl", (config.ttl, defaults::BUDGET_TTL), config.ttl);
            let least = config.min_per_s;
            out.put_or(5, "min_per_second", (least, defaults::BUDGET_MIN_PER_SECOND), least);
            let rule = match config.rule {
                WindowRule::Exact => "exact",
                WindowRule::Finagle => "finagle",
                WindowRule::Tower => "tower",
            };
            out.put_or(5, "rule", (config.rule, WindowRule::Exact), rule);
        }
        BudgetConfig::Concurrent { limit } => {
            out.open(4, "concurrent");
            out.put(5, "limit", limit);
        }
        BudgetConfig::ActiveShare(config) => {
            out.open(4, "active_share");
            out.put(5, "share", share(config.share_milli));
            out.put_or(5, "min", (config.least, defaults::ACTIVE_SHARE_MIN), config.least);
            out.put_or(5, "interval", (config.interval, Duration::ZERO), config.interval);
        }
        BudgetConfig::ClientRatio { share_milli, window } => {
            out.open(4, "client_ratio");
            out.put(5, "share", share(share_milli));
            out.put_or(5, "window", (window, defaults::THROTTLE_WINDOW), span(window));
        }
        BudgetConfig::Rate(config) => {
            out.open(4, "rate");
            rate(out, 5, &config, "refuse");
        }
        BudgetConfig::Counter(config) => {
            out.open(4, "counter");
            out.put(5, "limit", config.limit);
            out.put(5, "ttl", span(config.ttl));
            if config.ttl != Duration::MAX {
                let from = match config.ttl_from {
                    TtlFrom::First => "first",
                    TtlFrom::Last => "last",
                };
                out.put_or(5, "ttl_from", (config.ttl_from, TtlFrom::First), from);
            }
        }
    }
    out.put(5, "per", it.per);
}

fn token_bucket(out: &mut Lines, it: &BudgetConfig) {
    let BudgetConfig::TokenBucket {
        max_milli,
        ratio_milli,
        threshold_milli,
        counts,
        cost_milli,
        last_attempt_pays,
        credit,
        asked,
    } = *it
    else {
        return;
    };
    out.open(4, "token_bucket");
    out.put(5, "max_tokens", tokens(max_milli));
    out.put(5, "token_ratio", tokens(ratio_milli));
    let threshold = f64::from(threshold_milli) / f64::from(max_milli.max(1));
    out.put_or(5, "threshold", (threshold, defaults::THRESHOLD), threshold);
    out.put(5, "counts", format!("[{counts}]"));
    out.put_or(5, "cost", (cost_milli, defaults::TOKEN_COST * 1_000), tokens(cost_milli));
    let last = if last_attempt_pays { "pays" } else { "free" };
    out.put_or(5, "last_attempt", (last_attempt_pays, true), last);
    let filled_by = match credit {
        Credit::Success => "success",
        Credit::Answered => "answered",
        Credit::Ended => "ended",
    };
    out.put_or(5, "credit", (credit, Credit::Success), filled_by);
    let when = match asked {
        Asked::BeforeWait => "before_wait",
        Asked::AfterWait => "after_wait",
    };
    out.put_or(5, "asked", (asked, Asked::BeforeWait), when);
}

fn quota(out: &mut Lines, it: &QuotaConfig) {
    out.open(4, "quota");
    out.put(5, "capacity", it.capacity);
    // The cost of a class that is seldom named stands for the others.
    let default = it.costs.after(Class::Fatal);
    let others: Vec<_> = Class::ALL
        .into_iter()
        .filter(|class| it.costs.after(*class) != default)
        .map(|class| format!(", {class}: {}", it.costs.after(class)))
        .collect();
    if others.is_empty() {
        out.put(5, "cost", default);
    } else {
        out.put(5, "costs", format!("{{ default: {default}{} }}", others.concat()));
    }
    out.put_or(5, "reward", (it.reward, defaults::QUOTA_REWARD), it.reward);
    let refund = match it.refund {
        Refund::Call => "call",
        Refund::Client => "client",
    };
    out.put_or(5, "refund", (it.refund, Refund::Call), refund);
    let refused = if it.waits_when_refused { "wait_and_fail" } else { "fail" };
    out.put_or(5, "when_empty", (it.waits_when_refused, false), refused);
}

fn rate(out: &mut Lines, depth: usize, it: &RateConfig, refuse: &str) {
    out.put(depth, "rate", format!("{}/s", tokens(it.milli_per_s)));
    out.put(depth, "burst", it.burst);
    let when_empty = match it.when_empty {
        WhenEmpty::Refuse => refuse,
        WhenEmpty::Wait => "wait",
    };
    out.put(depth, "when_empty", when_empty);
}

fn deposit_point(it: DepositPoint) -> &'static str {
    match it {
        DepositPoint::Call => "call",
        DepositPoint::Success => "success",
        DepositPoint::FirstSuccess => "first_success",
        DepositPoint::Final => "final",
    }
}

pub(super) fn max_elapsed(out: &mut Lines, it: &ElapsedLimit) {
    if it.counts_wait {
        out.put(3, "max_elapsed", it.after);
    } else {
        out.put(3, "max_elapsed", format!("{{ after: {}, counts_wait: false }}", it.after));
    }
}

pub(super) fn throttle(out: &mut Lines, it: &Scoped<ThrottleConfig>) {
    out.open(2, "throttle");
    match it.config {
        ThrottleConfig::Adaptive(config) => {
            out.open(3, "adaptive");
            let k = defaults::THROTTLE_K * 1_000;
            out.put_or(4, "k", (config.k_milli, k), tokens(config.k_milli));
            out.put_or(
                4,
                "window",
                (config.window, defaults::THROTTLE_WINDOW),
                span(config.window),
            );
            let refusals = config.refusals;
            out.put_or(4, "refusals", (refusals, defaults::RETRIED), format!("[{refusals}]"));
            let counts = match config.count {
                Counted::Asked => "asked",
                Counted::Answered => "answered",
            };
            out.put_or(4, "counts", (config.count, Counted::Asked), counts);
            let asks = match config.asks {
                Asks::Attempts => "attempts",
                Asks::Retries => "retries",
            };
            out.put_or(4, "asks", (config.asks, Asks::Attempts), asks);
        }
        ThrottleConfig::Admission(config) => {
            out.open(3, "admission");
            let threshold = config.threshold;
            out.put_or(4, "threshold", (threshold.get(), defaults::ADMISSION_THRESHOLD), threshold);
            out.put_or(4, "window", (config.window, defaults::ADMISSION_WINDOW), config.window);
            out.put_or(4, "aggression", (config.aggression, 1.0), config.aggression);
            out.put_or(4, "cap", (config.cap.get(), defaults::ADMISSION_CAP), config.cap);
            let least = format!("{}/s", tokens(config.least_milli_per_s));
            out.put_or(4, "min_rate", (config.least_milli_per_s, 0), least);
            let failures = config.failures;
            out.put_or(
                4,
                "failures",
                (failures, defaults::BREAKER_COUNTS),
                format!("[{failures}]"),
            );
        }
        ThrottleConfig::Cubic { throttled } => {
            out.open(3, "cubic");
            let default = ClassSet::of(&[Class::RateLimited]);
            out.put_or(4, "throttled", (throttled, default), format!("[{throttled}]"));
        }
        ThrottleConfig::Rate(config) => {
            out.open(3, "rate");
            rate(out, 4, &config, "reject");
        }
        ThrottleConfig::FixedWindow(config) => {
            out.open(3, "fixed_window");
            out.put(4, "limit", config.limit);
            out.put(4, "period", config.period);
            out.put_or(4, "max_wait", (config.max_wait, Duration::ZERO), config.max_wait);
            if config.refuses_after_wait {
                out.put(4, "refuses", "after_wait");
            }
        }
    }
    out.put(4, "per", it.per);
}
