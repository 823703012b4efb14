//! `run`: how long, how often, how it is judged, what ends it.

use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::node::Node;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::units::Duration;
use crate::units::Share;

const MOST_REPLICATIONS: u32 = 1_000_000;
const MOST_EVENTS: u64 = 4_000_000_000;

/// `run` as written.
#[derive(Debug, Default)]
pub(in crate::scenario) struct WrittenRun {
    pub(in crate::scenario) horizon: Option<Spanned<Duration>>,
    pub(in crate::scenario) warm_up: Option<Spanned<Duration>>,
    pub(in crate::scenario) window: Option<Spanned<Duration>>,
    pub(in crate::scenario) replications: Option<Spanned<u32>>,
    pub(in crate::scenario) seed: Option<Spanned<u64>>,
    pub(in crate::scenario) recovery: WrittenRecovery,
    pub(in crate::scenario) limits: WrittenLimits,
}

/// `run: recovery` as written.
#[derive(Debug, Default)]
pub(in crate::scenario) struct WrittenRecovery {
    pub(in crate::scenario) window: Option<Spanned<Duration>>,
    pub(in crate::scenario) hold: Option<Spanned<Duration>>,
    pub(in crate::scenario) tolerance: Option<Spanned<Share>>,
    pub(in crate::scenario) baseline: Option<Spanned<Duration>>,
}

/// `run: limits` as written.
#[derive(Debug, Default)]
pub(in crate::scenario) struct WrittenLimits {
    pub(in crate::scenario) in_flight: Option<Spanned<u64>>,
    pub(in crate::scenario) at_rest: Option<Spanned<u64>>,
    pub(in crate::scenario) pending: Option<Spanned<u64>>,
    pub(in crate::scenario) events: Option<Spanned<u64>>,
    pub(in crate::scenario) memory: Option<Spanned<u64>>,
    pub(in crate::scenario) wall: Option<Spanned<Duration>>,
}

pub(super) fn read(node: &Node, problems: &mut Problems) -> Option<WrittenRun> {
    let mut fields = Fields::open(node, "`run`", problems)?;
    let run = WrittenRun {
        horizon: fields.get("horizon", problems, reader::positive_span),
        warm_up: fields.get("warm_up", problems, reader::span),
        window: fields.get("window", problems, reader::positive_span),
        replications: fields.get("replications", problems, reader::count(1, MOST_REPLICATIONS)),
        seed: fields.get("seed", problems, |n, p| reader::integer(n, p, 0..=u64::MAX)),
        recovery: fields
            .take("recovery")
            .and_then(|node| read_recovery(node, problems))
            .unwrap_or_default(),
        limits: fields
            .take("limits")
            .and_then(|node| read_limits(node, problems))
            .unwrap_or_default(),
    };
    fields.close(problems);
    Some(run)
}

fn read_recovery(node: &Node, problems: &mut Problems) -> Option<WrittenRecovery> {
    let mut fields = Fields::open(node, "`recovery`", problems)?;
    let recovery = WrittenRecovery {
        window: fields.get("window", problems, reader::positive_span),
        hold: fields.get("hold", problems, reader::positive_span),
        tolerance: fields.get("tolerance", problems, reader::share),
        baseline: fields.get("baseline", problems, reader::positive_span),
    };
    fields.close(problems);
    Some(recovery)
}

fn read_limits(node: &Node, problems: &mut Problems) -> Option<WrittenLimits> {
    let mut fields = Fields::open(node, "`limits`", problems)?;
    let any = |n: &Node, p: &mut Problems| reader::integer(n, p, 1..=u64::MAX);
    let limits = WrittenLimits {
        in_flight: fields.get("in_flight", problems, any),
        at_rest: fields.get("at_rest", problems, any),
        pending: fields.get("pending", problems, any),
        events: fields.get("events", problems, |n, p| reader::integer(n, p, 1..=MOST_EVENTS)),
        memory: fields.get("memory", problems, reader::bytes),
        wall: fields.get("wall", problems, reader::positive_span),
    };
    fields.close(problems);
    Some(limits)
}
