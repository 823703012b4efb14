//! Circuit breakers as written.

mod half_open;
mod open_for;
mod window;

use crate::policy::breaker::config::BreakerConfig;
use crate::policy::breaker::config::Decision;
use crate::policy::breaker::config::Forgets;
use crate::policy::breaker::config::LateResults;
use crate::policy::breaker::config::Limit;
use crate::policy::breaker::config::Places;
use crate::policy::breaker::config::Trip;
use crate::policy::breaker::release::Cancelled;
use crate::policy::breaker::release::Uncounted;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Scope;
use crate::policy::stack::Scoped;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::breakers::half_open::read_half_open;
use crate::scenario::file::breakers::open_for::read_open_for;
use crate::scenario::file::breakers::window::read_average;
use crate::scenario::file::breakers::window::read_exhausted;
use crate::scenario::file::breakers::window::read_row;
use crate::scenario::file::breakers::window::read_window;
use crate::scenario::file::policies::MOST_CALLS;
use crate::scenario::file::policies::read_classes;
use crate::scenario::file::policies::read_per;
use crate::scenario::node::Node;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;

const LATE: [(&str, LateResults); 4] = [
    ("ignore", LateResults::Ignore),
    ("count", LateResults::Count),
    ("record", LateResults::Record),
    ("overrule", LateResults::Overrule),
];
const UNCOUNTED: [(&str, Uncounted); 5] = [
    ("success", Uncounted::Success),
    ("nothing", Uncounted::Nothing),
    ("closes", Uncounted::Closes),
    ("leak", Uncounted::Leak),
    ("release_as_success", Uncounted::ReleaseAsSuccess),
];
const CANCELLED: [(&str, Cancelled); 4] = [
    ("release", Cancelled::Release),
    ("success", Cancelled::Success),
    ("leak", Cancelled::Leak),
    ("release_as_success", Cancelled::ReleaseAsSuccess),
];
const FORGETS: [(&str, Forgets); 3] = [
    ("when_closed", Forgets::WhenClosed),
    ("when_opened", Forgets::WhenOpened),
    ("never", Forgets::Never),
];

pub(super) fn read_breaker(node: &Node, problems: &mut Problems) -> Option<Scoped<BreakerConfig>> {
    let mut fields = Fields::open(node, "`breaker`", problems)?;
    let trip = match fields.choose(&["consecutive", "window", "average", "exhausted"], problems) {
        Some(("consecutive", node)) => read_row(node, problems),
        Some(("average", node)) => read_average(node, problems),
        Some(("exhausted", node)) => read_exhausted(node, problems),
        Some((_, node)) => read_window(node, problems),
        None => None,
    };
    let or_consecutive = fields.get("or_consecutive", problems, reader::count(1, MOST_CALLS));
    let help = "how long it refuses before it lets a probe in, as `10s`";
    let open_for = fields.need("open_for", help, problems, read_open_for);
    let probes = fields.get("probes", problems, reader::count(1, MOST_CALLS));
    let half_open = fields.get("half_open", problems, read_half_open);
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
    let at_once = fields.get("trips_at_once", problems, read_classes);
    let ignores = fields.get("ignores", problems, read_classes);
    let uncounted = fields.get("uncounted", problems, reader::word(&UNCOUNTED));
    let cancelled = fields.get("cancelled", problems, reader::word(&CANCELLED));
    let guarded = fields.get("release_guarded", problems, reader::switch);
    let late = fields.get("late_results", problems, reader::word(&LATE));
    let forgets = fields.get("forgets", problems, reader::word(&FORGETS));
    let per = fields.get("per", problems, read_per);
    let head = fields.head();
    fields.close(problems);
    counted_and_ignored(counts, ignores, problems);
    counted_and_ignored(at_once, ignores, problems);
    let open_for = open_for?.value;
    let config = BreakerConfig {
        trip: trip?,
        or_consecutive: or_consecutive.map(|limit| limit.value),
        open_for: open_for.base,
        growth: open_for.growth,
        jitter: open_for.jitter,
        probes: probes.map_or(defaults::PROBES, |probes| probes.value),
        half_open: half_open.map_or(BreakerConfig::PLAIN.half_open, |half| half.value),
        counts: counts.map_or(defaults::BREAKER_COUNTS, |counts| counts.value),
        trips_at_once: at_once.map_or(ClassSet::NONE, |set| set.value),
        ignores: ignores.map_or(ClassSet::NONE, |set| set.value),
        uncounted: uncounted.map_or(BreakerConfig::PLAIN.uncounted, |word| word.value),
        cancelled: cancelled.map_or(BreakerConfig::PLAIN.cancelled, |word| word.value),
        release_guarded: guarded.is_none_or(|guarded| guarded.value),
        late_results: late.map_or(defaults::LATE_RESULTS, |late| late.value),
        forgets: forgets.map_or(BreakerConfig::PLAIN.forgets, |word| word.value),
    };
    decidable(&config, half_open.map_or(head, |half| half.place), problems);
    Some(Scoped { config, per: per.map_or(Scope::DEFAULT, |per| per.value) })
}

/// A failure cannot both count and say nothing.
fn counted_and_ignored(
    counted: Option<Spanned<ClassSet>>,
    ignores: Option<Spanned<ClassSet>>,
    problems: &mut Problems,
) {
    let (Some(counted), Some(ignores)) = (counted, ignores) else { return };
    if let Some(class) = ignores.value.iter().find(|class| counted.value.contains(*class)) {
        problems.push_with(
            ignores.place,
            format!("`{class}` is counted and ignored at once"),
            "name each failure in one of `counts`, `trips_at_once` and `ignores`",
        );
    }
}

/// Can the probes of a half-open state decide it?
fn decidable(config: &BreakerConfig, place: Place, problems: &mut Problems) {
    let (half, probes) = (&config.half_open, config.probes);
    match half.decision {
        Decision::AfterAll(all) if all > probes => problems.push_with(
            place,
            format!("{all} probes are to decide, and only {probes} pass"),
            "`decides_after` is at most `probes`",
        ),
        Decision::AfterAll(_) if !has_share(&config.trip) => problems.push_with(
            place,
            "`decides_after` holds the probes against the share of the `window`, and there is none",
            "give `window` a `failure_share` or `more_than`, or use `closes_after`",
        ),
        Decision::First { successes, failures } if half.places == Places::InAll => {
            let successes = if successes == 0 { probes } else { successes };
            let needed = u64::from(successes) + u64::from(failures) - 1;
            if needed > u64::from(probes) {
                problems.push_with(
                    place,
                    format!(
                        "{probes} probes in all need not bring {successes} successes or \
                         {failures} failures: the breaker could stay half-open for ever"
                    ),
                    format!("set `probes` to at least {needed}, or `places: at_once`"),
                );
            }
        }
        _ => {}
    }
}

/// Does it look at a share of failures?
fn has_share(trip: &Trip) -> bool {
    match trip {
        Trip::Window { .. } => true,
        Trip::Rate(rate) => !matches!(rate.limit, Limit::Failures(_)),
        _ => false,
    }
}
