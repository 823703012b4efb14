//! The scenario as written: every value optional, each with its place.
//!
//! Reading checks shape, types and ranges. What needs more than one place of the file to decide
//! (names, sums, defaults that depend on other values) is left to `validate`.

mod amounts;
mod answers;
mod backoffs;
mod breakers;
mod budgets;
mod clients;
mod deferred;
mod distribution;
mod disturbances;
mod effects;
mod ejections;
mod expect;
mod hedges;
mod hints;
mod jitters;
mod limiters;
mod policies;
mod queues;
mod run;
mod services;
mod throttles;
mod timeouts;

pub(super) use backoffs::Change;
pub(super) use backoffs::WrittenBackoff;
pub(super) use budgets::WrittenBudget;
pub(super) use clients::RatePoint;
pub(super) use clients::WrittenArrivals;
pub(super) use clients::WrittenClients;
pub(super) use disturbances::WrittenAction;
pub(super) use disturbances::WrittenDeed;
pub(super) use disturbances::WrittenEffect;
pub(super) use disturbances::WrittenTrigger;
pub use expect::Kind as MeasureKind;
pub(super) use expect::WrittenExpectation;
pub(super) use expect::WrittenMeasure;
pub(super) use expect::kind_of;
pub(super) use expect::measure_names;
pub(super) use expect::read as read_expectations;
pub(super) use hedges::WrittenAfter;
pub(super) use hedges::WrittenHedge;
pub(super) use jitters::WrittenJitter;
pub(super) use policies::WrittenPolicy;
pub(super) use policies::WrittenRetry;
pub(super) use policies::read as read_policy;
pub(super) use queues::WrittenQueue;
pub(super) use run::WrittenRecovery;
pub(super) use run::WrittenRun;
pub(super) use services::WrittenLink;
pub(super) use services::WrittenService;

use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;

/// Entities of one kind; all kinds together are bounded again in `validate`.
pub(super) const MOST_ENTITIES: usize = 10_000;
/// The number that says which language a file is written in.
const SCHEMA: u64 = 1;
/// What `explain --json` says of a scenario beside it; nothing is read from it.
pub(crate) const EXPLAINED: &str = "explained";
/// Characters of a name.
const LONGEST_NAME: usize = 100;

/// Something with a name.
#[derive(Clone, Debug)]
pub(super) struct Named<T> {
    pub(super) name: Spanned<String>,
    pub(super) it: T,
}

/// A whole scenario, or a variant merged over its base.
#[derive(Debug)]
pub(super) struct Written<'t> {
    pub(super) name: Option<Spanned<String>>,
    pub(super) about: Option<Spanned<String>>,
    pub(super) source: Option<Spanned<String>>,
    pub(super) run: WrittenRun,
    pub(super) clients: Vec<Named<WrittenClients>>,
    pub(super) queues: Vec<Named<WrittenQueue>>,
    pub(super) services: Vec<Named<WrittenService>>,
    pub(super) default_link: WrittenLink,
    pub(super) links: Vec<Named<WrittenLink>>,
    pub(super) policies: Vec<Named<WrittenPolicy>>,
    pub(super) triggers: Vec<WrittenTrigger>,
    pub(super) operator: Vec<WrittenAction<'t>>,
}

/// Reads the whole tree. `variants` and `expect` are known here and read elsewhere.
pub(super) fn read<'t>(root: &'t Node, problems: &mut Problems) -> Option<Written<'t>> {
    let mut fields = Fields::open(root, "a scenario", problems)?;
    fields.need("schema", "begin the file with `schema: 1`", problems, |node, problems| {
        let found = reader::integer(node, problems, 0..=u64::MAX)?;
        if found != SCHEMA {
            problems.push_with(
                node.place,
                format!("this program does not know schema {found}"),
                "write `schema: 1`",
            );
        }
        Some(found)
    });
    let name = fields.need("name", "it names the results folder", problems, scenario_name);
    let about = fields.get("about", problems, reader::text);
    let source = fields.get("source", problems, reader::text);
    let run = match fields.take("run") {
        Some(node) => run::read(node, problems).unwrap_or_default(),
        None => WrittenRun::default(),
    };
    let clients =
        fields.need("clients", "who asks? add at least one population", problems, |n, p| {
            named(n, "`clients`", p, clients::read)
        });
    let services =
        fields.need("services", "who answers? add at least one service", problems, |n, p| {
            named(n, "`services`", p, services::read)
        });
    for (key, found) in [
        ("clients", clients.as_ref().map(|map| (map.place, map.value.is_empty()))),
        ("services", services.as_ref().map(|map| (map.place, map.value.is_empty()))),
    ] {
        if let Some((place, true)) = found {
            problems.push_with(
                place,
                format!("`{key}` names nothing: at least one is needed"),
                if key == "clients" {
                    "as `{ web: { arrivals: { poisson: 25/s }, calls: SERVICE } }`"
                } else {
                    "as `{ database: { workers: 4, work: { exponential: 10ms } } }`"
                },
            );
        }
    }
    let queues =
        fields.take("queues").and_then(|node| named(node, "`queues`", problems, queues::read));
    let (default_link, links) = match fields.take("links") {
        Some(node) => services::read_links(node, problems),
        None => Default::default(),
    };
    let policies = fields
        .take("policies")
        .and_then(|node| named(node, "`policies`", problems, policies::read));
    let triggers = fields
        .take("triggers")
        .and_then(|node| items(node, "`triggers`", problems, disturbances::read_trigger));
    let operator = fields
        .take("operator")
        .and_then(|node| items(node, "`operator`", problems, disturbances::read_action));
    fields.take("variants");
    fields.take("expect");
    fields.take(EXPLAINED);
    fields.close(problems);
    Some(Written {
        name,
        about,
        source,
        run,
        clients: clients.map(|map| map.value).unwrap_or_default(),
        queues: queues.unwrap_or_default(),
        services: services.map(|map| map.value).unwrap_or_default(),
        default_link,
        links,
        policies: policies.unwrap_or_default(),
        triggers: triggers.unwrap_or_default(),
        operator: operator.unwrap_or_default(),
    })
}

/// A map from names to descriptions.
fn named<'t, T>(
    node: &'t Node,
    what: &str,
    problems: &mut Problems,
    read: impl Fn(&'t Node, &mut Problems) -> Option<T>,
) -> Option<Vec<Named<T>>> {
    let Value::Map(entries) = &node.value else {
        problems.push_with(
            node.anchor(),
            format!("{what} is a map from names, not {}", node.kind()),
            "write a name, a colon, and its settings below or in braces",
        );
        return None;
    };
    if entries.len() > MOST_ENTITIES {
        let problem = format!("{what} holds more than {MOST_ENTITIES} names");
        problems.push_with(node.head, problem, "a model of so many parts can be made smaller");
        return None;
    }
    let mut all = Vec::with_capacity(entries.len());
    for entry in entries {
        check_name(&entry.key, entry.place, problems);
        if let Some(it) = read(&entry.node, problems) {
            let name = Spanned { value: entry.key.clone(), place: entry.place };
            all.push(Named { name, it });
        }
    }
    Some(all)
}

/// A list of descriptions.
fn items<'t, T>(
    node: &'t Node,
    what: &str,
    problems: &mut Problems,
    read: impl Fn(&'t Node, &mut Problems) -> Option<T>,
) -> Option<Vec<T>> {
    let nodes = reader::list(node, what, problems)?;
    if nodes.len() > MOST_ENTITIES {
        let problem = format!("{what} holds more than {MOST_ENTITIES} entries");
        problems.push_with(node.head, problem, "a model of so many parts can be made smaller");
        return None;
    }
    Some(nodes.iter().filter_map(|node| read(node, problems)).collect())
}

/// Names stand in dotted paths, in tables and in links: letters, digits, `_` and `-`.
pub(super) fn check_name(name: &str, place: Place, problems: &mut Problems) {
    let fits = name.chars().count() <= LONGEST_NAME
        && name.starts_with(|c: char| c.is_alphanumeric())
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    if !fits {
        problems.push_with(
            place,
            "this is not a name",
            "a name has letters, digits, `_` and `-`, begins with a letter or digit, and is at most \
             100 characters long",
        );
    }
}

/// The scenario's own name is also that of a folder.
fn scenario_name(node: &Node, problems: &mut Problems) -> Option<String> {
    let name = reader::text(node, problems)?;
    let fits = name.len() <= LONGEST_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if !fits {
        problems.push_with(
            node.place,
            "this cannot name a folder",
            "a scenario's name has the letters a to z, digits, `_` and `-`, and is at most 100 long",
        );
    }
    Some(name)
}

/// A name that is looked up later.
fn reference(node: &Node, problems: &mut Problems) -> Option<String> {
    reader::name(node, problems)
}
