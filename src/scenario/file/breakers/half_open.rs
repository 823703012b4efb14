//! How a breaker comes back, as written.

use crate::policy::breaker::config::Begins;
use crate::policy::breaker::config::Decision;
use crate::policy::breaker::config::HalfOpen;
use crate::policy::breaker::config::Others;
use crate::policy::breaker::config::Places;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::policies::MOST_CALLS;
use crate::scenario::node::Node;
use crate::scenario::reader;

const BEGINS: [(&str, Begins); 3] =
    [("lazily", Begins::Lazily), ("by_timer", Begins::ByTimer), ("never", Begins::Never)];
const PLACES: [(&str, Places); 2] = [("at_once", Places::AtOnce), ("in_all", Places::InAll)];
const OTHERS: [(&str, Others); 2] = [("refused", Others::Refused), ("wait", Others::Wait)];

/// `none`, or a map.
pub(super) fn read_half_open(node: &Node, problems: &mut Problems) -> Option<HalfOpen> {
    if node.is_text("none") {
        return Some(HalfOpen { begins: Begins::Never, ..HalfOpen::PLAIN });
    }
    let mut fields = Fields::open(node, "`half_open`", problems)?;
    let begins = fields.get("begins", problems, reader::word(&BEGINS));
    let strictly = fields.get("strictly_after", problems, reader::switch);
    let places = fields.get("places", problems, reader::word(&PLACES));
    let others = fields.get("others", problems, reader::word(&OTHERS));
    let closes = fields.get("closes_after", problems, reader::count(1, MOST_CALLS));
    let opens = fields.get("opens_after", problems, reader::count(1, MOST_CALLS));
    let all = fields.get("decides_after", problems, reader::count(1, MOST_CALLS));
    let lease = fields.get("lease", problems, reader::positive_span);
    let at_most = fields.get("at_most", problems, reader::positive_span);
    let probes_count = fields.get("probes_count", problems, reader::switch);
    fields.close(problems);
    if let (Some(all), Some(_)) = (all, closes.or(opens)) {
        problems.push_with(
            all.place,
            "probes decide one by one or all together, not both",
            "leave out `decides_after`, or `closes_after` and `opens_after`",
        );
    }
    let begins = begins.map_or(Begins::Lazily, |word| word.value);
    let others_value = others.map_or(Others::Refused, |word| word.value);
    if let Some(others) = others
        && others_value == Others::Wait
        && (begins == Begins::Never || lease.is_some() || at_most.is_some())
    {
        problems.push_with(
            others.place,
            "who waits behind a probe waits until that probe is back",
            "use `others: refused` with `lease`, `at_most` or `begins: never`",
        );
    }
    let decision = match all {
        Some(all) => Decision::AfterAll(all.value),
        None => Decision::First {
            successes: closes.map_or(0, |count| count.value),
            failures: opens.map_or(1, |count| count.value),
        },
    };
    Some(HalfOpen {
        begins,
        strictly_after: strictly.is_some_and(|word| word.value),
        places: places.map_or(Places::AtOnce, |word| word.value),
        others: others_value,
        decision,
        lease: lease.map(|span| span.value),
        at_most: at_most.map(|span| span.value),
        probes_count: probes_count.is_some_and(|word| word.value),
    })
}
