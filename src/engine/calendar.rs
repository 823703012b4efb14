//! What is to come: earliest first, ties by class, then as scheduled.
//!
//! Three stores share one sequence number, and the head is the smallest of their heads:
//!
//! * *lanes* for what happens at this very instant (a hop without latency, a retry without a
//!   wait): four queues, one per class, appended and taken from in order;
//! * *rings* for timeouts of constant length: they fall due in the order in which they are set, so
//!   a queue is enough, and most are stale when their turn comes;
//! * the *wheel* for everything else.
//!
//! Invariant: events come out in the order of (time, class, sequence), whatever store held them;
//! the clock never goes back. Nothing is removed before its turn: who set a timer knows its
//! sequence number and recognises it as stale by that.

use std::collections::VecDeque;

use crate::engine::event::CLASSES;
use crate::engine::event::Event;
use crate::engine::event::Kind;
use crate::engine::event::MAX_TIME;
use crate::engine::wheel::Wheel;
use crate::units::Duration;
use crate::units::SimTime;

/// One event happens at this instant, and no lane holds it.
const ALONE: u8 = 1 << 7;

/// Names a ring of timeouts of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RingId(u32);

/// The pending events of a run and its clock.
pub(super) struct Calendar {
    now: u64,
    /// Events after this moment will never happen and are not kept.
    end: u64,
    sequence: u32,
    /// What happens at this instant: which lanes hold something, or `ALONE`.
    at_hand: u8,
    /// The one event that happens at this instant, where it is alone: the usual case.
    alone: Event,
    lanes: [VecDeque<(u32, u32)>; CLASSES],
    rings: Vec<VecDeque<Event>>,
    /// The smallest head of a ring, and whose it is; it may have been taken back since.
    ring_head: Event,
    ring_of_head: usize,
    wheel: Wheel,
    /// The smaller of the heads of rings and wheel.
    head: Event,
    counts: Counts,
}

/// What went in and out, for the audit:
/// pushed = popped + taken back + beyond + left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Events scheduled.
    pub(super) pushed: u64,
    /// Events taken out, stale ones included.
    pub(super) popped: u64,
    /// Timeouts taken back before their turn.
    pub(super) taken_back: u64,
    /// Events after the end of the run.
    pub(super) beyond: u64,
}

impl Calendar {
    /// An empty calendar for a run that ends at `end`.
    pub(super) fn new(end: SimTime, rings: usize) -> Self {
        Self {
            now: 0,
            end: end.as_nanos().min(MAX_TIME),
            sequence: 0,
            at_hand: 0,
            alone: Event::NONE,
            lanes: Default::default(),
            rings: vec![VecDeque::new(); rings],
            ring_head: Event::NONE,
            ring_of_head: 0,
            wheel: Wheel::default(),
            head: Event::NONE,
            counts: Counts::default(),
        }
    }

    /// The present moment.
    #[inline(always)]
    pub(super) fn now(&self) -> SimTime {
        SimTime::from_nanos(self.now)
    }

    /// Moves the clock on to a moment of control, before which nothing is left to do. Of its own
    /// instant there may be something: what follows from the control before it.
    pub(super) fn advance(&mut self, to: SimTime) {
        let forward =
            if self.at_hand == 0 { to.as_nanos() >= self.now } else { to.as_nanos() == self.now };
        assert!(forward, "the clock never goes back");
        self.now = to.as_nanos();
    }

    /// Schedules an event after `wait` and returns the sequence number that names it.
    #[inline(always)]
    pub(super) fn after(&mut self, wait: Duration, kind: Kind, slot: u32) -> u32 {
        let sequence = self.next_sequence();
        if wait.is_zero() {
            self.at_this_instant(Event::new(self.now, kind, sequence, slot), kind.class());
            return sequence;
        }
        let at = self.now.saturating_add(wait.as_nanos());
        if at > self.end {
            self.counts.beyond += 1;
        } else {
            self.push(Event::new(at, kind, sequence, slot));
        }
        sequence
    }

    /// Schedules a timeout in a ring of timeouts of equal length. Should the length have changed
    /// and the order of the ring be broken, the wheel takes it.
    #[inline(always)]
    pub(super) fn after_in_ring(
        &mut self,
        ring: RingId,
        wait: Duration,
        kind: Kind,
        slot: u32,
    ) -> u32 {
        let at = self.now.saturating_add(wait.as_nanos());
        if at > self.end || wait.is_zero() {
            return self.after(wait, kind, slot);
        }
        let sequence = self.next_sequence();
        let event = Event::new(at, kind, sequence, slot);
        let id = ring.0 as usize;
        let ring = &mut self.rings[id];
        if ring.back().is_some_and(|last| event.overtakes(*last)) {
            self.push(event);
            return sequence;
        }
        ring.push_back(event);
        if event.overtakes(self.ring_head) {
            self.ring_head = event;
            self.ring_of_head = id;
        }
        if event.overtakes(self.head) {
            self.head = event;
        }
        sequence
    }

    /// Puts an event into the wheel, and notes if it is the next of all.
    #[inline(always)]
    fn push(&mut self, event: Event) {
        if event.overtakes(self.head) {
            self.head = event;
            self.wheel.push_first(event);
        } else {
            self.wheel.push(event);
        }
    }

    /// A timeout is no longer awaited: what is stale at either end of its ring is taken back, so
    /// that few timeouts are met when their turn comes. `is_awaited` tells of any event of a ring.
    #[inline(always)]
    pub(super) fn take_back(
        &mut self,
        ring: RingId,
        sequence: u32,
        is_awaited: impl Fn(Event) -> bool,
    ) {
        let ring = &mut self.rings[ring.0 as usize];
        if ring.back().is_some_and(|last| last.sequence() == sequence) {
            ring.pop_back();
            self.counts.taken_back += 1;
        }
        while ring.front().is_some_and(|first| !is_awaited(*first)) {
            ring.pop_front();
            self.counts.taken_back += 1;
        }
    }

    /// Does nothing else happen at this instant? What would be next may then be done at once.
    #[inline(always)]
    pub(super) fn is_quiet(&self) -> bool {
        self.at_hand == 0 && self.head.nanos() > self.now
    }

    /// Takes out the next event before `bound`, or nothing.
    #[inline(always)]
    pub(super) fn next(&mut self, bound: SimTime) -> Option<Event> {
        if self.at_hand != 0
            && let Some(event) = self.next_at_hand()
        {
            return Some(event);
        }
        let head = self.head;
        // No event lies beyond `MAX_TIME`, where `Event::NONE` does.
        if head.nanos() >= bound.as_nanos().min(MAX_TIME) {
            return None;
        }
        let next = if head.sequence() == self.ring_head.sequence() {
            self.pop_ring();
            self.wheel.first()
        } else {
            self.counts.popped += 1;
            self.wheel.pop()
        };
        self.head = next.min(self.ring_head);
        debug_assert!(head.nanos() >= self.now, "the clock never goes back");
        self.now = head.nanos();
        Some(head)
    }

    #[inline(always)]
    fn at_this_instant(&mut self, event: Event, class: u8) {
        if self.at_hand == 0 {
            self.at_hand = ALONE;
            self.alone = event;
        } else {
            self.add_to_lanes(event, class);
        }
    }

    /// More than one event at this instant: the lanes take them, and the one that was alone.
    fn add_to_lanes(&mut self, event: Event, class: u8) {
        if self.at_hand == ALONE {
            self.at_hand = 0;
            self.add_to_lane(self.alone, self.alone.kind().class());
        }
        self.add_to_lane(event, class);
    }

    fn add_to_lane(&mut self, event: Event, class: u8) {
        self.lanes[class as usize].push_back((event.sequence(), event.payload()));
        self.at_hand |= 1 << class;
    }

    /// The next event of this instant, unless the head of rings and wheel comes before it.
    #[inline(never)]
    fn next_at_hand(&mut self) -> Option<Event> {
        let event = if self.at_hand == ALONE { self.alone } else { self.first_in_lanes()? };
        if event > self.head {
            return None;
        }
        if self.at_hand == ALONE {
            self.at_hand = 0;
        } else {
            self.pop_lane();
        }
        self.counts.popped += 1;
        Some(event)
    }

    fn first_in_lanes(&self) -> Option<Event> {
        let class = self.at_hand.trailing_zeros() as u8;
        let &(sequence, payload) = self.lanes[class as usize].front()?;
        Some(Event::packed(self.now, class, sequence, payload))
    }

    fn pop_lane(&mut self) {
        let class = self.at_hand.trailing_zeros();
        let lane = &mut self.lanes[class as usize];
        lane.pop_front();
        if lane.is_empty() {
            self.at_hand &= !(1 << class);
        }
    }

    /// The rings' ids, in order.
    pub(super) fn ring(index: usize) -> RingId {
        RingId(index as u32)
    }

    /// Events that have not happened yet.
    pub(super) fn pending(&self) -> usize {
        self.wheel.len()
            + self.lanes.iter().map(VecDeque::len).sum::<usize>()
            + self.rings.iter().map(VecDeque::len).sum::<usize>()
            + usize::from(self.at_hand == ALONE)
    }

    /// Sequence numbers left before they are used up.
    pub(super) fn sequences_left(&self) -> u32 {
        u32::MAX - self.sequence
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.wheel.bytes()
            + self.lanes.iter().map(|lane| lane.capacity() * 8).sum::<usize>()
            + self.rings.iter().map(|ring| ring.capacity() * 16).sum::<usize>()
    }

    /// What went in and out.
    pub(super) fn counts(&self) -> Counts {
        Counts { pushed: self.sequence.into(), ..self.counts }
    }

    #[inline(always)]
    fn next_sequence(&mut self) -> u32 {
        self.sequence += 1;
        self.sequence
    }

    /// The head of the rings is taken out, if it has not been taken back meanwhile.
    #[inline(always)]
    fn pop_ring(&mut self) {
        let ring = &mut self.rings[self.ring_of_head];
        if ring.front().is_some_and(|first| first.sequence() == self.ring_head.sequence()) {
            ring.pop_front();
            self.counts.popped += 1;
        }
        self.ring_head = Event::NONE;
        for (id, ring) in self.rings.iter().enumerate() {
            if let Some(&first) = ring.front()
                && first < self.ring_head
            {
                self.ring_head = first;
                self.ring_of_head = id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    const LATEST: SimTime = SimTime::from_nanos(MAX_TIME);
    const KINDS: [Kind; 4] = [Kind::WorkEnds, Kind::CallTimesOut, Kind::RetryDue, Kind::Birth];

    proptest! {
        /// Whatever is pushed, before or after events of the same instant came out, the calendar
        /// gives the order of a plain heap on (time, class, sequence).
        #[test]
        fn the_order_is_that_of_a_heap(steps in prop::collection::vec(
            (0u8..8, prop_oneof![Just(0u64), 1u64..4, 1u64..2_000, 1u64..1 << 40], 0usize..4, any::<bool>()),
            1..400,
        )) {
            let end = SimTime::from_nanos(1 << 50);
            let mut calendar = Calendar::new(end, 2);
            let mut heap = BinaryHeap::new();
            for (pushes, wait, kind, ring) in steps {
                for i in 0..pushes {
                    let wait = Duration::from_nanos(wait * u64::from(i % 3));
                    let kind = KINDS[kind];
                    let sequence = if ring {
                        calendar.after_in_ring(Calendar::ring(usize::from(i & 1)), wait, kind, 5)
                    } else {
                        calendar.after(wait, kind, 5)
                    };
                    heap.push(Reverse(Event::new(calendar.now + wait.as_nanos(), kind, sequence, 5)));
                }
                prop_assert_eq!(calendar.next(LATEST), heap.pop().map(|event| event.0));
                prop_assert_eq!(calendar.pending(), heap.len());
            }
            while let Some(Reverse(event)) = heap.pop() {
                prop_assert_eq!(calendar.next(LATEST), Some(event));
            }
            prop_assert_eq!(calendar.next(LATEST), None);
        }
    }

    #[test]
    fn an_empty_calendar_has_nothing_before_any_bound() {
        let mut calendar = Calendar::new(SimTime::NEVER, 0);
        assert_eq!(calendar.next(SimTime::NEVER), None);
    }

    #[test]
    fn nothing_is_kept_beyond_the_end_or_taken_at_the_bound() {
        let mut calendar = Calendar::new(SimTime::from_nanos(100), 0);
        calendar.after(Duration::from_nanos(101), Kind::Birth, 0);
        calendar.after(Duration::MAX, Kind::Birth, 0);
        assert_eq!(calendar.pending(), 0);
        calendar.after(Duration::from_nanos(50), Kind::Birth, 0);
        assert_eq!(calendar.next(SimTime::from_nanos(50)), None);
        assert!(calendar.next(SimTime::from_nanos(51)).is_some());
        assert_eq!(calendar.counts(), Counts { pushed: 3, popped: 1, taken_back: 0, beyond: 2 });
    }
}
