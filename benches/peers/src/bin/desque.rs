//! W2 on desque: an event is a value with a trait; the model is the state of the simulation.

use std::cmp::Ordering;

use desque::SimState;
use desque::SimTime;
use desque::serial::Event as Scheduled;
use desque::serial::Simulation;
use stormlab_peers::Event;
use stormlab_peers::HORIZON;
use stormlab_peers::Model;
use stormlab_peers::report;

fn main() {
    report("desque", |seed| {
        let mut model = Model::new(seed);
        let mut first = Vec::new();
        model.begin(|delay, event| first.push((delay, event)));
        let mut simulation = Simulation::new(State(model), Seconds(0.0));
        for (delay, event) in first {
            simulation.schedule(Happens(event), Seconds(delay)).expect("it is not past");
        }
        simulation.run().expect("nothing fails");
        simulation.state().0.counts()
    });
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Seconds(f64);

impl Eq for Seconds {}

impl Ord for Seconds {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl SimTime for Seconds {}

struct State(Model);

impl SimState<Seconds> for State {
    fn is_complete(&self, now: &Seconds) -> bool {
        now.0 >= HORIZON
    }
}

#[derive(Debug)]
struct Happens(Event);

/// The most that one event leads to: all workers start again, and a birth more.
const MOST: usize = 12;

impl Scheduled<State, Seconds> for Happens {
    fn execute(&mut self, simulation: &mut Simulation<State, Seconds>) -> desque::Result {
        let now = simulation.current_time().0;
        let mut following = [None; MOST];
        let mut count = 0;
        simulation.state_mut().0.happen(now, self.0, |delay, event| {
            following[count] = Some((delay, event));
            count += 1;
        });
        for (delay, event) in following[..count].iter().flatten() {
            simulation.schedule(Happens(*event), Seconds(now + delay))?;
        }
        Ok(())
    }
}
