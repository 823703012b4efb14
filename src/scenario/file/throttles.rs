//! `throttle`: what a caller keeps from the server on its own account.

use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Scope;
use crate::policy::stack::Scoped;
use crate::policy::throttle::ThrottleConfig;
use crate::policy::throttle::adaptive::AdaptiveConfig;
use crate::policy::throttle::adaptive::Asks;
use crate::policy::throttle::adaptive::Counted;
use crate::policy::throttle::admission::AdmissionConfig;
use crate::policy::throttle::fixed_window::FixedWindowConfig;
use crate::policy::throttle::rate::WhenEmpty;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::amounts::read_rate;
use crate::scenario::file::amounts::span_or_unlimited;
use crate::scenario::file::policies::MOST_CALLS;
use crate::scenario::file::policies::read_classes;
use crate::scenario::file::policies::read_per;
use crate::scenario::node::Node;
use crate::scenario::reader;
use crate::units::Duration;
use crate::units::Share;

const COUNTED: [(&str, Counted); 2] = [("asked", Counted::Asked), ("answered", Counted::Answered)];
const ASKS: [(&str, Asks); 2] = [("attempts", Asks::Attempts), ("retries", Asks::Retries)];
const WHEN_EMPTY: [(&str, WhenEmpty); 2] =
    [("reject", WhenEmpty::Refuse), ("wait", WhenEmpty::Wait)];
const REFUSES: [(&str, bool); 2] = [("at_once", false), ("after_wait", true)];

/// A throttle's settings and its scope, if it gives one.
type Read = Option<(ThrottleConfig, Option<Scope>)>;

/// One kind, as `{ adaptive: … }`.
pub(super) fn read_throttle(
    node: &Node,
    problems: &mut Problems,
) -> Option<Scoped<ThrottleConfig>> {
    let mut fields = Fields::open(node, "`throttle`", problems)?;
    let chosen =
        fields.choose(&["adaptive", "admission", "cubic", "rate", "fixed_window"], problems);
    fields.close(problems);
    let (config, per) = match chosen? {
        ("adaptive", node) => read_adaptive(node, problems),
        ("admission", node) => read_admission(node, problems),
        ("cubic", node) => read_cubic(node, problems),
        ("fixed_window", node) => read_fixed_window(node, problems),
        (_, node) => {
            let (rate, per) = read_rate(node, "a throttle's `rate`", &WHEN_EMPTY, problems)?;
            Some((ThrottleConfig::Rate(rate), per))
        }
    }?;
    Some(Scoped { config, per: per.unwrap_or(Scope::DEFAULT) })
}

fn read_adaptive(node: &Node, problems: &mut Problems) -> Read {
    let mut fields = Fields::open(node, "`adaptive`", problems)?;
    let k = fields.get("k", problems, |n, p| {
        let k = reader::real(0.0..=1_000.0)(n, p)?;
        Some((k * 1_000.0).round() as u32)
    });
    let window = fields.get("window", problems, span_or_unlimited);
    let refusals = fields.get("refusals", problems, read_classes);
    let count = fields.get("counts", problems, reader::word(&COUNTED));
    let asks = fields.get("asks", problems, reader::word(&ASKS));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let config = AdaptiveConfig {
        k_milli: k.map_or(defaults::THROTTLE_K * 1_000, |k| k.value),
        window: window.map_or(defaults::THROTTLE_WINDOW, |window| window.value),
        refusals: refusals.map_or(defaults::RETRIED, |refusals| refusals.value),
        count: count.map_or(Counted::Asked, |count| count.value),
        asks: asks.map_or(Asks::Attempts, |asks| asks.value),
    };
    Some((ThrottleConfig::Adaptive(config), per.map(|per| per.value)))
}

fn read_admission(node: &Node, problems: &mut Problems) -> Read {
    let mut fields = Fields::open(node, "`admission`", problems)?;
    let threshold = fields.get("threshold", problems, reader::share);
    let window = fields.get("window", problems, reader::positive_span);
    let aggression = fields.get("aggression", problems, reader::real(1.0..=1_000.0));
    let cap = fields.get("cap", problems, reader::share);
    let least = fields.get("min_rate", problems, reader::rate);
    let failures = fields.get("failures", problems, read_classes);
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    if let Some(threshold) = threshold
        && threshold.value == Share::ZERO
    {
        problems.push_with(
            threshold.place,
            "at a threshold of nothing, nothing is ever turned away",
            "accepted are shares above 0%; leave `throttle` out for none",
        );
        return None;
    }
    let share = |given: Option<reader::Spanned<Share>>, default| match given {
        Some(given) => given.value,
        None => Share::new(default).unwrap_or_default(),
    };
    let config = AdmissionConfig {
        window: window.map_or(defaults::ADMISSION_WINDOW, |window| window.value),
        threshold: share(threshold, defaults::ADMISSION_THRESHOLD),
        aggression: aggression.map_or(1.0, |aggression| aggression.value),
        cap: share(cap, defaults::ADMISSION_CAP),
        least_milli_per_s: least
            .map_or(0, |least| (least.value.as_per_second() * 1_000.0 + 0.5) as u32),
        failures: failures.map_or(defaults::BREAKER_COUNTS, |failures| failures.value),
    };
    Some((ThrottleConfig::Admission(config), per.map(|per| per.value)))
}

fn read_cubic(node: &Node, problems: &mut Problems) -> Read {
    let mut fields = Fields::open(node, "`cubic`", problems)?;
    let throttled = fields.get("throttled", problems, read_classes);
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let throttled = throttled.map_or(ClassSet::of(&[Class::RateLimited]), |it| it.value);
    Some((ThrottleConfig::Cubic { throttled }, per.map(|per| per.value)))
}

fn read_fixed_window(node: &Node, problems: &mut Problems) -> Read {
    let mut fields = Fields::open(node, "`fixed_window`", problems)?;
    let help = "how many may begin in each `period`";
    let limit = fields.need("limit", help, problems, reader::count(1, MOST_CALLS));
    let help = "the length of one cycle";
    let period = fields.need("period", help, problems, reader::positive_span);
    let max_wait = fields.get("max_wait", problems, reader::span);
    let refuses = fields.get("refuses", problems, reader::word(&REFUSES));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let config = FixedWindowConfig {
        limit: limit?.value,
        period: period?.value,
        max_wait: max_wait.map_or(Duration::ZERO, |wait| wait.value),
        refuses_after_wait: refuses.is_some_and(|word| word.value),
    };
    Some((ThrottleConfig::FixedWindow(config), per.map(|per| per.value)))
}
