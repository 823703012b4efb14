//! What opens a breaker, as written.

use crate::policy::breaker::config::Divisor;
use crate::policy::breaker::config::Judged;
use crate::policy::breaker::config::Limit;
use crate::policy::breaker::config::Rate;
use crate::policy::breaker::config::Slow;
use crate::policy::breaker::config::Trip;
use crate::policy::breaker::config::Turns;
use crate::policy::breaker::config::WindowKind;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::policies::MOST_CALLS;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::units::Duration;
use crate::units::Share;

/// The most outcomes that a window remembers one by one.
const MOST_REMEMBERED: u32 = 100_000;
/// The most buckets of a window.
const MOST_BUCKETS: u32 = 3_600;
/// Buckets of a window that does not say (Polly, opossum, Hystrix).
pub(in crate::scenario) const BUCKETS: u32 = 10;

const TURNS: [(&str, Turns); 3] = [
    ("lazily", Turns::Lazily),
    ("on_the_clock", Turns::OnTheClock),
    ("with_outcomes", Turns::WithOutcomes),
];
const JUDGED: [(&str, Judged); 3] = [
    ("on_failure", Judged::OnFailure),
    ("on_outcome", Judged::OnOutcome),
    ("at_turns", Judged::AtTurns),
];
const SHARE_OF: [(&str, Divisor); 2] = [("outcomes", Divisor::Outcomes), ("fires", Divisor::Fires)];

/// `5`, `{ more_than: 5 }` or `{ failures: 5, forget_after: 60s, clear_every: 30s }`.
pub(super) fn read_row(node: &Node, problems: &mut Problems) -> Option<Trip> {
    if !matches!(node.value, Value::Map(_)) {
        return reader::count(1, MOST_CALLS)(node, problems).map(Trip::Consecutive);
    }
    let mut fields = Fields::open(node, "`consecutive`", problems)?;
    let failures = match fields.choose(&["failures", "more_than"], problems) {
        Some(("failures", node)) => reader::count(1, MOST_CALLS)(node, problems),
        Some((_, node)) => reader::count(0, MOST_CALLS - 1)(node, problems).map(|n| n + 1),
        None => None,
    };
    let forget_after = fields.get("forget_after", problems, reader::positive_span);
    let clear_every = fields.get("clear_every", problems, reader::positive_span);
    fields.close(problems);
    let failures = failures?;
    if forget_after.is_none() && clear_every.is_none() {
        return Some(Trip::Consecutive(failures));
    }
    let span = |span: Option<Spanned<Duration>>| span.map_or(Duration::ZERO, |span| span.value);
    Some(Trip::Row { failures, forget_after: span(forget_after), clear_every: span(clear_every) })
}

/// `{ window: 30s, below: 80%, minimum_calls: 5, settled_after: 30s }`.
pub(super) fn read_average(node: &Node, problems: &mut Problems) -> Option<Trip> {
    let mut fields = Fields::open(node, "`average`", problems)?;
    let window = fields.need("window", "as `30s`", problems, reader::positive_span);
    let below = fields.need("below", "as `80%`", problems, reader::share);
    let minimum = fields.get("minimum_calls", problems, reader::count(1, MOST_CALLS));
    let settled = fields.get("settled_after", problems, reader::span);
    fields.close(problems);
    let (window, below) = (window?.value, below?);
    if below.value == Share::ZERO {
        problems.push_with(
            below.place,
            "no share of successes is below 0",
            "accepted are shares above 0, up to 100%",
        );
    }
    Some(Trip::Average {
        window,
        below: below.value,
        minimum_calls: minimum.map_or(1, |minimum| minimum.value),
        settled_after: settled.map_or(Duration::ZERO, |span| span.value),
    })
}

/// `{ attempts: 3, within: 5s }`.
pub(super) fn read_exhausted(node: &Node, problems: &mut Problems) -> Option<Trip> {
    let mut fields = Fields::open(node, "`exhausted`", problems)?;
    let help = "how many failures, as 3";
    let attempts = fields.need("attempts", help, problems, reader::count(1, MOST_CALLS));
    let within = fields.need("within", "as `5s`", problems, reader::positive_span);
    fields.close(problems);
    Some(Trip::Exhausted { attempts: attempts?.value, within: within?.value })
}

/// A window of time or of calls, and what in it opens the breaker.
pub(super) fn read_window(node: &Node, problems: &mut Problems) -> Option<Trip> {
    let mut fields = Fields::open(node, "`window`", problems)?;
    let chosen = fields.choose(&["length", "calls"], problems);
    let length = match chosen {
        Some(("length", node)) => reader::positive_span(node, problems),
        _ => None,
    };
    let calls = match chosen {
        Some(("calls", node)) => reader::count(1, MOST_REMEMBERED)(node, problems),
        _ => None,
    };
    let limit = match fields.choose(&["failure_share", "more_than", "failures"], problems) {
        Some(("failures", node)) => reader::count(1, MOST_CALLS)(node, problems)
            .map(|value| Spanned { value: Limit::Failures(value), place: node.place }),
        Some((key, node)) => read_limit(key, node, problems),
        None => None,
    };
    let minimum = fields.get("minimum_calls", problems, reader::count(1, MOST_CALLS));
    let buckets = fields.get("buckets", problems, reader::count(1, MOST_BUCKETS));
    let turns = fields.get("turns", problems, reader::word(&TURNS));
    let slow = fields.get("slow", problems, read_slow);
    let judged = fields.get("judged", problems, reader::word(&JUDGED));
    let share_of = fields.get("share_of", problems, reader::word(&SHARE_OF));
    let warm_up = fields.get("warm_up", problems, reader::span);
    let head = fields.head();
    fields.close(problems);
    let limit = limit?;
    let judged = judged.map_or(Judged::OnFailure, |judged| judged.value);
    let turns_on = turns.map_or(Turns::Lazily, |turns| turns.value);
    let divisor = share_of.map_or(Divisor::Outcomes, |word| word.value);
    if calls.is_some() {
        let of_time = [
            buckets.map(|it| it.place),
            turns.map(|it| it.place),
            share_of.filter(|it| it.value == Divisor::Fires).map(|it| it.place),
        ];
        if let Some(place) = of_time.into_iter().flatten().next() {
            problems.push_with(
                place,
                "a window of `calls` holds the last outcomes and has no buckets",
                "leave it out, or give the window a `length`",
            );
        }
    }
    if judged == Judged::AtTurns && turns_on != Turns::OnTheClock {
        problems.push_with(
            head,
            "only a window that turns on the clock can be judged at its turns",
            "add `turns: on_the_clock`, and give the window a `length`",
        );
    }
    let minimum_calls = match (minimum, calls, limit.value) {
        (Some(minimum), ..) => minimum.value,
        (None, _, Limit::Failures(failures)) => failures,
        (None, Some(calls), _) => calls,
        // The number of calls is refused already; it would have been the minimum.
        (None, None, _) if matches!(chosen, Some(("calls", _))) => return None,
        (None, None, _) => {
            problems.push_with(
                head,
                "`window` needs `minimum_calls`",
                "fewer calls than that decide nothing, as 20",
            );
            return None;
        }
    };
    if let Some(calls) = calls {
        let place = minimum.map_or(limit.place, |minimum| minimum.place);
        can_be_reached(minimum_calls, limit.value, calls, place, problems);
    }
    let rate = Rate {
        window: match (length, calls) {
            (Some(length), _) => WindowKind::Time {
                length,
                buckets: buckets.map_or(BUCKETS, |buckets| buckets.value),
                turns: turns_on,
            },
            (None, Some(calls)) => WindowKind::Calls(calls),
            (None, None) => return None,
        },
        limit: limit.value,
        minimum_calls,
        slow: slow.map(|slow| slow.value),
        judged,
        divisor,
        warm_up: warm_up.map_or(Duration::ZERO, |span| span.value),
    };
    Some(simplest(rate))
}

/// The usual window has a name of its own.
fn simplest(rate: Rate) -> Trip {
    if let (WindowKind::Time { length, .. }, Limit::AtLeast(failure_share)) =
        (rate.window, rate.limit)
    {
        let usual = Trip::Window { length, failure_share, minimum_calls: rate.minimum_calls };
        if usual.as_rate() == Some(rate) {
            return usual;
        }
    }
    Trip::Rate(rate)
}

/// A window of so many calls must be able to open the breaker.
fn can_be_reached(minimum: u32, limit: Limit, calls: u32, place: Place, problems: &mut Problems) {
    let failures = if let Limit::Failures(failures) = limit { failures } else { 0 };
    let wanted = minimum.max(failures);
    if wanted > calls {
        problems.push_with(
            place,
            format!("a window of the last {calls} calls never holds {wanted}"),
            format!("accepted are 1 to {calls}, or raise `calls`"),
        );
    }
}

fn read_limit(key: &str, node: &Node, problems: &mut Problems) -> Option<Spanned<Limit>> {
    let share = reader::share(node, problems)?;
    if key == "failure_share" {
        if share == Share::ZERO {
            problems.push_with(
                node.place,
                "at a failure share of 0 the breaker is always open",
                "accepted are shares above 0, up to 100%",
            );
        }
        return Some(Spanned { value: Limit::AtLeast(share), place: node.place });
    }
    if share == Share::ONE {
        problems.push_with(
            node.place,
            "no share of failures is more than 100 %",
            "accepted are shares from 0 to below 100%",
        );
    }
    Some(Spanned { value: Limit::MoreThan(share), place: node.place })
}

/// `{ longer_than: 2s, share: 80% }`.
fn read_slow(node: &Node, problems: &mut Problems) -> Option<Slow> {
    let mut fields = Fields::open(node, "`slow`", problems)?;
    let longer_than = fields.need("longer_than", "as `2s`", problems, reader::span);
    let share = fields.need("share", "as `80%`", problems, reader::share);
    fields.close(problems);
    let share = share?;
    if share.value == Share::ZERO {
        problems.push_with(
            share.place,
            "at a share of 0 of slow calls the breaker is always open",
            "accepted are shares above 0, up to 100%",
        );
    }
    Some(Slow { longer_than: longer_than?.value, share: share.value })
}
