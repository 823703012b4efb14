//! Records of what is in flight, in slots that are used again, the last one freed first.
//!
//! Nothing that is idle has a record, and the slots in use stay few and warm in the cache. Free
//! slots are chained through a field of the records themselves.

/// No slot.
const NONE: u32 = u32::MAX;

/// A record with a field that is of no account once the record is no longer in use.
pub(super) trait Linked {
    /// That field, for the number of the next free slot.
    fn link(&mut self) -> &mut u32;
}

/// Records by slot.
pub(super) struct Slab<T> {
    records: Vec<T>,
    free: u32,
    in_use: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { records: Vec::new(), free: NONE, in_use: 0 }
    }
}

impl<T: Linked> Slab<T> {
    /// Puts a record into a slot.
    #[inline(always)]
    pub(super) fn insert(&mut self, record: T) -> u32 {
        self.in_use += 1;
        let slot = self.free;
        if let Some(place) = self.records.get_mut(slot as usize) {
            self.free = *place.link();
            *place = record;
            slot
        } else {
            self.records.push(record);
            self.records.len() as u32 - 1
        }
    }

    /// Gives a slot back. The record stays readable until the slot is used again, but for its link.
    #[inline(always)]
    pub(super) fn free(&mut self, slot: u32) {
        self.in_use -= 1;
        *self.records[slot as usize].link() = std::mem::replace(&mut self.free, slot);
    }

    /// The slots in use, in order.
    pub(super) fn slots_in_use(&mut self) -> Vec<u32> {
        let mut used = vec![true; self.records.len()];
        let mut slot = self.free;
        while let Some(record) = self.records.get_mut(slot as usize) {
            used[slot as usize] = false;
            slot = *record.link();
        }
        used.into_iter().zip(0..).filter_map(|(used, slot)| used.then_some(slot)).collect()
    }
}

impl<T> Slab<T> {
    /// Records in use.
    pub(super) fn len(&self) -> usize {
        self.in_use
    }

    /// Slots ever used.
    pub(super) fn slots(&self) -> u32 {
        self.records.len() as u32
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.records.capacity() * size_of::<T>()
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, slot: u32) -> &T {
        &self.records[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.records[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Linked for u32 {
        fn link(&mut self) -> &mut u32 {
            self
        }
    }

    #[test]
    fn slots_are_used_again_the_last_one_freed_first() {
        let mut slab = Slab::default();
        let slots: Vec<u32> = (10..15).map(|record| slab.insert(record)).collect();
        assert_eq!(slots, [0, 1, 2, 3, 4]);
        slab.free(1);
        slab.free(3);
        assert_eq!((slab.len(), slab.slots_in_use()), (3, vec![0, 2, 4]));
        assert_eq!([slab.insert(20), slab.insert(21), slab.insert(22)], [3, 1, 5]);
        assert_eq!((slab.len(), slab[3], slab[1], slab[5]), (6, 20, 21, 22));
        assert_eq!(slab.slots_in_use(), (0..6).collect::<Vec<_>>());
    }
}
