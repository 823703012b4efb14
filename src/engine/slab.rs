//! Records of what is in flight, in slots that are used again, the last one freed first.
//!
//! Nothing that is idle has a record, and the slots in use stay few and warm in the cache.

/// Records by slot.
pub(super) struct Slab<T> {
    records: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { records: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Puts a record into a slot.
    #[inline(always)]
    pub(super) fn insert(&mut self, record: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.records[slot as usize] = record;
            slot
        } else {
            self.records.push(record);
            self.records.len() as u32 - 1
        }
    }

    /// Gives a slot back. The record stays readable until the slot is used again.
    #[inline(always)]
    pub(super) fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Records in use.
    pub(super) fn len(&self) -> usize {
        self.records.len() - self.free.len()
    }

    /// Slots ever used.
    pub(super) fn slots(&self) -> u32 {
        self.records.len() as u32
    }

    /// The slots in use, in order.
    pub(super) fn in_use(&self) -> impl Iterator<Item = u32> {
        let mut used = vec![true; self.records.len()];
        for slot in &self.free {
            used[*slot as usize] = false;
        }
        used.into_iter().zip(0..).filter_map(|(used, slot)| used.then_some(slot))
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.records.capacity() * size_of::<T>() + self.free.capacity() * 4
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
