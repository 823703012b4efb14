//! A radix wheel: pending events by the bytes of their time, sorted only when their turn is near.
//!
//! Eight levels of 256 slots. An event lies at the level of the highest byte in which its time
//! differs from `limit`, in the slot that this byte names; slots are chains of chunks from one
//! slab. When the sorted part is used up, the next slot is taken: a small one is sorted at once,
//! whatever its level, a large one is dealt out to the levels below. There is no tick to choose;
//! sparse calendars never cascade, and dense ones once or twice per event. When only a few events
//! are left, all of them are kept sorted and the slots stay empty until they have become many.
//!
//! Invariant: every event in `sorted` and `late` is at or before `limit`, every event in the slots
//! after it. Events may be pushed for any moment that is not past, also before others already
//! seen at the head: those are put in their place among the sorted, or go to the side heap `late`
//! where these are many. `fresh` comes before none that `first` has given.
//!
//! Source: radix heaps (Ahuja, Mehlhorn, Orlin, Tarjan 1990) and hierarchical timing wheels
//! (Varghese, Lauck 1987); measured against heaps, ladders and calendar queues at 10² to 10⁷
//! pending events.

use crate::engine::event::Event;
use crate::engine::heap::Heap;

/// Events of a chunk: with its link a chunk is 256 bytes.
const CHUNK: usize = 15;
/// A slot with at most this many events is sorted at once.
const SORT_AT_ONCE: u32 = 96;
/// With fewer sorted events than this, a late one is put in its place among them; with as many,
/// and none in the slots, half of them go there.
const INSERT_BELOW: usize = 64;
/// So few events in slots are all sorted at once, and the slots stay empty until they are many.
const FEW: usize = 32;
const NONE: u32 = u32::MAX;
const LEVELS: usize = 8;

struct Chunk {
    events: [Event; CHUNK],
    next: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    /// The newest chunk; only this one may be partly filled.
    chunk: u32,
    events: u32,
}

const EMPTY: Slot = Slot { chunk: NONE, events: 0 };

/// Pending events, earliest first.
pub(super) struct Wheel {
    /// The event pushed last, where it has no place yet; `Event::NONE` otherwise.
    fresh: Event,
    limit: u64,
    slots: Vec<Slot>,
    occupied: [[u64; 4]; LEVELS],
    chunks: Vec<Chunk>,
    free_chunk: u32,
    /// Latest first, so that the next event is at the end.
    sorted: Vec<Event>,
    late: Heap,
    spare: Vec<Event>,
    in_slots: usize,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            fresh: Event::NONE,
            limit: 0,
            slots: vec![EMPTY; LEVELS * 256],
            occupied: [[0; 4]; LEVELS],
            chunks: Vec::new(),
            free_chunk: NONE,
            sorted: Vec::new(),
            late: Heap::default(),
            spare: Vec::new(),
            in_slots: 0,
        }
    }
}

impl Wheel {
    /// Adds an event that does not come before all others.
    ///
    /// Where it belongs is decided when the next one is pushed. Its time has just been drawn, and
    /// a processor that guesses wrong before it knows the time loses all the way of the draw.
    #[inline(always)]
    pub(super) fn push(&mut self, event: Event) {
        let before = std::mem::replace(&mut self.fresh, event);
        if before != Event::NONE {
            self.sort_in(before);
        }
    }

    /// Adds an event that comes before all others.
    pub(super) fn push_first(&mut self, event: Event) {
        self.push(event);
        self.settle();
    }

    /// Decides where the last event that was pushed belongs.
    fn settle(&mut self) {
        self.push(Event::NONE);
    }

    #[inline(never)]
    fn sort_in(&mut self, event: Event) {
        if event.nanos() <= self.limit {
            if self.sorted.len() < INSERT_BELOW {
                self.insert(event);
            } else if self.limit < u64::MAX {
                self.late.push(event);
            } else {
                self.deal_out_half();
                self.sort_in(event);
            }
        } else {
            self.in_slots += 1;
            self.place(event);
        }
    }

    /// Puts an event into its place among few that are sorted, and were scheduled before it.
    #[inline(always)]
    fn insert(&mut self, event: Event) {
        let last = self.sorted.len();
        self.sorted.push(event);
        // Moved one by one: a block move would wait for what was written just before.
        let sorted = &mut self.sorted[..=last];
        let mut hole = last;
        for before in (0..last).rev() {
            if event.overtakes(sorted[before]) {
                break;
            }
            sorted[before + 1] = sorted[before];
            hole = before;
        }
        sorted[hole] = event;
    }

    /// All events are sorted and have become many: the later ones go to the slots.
    #[cold]
    #[inline(never)]
    fn deal_out_half(&mut self) {
        let limit = self.sorted[self.sorted.len() / 2].nanos();
        let later = self.sorted.partition_point(|event| event.nanos() > limit);
        self.limit = limit;
        let mut events = std::mem::take(&mut self.spare);
        events.clear();
        events.extend(self.sorted.drain(..later));
        self.in_slots += later;
        for event in events.drain(..) {
            self.place(event);
        }
        self.spare = events;
    }

    /// Few events are left in the slots: all of them are sorted.
    #[cold]
    #[inline(never)]
    fn gather(&mut self) -> Event {
        self.sorted.clear();
        while let Some((level, byte)) = self.next_slot() {
            self.empty(level, byte);
            self.sorted.extend_from_slice(&self.spare);
        }
        self.sorted.sort_unstable_by(|a, b| b.cmp(a));
        self.in_slots = 0;
        self.limit = u64::MAX;
        self.sorted.last().copied().unwrap_or(Event::NONE)
    }

    /// The earliest event, or `Event::NONE`.
    #[inline(always)]
    pub(super) fn first(&mut self) -> Event {
        let next = self.first_sorted();
        if next == Event::NONE || self.fresh.overtakes(next) { self.look_further() } else { next }
    }

    #[inline(always)]
    fn first_sorted(&self) -> Event {
        self.sorted.last().copied().unwrap_or(Event::NONE).min(self.late.first())
    }

    /// The earliest event where it may be the one just pushed, or lie in a slot.
    #[cold]
    #[inline(never)]
    fn look_further(&mut self) -> Event {
        self.settle();
        let next = self.first_sorted();
        if next == Event::NONE { self.refill() } else { next }
    }

    /// Removes the earliest event, which `first` has given, and returns the next one.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Event {
        if self.late.is_empty()
            && let [.., next, _] = self.sorted[..]
        {
            self.sorted.pop();
            return if self.fresh.overtakes(next) { self.look_further() } else { next };
        }
        self.pop_slowly()
    }

    /// The same where the side heap or a slot may be next.
    #[inline(never)]
    fn pop_slowly(&mut self) -> Event {
        if self.first_sorted() == Event::NONE {
            self.refill();
        }
        match self.sorted.last() {
            Some(&next) if next < self.late.first() => {
                self.sorted.pop();
            }
            _ => self.late.pop(),
        }
        self.first()
    }

    pub(super) fn len(&self) -> usize {
        let fresh = usize::from(self.fresh != Event::NONE);
        self.in_slots + self.sorted.len() + self.late.len() + fresh
    }

    pub(super) fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>()
            + (self.sorted.capacity() + self.spare.capacity()) * size_of::<Event>()
            + self.slots.capacity() * size_of::<Slot>()
            + self.late.bytes()
    }

    #[inline(always)]
    fn place(&mut self, event: Event) {
        let at = event.nanos();
        let level = ((63 - ((at ^ self.limit) | 1).leading_zeros()) / 8) as usize;
        let byte = (at >> (8 * level)) as usize & 255;
        self.occupied[level][byte >> 6] |= 1 << (byte & 63);
        let slot = self.slots[level << 8 | byte];
        let offset = slot.events as usize % CHUNK;
        let chunk = if offset == 0 { self.new_chunk(slot.chunk) } else { slot.chunk };
        self.chunks[chunk as usize].events[offset] = event;
        self.slots[level << 8 | byte] = Slot { chunk, events: slot.events + 1 };
    }

    #[inline]
    fn new_chunk(&mut self, next: u32) -> u32 {
        if self.free_chunk != NONE {
            let chunk = self.free_chunk;
            self.free_chunk = std::mem::replace(&mut self.chunks[chunk as usize].next, next);
            chunk
        } else {
            self.chunks.push(Chunk { events: [Event::NONE; CHUNK], next });
            self.chunks.len() as u32 - 1
        }
    }

    /// Sorts the next slot and returns its earliest event.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> Event {
        if self.in_slots <= FEW {
            return self.gather();
        }
        while let Some((level, byte)) = self.next_slot() {
            let shift = 8 * level as u32;
            let above = self.limit.checked_shr(shift + 8).unwrap_or(0);
            let base = above.checked_shl(shift + 8).unwrap_or(0) | (byte as u64) << shift;
            let events = self.empty(level, byte);
            if level == 0 || events <= SORT_AT_ONCE {
                self.limit = base | ((1u64 << shift) - 1);
                self.in_slots -= events as usize;
                self.spare.sort_unstable_by(|a, b| b.cmp(a));
                std::mem::swap(&mut self.sorted, &mut self.spare);
                return *self.sorted.last().unwrap_or(&Event::NONE);
            }
            self.limit = base;
            let mut events = std::mem::take(&mut self.spare);
            for event in events.drain(..) {
                self.place(event);
            }
            self.spare = events;
        }
        Event::NONE
    }

    /// The first slot in use after `limit`: on the lowest level, since higher ones lie further on.
    fn next_slot(&self) -> Option<(usize, usize)> {
        (0..LEVELS).find_map(|level| {
            let from = (self.limit >> (8 * level)) as usize & 255;
            (from >> 6..4).find_map(|word| {
                let mask = if word == from >> 6 { !0u64 << (from & 63) } else { !0 };
                let bits = self.occupied[level][word] & mask;
                (bits != 0).then(|| (level, word * 64 + bits.trailing_zeros() as usize))
            })
        })
    }

    /// Moves the events of a slot to `spare`, in no particular order, and says how many they are.
    fn empty(&mut self, level: usize, byte: usize) -> u32 {
        self.occupied[level][byte >> 6] &= !(1 << (byte & 63));
        let slot = std::mem::replace(&mut self.slots[level << 8 | byte], EMPTY);
        self.spare.clear();
        let mut filled = (slot.events as usize).wrapping_sub(1) % CHUNK + 1;
        let mut chunk = slot.chunk;
        while chunk != NONE {
            let taken = &mut self.chunks[chunk as usize];
            self.spare.extend_from_slice(&taken.events[..filled]);
            filled = CHUNK;
            let next = std::mem::replace(&mut taken.next, self.free_chunk);
            self.free_chunk = chunk;
            chunk = next;
        }
        slot.events
    }
}
