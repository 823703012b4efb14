//! How long a breaker stays open, as written.

use crate::policy::breaker::opening::MOST_OPENINGS;
use crate::policy::breaker::opening::OpenGrowth;
use crate::policy::breaker::opening::OpenJitter;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::units::Duration;
use crate::units::Share;

/// The factor of an exponential growth that does not say.
pub(in crate::scenario) const FACTOR: f64 = 2.0;

/// How long it stays open, and how that grows and spreads.
#[derive(Clone, Copy)]
pub(super) struct OpenFor {
    pub(super) base: Duration,
    pub(super) growth: OpenGrowth,
    pub(super) jitter: OpenJitter,
}

/// A span, or a map of a base, how it grows, and a jitter.
pub(super) fn read_open_for(node: &Node, problems: &mut Problems) -> Option<OpenFor> {
    if !matches!(node.value, Value::Map(_)) {
        let base = reader::positive_span(node, problems)?;
        return Some(OpenFor { base, growth: OpenGrowth::Constant, jitter: OpenJitter::None });
    }
    let mut fields = Fields::open(node, "`open_for`", problems)?;
    let table = fields.get("table", problems, read_table);
    let help = "how long it is open the first time, as `5s`";
    let base = match node.get("table") {
        Some(_) => fields.get("base", problems, reader::positive_span),
        None => fields.need("base", help, problems, reader::positive_span),
    };
    let times = fields.get("times", problems, read_times);
    let exponential = fields.get("exponential", problems, read_exponential);
    let equal = fields.get("equal_jittered", problems, read_equal_jittered);
    let jitter = fields.get("jitter", problems, read_jitter);
    fields.close(problems);
    let ways = [table, times, exponential, equal];
    let mut chosen = ways.iter().flatten();
    let growth = chosen.next().copied();
    if let Some(second) = chosen.next() {
        problems.push_with(
            second.place,
            "`open_for` grows in one way",
            "name one of `times`, `exponential`, `equal_jittered` and `table`",
        );
    }
    let base = match (growth.map(|growth| growth.value), base) {
        (Some(OpenGrowth::Table { times, .. }), None) => times[0],
        (Some(OpenGrowth::Table { .. }), Some(base)) => {
            problems.push_with(
                base.place,
                "a `table` says itself how long the first opening lasts",
                "leave out `base`",
            );
            base.value
        }
        _ if node.get("table").is_some() && growth.is_none() => return None,
        (_, base) => base?.value,
    };
    if let Some(growth) = growth
        && let Some(cap) = cap_of(&growth.value)
        && cap < base
    {
        problems.push_with(
            growth.place,
            format!("the longest opening is {cap}, and the first lasts {base}"),
            format!("set `cap` to at least {base}"),
        );
    }
    if let (Some(Spanned { value: OpenGrowth::EqualJittered { .. }, .. }), Some(jitter)) =
        (growth, jitter)
    {
        problems.push_with(
            jitter.place,
            "`equal_jittered` brings its own jitter",
            "leave out `jitter`, or use `exponential`",
        );
    }
    Some(OpenFor {
        base,
        growth: growth.map_or(OpenGrowth::Constant, |growth| growth.value),
        jitter: jitter.map_or(OpenJitter::None, |jitter| jitter.value),
    })
}

fn cap_of(growth: &OpenGrowth) -> Option<Duration> {
    match *growth {
        OpenGrowth::Times { cap, .. }
        | OpenGrowth::Exponential { cap, .. }
        | OpenGrowth::EqualJittered { cap } => Some(cap),
        OpenGrowth::Constant | OpenGrowth::Table { .. } => None,
    }
}

fn read_times(node: &Node, problems: &mut Problems) -> Option<OpenGrowth> {
    let mut fields = Fields::open(node, "`times`", problems)?;
    let cap = fields.need("cap", "the longest, as `300s`", problems, reader::positive_span);
    let forget = fields.get("forget_every", problems, reader::positive_span);
    fields.close(problems);
    let forget_every = forget.map_or(Duration::ZERO, |span| span.value);
    Some(OpenGrowth::Times { cap: cap?.value, forget_every })
}

fn read_exponential(node: &Node, problems: &mut Problems) -> Option<OpenGrowth> {
    let mut fields = Fields::open(node, "`exponential` openings", problems)?;
    let factor = fields.get("factor", problems, reader::real(1.0..=1_000.0));
    let cap = fields.need("cap", "the longest, as `60s`", problems, reader::positive_span);
    fields.close(problems);
    let factor = factor.map_or(FACTOR, |factor| factor.value);
    Some(OpenGrowth::Exponential { factor, cap: cap?.value })
}

fn read_equal_jittered(node: &Node, problems: &mut Problems) -> Option<OpenGrowth> {
    let mut fields = Fields::open(node, "`equal_jittered`", problems)?;
    let cap = fields.need("cap", "the longest, as `300s`", problems, reader::positive_span);
    fields.close(problems);
    Some(OpenGrowth::EqualJittered { cap: cap?.value })
}

fn read_table(node: &Node, problems: &mut Problems) -> Option<OpenGrowth> {
    let items = reader::list(node, "`table`", problems)?;
    if items.is_empty() || items.len() > MOST_OPENINGS {
        problems.push_with(
            node.place,
            format!("a table of {} openings", items.len()),
            format!("accepted are 1 to {MOST_OPENINGS} spans; the last one repeats"),
        );
        return None;
    }
    let mut times = [Duration::ZERO; MOST_OPENINGS];
    for (time, item) in times.iter_mut().zip(items) {
        *time = reader::positive_span(item, problems)?;
    }
    Some(OpenGrowth::Table { times, len: items.len() as u8 })
}

fn read_jitter(node: &Node, problems: &mut Problems) -> Option<OpenJitter> {
    if node.is_text("none") {
        return Some(OpenJitter::None);
    }
    const KINDS: [&str; 3] = ["plus_minus", "additive", "extra"];
    let entry = reader::only_entry(
        node,
        "the jitter of an opening",
        "{ plus_minus: 20% }",
        &KINDS,
        problems,
    )?;
    let some = |share: Share| (share != Share::ZERO).then_some(share);
    let jitter = match entry.key.as_str() {
        "plus_minus" => some(reader::share(&entry.node, problems)?).map(OpenJitter::PlusMinus),
        "additive" => some(reader::share(&entry.node, problems)?).map(OpenJitter::Additive),
        "extra" => Some(OpenJitter::Extra(reader::positive_span(&entry.node, problems)?)),
        other => {
            reader::unknown(entry.place, "jitter of an opening", other, &KINDS, problems);
            return None;
        }
    };
    Some(jitter.unwrap_or(OpenJitter::None))
}
