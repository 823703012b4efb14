//! Replies that come later, under a key: what a consumer makes of what it reads there.
//!
//! A producer that answers a submit with an id writes its result under a key, and the consumer
//! reads there when it is told to, and when a timer says so. Three things can come of a read: there
//! is no value yet, the store cannot be reached, or there is a value, which ends the wait whatever
//! it says. A consumer that knows only "read" and "not read" waits on after a value that says
//! *failed*; and where the read took the value away, it waits for what is no more.
//!
//! Invariant: of a destructive read a value is handed out at most once.
//!
//! Source: the article on destructive reads of deferred results.

use serde::Serialize;

use crate::policy::outcome::Class;

/// How a consumer reads what stands under a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadKind {
    /// The value stays (`GET`).
    #[default]
    Plain,
    /// The value is taken away in the same step (`GETDEL`): delivery at most once.
    Destructive,
}

impl ReadKind {
    /// Each with its name in scenarios.
    pub const NAMED: [(&'static str, Self); 2] =
        [("plain", Self::Plain), ("destructive", Self::Destructive)];

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        Self::NAMED[self as usize].0
    }
}

/// What becomes of the value when a read fails on its way to the store or back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedRead {
    /// The store was not reached: nothing happened to the value.
    #[default]
    Kept,
    /// The store carried a destructive read out, and its answer was lost.
    Taken,
}

impl FailedRead {
    /// Each with its name in scenarios.
    pub const NAMED: [(&'static str, Self); 2] = [("kept", Self::Kept), ("taken", Self::Taken)];

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        Self::NAMED[self as usize].0
    }
}

/// What is wrong with a reply that does not keep the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It cannot be parsed at all.
    Unreadable,
    /// It has no status.
    MissingStatus,
    /// Its status is not a text.
    NonStringStatus,
    /// Its status is a word nobody knows.
    UnknownStatus,
    /// It is an object without anything in it.
    Empty,
}

impl Fault {
    /// Each with its name in scenarios, in the order of the documentation.
    pub const NAMED: [(&'static str, Self); 5] = [
        ("unreadable", Self::Unreadable),
        ("missing_status", Self::MissingStatus),
        ("non_string_status", Self::NonStringStatus),
        ("unknown_status", Self::UnknownStatus),
        ("empty", Self::Empty),
    ];

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        Self::NAMED[self as usize].0
    }
}

/// A reply under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The job is done.
    Done,
    /// The job has failed, and the reply says so.
    Failed(Class),
    /// The reply does not keep the contract, whatever became of the job.
    Malformed(Fault),
}

/// What a consumer makes of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Consumer {
    /// Any error of a read means: not yet. It waits on after each reply that is not a good one.
    Naive,
    /// Any error of a read means: not yet; and whatever is readable and does not say *error* is a
    /// success.
    NaiveRejectList,
    /// A reply that says *error* or cannot be parsed ends the wait; everything else is a success.
    RejectList,
    /// An accept list, and errors that can be told apart: every reply ends the wait.
    #[default]
    Typed,
    /// As `Typed`, but a wrapper on the way loses which error it was: each later test says no, and
    /// it waits on as `Naive` does.
    Wrapped,
}

/// What came of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// No value was seen: it waits on.
    Nothing,
    /// A value was seen and taken for none: it waits on.
    Misread,
    /// The job is done.
    Done,
    /// The wait ends with this failure.
    Failed(Class),
    /// The wait ends with a success that the reply does not bear out.
    FalseSuccess,
}

impl Consumer {
    /// Each with its name in scenarios, in the order of the documentation.
    pub const NAMED: [(&'static str, Self); 5] = [
        ("naive", Self::Naive),
        ("naive_reject_list", Self::NaiveRejectList),
        ("reject_list", Self::RejectList),
        ("typed", Self::Typed),
        ("wrapped", Self::Wrapped),
    ];

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        Self::NAMED[self as usize].0
    }

    /// What it makes of a reply that it has read.
    pub const fn make_of(self, reply: Reply) -> Reading {
        match (self, reply) {
            (_, Reply::Done) => Reading::Done,
            (Self::Typed | Self::RejectList, Reply::Failed(class)) => Reading::Failed(class),
            (Self::Typed, Reply::Malformed(_))
            | (Self::RejectList, Reply::Malformed(Fault::Unreadable)) => {
                Reading::Failed(Class::Protocol)
            }
            (Self::NaiveRejectList, Reply::Malformed(Fault::Unreadable))
            | (Self::NaiveRejectList, Reply::Failed(_))
            | (Self::Naive | Self::Wrapped, _) => Reading::Misread,
            (Self::RejectList | Self::NaiveRejectList, Reply::Malformed(_)) => {
                Reading::FalseSuccess
            }
        }
    }
}

/// What stands under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    value: Option<Reply>,
}

impl Key {
    /// No key yet.
    pub const EMPTY: Self = Self { value: None };

    /// A reply is written.
    pub const fn holding(reply: Reply) -> Self {
        Self { value: Some(reply) }
    }

    /// Is there anything left to read?
    pub const fn is_empty(self) -> bool {
        self.value.is_none()
    }

    /// A consumer reads; `failed`: the read fails on its way.
    pub const fn read(
        &mut self,
        kind: ReadKind,
        consumer: Consumer,
        failed: Option<FailedRead>,
    ) -> Reading {
        let Some(reply) = self.value else { return Reading::Nothing };
        match (kind, failed) {
            (_, Some(FailedRead::Kept)) | (ReadKind::Plain, Some(FailedRead::Taken)) => {
                return Reading::Nothing;
            }
            (ReadKind::Destructive, Some(FailedRead::Taken)) => {
                self.value = None;
                return Reading::Nothing;
            }
            (ReadKind::Destructive, None) => self.value = None,
            (ReadKind::Plain, None) => {}
        }
        consumer.make_of(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies() -> Vec<Reply> {
        let faults = Fault::NAMED.map(|(_, fault)| Reply::Malformed(fault));
        [Reply::Done, Reply::Failed(Class::Rejected)].into_iter().chain(faults).collect()
    }

    /// D5, D13, D14, D16: each kind of consumer against each reply.
    #[test]
    fn each_consumer_makes_its_own_of_each_reply() {
        use Reading::{Done, FalseSuccess, Misread};
        let failed = Reading::Failed(Class::Rejected);
        let protocol = Reading::Failed(Class::Protocol);
        let table = [
            (Consumer::Naive, [Done, Misread, Misread, Misread, Misread, Misread, Misread]),
            (
                Consumer::NaiveRejectList,
                [Done, Misread, Misread, FalseSuccess, FalseSuccess, FalseSuccess, FalseSuccess],
            ),
            (
                Consumer::RejectList,
                [Done, failed, protocol, FalseSuccess, FalseSuccess, FalseSuccess, FalseSuccess],
            ),
            (Consumer::Typed, [Done, failed, protocol, protocol, protocol, protocol, protocol]),
            (Consumer::Wrapped, [Done, Misread, Misread, Misread, Misread, Misread, Misread]),
        ];
        for (consumer, expected) in table {
            for (reply, expected) in replies().into_iter().zip(expected) {
                assert_eq!(consumer.make_of(reply), expected, "{consumer:?} of {reply:?}");
            }
        }
    }

    /// D7, D8: a destructive read hands a value out once, whoever reads it next.
    #[test]
    fn a_destructive_read_hands_a_value_out_at_most_once() {
        for (_, consumer) in Consumer::NAMED {
            for reply in replies() {
                let mut key = Key::holding(reply);
                assert_ne!(key.read(ReadKind::Destructive, consumer, None), Reading::Nothing);
                assert!(key.is_empty());
                for (_, second) in Consumer::NAMED {
                    let read = key.read(ReadKind::Destructive, second, None);
                    assert_eq!(read, Reading::Nothing);
                }
            }
        }
    }

    /// D9, D10: a plain read of an unreadable value finds the same each time.
    #[test]
    fn a_plain_read_leaves_the_value_to_be_read_again() {
        let mut key = Key::holding(Reply::Malformed(Fault::Unreadable));
        for _ in 0..3 {
            assert_eq!(key.read(ReadKind::Plain, Consumer::Naive, None), Reading::Misread);
        }
        let typed = key.read(ReadKind::Plain, Consumer::Typed, None);
        assert_eq!(typed, Reading::Failed(Class::Protocol));
        assert!(!key.is_empty());
    }

    /// D6, D11: a store that is not reached costs nothing; an answer lost after a destructive read
    /// costs the value, and looks the same to the consumer.
    #[test]
    fn a_failed_read_keeps_the_value_or_takes_it() {
        for (kind, failed, left) in [
            (ReadKind::Plain, FailedRead::Kept, true),
            (ReadKind::Destructive, FailedRead::Kept, true),
            (ReadKind::Destructive, FailedRead::Taken, false),
        ] {
            let mut key = Key::holding(Reply::Failed(Class::Rejected));
            assert_eq!(key.read(kind, Consumer::Typed, Some(failed)), Reading::Nothing);
            let again = key.read(kind, Consumer::Typed, None);
            let found = Reading::Failed(Class::Rejected);
            assert_eq!(again, if left { found } else { Reading::Nothing });
        }
    }

    #[test]
    fn names_stand_in_the_order_of_their_numbers() {
        assert!(ReadKind::NAMED.iter().all(|(name, it)| it.name() == *name));
        assert!(FailedRead::NAMED.iter().all(|(name, it)| it.name() == *name));
        assert!(Fault::NAMED.iter().all(|(name, it)| it.name() == *name));
        assert!(Consumer::NAMED.iter().all(|(name, it)| it.name() == *name));
    }

    /// D4: nothing is read before anything is written.
    #[test]
    fn an_empty_key_is_no_error() {
        let mut key = Key::EMPTY;
        assert_eq!(key.read(ReadKind::Destructive, Consumer::Typed, None), Reading::Nothing);
    }
}
