//! `reply: { deferred: … }` of a call, as written.

use crate::policy::deferred::Consumer;
use crate::policy::deferred::FailedRead;
use crate::policy::deferred::Fault;
use crate::policy::deferred::ReadKind;
use crate::random::Distribution;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::distribution;
use crate::scenario::model::Deferred;
use crate::scenario::model::Malformed;
use crate::scenario::model::Notification;
use crate::scenario::model::ReadErrors;
use crate::scenario::model::Told;
use crate::scenario::node::Node;
use crate::scenario::reader;
use crate::units::Duration;
use crate::units::Share;

/// `{ deferred: { notification: { latency: 50ms, loss: 1% }, poll: 30s, read: destructive } }`.
pub(super) fn read_reply(node: &Node, problems: &mut Problems) -> Option<Deferred> {
    let mut fields = Fields::open(node, "`reply`", problems)?;
    let help = "how the result comes, as `{ notification: { loss: 1% }, poll: 30s }`; without \
                `reply` a call is answered";
    let deferred = fields.need("deferred", help, problems, read_deferred);
    fields.close(problems);
    deferred.map(|deferred| deferred.value)
}

fn read_deferred(node: &Node, problems: &mut Problems) -> Option<Deferred> {
    let mut fields = Fields::open(node, "`deferred`", problems)?;
    let notification = fields.get("notification", problems, read_notification);
    let poll = fields.get("poll", problems, reader::positive_span);
    let read = fields.get("read", problems, reader::word(&ReadKind::NAMED));
    let read_errors = fields.get("read_errors", problems, read_errors);
    let consumer = fields.get("consumer", problems, reader::word(&Consumer::NAMED));
    let malformed = fields.get("malformed", problems, read_malformed);
    let failures = fields.get("retryable", problems, reader::word(&Told::NAMED));
    let asked = ["notification", "poll"].map(|key| fields.take(key).is_some());
    if asked == [false, false] {
        problems.push_with(
            fields.head(),
            "nothing tells the caller that its result is there",
            "add `notification: { latency: 50ms }`, or `poll: 30s`, or both",
        );
    }
    fields.close(problems);
    let read = read.map_or(ReadKind::default(), |read| read.value);
    if let Some(errors) = &read_errors
        && errors.value.value == FailedRead::Taken
        && read == ReadKind::Plain
    {
        problems.push_with(
            errors.place,
            "a plain read takes nothing away",
            "leave `value` out, or read with `read: destructive`",
        );
    }
    Some(Deferred {
        notification: notification.map(|it| it.value),
        poll: poll.map(|every| every.value),
        read,
        read_errors: read_errors.map(|it| it.value),
        consumer: consumer.map_or(Consumer::default(), |it| it.value),
        malformed: malformed.map_or(Malformed::default(), |it| it.value),
        failures: failures.map_or(Told::default(), |it| it.value),
    })
}

fn read_notification(node: &Node, problems: &mut Problems) -> Option<Notification> {
    let mut fields = Fields::open(node, "`notification`", problems)?;
    let latency = fields.get("latency", problems, distribution::read);
    let loss = fields.get("loss", problems, reader::share);
    fields.close(problems);
    Some(Notification {
        latency: latency.map_or_else(|| Distribution::constant(Duration::ZERO), |it| it.value),
        loss: loss.map_or(Share::ZERO, |it| it.value),
    })
}

fn read_errors(node: &Node, problems: &mut Problems) -> Option<ReadErrors> {
    let mut fields = Fields::open(node, "`read_errors`", problems)?;
    let share = fields.need("share", "how many reads fail so, as `1%`", problems, reader::share);
    let value = fields.get("value", problems, reader::word(&FailedRead::NAMED));
    fields.close(problems);
    Some(ReadErrors {
        share: share?.value,
        value: value.map_or(FailedRead::default(), |it| it.value),
    })
}

fn read_malformed(node: &Node, problems: &mut Problems) -> Option<Malformed> {
    let mut fields = Fields::open(node, "`malformed`", problems)?;
    let shares = Fault::NAMED.map(|(key, _)| {
        let share = fields.get(key, problems, reader::share);
        share.map_or(Share::ZERO, |share| share.value)
    });
    fields.close(problems);
    let malformed = Malformed(shares);
    if malformed.whole() > 1.0 + 1e-9 {
        problems.push_with(
            node.anchor(),
            "these shares are more than all replies",
            "a reply has one fault at most: make them 100 % together, or less",
        );
        return None;
    }
    Some(malformed)
}
