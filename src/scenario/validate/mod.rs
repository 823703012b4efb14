//! From written to meant: names become indices, every default is filled in, and what the parts of
//! a file say about one another is checked. All problems of a file are found in one pass.

mod backoffs;
mod disturbances;
pub(super) mod doubts;
mod doubts_classes;
mod doubts_deferred;
mod doubts_effects;
mod doubts_jobs;
mod doubts_queues;
mod ejections;
mod expect;
mod graph;
mod hedges;
mod inner;
mod policies;
mod queues;
mod recovery;
mod run;
mod system;

pub(super) use expect::expectations;
pub(super) use policies::policy;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::file;
use crate::scenario::file::Named;
use crate::scenario::file::Written;
use crate::scenario::model::Model;
use crate::scenario::node::Node;
use crate::scenario::presets;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;

/// What all trees of a file, merged ones included, may cost: a file of a megabyte must become
/// neither a gigabyte of variants nor a minute of checking.
const MOST_COST: usize = 500_000;

/// What remains of that.
#[derive(Debug)]
pub(super) struct Allowance(usize);

impl Default for Allowance {
    fn default() -> Self {
        Self(MOST_COST)
    }
}

impl Allowance {
    /// Pays for a tree. `false` when there is not enough left.
    pub(super) fn pay(&mut self, cost: usize) -> bool {
        match self.0.checked_sub(cost) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

/// Names of one kind of entity, and their indices.
#[derive(Debug)]
struct Index<'w> {
    what: &'static str,
    names: Vec<&'w str>,
    places: BTreeMap<&'w str, usize>,
    /// Names that are written down, whether or not what they name is right.
    written: BTreeSet<&'w str>,
}

impl<'w> Index<'w> {
    fn of<T>(what: &'static str, entities: &'w [Named<T>], written: Option<&'w Node>) -> Self {
        let names: Vec<_> = entities.iter().map(|entity| entity.name.value.as_str()).collect();
        let places = names.iter().enumerate().map(|(i, name)| (*name, i)).collect();
        let written = written.map(Node::entries).unwrap_or_default();
        let written = written.iter().map(|entry| entry.key.as_str()).collect();
        Self { what, names, places, written }
    }

    fn get(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    fn find(&self, name: &Spanned<String>, problems: &mut Problems) -> Option<usize> {
        let found = self.get(&name.value);
        // What is wrong with something that is there has been said where it is.
        if found.is_none() && !self.written.contains(name.value.as_str()) {
            reader::unknown(name.place, self.what, &name.value, &self.names, problems);
        }
        found
    }
}

/// The names of a scenario.
#[derive(Debug)]
struct Names<'w> {
    clients: Index<'w>,
    queues: Index<'w>,
    services: Index<'w>,
    policies: Index<'w>,
}

/// Reads and checks a whole tree. `None` when it has problems.
pub(super) fn model(
    tree: &Node,
    text: &str,
    allowance: &mut Allowance,
    problems: &mut Problems,
) -> Option<(Model, Heading)> {
    let before = problems.is_empty();
    let mut own = Problems::default();
    let (laid, presets) = presets::expand(tree, &mut own);
    let written = file::read(&laid, &mut own);
    let model = written.and_then(|written| {
        // Changes made later are laid over the tree as written, presets unopened.
        let model = meant(&written, tree, text, allowance, &mut own)?;
        Some((model, written))
    });
    presets::mark(&presets, &mut own);
    problems.take(own);
    let (model, written) = model?;
    let heading = Heading {
        name: written.name.map(|name| name.value).unwrap_or_default(),
        about: written.about.map(|about| about.value).unwrap_or_default(),
        source: written.source.map(|source| source.value).unwrap_or_default(),
    };
    (before && problems.is_empty()).then_some((model, heading))
}

/// What a file says about itself.
#[derive(Debug)]
pub(super) struct Heading {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) source: String,
}

fn meant(
    written: &Written<'_>,
    tree: &Node,
    text: &str,
    allowance: &mut Allowance,
    problems: &mut Problems,
) -> Option<Model> {
    let names = Names {
        clients: Index::of("population", &written.clients, tree.get("clients")),
        queues: Index::of("queue of jobs", &written.queues, tree.get("queues")),
        services: Index::of("service", &written.services, tree.get("services")),
        policies: Index::of("policy", &written.policies, tree.get("policies")),
    };
    let run = run::settings(&written.run, problems);
    let policies = policies::policies(written, &names.policies, problems);
    if !allowance.pay(inner::cost(&policies, tree)) {
        problems.push_with(
            Place::default(),
            "policies inside policies make too large a scenario of this file",
            "name fewer policies as `inner`, or split the file",
        );
        return None;
    }
    let system = system::system(written, &names, &run, policies, problems);
    let triggers = disturbances::triggers(written, &names, &run, problems);
    let system = system?;
    let recovery = recovery::settings(
        &written.run.recovery,
        &run,
        &system,
        disturbances::first_trigger(written),
        problems,
    );
    let mut model = Model {
        run: crate::scenario::model::RunSettings { recovery, ..run },
        populations: system.populations,
        queues: system.queues,
        services: system.services,
        edges: system.edges,
        policies: system.policies,
        triggers,
        operator: Vec::new(),
    };
    model.operator =
        disturbances::operator(written, &names, &model, tree, text, allowance, problems);
    Some(model)
}
