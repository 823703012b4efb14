//! `policies`: what a caller does about failure, each strategy at most once.

use crate::policy::breaker::BreakerConfig;
use crate::policy::budget::elapsed::ElapsedLimit;
use crate::policy::ejection::EjectionConfig;
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
use crate::policy::stack::TimeoutRule;
use crate::policy::throttle::ThrottleConfig;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::fields::Fields;
use crate::scenario::file::backoffs::WrittenBackoff;
use crate::scenario::file::backoffs::read_backoff;
use crate::scenario::file::breakers::read_breaker;
use crate::scenario::file::budgets::WrittenBudget;
use crate::scenario::file::budgets::read_budget;
use crate::scenario::file::budgets::read_max_elapsed;
use crate::scenario::file::ejections::read_ejection;
use crate::scenario::file::hedges::WrittenHedge;
use crate::scenario::file::hedges::read_hedge;
use crate::scenario::file::hints::read_hint;
use crate::scenario::file::jitters::WrittenJitter;
use crate::scenario::file::jitters::read_jitter;
use crate::scenario::file::limiters::read_bulkhead;
use crate::scenario::file::throttles::read_throttle;
use crate::scenario::file::timeouts::read_attempt_timeout;
use crate::scenario::file::timeouts::read_timeout;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::scenario::reader::suggest;
use crate::units::Duration;

const MOST_ATTEMPTS: u32 = 1_000_000;
pub(super) const MOST_CALLS: u32 = 1_000_000_000;

const LAYERS: [(&str, Layer); 7] = [
    ("bulkhead", Layer::Bulkhead),
    ("timeout", Layer::Timeout),
    ("retry", Layer::Retry),
    ("hedge", Layer::Hedge),
    ("throttle", Layer::Throttle),
    ("breaker", Layer::Breaker),
    ("attempt_timeout", Layer::AttemptTimeout),
];
const GROUPS: [(&str, ClassSet); 3] = [
    ("transient", ClassSet::TRANSIENT),
    ("permanent", ClassSet::PERMANENT),
    ("ambiguous", ClassSet::AMBIGUOUS),
];

/// A policy as written.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenPolicy {
    pub(in crate::scenario) attempt_timeout: Option<Spanned<AttemptTimeout>>,
    pub(in crate::scenario) timeout: Option<Spanned<Duration>>,
    pub(in crate::scenario) timeout_rule: TimeoutRule,
    pub(in crate::scenario) retry: Option<WrittenRetry>,
    pub(in crate::scenario) hedge: Option<WrittenHedge>,
    pub(in crate::scenario) throttle: Option<Scoped<ThrottleConfig>>,
    pub(in crate::scenario) breaker: Option<Scoped<BreakerConfig>>,
    pub(in crate::scenario) bulkhead: Option<Scoped<BulkheadConfig>>,
    pub(in crate::scenario) ejection: Option<Scoped<EjectionConfig>>,
    pub(in crate::scenario) order: Option<Spanned<Vec<Layer>>>,
    pub(in crate::scenario) inner: Option<Spanned<String>>,
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
    pub(in crate::scenario) max_elapsed: Option<ElapsedLimit>,
}

pub(in crate::scenario) fn read(node: &Node, problems: &mut Problems) -> Option<WrittenPolicy> {
    let mut fields = Fields::open(node, "a policy", problems)?;
    fields.take("preset"); // Laid under the policy before it is read.
    let timeout = fields.get("timeout", problems, read_timeout);
    let policy = WrittenPolicy {
        attempt_timeout: fields.get("attempt_timeout", problems, read_attempt_timeout),
        timeout: timeout.map(|it| Spanned { value: it.value.0, place: it.place }),
        timeout_rule: timeout.map_or(TimeoutRule::DEFAULT, |it| it.value.1),
        retry: fields.take("retry").and_then(|node| read_retry(node, problems)),
        hedge: fields.take("hedge").and_then(|node| read_hedge(node, problems)),
        throttle: fields.take("throttle").and_then(|node| read_throttle(node, problems)),
        breaker: fields.take("breaker").and_then(|node| read_breaker(node, problems)),
        bulkhead: fields.take("bulkhead").and_then(|node| read_bulkhead(node, problems)),
        ejection: fields.take("ejection").and_then(|it| read_ejection(it, node, problems)),
        order: fields.get("order", problems, |n, p| {
            let items = reader::list(n, "`order`", p)?;
            let layers: Vec<_> =
                items.iter().filter_map(|item| reader::word(&LAYERS)(item, p)).collect();
            (layers.len() == items.len()).then_some(layers)
        }),
        inner: fields.get("inner", problems, read_inner),
    };
    fields.close(problems);
    Some(policy)
}

/// The name of another policy of the file.
fn read_inner(node: &Node, problems: &mut Problems) -> Option<String> {
    if let Value::Map(_) = &node.value {
        problems.push_with(
            node.anchor(),
            "`inner` names another policy, and this is a map",
            "give that policy a name of its own under `policies`, and write `inner: NAME`",
        );
        return None;
    }
    reader::name(node, problems)
}

pub(super) fn read_retry(node: &Node, problems: &mut Problems) -> Option<WrittenRetry> {
    let mut fields = Fields::open(node, "`retry`", problems)?;
    let max_attempts =
        fields.get("max_attempts", problems, reader::count_or_unlimited(1, MOST_ATTEMPTS));
    let backoff = fields.take("backoff").and_then(|node| read_backoff(node, problems));
    let jitter = fields.get("jitter", problems, read_jitter);
    let on = fields.get("on", problems, read_classes);
    let hint = fields.get("hint", problems, read_hint);
    let budget = fields.take("budget").and_then(|node| read_budget(node, problems));
    let max_elapsed = fields.get("max_elapsed", problems, read_max_elapsed);
    fields.close(problems);
    Some(WrittenRetry {
        max_attempts: max_attempts.map(|max| max.value),
        backoff,
        jitter,
        on: on.map(|on| on.value),
        hint: hint.map(|hint| hint.value),
        budget,
        max_elapsed: max_elapsed.map(|limit| limit.value),
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
