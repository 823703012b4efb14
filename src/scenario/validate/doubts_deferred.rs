//! Doubts about deferred replies: waits that nothing ends, and retries of failures that are never
//! heard.

use crate::policy::deferred::Consumer;
use crate::policy::deferred::ReadKind;
use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::model::Deferred;
use crate::scenario::model::Model;
use crate::scenario::model::Told;
use crate::scenario::node::Node;
use crate::scenario::validate::doubts::is_patient;
use crate::scenario::validate::doubts_effects::caller_of;
use crate::scenario::validate::doubts_effects::place_of;

/// Doubts about the deferred replies of one system; `tree` is where it is written.
pub(super) fn of_deferred(model: &Model, tree: &Node, doubts: &mut Problems) {
    for (id, edge) in model.edges.iter().enumerate() {
        let Some(deferred) = &edge.deferred else { continue };
        let caller = quoted(caller_of(edge, model));
        let policy = &model.policies[edge.policy];
        let mut doubt = |problem: String, help: &str| {
            doubts.push_with(place_of(tree, model, id, "reply"), problem, help);
        };
        if is_patient(policy) {
            doubt(
                format!(
                    "{caller} waits for its result for ever where the job is lost with its replica{}",
                    what_else(deferred)
                ),
                "give the policy of that call an `attempt_timeout`: the safety timer",
            );
        }
        // What such a consumer hears of a job that was taken is its timer alone.
        let on: Vec<_> =
            policy.nested().filter_map(|it| it.retry.as_ref()).map(|retry| retry.on).collect();
        let retried = on.iter().fold(ClassSet::NONE, |all, on| all.union(*on));
        let named = [Class::Internal, Class::Protocol].map(|class| retried.contains(class));
        if is_deaf(deferred.consumer) && named == [true, true] {
            doubt(
                format!(
                    "{caller} tries failed jobs again, and its consumer ({}) never hears of one: \
                     the class is lost on the way",
                    deferred.consumer.name()
                ),
                "a `typed` consumer hears failures",
            );
        } else if !is_deaf(deferred.consumer)
            && deferred.failures == Told::Nothing
            && !on.is_empty()
            && !named[0]
        {
            doubt(
                format!(
                    "{caller} is told of each failure as `internal` (`retryable: unknown`), which \
                     its policy does not try again"
                ),
                "name it, as `on: [internal, protocol]`, or write `retryable: told`",
            );
        }
    }
}

fn is_deaf(consumer: Consumer) -> bool {
    matches!(consumer, Consumer::Naive | Consumer::NaiveRejectList | Consumer::Wrapped)
}

fn what_else(deferred: &Deferred) -> &'static str {
    match (deferred.poll, is_deaf(deferred.consumer)) {
        (_, true) => ", and after each result that is a failure",
        (None, false) => ", and where the word is lost",
        (Some(_), false) if deferred.read == ReadKind::Destructive => {
            ", and where a read takes the result and its answer is lost"
        }
        (Some(_), false) => "",
    }
}
