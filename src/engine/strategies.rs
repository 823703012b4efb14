//! The states that policies share over calls: budgets, throttles, breakers with those who wait
//! behind their probes, bulkheads with their lines. Each is made when it is first used.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use crate::engine::caller::Call;
use crate::engine::caller::Flag;
use crate::engine::caller::NOBODY;
use crate::engine::plan::Layout;
use crate::engine::plan::Plan;
use crate::engine::slab::Slab;
use crate::policy::breaker::Breaker;
use crate::policy::budget::Budget;
use crate::policy::budget::BudgetConfig;
use crate::policy::ejection::EjectionConfig;
use crate::policy::ejection::Pool;
use crate::policy::hedge::latency::Percentile;
use crate::policy::limiter::Bulkhead;
use crate::policy::limiter::BulkheadConfig;
use crate::policy::limiter::adaptive::Adaptive;
use crate::policy::limiter::adaptive::window::Window;
use crate::policy::limiter::bulkhead::Line;
use crate::policy::throttle::Throttle;
use crate::policy::throttle::ThrottleConfig;
use crate::units::SimTime;

/// The states that the strategies of one layout share, made when first used.
pub(super) struct Strategies {
    pub(super) budgets: Lazy<Budget>,
    pub(super) throttles: Lazy<Throttle>,
    pub(super) breakers: Lazy<Breaker>,
    pub(super) bulkheads: Lazy<Room>,
    pub(super) latencies: Lazy<Percentile>,
    pub(super) pools: Lazy<Pool>,
    /// What the pools hold beside their records, in bytes.
    in_pools: usize,
    /// Who waits behind the probes of each breaker, in order.
    pub(super) behind_probes: BTreeMap<usize, VecDeque<BehindOne>>,
}

/// A call that waits behind the probe of an epoch. Who gives up leaves its entry behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct BehindOne {
    pub(super) epoch: u32,
    pub(super) slot: u32,
    /// Tells the call from a later one in the same slot.
    pub(super) key: u64,
}

/// A bulkhead and the calls that wait for a place in it, in order.
#[derive(Default)]
pub(super) struct Room {
    pub(super) bulkhead: Bulkhead,
    pub(super) line: VecDeque<InLine>,
    /// Its limit, where that adapts and has begun to.
    pub(super) adaptive: Option<Adaptive>,
    /// The requests of which it has not heard yet, where it hears of many at once.
    pub(super) window: Window,
}

impl Room {
    /// Who is next in line, and has been given a place, is called.
    pub(super) fn call_next(&mut self, line: Line, calls: &mut Slab<Call<'_>>) -> Option<u32> {
        let next = |entries: &mut VecDeque<InLine>| match line {
            Line::Fifo => entries.pop_front(),
            Line::Lifo => entries.pop_back(),
        };
        while let Some(next) = next(&mut self.line) {
            if next.is_in_line(calls) {
                let call = &mut calls[next.slot];
                call.timer = 0; // Its patience is no longer needed.
                call.state.take(Flag::IN_LINE);
                call.state.set(Flag::CALLED);
                return Some(next.slot);
            }
        }
        None
    }

    /// How many it lets in just now.
    pub(super) fn limit(&self, config: &BulkheadConfig) -> u32 {
        match (&self.adaptive, config.adapts) {
            (Some(adaptive), Some(_)) => adaptive.limit(),
            _ => config.limit,
        }
    }
}

/// A call in the line before a bulkhead. Who gives up leaves its entry behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct InLine {
    pub(super) slot: u32,
    /// Tells the call from a later one in the same slot.
    pub(super) key: u64,
}

impl InLine {
    /// Does the call still wait?
    pub(super) fn is_in_line(self, calls: &Slab<Call<'_>>) -> bool {
        let call = &calls[self.slot];
        call.key == self.key && call.state.has(Flag::IN_LINE)
    }
}

impl Strategies {
    pub(super) fn new(layout: &Layout) -> Self {
        Self {
            budgets: Lazy::new(layout.budgets.len),
            throttles: Lazy::new(layout.throttles.len),
            breakers: Lazy::new(layout.breakers.len),
            bulkheads: Lazy::new(layout.bulkheads.len),
            latencies: Lazy::new(layout.latencies.len),
            pools: Lazy::new(layout.ejections.len),
            in_pools: 0,
            behind_probes: BTreeMap::new(),
        }
    }

    /// One set of states for each different layout.
    pub(super) fn of_plans(plans: &[Plan]) -> Vec<Self> {
        let mut states = Vec::new();
        for plan in plans {
            if plan.states == states.len() {
                states.push(Self::new(&plan.layout));
            }
        }
        states
    }

    /// The budget of an index, full as at the start when it was never used.
    #[inline(always)]
    pub(super) fn budget(&mut self, index: usize, config: &BudgetConfig) -> &mut Budget {
        self.budgets.get(index, || config.start(SimTime::ZERO))
    }

    /// The throttle of an index, as at the start when it was never used.
    #[inline(always)]
    pub(super) fn throttle(&mut self, index: usize, config: &ThrottleConfig) -> &mut Throttle {
        self.throttles.get(index, || config.start(SimTime::ZERO))
    }

    /// What is known of the replicas of an index: nothing when it was never used.
    pub(super) fn pool(
        &mut self,
        index: usize,
        config: &EjectionConfig,
        replicas: u32,
    ) -> &mut Pool {
        let in_pools = &mut self.in_pools;
        self.pools.get(index, || {
            let pool = config.start(replicas);
            *in_pools += pool.bytes();
            pool
        })
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.budgets.bytes()
            + self.throttles.bytes()
            + self.breakers.bytes()
            + self.bulkheads.bytes()
            + self.latencies.bytes()
            + self.pools.bytes()
            + self.in_pools
    }
}

/// States made when first used: four bytes for one that never is.
pub(super) struct Lazy<T> {
    slots: Vec<u32>,
    states: Vec<T>,
    /// Whose state each is.
    indices: Vec<u32>,
    len: usize,
}

impl<T> Lazy<T> {
    fn new(len: usize) -> Self {
        Self { slots: Vec::new(), states: Vec::new(), indices: Vec::new(), len }
    }

    #[inline(always)]
    pub(super) fn get(&mut self, index: usize, new: impl FnOnce() -> T) -> &mut T {
        if self.slots.is_empty() {
            self.slots = vec![NOBODY; self.len];
        }
        let slot = &mut self.slots[index];
        if *slot == NOBODY {
            *slot = self.states.len() as u32;
            self.states.push(new());
            self.indices.push(index as u32);
        }
        &mut self.states[*slot as usize]
    }

    /// The same, to be changed.
    pub(super) fn used_mut(&mut self, index: usize) -> Option<&mut T> {
        self.slots.get(index).and_then(|slot| self.states.get_mut(*slot as usize))
    }

    /// The states ever used.
    pub(super) fn all(&self) -> impl Iterator<Item = &T> {
        self.states.iter()
    }

    /// The states ever used of those in `range`, with their indices.
    pub(super) fn used(
        &mut self,
        range: std::ops::Range<usize>,
    ) -> impl Iterator<Item = (usize, &mut T)> {
        let indexed = self.indices.iter().zip(&mut self.states);
        indexed
            .map(|(index, state)| (*index as usize, state))
            .filter(move |(index, _)| range.contains(index))
    }

    fn bytes(&self) -> usize {
        (self.slots.capacity() + self.indices.capacity()) * 4
            + self.states.capacity() * size_of::<T>()
    }
}
