//! `answers` of a call as written: what a handler makes of the errors of what it calls.

use crate::policy::outcome::Class;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::services::answered_class;
use crate::scenario::model::Answer;
use crate::scenario::node::Node;

/// `{ rate_limited: rejected, bulkhead_full: internal }`.
pub(super) fn read_answers(node: &Node, problems: &mut Problems) -> Option<Vec<Answer>> {
    let mut fields = Fields::open(node, "`answers`", problems)?;
    let found: Vec<_> = Class::ALL
        .into_iter()
        .filter_map(|failed| {
            let node = fields.take(failed.name())?;
            Some(answered_class(node, problems).map(|with| Answer { failed, with }))
        })
        .collect();
    fields.close(problems);
    found.into_iter().collect()
}
