//! `timeout` and `attempt_timeout` as written.

use crate::policy::stack::AttemptTimeout;
use crate::policy::stack::TimeoutRule;
use crate::policy::stack::TimeoutScope;
use crate::policy::timeout::LateWait;
use crate::policy::timeout::Running;
use crate::policy::timeout::TimeoutGrowth;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::distribution;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::units::Duration;

const LARGEST_MULTIPLIER: f64 = 1_000.0;

const SCOPES: [(&str, TimeoutScope); 2] =
    [("attempt", TimeoutScope::Attempt), ("queue", TimeoutScope::Queue)];
const LATE_WAITS: [(&str, LateWait); 2] =
    [("refuse", LateWait::Refuse), ("truncate", LateWait::Truncate)];
const RUNNING: [(&str, Running); 2] = [("cut", Running::Cut), ("finish", Running::Finish)];

/// A span, or `{ after, late_wait, running }`.
pub(super) fn read_timeout(
    node: &Node,
    problems: &mut Problems,
) -> Option<(Duration, TimeoutRule)> {
    if !matches!(node.value, Value::Map(_)) {
        return Some((reader::positive_span(node, problems)?, TimeoutRule::DEFAULT));
    }
    let mut fields = Fields::open(node, "`timeout`", problems)?;
    let help = "the longest time of the whole call, as `10s`";
    let after = fields.need("after", help, problems, reader::positive_span);
    let late_wait = fields.get("late_wait", problems, reader::word(&LATE_WAITS));
    let running = fields.get("running", problems, reader::word(&RUNNING));
    fields.close(problems);
    let rule = TimeoutRule {
        late_wait: late_wait.map_or(LateWait::Refuse, |word| word.value),
        running: running.map_or(Running::Cut, |word| word.value),
    };
    Some((after?.value, rule))
}

/// A span, a distribution, or `{ after, scope, multiplier, cap }`.
pub(super) fn read_attempt_timeout(node: &Node, problems: &mut Problems) -> Option<AttemptTimeout> {
    const KEYS: [&str; 4] = ["after", "scope", "multiplier", "cap"];
    if !KEYS.iter().any(|key| node.get(key).is_some()) {
        let after = distribution::read(node, problems)?;
        return positive(AttemptTimeout::new(after, TimeoutScope::Attempt), node, problems);
    }
    let mut fields = Fields::open(node, "`attempt_timeout`", problems)?;
    let after = fields.need("after", "the longest wait", problems, distribution::read);
    let scope = fields.get("scope", problems, reader::word(&SCOPES));
    let multiplier = fields.get("multiplier", problems, reader::real(1.0..=LARGEST_MULTIPLIER));
    let cap = fields.get("cap", problems, reader::positive_span);
    fields.close(problems);
    if let (Some(cap), None) = (cap, multiplier) {
        problems.push_with(
            cap.place,
            "`cap` bounds a timeout that grows, and this one does not",
            "add a `multiplier`, as 1.5, or leave `cap` out",
        );
    }
    let after = after?;
    if let (Some(cap), Some(_)) = (cap, multiplier)
        && cap.value < after.value.largest().unwrap_or(Duration::ZERO)
    {
        problems.push_with(
            cap.place,
            "this `cap` is shorter than the first timeout, which then never grows",
            "make `cap` longer than `after`, or leave `multiplier` out",
        );
    }
    let growth = multiplier.map(|multiplier| TimeoutGrowth {
        multiplier: multiplier.value,
        cap: cap.map_or(Duration::MAX, |cap| cap.value),
    });
    let scope = scope.map_or(TimeoutScope::Attempt, |scope| scope.value);
    let timeout = AttemptTimeout { after: after.value, scope, growth };
    positive(timeout, node.get("after").unwrap_or(node), problems)
}

/// A timeout of nothing would end every attempt before it began.
fn positive(
    timeout: AttemptTimeout,
    node: &Node,
    problems: &mut Problems,
) -> Option<AttemptTimeout> {
    if timeout.after.mean().is_zero() {
        problems.push_with(
            node.place,
            "an attempt needs some time: the timeout must be longer than 0s",
            "accepted are 1ns to 100 years; leave it out for none",
        );
        return None;
    }
    Some(timeout)
}
