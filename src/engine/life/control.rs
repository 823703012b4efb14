//! Disturbances begin and are lifted, people act, replicas come back, windows end.

use crate::engine::life::Life;
use crate::engine::life::breaking::opening;
use crate::engine::observe::EdgeLevel;
use crate::engine::observe::Observer;
use crate::engine::server::remove_one;
use crate::engine::trigger::Control;
use crate::engine::trigger::TriggeredErrors;
use crate::policy::breaker::BreakerState;
use crate::policy::outcome::Class;
use crate::scenario::model::Deed;
use crate::scenario::model::Effect;
use crate::units::Duration;

impl<O: Observer> Life<'_, O> {
    pub(super) fn control(&mut self, control: Control) {
        match control {
            Control::WindowEnds => self.end_window(),
            Control::TriggerStarts(index) => self.start_trigger(index),
            Control::TriggerEnds(index) => self.end_trigger(index),
            Control::ReplicaReturns { service, replica } => self.bring_back(service, replica),
            Control::OperatorActs(index) => self.act(index),
            Control::SuspensionEnds { queue, destination, nth } => {
                self.resume(queue, destination, Some(nth));
            }
            Control::SheddingEnds(index) => {
                for shares in &mut self.shedding {
                    shares.retain(|(action, _)| *action != index);
                }
            }
        }
    }

    fn start_trigger(&mut self, index: usize) {
        let effect = self.model.triggers[index].effect;
        match effect {
            Effect::Refuse(service) => {
                let struck = self.struck(index, service);
                self.servers[service].refuse(struck);
            }
            Effect::Hang(service) => {
                let struck = self.struck(index, service);
                self.servers[service].hang(struck);
                for replica in 0..struck {
                    self.lose(service, replica, None);
                }
            }
            Effect::Slow { service, factor } => {
                let struck = self.struck(index, service);
                self.servers[service].slow_down(factor, struck);
            }
            Effect::Errors { service, errors } => {
                let replicas = self.struck(index, service);
                let struck = TriggeredErrors { trigger: index as u32, errors, replicas };
                self.servers[service].errors.push(struck);
            }
            Effect::LoseReplies { service, share } => self.effects.losing.push((service, share)),
            Effect::OtherBodies { service, share } => {
                self.effects.other_bodies.push((service, share));
            }
            Effect::Workers { service, share } => {
                self.servers[service].take_workers(share.get());
            }
            Effect::Restart(service) => {
                let lasts = self.model.triggers[index].lasts;
                self.restart(service, lasts);
            }
            Effect::Stop { queue, processes, how } => self.stop_processes(queue, processes, how),
            Effect::Surge { .. } => {} // The arrivals know it from the start.
        }
    }

    fn end_trigger(&mut self, index: usize) {
        let effect = self.model.triggers[index].effect;
        match effect {
            Effect::Refuse(service) => {
                let struck = self.struck(index, service);
                self.servers[service].accept(struck);
            }
            Effect::Hang(service) => {
                let struck = self.struck(index, service);
                self.servers[service].come_to(struck);
            }
            Effect::Slow { service, factor } => {
                let struck = self.struck(index, service);
                self.servers[service].speed_up(factor, struck);
            }
            Effect::Errors { service, errors } => {
                let replicas = self.struck(index, service);
                let struck = TriggeredErrors { trigger: index as u32, errors, replicas };
                remove_one(&mut self.servers[service].errors, &struck);
            }
            Effect::LoseReplies { service, share } => {
                remove_one(&mut self.effects.losing, &(service, share));
            }
            Effect::OtherBodies { service, share } => {
                remove_one(&mut self.effects.other_bodies, &(service, share));
            }
            Effect::Workers { service, share } => {
                self.servers[service].give_workers_back(share.get());
                self.take_all(service);
            }
            Effect::Stop { queue, processes, .. } => self.start_processes(queue, processes),
            Effect::Restart(_) | Effect::Surge { .. } => {}
        }
    }

    /// How many replicas of a service a trigger strikes.
    fn struck(&self, index: usize, service: usize) -> u32 {
        self.model.triggers[index].struck(self.servers[service].replica_count())
    }

    /// Every replica loses what is inside and stays down for a while.
    fn restart(&mut self, service: usize, lasts: Duration) {
        for replica in 0..self.servers[service].replica_count() {
            self.lose(service, replica, Some(Class::ConnectionLost));
            self.go_down(service, replica, lasts);
        }
    }

    /// A crashed replica goes down for as long as its service takes to restart.
    pub(super) fn take_down(&mut self, service: usize, replica: u32) {
        let lasts = self.restart_lasts(service);
        self.go_down(service, replica, lasts);
    }

    fn go_down(&mut self, service: usize, replica: u32, lasts: Duration) {
        self.servers[service].go_down(replica);
        let back_at = self.calendar.now() + lasts;
        self.agenda.add(back_at, Control::ReplicaReturns { service, replica });
        self.control_at = self.control_at.min(back_at);
    }

    fn bring_back(&mut self, service: usize, replica: u32) {
        let overload = self.servers[service].settings.overload;
        let cold = overload.and_then(|overload| overload.cold);
        let lasts = cold.map_or(Duration::ZERO, |cold| cold.lasts);
        self.servers[service].come_back(self.calendar.now(), replica, lasts);
    }

    fn restart_lasts(&self, service: usize) -> Duration {
        let overload = self.servers[service].settings.overload;
        overload.map_or(Deed::RESTART_LASTS, |overload| overload.restarts_after)
    }

    fn act(&mut self, index: usize) {
        match &self.model.operator[index].what {
            Deed::Shed { population, share, .. } => {
                self.shedding[*population].push((index, *share));
            }
            Deed::Set { .. } => {
                let before = self.model.operator[..=index].iter();
                let nth = before.filter(|a| matches!(a.what, Deed::Set { .. })).count();
                self.plan = nth;
                self.widen_bulkheads();
                for service in 0..self.servers.len() {
                    self.servers[service].set(&self.plans[nth].model.services[service]);
                    self.take_all(service); // There may be more workers now.
                }
            }
            Deed::Resume(queue) => self.resume_all(*queue),
            Deed::Flush(service) => self.flush(*service),
            Deed::Restart(service) => {
                let lasts = self.restart_lasts(*service);
                self.restart(*service, lasts);
            }
        }
    }

    /// Tells the observer what is present, and starts the next window.
    pub(super) fn end_window(&mut self) {
        let now = self.calendar.now();
        for (level, server) in self.service_snapshot.iter_mut().zip(&mut self.servers) {
            *level = server.end_window(now);
        }
        for edge in 0..self.edge_levels.len() {
            let (breakers, breakers_open) = self.breakers_of(edge);
            let level = &mut self.edge_levels[edge];
            let backing_off_ns = level.end_window(now);
            self.edge_snapshot[edge] =
                EdgeLevel { backing_off: level.now, backing_off_ns, breakers_open, breakers };
        }
        if self.jobs.on {
            self.jobs.measure_levels(now);
            self.observer.queues_at_window_end(now, &self.jobs.levels);
        }
        self.observer.window_ends(now, &self.service_snapshot, &self.edge_snapshot);
    }

    /// How many breakers the callers along an edge have in use, and how many are not closed.
    fn breakers_of(&mut self, edge: usize) -> (u32, u32) {
        let plan = &self.plans[self.plan];
        let (now, keys) = (self.calendar.now(), self.keys);
        let (mut used, mut open) = (0, 0);
        for breaker in plan.edges[edge].segments().filter_map(|part| part.breaker.as_ref()) {
            let states = &mut self.states[plan.states].breakers;
            for (index, state) in states.used(breaker.indices(plan.instances(edge))) {
                used += 1;
                state.pass_time(&breaker.config, now, &opening(&keys, index));
                open += u32::from(state.state(now) != BreakerState::Closed);
            }
        }
        (used, open)
    }
}
