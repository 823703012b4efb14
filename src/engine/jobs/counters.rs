//! Counters of failures that live outside the jobs: by job, by job and step, by entity, or as a
//! list of nodes.
//!
//! Source: the article on destructive reads, whose counters are keys with an expiry in a store.

use std::collections::BTreeMap;

use crate::engine::jobs::Job;
use crate::scenario::model::Counter;
use crate::scenario::model::CounterScope;
use crate::units::SimTime;

/// What is counted: an id, and a step of it.
type Name = (u64, u16);

/// The counters of a queue.
#[derive(Debug, Default)]
pub(in crate::engine) struct Counters {
    counts: BTreeMap<Name, Count>,
}

#[derive(Debug)]
struct Count {
    count: u32,
    /// `SimTime::NEVER` where nobody has set it.
    forgotten_at: SimTime,
    /// The nodes that have failed, where they are listed.
    nodes: Vec<u16>,
}

impl Counters {
    /// Counts a failure and says how many there are; `keeps_ttl`: its maker lives long enough to
    /// set when it is to be forgotten.
    pub(in crate::engine) fn count(
        &mut self,
        counter: &Counter,
        now: SimTime,
        job: &Job,
        step: u16,
        keeps_ttl: impl FnOnce() -> bool,
    ) -> u32 {
        let name = match counter.scope {
            CounterScope::NewId => return 1,
            CounterScope::Job | CounterScope::Nodes => (job.key, 0),
            CounterScope::JobStep => (job.key, step),
            CounterScope::Entity => (u64::from(job.population) << 32 | u64::from(job.client), 0),
        };
        if self.counts.get(&name).is_some_and(|count| count.forgotten_at <= now) {
            self.counts.remove(&name);
        }
        let it = self.counts.entry(name).or_insert_with(|| Count {
            count: 0,
            forgotten_at: match counter.ttl {
                Some(ttl) if keeps_ttl() => now + ttl,
                _ => SimTime::NEVER,
            },
            nodes: Vec::new(),
        });
        if counter.scope == CounterScope::Nodes {
            if !it.nodes.contains(&job.process) {
                it.nodes.push(job.process);
            }
            it.count = it.nodes.len() as u32;
        } else {
            it.count = it.count.saturating_add(1);
        }
        it.count
    }

    /// A job is over: nobody will ask for its counters again.
    pub(in crate::engine) fn forget(&mut self, counter: &Counter, job: &Job) {
        match counter.scope {
            CounterScope::Entity | CounterScope::NewId => {}
            CounterScope::Job | CounterScope::Nodes => {
                self.counts.remove(&(job.key, 0));
            }
            CounterScope::JobStep => {
                let of_job = self.counts.range((job.key, 0)..=(job.key, u16::MAX));
                let names: Vec<_> = of_job.map(|(name, _)| *name).collect();
                for name in names {
                    self.counts.remove(&name);
                }
            }
        }
    }

    pub(in crate::engine) fn bytes(&self) -> usize {
        self.counts.len() * (size_of::<Name>() + size_of::<Count>() + 16)
    }
}
