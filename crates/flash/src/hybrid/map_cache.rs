use serde::{Deserialize, Serialize};

/// The index for "no slot".
const NONE: u32 = u32::MAX;

/// Result of looking up a map page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The page was cached.
    Hit,
    /// The page must be read.
    Miss,
    /// The page must be read, after the evicted page, which has changed, is programmed.
    MissAndEvict,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Slot {
    page: u32,
    changed: bool,
    older: u32,
    newer: u32,
}

/// Map pages in the controller's memory, evicted by least recent use.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MapCache {
    capacity: usize,
    slots: Vec<Slot>,
    /// Slot of each map page; [`NONE`] if it is not cached.
    slot_of: Vec<u32>,
    oldest: u32,
    newest: u32,
}

impl MapCache {
    /// A cache of `capacity` of `pages` map pages, at least one.
    pub(crate) fn new(pages: usize, capacity: usize) -> MapCache {
        MapCache {
            capacity: capacity.max(1),
            slots: Vec::new(),
            slot_of: vec![NONE; pages],
            oldest: NONE,
            newest: NONE,
        }
    }

    /// Uses a map page, evicting another one if necessary.
    #[inline]
    pub(crate) fn find(&mut self, page: u32, change: bool) -> Lookup {
        if self.newest != NONE && self.slots[self.newest as usize].page == page {
            self.slots[self.newest as usize].changed |= change;
            return Lookup::Hit;
        }
        let slot = self.slot_of[page as usize];
        if slot != NONE {
            self.unlink(slot);
            self.link(slot);
            self.slots[slot as usize].changed |= change;
            return Lookup::Hit;
        }
        let new = Slot { page, changed: change, older: NONE, newer: NONE };
        if self.slots.len() < self.capacity {
            self.slots.push(new);
            let slot = (self.slots.len() - 1) as u32;
            self.slot_of[page as usize] = slot;
            self.link(slot);
            return Lookup::Miss;
        }
        let slot = self.oldest;
        self.unlink(slot);
        let before = std::mem::replace(&mut self.slots[slot as usize], new);
        self.slot_of[before.page as usize] = NONE;
        self.slot_of[page as usize] = slot;
        self.link(slot);
        if before.changed { Lookup::MissAndEvict } else { Lookup::Miss }
    }

    /// Whether a map page is cached.
    #[inline]
    pub(crate) fn holds(&self, page: u32) -> bool {
        self.slot_of[page as usize] != NONE
    }

    /// Uses a map page if it is cached; returns whether it is.
    pub(crate) fn touch(&mut self, page: u32) -> bool {
        let held = self.holds(page);
        if held {
            self.find(page, false);
        }
        held
    }

    /// Empties the cache, after a power cut.
    pub(crate) fn clear(&mut self) {
        *self = MapCache::new(self.slot_of.len(), self.capacity);
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { older, newer, .. } = self.slots[slot as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
    }

    fn link(&mut self, slot: u32) {
        let newest = self.newest;
        let linked = &mut self.slots[slot as usize];
        (linked.older, linked.newer) = (newest, NONE);
        match newest {
            NONE => self.oldest = slot,
            newest => self.slots[newest as usize].newer = slot,
        }
        self.newest = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_gives_way_and_is_written_where_it_changed() {
        let mut cache = MapCache::new(8, 2);
        assert_eq!(cache.find(1, true), Lookup::Miss);
        assert_eq!(cache.find(2, false), Lookup::Miss);
        assert_eq!(cache.find(1, false), Lookup::Hit);
        assert_eq!(cache.find(3, false), Lookup::Miss);
        assert_eq!(cache.find(1, false), Lookup::Hit);
        assert_eq!(cache.find(2, false), Lookup::Miss);
        assert_eq!(cache.find(4, false), Lookup::MissAndEvict);
        cache.clear();
        assert_eq!(cache.find(4, false), Lookup::Miss);
    }

    #[test]
    fn uniform_use_hits_as_often_as_the_cache_is_large() {
        let mut cache = MapCache::new(64, 16);
        let (mut held, mut state) = (0, 1u32);
        for _ in 0..200_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            held += u32::from(cache.find(state >> 26, false) == Lookup::Hit);
        }
        assert!((f64::from(held) / 200_000.0 - 0.25).abs() < 0.01, "{held}");
    }
}
