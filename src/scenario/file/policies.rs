//! `policies`: what a caller does about failure, each strategy at most once.

use crate::policy::breaker::BreakerConfig;
use crate::policy::hint::HintConfig;
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
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::fields::Fields;
use crate::scenario::file::backoffs::WrittenBackoff;
use crate::scenario::file::backoffs::read_backoff;
use crate::scenario::file::breakers::read_breaker;
use crate::scenario::file::budgets::WrittenBudget;
use crate::scenario::file::budgets::read_budget;
use crate::scenario::file::distribution;
use crate::scenario::file::hints::read_hint;
use crate::scenario::file::jitters::WrittenJitter;
use crate::scenario::file::jitters::read_jitter;
use crate::scenario::file::limiters::read_bulkhead;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::scenario::reader::suggest;
use crate::units::Duration;

const MOST_ATTEMPTS: u32 = 1_000_000;
pub(super) const MOST_CALLS: u32 = 1_000_000_000;

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
const SCOPES: [(&str, TimeoutScope); 2] =
    [("attempt", TimeoutScope::Attempt), ("queue", TimeoutScope::Queue)];

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
    pub(in crate::scenario) backoff: Option<WrittenBackoff>,
    pub(in crate::scenario) jitter: Option<Spanned<WrittenJitter>>,
    pub(in crate::scenario) on: Option<ClassSet>,
    pub(in crate::scenario) hint: Option<HintConfig>,
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
    let hint = fields.get("hint", problems, read_hint);
    let budget = fields.take("budget").and_then(|node| read_budget(node, problems));
    fields.close(problems);
    Some(WrittenRetry {
        max_attempts: max_attempts.map(|max| max.value),
        backoff,
        jitter,
        on: on.map(|on| on.value),
        hint: hint.map(|hint| hint.value),
        budget,
    })
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
