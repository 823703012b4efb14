//! Operations and idempotency keys as written: what calls do, and what services remember.

use crate::policy::outcome::Class;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::services::answered_class;
use crate::scenario::model::Idempotency;
use crate::scenario::model::MadeOnce;
use crate::scenario::model::Operation;
use crate::scenario::model::Remembers;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::units::Duration;

const OPERATIONS: [(&str, Operation); 2] =
    [("read", Operation::Read), ("write", Operation::Write(None))];
const MADE: [(&str, MadeOnce); 3] =
    [("request", MadeOnce::Request), ("call", MadeOnce::Call), ("attempt", MadeOnce::Attempt)];
const REMEMBERS: [(&str, Remembers); 2] =
    [("success", Remembers::Success), ("answers", Remembers::Answers)];

/// `read`, `write`, or `{ write: { key: request } }`.
pub(super) fn read_operation(node: &Node, problems: &mut Problems) -> Option<Operation> {
    let Value::Map(_) = &node.value else {
        return reader::word(&OPERATIONS)(node, problems);
    };
    let mut fields = Fields::open(node, "an operation", problems)?;
    let help = "as `{ write: { key: request } }`";
    let write = fields.need("write", help, problems, |node, problems| {
        let mut fields = Fields::open(node, "`write`", problems)?;
        let help = "how often it is made: `request`, `call` or `attempt`";
        let key = fields.need("key", help, problems, reader::word(&MADE));
        fields.close(problems);
        Some(Operation::Write(Some(key?.value)))
    });
    fields.close(problems);
    write.map(|write| write.value)
}

/// `{ kept_for: 24h, in_progress: { answer: rejected, lasts: 1min }, remembers: success }`.
pub(super) fn read_idempotency(node: &Node, problems: &mut Problems) -> Option<Idempotency> {
    let mut fields = Fields::open(node, "`idempotency`", problems)?;
    let kept_for = fields.get("kept_for", problems, reader::positive_span);
    let in_progress = fields.take("in_progress").map(|node| read_in_progress(node, problems));
    let remembers = fields.get("remembers", problems, reader::word(&REMEMBERS));
    fields.close(problems);
    let kept_for = kept_for.map_or(defaults::KEPT_FOR, |span| span.value);
    let (answer, lasts) = match in_progress {
        Some(read) => read?,
        None => (None, None),
    };
    Some(Idempotency {
        kept_for,
        answer: answer.unwrap_or(defaults::IN_PROGRESS),
        lasts: lasts.unwrap_or(kept_for),
        remembers: remembers.map_or(defaults::REMEMBERS, |word| word.value),
    })
}

/// What a repetition hears, and for how long at most.
type InProgress = (Option<Class>, Option<Duration>);

fn read_in_progress(node: &Node, problems: &mut Problems) -> Option<InProgress> {
    let mut fields = Fields::open(node, "`in_progress`", problems)?;
    let answer = fields.get("answer", problems, answered_class);
    let lasts = fields.get("lasts", problems, reader::positive_span);
    fields.close(problems);
    Some((answer.map(|class| class.value), lasts.map(|span| span.value)))
}
