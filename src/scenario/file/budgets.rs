//! `budget`: what retries may cost in all; `max_elapsed`: how long they may go on.

use crate::policy::budget::Asked;
use crate::policy::budget::BudgetConfig;
use crate::policy::budget::Credit;
use crate::policy::budget::DepositPoint;
use crate::policy::budget::counter::CounterConfig;
use crate::policy::budget::counter::TtlFrom;
use crate::policy::budget::elapsed::ElapsedLimit;
use crate::policy::budget::quota::Costs;
use crate::policy::budget::quota::QuotaConfig;
use crate::policy::budget::quota::Refund;
use crate::policy::budget::slots::ActiveShare;
use crate::policy::budget::window::WindowConfig;
use crate::policy::budget::window::WindowRule;
use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Scope;
use crate::policy::stack::Scoped;
use crate::policy::throttle::rate::WhenEmpty;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::amounts::MOST_TOKENS;
use crate::scenario::file::amounts::any_share;
use crate::scenario::file::amounts::read_rate;
use crate::scenario::file::amounts::span_or_unlimited;
use crate::scenario::file::amounts::thousandths;
use crate::scenario::file::amounts::tokens;
use crate::scenario::file::policies::MOST_CALLS;
use crate::scenario::file::policies::read_classes;
use crate::scenario::file::policies::read_per;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::units::Duration;

const MOST_COST: u16 = 10_000;
/// Retries per second of a reserve.
const MOST_RESERVE: u32 = 1_000_000;

const DEPOSIT_HELP: &str = "when it is paid in: `call`, `success`, `first_success` or `final`; they \
                            differ by as much as the budget itself";
const DEPOSITS: [(&str, DepositPoint); 4] = [
    ("call", DepositPoint::Call),
    ("success", DepositPoint::Success),
    ("first_success", DepositPoint::FirstSuccess),
    ("final", DepositPoint::Final),
];

const RULES: [(&str, WindowRule); 3] =
    [("exact", WindowRule::Exact), ("finagle", WindowRule::Finagle), ("tower", WindowRule::Tower)];
const REFUNDS: [(&str, Refund); 2] = [("call", Refund::Call), ("client", Refund::Client)];
const LAST_ATTEMPT: [(&str, bool); 2] = [("pays", true), ("free", false)];
const CREDITS: [(&str, Credit); 3] =
    [("success", Credit::Success), ("answered", Credit::Answered), ("ended", Credit::Ended)];
const ASKED: [(&str, Asked); 2] =
    [("before_wait", Asked::BeforeWait), ("after_wait", Asked::AfterWait)];
const REFUSED_QUOTA: [(&str, bool); 2] = [("fail", false), ("wait_and_fail", true)];
const TTL_FROM: [(&str, TtlFrom); 2] = [("first", TtlFrom::First), ("last", TtlFrom::Last)];
const REFUSED_RATE: [(&str, WhenEmpty); 2] =
    [("refuse", WhenEmpty::Refuse), ("wait", WhenEmpty::Wait)];

/// A budget as written.
#[derive(Clone, Copy, Debug)]
pub(in crate::scenario) struct WrittenBudget {
    /// Its settings, but for what follows.
    pub(in crate::scenario) config: BudgetConfig,
    /// A token bucket counts the failures that are retried, unless it says otherwise.
    pub(in crate::scenario) counts_retried: bool,
}

/// One kind, as `{ ratio: … }`.
pub(super) fn read_budget(node: &Node, problems: &mut Problems) -> Option<Scoped<WrittenBudget>> {
    const KINDS: &[&str] = &[
        "token_bucket",
        "ratio",
        "quota",
        "window",
        "concurrent",
        "active_share",
        "client_ratio",
        "rate",
        "counter",
    ];
    let mut fields = Fields::open(node, "`budget`", problems)?;
    let chosen = fields.choose(KINDS, problems);
    fields.close(problems);
    let (config, per) = match chosen? {
        ("token_bucket", node) => return read_token_bucket(node, problems),
        ("ratio", node) => read_ratio(node, problems),
        ("quota", node) => read_quota(node, problems),
        ("window", node) => read_window(node, problems),
        ("concurrent", node) => read_concurrent(node, problems),
        ("active_share", node) => read_active_share(node, problems),
        ("client_ratio", node) => read_client_ratio(node, problems),
        ("rate", node) => {
            let (rate, per) = read_rate(node, "a budget's `rate`", &REFUSED_RATE, problems)?;
            Some((BudgetConfig::Rate(rate), per))
        }
        (_, node) => read_counter(node, problems),
    }?;
    let config = WrittenBudget { config, counts_retried: false };
    Some(Scoped { config, per: per.unwrap_or(Scope::DEFAULT) })
}

/// A budget's settings and its scope, if it gives one.
type Read = Option<(BudgetConfig, Option<Scope>)>;

fn read_token_bucket(node: &Node, problems: &mut Problems) -> Option<Scoped<WrittenBudget>> {
    let mut fields = Fields::open(node, "`token_bucket`", problems)?;
    let max = fields.need("max_tokens", "what it holds, as 10", problems, tokens);
    let ratio = fields.need("token_ratio", "what a success gives back, as 0.1", problems, tokens);
    let threshold = fields.get("threshold", problems, reader::share);
    let counts = fields.get("counts", problems, read_classes);
    let cost = fields.get("cost", problems, tokens);
    let last = fields.get("last_attempt", problems, reader::word(&LAST_ATTEMPT));
    let credit = fields.get("credit", problems, reader::word(&CREDITS));
    let asked = fields.get("asked", problems, reader::word(&ASKED));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let (max, ratio) = (max?, ratio?);
    for amount in [max, ratio].into_iter().chain(cost) {
        if amount.value == 0 {
            problems.push_with(
                amount.place,
                "a bucket without tokens never allows a retry",
                "accepted is anything above 0; callers that never retry have `max_attempts: 1`",
            );
        }
    }
    let threshold = threshold.map_or(defaults::THRESHOLD, |threshold| threshold.value.get());
    let config = BudgetConfig::TokenBucket {
        max_milli: max.value,
        ratio_milli: ratio.value,
        // Exact for halves; the nearest thousandth for anything odd.
        threshold_milli: (f64::from(max.value) * threshold + 0.5).floor() as u32,
        counts: counts.map_or(ClassSet::NONE, |counts| counts.value),
        cost_milli: cost.map_or(defaults::TOKEN_COST * 1_000, |cost| cost.value),
        last_attempt_pays: last.is_none_or(|last| last.value),
        credit: credit.map_or(Credit::Success, |credit| credit.value),
        asked: asked.map_or(Asked::BeforeWait, |asked| asked.value),
    };
    let config = WrittenBudget { config, counts_retried: counts.is_none() };
    Some(Scoped { config, per: per.map_or(Scope::DEFAULT, |per| per.value) })
}

/// `{ capacity: 500, costs: { default: 14, rate_limited: 5 } }`, or one `cost`.
fn read_quota(node: &Node, problems: &mut Problems) -> Read {
    let mut fields = Fields::open(node, "`quota`", problems)?;
    let capacity =
        fields.need("capacity", "what it holds, as 500", problems, reader::count(1, MOST_CALLS));
    let cost = fields.choose(&["cost", "costs"], problems);
    let reward = fields.get("reward", problems, reader::count(0, MOST_CALLS));
    let refund = fields.get("refund", problems, reader::word(&REFUNDS));
    let refused = fields.get("when_empty", problems, reader::word(&REFUSED_QUOTA));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let costs = match cost? {
        ("cost", node) => Costs::all(read_cost(node, problems)?),
        (_, node) => read_costs(node, problems)?,
    };
    let capacity = capacity?;
    if u32::from(costs.highest()) > capacity.value {
        problems.push_with(
            capacity.place,
            format!("a retry that costs {} is never paid for by this", costs.highest()),
            "raise `capacity`, or take the class out of the retry's `on`",
        );
    }
    let config = QuotaConfig {
        capacity: capacity.value,
        costs,
        reward: reward.map_or(defaults::QUOTA_REWARD, |reward| reward.value),
        refund: refund.map_or(Refund::Call, |refund| refund.value),
        waits_when_refused: refused.is_some_and(|refused| refused.value),
    };
    Some((BudgetConfig::Quota(config), per.map(|per| per.value)))
}

fn read_cost(node: &Node, problems: &mut Problems) -> Option<u16> {
    let cost = reader::integer(node, problems, 1..=MOST_COST.into())?;
    u16::try_from(cost).ok()
}

/// A map of costs by class, with `default` for the others.
fn read_costs(node: &Node, problems: &mut Problems) -> Option<Costs> {
    let mut fields = Fields::open(node, "`costs`", problems)?;
    let default = fields.need("default", "after every other failure, as 14", problems, read_cost);
    let named: Vec<_> = Class::ALL
        .into_iter()
        .map(|class| (class, fields.get(class.name(), problems, read_cost)))
        .collect();
    fields.close(problems);
    let costs = Costs::all(default?.value);
    Some(named.into_iter().fold(costs, |costs, (class, cost)| match cost {
        Some(cost) => costs.with(ClassSet::of(&[class]), cost.value),
        None => costs,
    }))
}

fn read_window(node: &Node, problems: &mut Problems) -> Read {
    let mut fields = Fields::open(node, "a budget's `window`", problems)?;
    let share = fields.need("share", "retries per deposit, as `20%`", problems, any_share);
    let deposit = fields.need("deposit", DEPOSIT_HELP, problems, reader::word(&DEPOSITS));
    let ttl = fields.get("ttl", problems, reader::positive_span);
    let least = fields.get("min_per_second", problems, reader::count(0, MOST_RESERVE));
    let rule = fields.get("rule", problems, reader::word(&RULES));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let config = WindowConfig::new(
        rule.map_or(WindowRule::Exact, |rule| rule.value),
        share?.value,
        deposit?.value,
        ttl.map_or(defaults::BUDGET_TTL, |ttl| ttl.value),
        least.map_or(defaults::BUDGET_MIN_PER_SECOND, |least| least.value),
    );
    Some((BudgetConfig::Window(config), per.map(|per| per.value)))
}

fn read_concurrent(node: &Node, problems: &mut Problems) -> Read {
    let mut fields = Fields::open(node, "`concurrent`", problems)?;
    let help = "how many retries may be under way at once, waiting ones included, as 3";
    let limit = fields.need("limit", help, problems, reader::count(0, MOST_CALLS));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    Some((BudgetConfig::Concurrent { limit: limit?.value }, per.map(|per| per.value)))
}

fn read_active_share(node: &Node, problems: &mut Problems) -> Read {
    let mut fields = Fields::open(node, "`active_share`", problems)?;
    let share = fields.need("share", "retries per active attempt, as `20%`", problems, any_share);
    let least = fields.get("min", problems, reader::count(0, MOST_CALLS));
    let interval = fields.get("interval", problems, reader::span);
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let config = ActiveShare {
        share_milli: share?.value,
        least: least.map_or(defaults::ACTIVE_SHARE_MIN, |least| least.value),
        interval: interval.map_or(Duration::ZERO, |interval| interval.value),
    };
    Some((BudgetConfig::ActiveShare(config), per.map(|per| per.value)))
}

fn read_client_ratio(node: &Node, problems: &mut Problems) -> Read {
    let mut fields = Fields::open(node, "`client_ratio`", problems)?;
    let share = fields.need("share", "retries per call, as `10%`", problems, any_share);
    let window = fields.get("window", problems, span_or_unlimited);
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let config = BudgetConfig::ClientRatio {
        share_milli: share?.value,
        window: window.map_or(defaults::THROTTLE_WINDOW, |window| window.value),
    };
    Some((config, per.map(|per| per.value)))
}

fn read_counter(node: &Node, problems: &mut Problems) -> Read {
    let mut fields = Fields::open(node, "`counter`", problems)?;
    let help = "the last count at which a retry is made, as 3";
    let limit = fields.need("limit", help, problems, reader::count(0, MOST_CALLS));
    let help = "how long the count is kept, as `1h`, or `unlimited`";
    let ttl = fields.need("ttl", help, problems, span_or_unlimited);
    let from = fields.get("ttl_from", problems, reader::word(&TTL_FROM));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let ttl = ttl?.value;
    if let Some(from) = from
        && ttl == Duration::MAX
    {
        problems.push_with(
            from.place,
            "a count that is kept for ever has no time to live",
            "give `ttl` a span, or leave `ttl_from` out",
        );
    }
    let config = CounterConfig {
        limit: limit?.value,
        ttl,
        ttl_from: from.map_or(TtlFrom::First, |from| from.value),
    };
    Some((BudgetConfig::Counter(config), per.map(|per| per.value)))
}

/// `15min`, or `{ after: 15min, counts_wait: false }`.
pub(super) fn read_max_elapsed(node: &Node, problems: &mut Problems) -> Option<ElapsedLimit> {
    if !matches!(node.value, Value::Map(_)) {
        let after = reader::positive_span(node, problems)?;
        return Some(ElapsedLimit { after, counts_wait: true });
    }
    let mut fields = Fields::open(node, "`max_elapsed`", problems)?;
    let help = "how long after the call began another attempt may follow, as `15min`";
    let after = fields.need("after", help, problems, reader::positive_span);
    let counts = fields.get("counts_wait", problems, reader::switch);
    fields.close(problems);
    let counts_wait = counts.is_none_or(|counts| counts.value);
    Some(ElapsedLimit { after: after?.value, counts_wait })
}

fn read_ratio(node: &Node, problems: &mut Problems) -> Read {
    let mut fields = Fields::open(node, "`ratio`", problems)?;
    let share = fields.need("share", "retries per deposit, as `20%`", problems, |n, p| {
        let share = reader::share(n, p)?;
        thousandths(share.get(), n.place, p)
    });
    let deposit = fields.need("deposit", DEPOSIT_HELP, problems, reader::word(&DEPOSITS));
    let floor = fields.get("floor", problems, |n, p| {
        let rate = reader::rate(n, p)?.as_per_second();
        if rate > MOST_TOKENS {
            p.push_with(
                n.place,
                "this floor is out of range",
                format!("accepted are 0/s to {MOST_TOKENS}/s"),
            );
            return None;
        }
        // Rates per minute or hour are rarely whole thousandths per second: the nearest one.
        Some((rate * 1_000.0 + 0.5) as u32)
    });
    let cap = fields.get("cap", problems, tokens);
    let start = fields.get("start", problems, tokens);
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let most = cap.map_or(defaults::BUDGET_CAP_TOKENS * 1_000, |cap| cap.value);
    if let Some(start) = start
        && start.value > most
    {
        problems.push_with(
            start.place,
            "the budget starts with more than it can hold",
            format!("raise `cap` above {} tokens", f64::from(most) / 1_000.0),
        );
    }
    let config = BudgetConfig::Ratio {
        ratio_milli: share?.value,
        deposit: deposit?.value,
        floor_milli_per_s: floor.map_or(0, |floor| floor.value),
        cap_milli: most,
        start_milli: start.map_or(most, |start| start.value),
    };
    Some((config, per.map(|per| per.value)))
}
