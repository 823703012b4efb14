//! Control: triggers, what the operator does, replicas that come back, and the ends of windows.
//!
//! Control stands outside the calendar. At one instant it comes before everything else (rule
//! R13), ends of windows first, then what was listed first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::scenario::model::Deed;
use crate::scenario::model::Errors;
use crate::scenario::model::Model;
use crate::units::Duration;
use crate::units::SimTime;

/// What control does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Control {
    /// Closes a window of the series.
    WindowEnds,
    /// Puts an effect on (index into `Model::triggers`).
    TriggerStarts(usize),
    /// Takes it off.
    TriggerEnds(usize),
    /// A crashed or restarted replica is back.
    ReplicaReturns { service: usize, replica: u32 },
    /// People act (index into `Model::operator`).
    OperatorActs(usize),
    /// The operator stops shedding.
    SheddingEnds(usize),
    /// The `nth` suspension of a destination ends.
    SuspensionEnds { queue: usize, destination: usize, nth: u32 },
}

/// What control will do, by time.
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(SimTime, u32, Control)>>,
    listed: u32,
    window: Duration,
    next_window: SimTime,
}

impl Agenda {
    /// The agenda of a run, as far as the model fixes it.
    pub(super) fn new(model: &Model) -> Self {
        let start = SimTime::ZERO + model.run.warm_up;
        let mut agenda = Self {
            heap: BinaryHeap::new(),
            listed: 0,
            window: model.run.window,
            next_window: SimTime::ZERO + model.run.window,
        };
        for (index, trigger) in model.triggers.iter().enumerate() {
            agenda.add(start + trigger.at, Control::TriggerStarts(index));
            agenda.add(start + trigger.at + trigger.lasts, Control::TriggerEnds(index));
        }
        for (index, action) in model.operator.iter().enumerate() {
            agenda.add(start + action.at, Control::OperatorActs(index));
            if let Deed::Shed { lasts, .. } = action.what {
                agenda.add(start + action.at + lasts, Control::SheddingEnds(index));
            }
        }
        agenda
    }

    /// Lists something for a moment that is not past.
    pub(super) fn add(&mut self, at: SimTime, control: Control) {
        self.listed += 1;
        self.heap.push(Reverse((at, self.listed, control)));
    }

    /// The moment of the next control.
    pub(super) fn next_at(&self) -> SimTime {
        self.heap.peek().map_or(self.next_window, |Reverse((at, ..))| self.next_window.min(*at))
    }

    /// Takes the next control.
    pub(super) fn take(&mut self) -> (SimTime, Control) {
        if let Some(Reverse((at, _, control))) = self.heap.peek().copied()
            && at < self.next_window
        {
            self.heap.pop();
            return (at, control);
        }
        let at = self.next_window;
        self.next_window = at + self.window;
        (at, Control::WindowEnds)
    }
}

/// Errors of a trigger that is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TriggeredErrors {
    /// Its place among the triggers.
    pub(super) trigger: u32,
    pub(super) errors: Errors,
    /// It strikes so many replicas, the first ones.
    pub(super) replicas: u32,
}
