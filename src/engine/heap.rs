//! A four-ary heap of events: the calendar's side table for what falls due soon.
//!
//! Four children lie side by side in one or two cache lines, so a step down costs one look.

use crate::engine::event::Event;

/// Events, earliest first.
#[derive(Default)]
pub(super) struct Heap {
    events: Vec<Event>,
}

impl Heap {
    #[inline(always)]
    pub(super) fn first(&self) -> Event {
        self.events.first().copied().unwrap_or(Event::NONE)
    }

    /// Adds an event that was scheduled after all others here.
    #[inline(always)]
    pub(super) fn push(&mut self, event: Event) {
        let mut hole = self.events.len();
        self.events.push(event);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if !event.overtakes(self.events[parent]) {
                break;
            }
            self.events[hole] = self.events[parent];
            hole = parent;
        }
        self.events[hole] = event;
    }

    /// Removes the first event; does nothing when there is none.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        let Some(last) = self.events.pop() else { return };
        let len = self.events.len();
        if len == 0 {
            return;
        }
        let mut hole = 0;
        loop {
            let child = 4 * hole + 1;
            let best = if child + 4 <= len {
                let four = &self.events[child..child + 4];
                let a = usize::from(four[1] < four[0]);
                let b = 2 + usize::from(four[3] < four[2]);
                child + if four[b] < four[a] { b } else { a }
            } else if child < len {
                // The last, partial family.
                (child..len).min_by_key(|i| self.events[*i]).unwrap_or(child)
            } else {
                break;
            };
            if self.events[best] >= last {
                break;
            }
            self.events[hole] = self.events[best];
            hole = best;
        }
        self.events[hole] = last;
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.events.capacity() * size_of::<Event>()
    }
}
