//! R4: the replica of an attempt, where a caller leaves some of them out, and what it learns of it.

use crate::engine::caller::Call;
use crate::engine::life::Life;
use crate::engine::observe::Observer;
use crate::engine::plan::EdgePlan;
use crate::policy::ejection::Choice;
use crate::policy::outcome::Class;
use crate::random::Keys;
use crate::random::Purpose;
use crate::random::mix;
use crate::scenario::model::Balance;
use crate::units::Draw;

/// What decides the random part of each ejection of a replica by the pool of an index.
fn ejecting(keys: &Keys, index: usize) -> impl Fn(u32, u32) -> Draw {
    move |replica, nth| keys.draw(Purpose::Ejection, mix(index as u64, u64::from(replica)), nth)
}

impl<O: Observer> Life<'_, O> {
    /// The replica of an attempt of a call whose policy leaves some out; `None`: all of them.
    ///
    /// In turn the next is the one after the one chosen, so that nobody gets the share of a replica
    /// that is out beside its own.
    #[inline(never)]
    pub(super) fn choose_among(&mut self, slot: u32, call: Call<'_>, key: u64) -> Option<u16> {
        let edge = call.edge;
        let Some(ejection) = &edge.ejection else {
            return Some(self.choose_replica(edge, call.parent, key));
        };
        let balance = self.servers[edge.target].settings.balance;
        let choice = match balance {
            Balance::RoundRobin => Choice::From(self.turns[edge.index]),
            Balance::ByDestination | Balance::ByProcess => {
                Choice::From(self.choose_replica(edge, call.parent, key).into())
            }
            Balance::Random => Choice::Drawn(self.rare_draw(Purpose::Balance, key, 0)),
        };
        let index = ejection.index(self.instance_of(call.parent));
        let now = self.calendar.now();
        let draw = ejecting(&self.keys, index);
        let pool = self.states[edge.states].pool(index, &ejection.config, edge.replicas);
        let chosen = pool.choose(&ejection.config, now, choice, &draw)?;
        if balance == Balance::RoundRobin {
            self.turns[edge.index] = (chosen.replica + 1) % edge.replicas;
        }
        self.memories[slot as usize].chosen = Some(chosen);
        Some(chosen.replica as u16)
    }

    /// The attempt that is out has come to an outcome.
    pub(super) fn judge_replica(&mut self, slot: u32, edge: &EdgePlan, outcome: Result<(), Class>) {
        let Some(ejection) = &edge.ejection else { return };
        let Some(chosen) = self.memories[slot as usize].chosen.take() else { return };
        let index = ejection.index(self.instance_of(self.calls[slot].parent));
        let now = self.calendar.now();
        let draw = ejecting(&self.keys, index);
        let pool = self.states[edge.states].pool(index, &ejection.config, edge.replicas);
        pool.report(&ejection.config, chosen, now, outcome.err(), &draw);
    }

    /// The attempt that is out is given up, and nobody will know what came of it.
    pub(super) fn forget_replica(&mut self, slot: u32) {
        let Call { edge, parent, .. } = self.calls[slot];
        let Some(ejection) = &edge.ejection else { return };
        let Some(chosen) = self.memories[slot as usize].chosen.take() else { return };
        let index = ejection.index(self.instance_of(parent));
        let now = self.calendar.now();
        let draw = ejecting(&self.keys, index);
        let pool = self.states[edge.states].pool(index, &ejection.config, edge.replicas);
        pool.forget(&ejection.config, chosen, now, &draw);
    }
}
