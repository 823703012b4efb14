//! `policies`: what a caller does about failure, each strategy at most once.

use crate::policy::backoff::Growth;
use crate::policy::backoff::Jitter;
use crate::policy::breaker::BreakerConfig;
use crate::policy::breaker::LateResults;
use crate::policy::breaker::Trip;
use crate::policy::limiter::BulkheadConfig;
use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::AttemptTimeout;
use crate::policy::stack::CallerScope;
use crate::policy::stack::Layer;
use crate::policy::stack::Scope;
use crate::policy::stack::Scoped;
use crate::policy::stack::TargetScope;
use crate::policy::stack::TimeoutScope;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::examples;
use crate::scenario::fields::Fields;
use crate::scenario::file::budgets::WrittenBudget;
use crate::scenario::file::budgets::read_budget;
use crate::scenario::file::distribution;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::scenario::reader::suggest;
use crate::units::Duration;

const MOST_ATTEMPTS: u32 = 1_000_000;
const MOST_CALLS: u32 = 1_000_000_000;

const LAYERS: [(&str, Layer); 5] = [
    ("bulkhead", Layer::Bulkhead),
    ("timeout", Layer::Timeout),
    ("retry", Layer::Retry),
    ("breaker", Layer::Breaker),
    ("attempt_timeout", Layer::AttemptTimeout),
];
const GROUPS: [(&str, ClassSet); 3] = [
    ("transient", ClassSet::TRANSIENT),
    ("permanent", ClassSet::PERMANENT),
    ("ambiguous", ClassSet::AMBIGUOUS),
];
const JITTERS: [(&str, Jitter); 4] = [
    ("none", Jitter::None),
    ("full", Jitter::Full),
    ("equal", Jitter::Equal),
    ("decorrelated", Jitter::Decorrelated),
];
const SCOPES: [(&str, TimeoutScope); 2] =
    [("attempt", TimeoutScope::Attempt), ("queue", TimeoutScope::Queue)];
const LATE: [(&str, LateResults); 2] =
    [("ignore", LateResults::Ignore), ("count", LateResults::Count)];

/// A policy as written.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenPolicy {
    pub(in crate::scenario) attempt_timeout: Option<Spanned<AttemptTimeout>>,
    pub(in crate::scenario) timeout: Option<Spanned<Duration>>,
    pub(in crate::scenario) retry: Option<WrittenRetry>,
    pub(in crate::scenario) breaker: Option<Scoped<BreakerConfig>>,
    pub(in crate::scenario) bulkhead: Option<Scoped<BulkheadConfig>>,
    pub(in crate::scenario) order: Option<Spanned<Vec<Layer>>>,
}

/// A retry strategy as written.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenRetry {
    pub(in crate::scenario) max_attempts: Option<Option<u32>>,
    pub(in crate::scenario) growth: Option<Growth>,
    pub(in crate::scenario) cap: Option<Duration>,
    pub(in crate::scenario) jitter: Option<Spanned<Jitter>>,
    pub(in crate::scenario) on: Option<ClassSet>,
    pub(in crate::scenario) budget: Option<Scoped<WrittenBudget>>,
}

pub(super) fn read(node: &Node, problems: &mut Problems) -> Option<WrittenPolicy> {
    let mut fields = Fields::open(node, "a policy", problems)?;
    let policy = WrittenPolicy {
        attempt_timeout: fields.get("attempt_timeout", problems, read_attempt_timeout),
        timeout: fields.get("timeout", problems, reader::positive_span),
        retry: fields.take("retry").and_then(|node| read_retry(node, problems)),
        breaker: fields.take("breaker").and_then(|node| read_breaker(node, problems)),
        bulkhead: fields.take("bulkhead").and_then(|node| read_bulkhead(node, problems)),
        order: fields.get("order", problems, |n, p| {
            let items = reader::list(n, "`order`", p)?;
            let layers: Vec<_> =
                items.iter().filter_map(|item| reader::word(&LAYERS)(item, p)).collect();
            (layers.len() == items.len()).then_some(layers)
        }),
    };
    fields.close(problems);
    Some(policy)
}

/// A span, a distribution, or `{ after, scope }`.
fn read_attempt_timeout(node: &Node, problems: &mut Problems) -> Option<AttemptTimeout> {
    let (after, scope, place) = if node.get("after").is_some() || node.get("scope").is_some() {
        let mut fields = Fields::open(node, "`attempt_timeout`", problems)?;
        let after = fields.need("after", "the longest wait", problems, distribution::read);
        let scope = fields.get("scope", problems, reader::word(&SCOPES));
        fields.close(problems);
        let after = after?;
        (after.value, scope.map_or(TimeoutScope::Attempt, |scope| scope.value), after.place)
    } else {
        (distribution::read(node, problems)?, TimeoutScope::Attempt, node.place)
    };
    if after.mean().is_zero() {
        problems.push_with(
            place,
            "an attempt needs some time: the timeout must be longer than 0s",
            "accepted are 1ns to 100 years; leave it out for none",
        );
        return None;
    }
    Some(AttemptTimeout { after, scope })
}

fn read_retry(node: &Node, problems: &mut Problems) -> Option<WrittenRetry> {
    let mut fields = Fields::open(node, "`retry`", problems)?;
    let max_attempts =
        fields.get("max_attempts", problems, reader::count_or_unlimited(1, MOST_ATTEMPTS));
    let backoff = fields.take("backoff").and_then(|node| read_backoff(node, problems));
    let jitter = fields.get("jitter", problems, read_jitter);
    let on = fields.get("on", problems, read_classes);
    let budget = fields.take("budget").and_then(|node| read_budget(node, problems));
    fields.close(problems);
    Some(WrittenRetry {
        max_attempts: max_attempts.map(|max| max.value),
        cap: backoff.as_ref().and_then(|(_, cap)| *cap),
        growth: backoff.map(|(growth, _)| growth),
        jitter,
        on: on.map(|on| on.value),
        budget,
    })
}

/// `none`, or one growth; a cap stands beside it or among its settings.
fn read_backoff(node: &Node, problems: &mut Problems) -> Option<(Growth, Option<Duration>)> {
    if let Value::Scalar { text, .. } = &node.value {
        if text == "none" {
            return Some((Growth::None, None));
        }
        if text.starts_with(|c: char| c.is_alphabetic()) {
            problems.push_with(
                node.place,
                format!("{} is no back-off", quoted(text)),
                examples::of("`backoff`"),
            );
            return None;
        }
        // A bare span waits the same each time.
        return reader::span(node, problems).map(|span| (Growth::Constant(span), None));
    }
    let mut fields = Fields::open(node, "`backoff`", problems)?;
    let outer = fields.get("cap", problems, reader::positive_span);
    let chosen = fields.choose(&["constant", "linear", "exponential", "drawn"], problems);
    let (growth, inner) = match chosen {
        Some(("constant", node)) => (reader::span(node, problems).map(Growth::Constant), None),
        Some(("drawn", node)) => (distribution::read(node, problems).map(Growth::Drawn), None),
        Some(("linear", node)) => {
            let mut inner = Fields::open(node, "`linear`", problems)?;
            let base = inner.need("base", "the first wait", problems, reader::span);
            let step = inner.need("step", "what each retry adds", problems, reader::span);
            let cap = inner.get("cap", problems, reader::positive_span);
            inner.close(problems);
            let growth = base
                .zip(step)
                .map(|(base, step)| Growth::Linear { base: base.value, step: step.value });
            (growth, cap)
        }
        Some((_, node)) => {
            let mut inner = Fields::open(node, "`exponential`", problems)?;
            let base = inner.need("base", "the first wait", problems, reader::positive_span);
            let factor = inner.get("factor", problems, reader::real(1.0..=1_000.0));
            let cap = inner.get("cap", problems, reader::positive_span);
            inner.close(problems);
            let factor = factor.map_or(defaults::FACTOR, |factor| factor.value);
            (base.map(|base| Growth::Exponential { base: base.value, factor }), cap)
        }
        None => (None, None),
    };
    fields.close(problems);
    if let (Some(outer), Some(_)) = (outer, inner) {
        problems.push_with(
            outer.place,
            "the cap is given twice",
            "keep the one beside the growth, or the one among its settings",
        );
    }
    growth.map(|growth| (growth, outer.or(inner).map(|cap| cap.value)))
}

fn read_jitter(node: &Node, problems: &mut Problems) -> Option<Jitter> {
    let Value::Map(_) = &node.value else {
        return reader::word(&JITTERS)(node, problems);
    };
    let mut fields = Fields::open(node, "`jitter`", problems)?;
    let help = "the share to either side, as `20%`";
    let share = fields.need("plus_minus", help, problems, reader::share);
    fields.close(problems);
    share.map(|share| Jitter::PlusMinus(share.value.get()))
}

/// Groups and classes, one or a list.
pub(super) fn read_classes(node: &Node, problems: &mut Problems) -> Option<ClassSet> {
    let items = match &node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let known: Vec<_> = GROUPS
        .into_iter()
        .chain(Class::ALL.iter().map(|class| (class.name(), ClassSet::of(&[*class]))))
        .collect();
    let mut set = ClassSet::NONE;
    let mut whole = true;
    for item in items {
        match reader::word(&known)(item, problems) {
            Some(classes) => set = set.union(classes),
            None => whole = false,
        }
    }
    whole.then_some(set)
}

fn read_breaker(node: &Node, problems: &mut Problems) -> Option<Scoped<BreakerConfig>> {
    let mut fields = Fields::open(node, "`breaker`", problems)?;
    let trip = match fields.choose(&["consecutive", "window"], problems) {
        Some(("consecutive", node)) => {
            reader::count(1, MOST_CALLS)(node, problems).map(Trip::Consecutive)
        }
        Some((_, node)) => read_window(node, problems),
        None => None,
    };
    let help = "how long it refuses before it lets a probe in, as `10s`";
    let open_for = fields.need("open_for", help, problems, reader::positive_span);
    let probes = fields.get("probes", problems, reader::count(1, MOST_CALLS));
    let counts = fields.get("counts", problems, |n, p| {
        let set = read_classes(n, p)?;
        if set == ClassSet::NONE {
            p.push_with(
                n.place,
                "a breaker that counts nothing never opens",
                "name failures, as `[transient]`, or leave out the breaker",
            );
        }
        Some(set)
    });
    let late = fields.get("late_results", problems, reader::word(&LATE));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let config = BreakerConfig {
        trip: trip?,
        open_for: open_for?.value,
        probes: probes.map_or(defaults::PROBES, |probes| probes.value),
        counts: counts.map_or(defaults::BREAKER_COUNTS, |counts| counts.value),
        late_results: late.map_or(defaults::LATE_RESULTS, |late| late.value),
    };
    Some(Scoped { config, per: per.map_or(Scope::DEFAULT, |per| per.value) })
}

fn read_window(node: &Node, problems: &mut Problems) -> Option<Trip> {
    let mut fields = Fields::open(node, "`window`", problems)?;
    let length = fields.need("length", "as `30s`", problems, reader::positive_span);
    let share = fields.need("failure_share", "as `50%`", problems, reader::share);
    let help = "fewer calls than that decide nothing, as 20";
    let minimum = fields.need("minimum_calls", help, problems, reader::count(1, MOST_CALLS));
    fields.close(problems);
    let (length, failure_share, minimum_calls) = (length?.value, share?, minimum?.value);
    if failure_share.value.get() <= 0.0 {
        problems.push_with(
            failure_share.place,
            "at a failure share of 0 the breaker is always open",
            "accepted are shares above 0, up to 100%",
        );
    }
    Some(Trip::Window { length, failure_share: failure_share.value, minimum_calls })
}

fn read_bulkhead(node: &Node, problems: &mut Problems) -> Option<Scoped<BulkheadConfig>> {
    let mut fields = Fields::open(node, "`bulkhead`", problems)?;
    let help = "how many may be under way at once";
    let limit = fields.need("limit", help, problems, reader::count(1, MOST_CALLS));
    let queue = fields.get("queue", problems, reader::count(0, MOST_CALLS));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let queue = queue.map_or(defaults::BULKHEAD_QUEUE, |queue| queue.value);
    let config = BulkheadConfig { limit: limit?.value, queue };
    Some(Scoped { config, per: per.map_or(Scope::DEFAULT, |per| per.value) })
}

/// `[caller, target]`, `[group, target]`, `[target]`, `[group]`, `[]` …
pub(super) fn read_per(node: &Node, problems: &mut Problems) -> Option<Scope> {
    const KNOWN: [&str; 3] = ["caller", "group", "target"];
    let items = reader::list(node, "`per`", problems)?;
    let mut scope = Scope { caller: CallerScope::All, target: TargetScope::All };
    for item in items {
        let word = reader::text(item, problems)?;
        let free = scope.caller == CallerScope::All;
        match word.as_str() {
            "caller" if free => scope.caller = CallerScope::Caller,
            "group" if free => scope.caller = CallerScope::Group,
            "target" if scope.target == TargetScope::All => scope.target = TargetScope::Target,
            "caller" | "group" | "target" => {
                let problem = "`per` names at most one of `caller` and `group`, and `target` once";
                problems.push_with(item.place, problem, "name each once, as `[caller, target]`");
                return None;
            }
            _ => {
                let problem = format!("nothing is kept per {}", quoted(&word));
                problems.push_with(item.place, problem, suggest(&word, &KNOWN));
                return None;
            }
        }
    }
    Some(scope)
}
