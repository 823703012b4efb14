//! How an attempt ended, and whether that is worth a retry.
//!
//! Every failure has exactly one class. Three groups cover the classes that travel: `transient`
//! (worth another try), `permanent` (it will fail the same way) and `ambiguous` (nobody can tell).
//! The local classes are made by a caller's own policy; they never reached a server, belong to no
//! group and are retried only where a policy names them.
//!
//! Source: the union of the classes that the imitated libraries tell apart; HTTP and gRPC codes
//! are the ones those libraries map to.

use std::fmt;

use serde::{Serialize, Serializer};

/// Why an attempt or a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// The server is down and refuses at once.
    Unavailable,
    /// The server is up and has no room: full queue, shedding.
    Overloaded,
    /// The server answered that this caller sends too fast.
    RateLimited,
    /// The caller's own attempt timeout ran out.
    Timeout,
    /// The server answered that a server behind it did not answer in time.
    GatewayTimeout,
    /// The server answered that a server behind it answered nonsense.
    BadGateway,
    /// The server failed for a reason it did not tell.
    Internal,
    /// The connection broke while the attempt was at the server.
    ConnectionLost,
    /// A reply that nobody can parse.
    Protocol,
    /// The request itself is wrong: 400, 409, 422, a domain error.
    Rejected,
    /// The caller may not do this.
    Denied,
    /// It was there and will not come back.
    Gone,
    /// It is not there, now or ever.
    NotFound,
    /// A bug: it fails the same way every time.
    Fatal,
    /// Local: the caller's circuit breaker is open.
    BreakerOpen,
    /// Local: the caller's bulkhead and its queue are full.
    BulkheadFull,
    /// Local: the caller's own throttle let this one go.
    Throttled,
    /// Local: the request's deadline or the call's total timeout has passed.
    DeadlinePassed,
}

impl Class {
    /// Every class, in the order of the documentation.
    pub const ALL: [Self; 18] = [
        Self::Unavailable,
        Self::Overloaded,
        Self::RateLimited,
        Self::Timeout,
        Self::GatewayTimeout,
        Self::BadGateway,
        Self::Internal,
        Self::ConnectionLost,
        Self::Protocol,
        Self::Rejected,
        Self::Denied,
        Self::Gone,
        Self::NotFound,
        Self::Fatal,
        Self::BreakerOpen,
        Self::BulkheadFull,
        Self::Throttled,
        Self::DeadlinePassed,
    ];

    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Overloaded => "overloaded",
            Self::RateLimited => "rate_limited",
            Self::Timeout => "timeout",
            Self::GatewayTimeout => "gateway_timeout",
            Self::BadGateway => "bad_gateway",
            Self::Internal => "internal",
            Self::ConnectionLost => "connection_lost",
            Self::Protocol => "protocol",
            Self::Rejected => "rejected",
            Self::Denied => "denied",
            Self::Gone => "gone",
            Self::NotFound => "not_found",
            Self::Fatal => "fatal",
            Self::BreakerOpen => "breaker_open",
            Self::BulkheadFull => "bulkhead_full",
            Self::Throttled => "throttled",
            Self::DeadlinePassed => "deadline_passed",
        }
    }

    /// The class a handler answers with when a call it needed failed with `self` (rule R11).
    ///
    /// What the handler waited for in vain becomes `gateway_timeout`, what it could not reach
    /// becomes `unavailable`, nonsense becomes `bad_gateway`; every other class stays what it is.
    pub const fn propagated(self) -> Self {
        match self {
            Self::Timeout | Self::GatewayTimeout | Self::DeadlinePassed => Self::GatewayTimeout,
            Self::Unavailable
            | Self::Overloaded
            | Self::ConnectionLost
            | Self::BreakerOpen
            | Self::BulkheadFull
            | Self::Throttled => Self::Unavailable,
            Self::Protocol | Self::BadGateway => Self::BadGateway,
            other => other,
        }
    }

    /// Made by the caller's own policy, without a message to the server?
    pub const fn is_local(self) -> bool {
        matches!(
            self,
            Self::BreakerOpen | Self::BulkheadFull | Self::Throttled | Self::DeadlinePassed
        )
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Class {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A set of failure classes: what is retried, what a breaker counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassSet(u32);

impl ClassSet {
    /// No class at all.
    pub const NONE: Self = Self(0);
    /// Failures that another try may cure.
    pub const TRANSIENT: Self = Self::of(&[
        Class::Unavailable,
        Class::Overloaded,
        Class::RateLimited,
        Class::Timeout,
        Class::GatewayTimeout,
        Class::BadGateway,
        Class::ConnectionLost,
    ]);
    /// Failures that will repeat.
    pub const PERMANENT: Self =
        Self::of(&[Class::Rejected, Class::Denied, Class::Gone, Class::Fatal]);
    /// Failures of which nobody can tell.
    pub const AMBIGUOUS: Self = Self::of(&[Class::Internal, Class::Protocol, Class::NotFound]);

    /// The set of the classes named.
    pub const fn of(classes: &[Class]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < classes.len() {
            bits |= 1 << classes[i] as u32;
            i += 1;
        }
        Self(bits)
    }

    /// Is `class` in the set?
    pub const fn contains(self, class: Class) -> bool {
        self.0 & (1 << class as u32) != 0
    }

    /// Everything that is in either.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Everything that is in this one and not in the other.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The classes of the set, in the order of the documentation.
    pub fn iter(self) -> impl Iterator<Item = Class> {
        Class::ALL.into_iter().filter(move |class| self.contains(*class))
    }
}

impl fmt::Display for ClassSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Class::name).collect();
        f.pad(&names.join(", "))
    }
}

impl Serialize for ClassSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}
