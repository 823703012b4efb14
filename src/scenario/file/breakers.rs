//! Circuit breakers as written.

use crate::policy::breaker::BreakerConfig;
use crate::policy::breaker::LateResults;
use crate::policy::breaker::Trip;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Scope;
use crate::policy::stack::Scoped;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::policies::MOST_CALLS;
use crate::scenario::file::policies::read_classes;
use crate::scenario::file::policies::read_per;
use crate::scenario::node::Node;
use crate::scenario::reader;

const LATE: [(&str, LateResults); 2] =
    [("ignore", LateResults::Ignore), ("count", LateResults::Count)];

pub(super) fn read_breaker(node: &Node, problems: &mut Problems) -> Option<Scoped<BreakerConfig>> {
    let mut fields = Fields::open(node, "`breaker`", problems)?;
    let trip = match fields.choose(&["consecutive", "window"], problems) {
        Some(("consecutive", node)) => {
            reader::count(1, MOST_CALLS)(node, problems).map(Trip::Consecutive)
        }
        Some((_, node)) => read_window(node, problems),
        None => None,
    };
    let help = "how long it refuses before it lets a probe in, as `10s`";
    let open_for = fields.need("open_for", help, problems, reader::positive_span);
    let probes = fields.get("probes", problems, reader::count(1, MOST_CALLS));
    let counts = fields.get("counts", problems, |n, p| {
        let set = read_classes(n, p)?;
        if set == ClassSet::NONE {
            p.push_with(
                n.place,
                "a breaker that counts nothing never opens",
                "name failures, as `[transient]`, or leave out the breaker",
            );
        }
        Some(set)
    });
    let late = fields.get("late_results", problems, reader::word(&LATE));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let config = BreakerConfig {
        trip: trip?,
        open_for: open_for?.value,
        probes: probes.map_or(defaults::PROBES, |probes| probes.value),
        counts: counts.map_or(defaults::BREAKER_COUNTS, |counts| counts.value),
        late_results: late.map_or(defaults::LATE_RESULTS, |late| late.value),
    };
    Some(Scoped { config, per: per.map_or(Scope::DEFAULT, |per| per.value) })
}

fn read_window(node: &Node, problems: &mut Problems) -> Option<Trip> {
    let mut fields = Fields::open(node, "`window`", problems)?;
    let length = fields.need("length", "as `30s`", problems, reader::positive_span);
    let share = fields.need("failure_share", "as `50%`", problems, reader::share);
    let help = "fewer calls than that decide nothing, as 20";
    let minimum = fields.need("minimum_calls", help, problems, reader::count(1, MOST_CALLS));
    fields.close(problems);
    let (length, failure_share, minimum_calls) = (length?.value, share?, minimum?.value);
    if failure_share.value.get() <= 0.0 {
        problems.push_with(
            failure_share.place,
            "at a failure share of 0 the breaker is always open",
            "accepted are shares above 0, up to 100%",
        );
    }
    Some(Trip::Window { length, failure_share: failure_share.value, minimum_calls })
}
