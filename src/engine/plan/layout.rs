//! Where the states of strategies lie: which calls share one, and how many there are.

use std::collections::BTreeMap;

use crate::policy::stack::CallerScope;
use crate::policy::stack::Policy;
use crate::policy::stack::Scope;
use crate::policy::stack::Scoped;
use crate::policy::stack::TargetScope;
use crate::scenario::model::Caller;
use crate::scenario::model::Edge;
use crate::scenario::model::Model;

/// A strategy with state: its settings, and where its states lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::engine) struct Shared<T> {
    pub(in crate::engine) config: T,
    base: usize,
    per_caller: bool,
}

impl<T> Shared<T> {
    /// The state of the caller's instance.
    #[inline(always)]
    pub(in crate::engine) fn index(&self, instance: u32) -> usize {
        if self.per_caller { self.base + instance as usize } else { self.base }
    }

    /// The states of all instances of a group of that size.
    pub(in crate::engine) fn indices(&self, instances: usize) -> std::ops::Range<usize> {
        self.base..self.base + if self.per_caller { instances } else { 1 }
    }
}

/// How many states each kind of strategy needs, and which belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::engine) struct Layout {
    pub(in crate::engine) budgets: States,
    pub(in crate::engine) throttles: States,
    pub(in crate::engine) breakers: States,
    pub(in crate::engine) bulkheads: States,
    pub(in crate::engine) latencies: States,
    pub(in crate::engine) ejections: States,
}

/// Whose states lie together: the policy's name, its retry or its hedge, caller group and target,
/// where the scope tells them apart.
type Block = (String, Whose, Option<usize>, Option<usize>);

/// Which strategy of a policy has a state: a budget may be that of a retry or of a hedge. Of
/// ejection the kinds have states apart: one cannot take over from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whose {
    Hedge,
    Outliers,
    Other,
}

/// A policy on an edge, for which a plan is made.
pub(super) struct Site<'m> {
    pub(super) model: &'m Model,
    pub(super) index: usize,
    pub(super) edge: &'m Edge,
    pub(super) policy: &'m Policy,
    pub(super) depth: usize,
}

/// The states of one kind: where each block begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::engine) struct States {
    blocks: BTreeMap<Block, usize>,
    pub(in crate::engine) len: usize,
}

impl States {
    /// Where the states of a strategy lie for one edge.
    pub(super) fn place<T: Copy>(
        &mut self,
        scoped: Scoped<T>,
        whose: Whose,
        site: &Site,
    ) -> Shared<T> {
        let Scope { caller, target } = scoped.per;
        let edge = site.edge;
        let (group, instances) = caller_group(edge.caller, site.model);
        let per_caller = caller == CallerScope::Caller;
        let key = (
            site.policy.name.clone(),
            whose,
            (caller != CallerScope::All).then_some(group),
            (target == TargetScope::Target).then_some(edge.target),
        );
        let size = if per_caller { instances } else { 1 };
        let base = match self.blocks.get(&key) {
            Some(&base) => base,
            None => {
                let base = self.len;
                self.blocks.insert(key, base);
                self.len += size;
                base
            }
        };
        Shared { config: scoped.config, base, per_caller }
    }
}

/// A number for a caller's group, and how many instances it has.
pub(super) fn caller_group(caller: Caller, model: &Model) -> (usize, usize) {
    match caller {
        // What is kept for each caller of a job is kept by each process.
        Caller::Population(id) => match model.populations[id].queue {
            Some(queue) => (id, model.queues[queue].processes as usize),
            None => (id, model.populations[id].size as usize),
        },
        Caller::Service(id) => (model.populations.len() + id, model.services[id].replicas as usize),
    }
}
