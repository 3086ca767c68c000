use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use crate::address::Unit;
use crate::front::units::UnitMap;

/// The unit of a dead slot.
const DEAD: Unit = Unit::NONE;

/// Content of the write cache: units in the order in which they were written, in slots that are
/// erased in groups.
///
/// Positions of slots count up for ever, and a slot's place on the flash follows from its position.
/// Overwriting or discarding a unit leaves a dead slot, whose room is reclaimed with its group.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SlotRing {
    /// The unit of each slot from `tail` on; [`DEAD`] if overwritten, discarded or padding.
    slots: VecDeque<Unit>,
    /// Position of the oldest slot.
    tail: u64,
    /// All slots before this position are erased; a multiple of `group`.
    erased: u64,
    group: u64,
    position: UnitMap<u64>,
    /// Whether a unit has a position, a bit for each: most questions are about units that have none,
    /// and the map of a full cache is far larger than a processor's cache.
    held: Vec<u64>,
}

impl SlotRing {
    /// A ring with groups of `group` slots, at least one.
    pub(crate) fn new(group: u64) -> SlotRing {
        SlotRing {
            slots: VecDeque::new(),
            tail: 0,
            erased: 0,
            group: group.max(1),
            position: UnitMap::default(),
            held: Vec::new(),
        }
    }

    /// The position of the next slot.
    pub(crate) fn head(&self) -> u64 {
        self.tail + self.slots.len() as u64
    }

    /// Slots left in the present group of `program`, if `slots` more do not fit in it, otherwise 0.
    #[inline]
    pub(crate) fn rest_of(&self, program: u64, slots: u64) -> u64 {
        let rest = program - self.head() % program;
        if slots > rest { rest % program } else { 0 }
    }

    /// Number of slots that are in use or not erased yet.
    pub(crate) fn occupied(&self) -> u64 {
        self.head() - self.erased
    }

    /// Number of units.
    pub(crate) fn units(&self) -> u64 {
        self.position.len() as u64
    }

    /// Whether a unit has a slot.
    #[inline]
    pub(crate) fn holds(&self, unit: Unit) -> bool {
        let word = self.held.get(unit.index() / 64).copied().unwrap_or_default();
        word >> (unit.index() % 64) & 1 == 1
    }

    /// Position of a unit.
    #[inline]
    pub(crate) fn locate(&self, unit: Unit) -> Option<u64> {
        if !self.holds(unit) {
            return None;
        }
        self.position.get(&unit).copied()
    }

    fn hold(&mut self, unit: Unit) {
        let word = unit.index() / 64;
        if word >= self.held.len() {
            self.held.resize(word + 1, 0);
        }
        self.held[word] |= 1 << (unit.index() % 64);
    }

    /// Removes a unit that has a slot; returns its position.
    fn remove(&mut self, unit: Unit) -> Option<u64> {
        self.held[unit.index() / 64] &= !(1 << (unit.index() % 64));
        self.position.remove(&unit)
    }

    /// Adds a unit and returns its position; an older slot of the unit is dead.
    pub(crate) fn append(&mut self, unit: Unit) -> u64 {
        let position = self.head();
        self.slots.push_back(unit);
        self.hold(unit);
        if let Some(before) = self.position.insert(unit, position) {
            self.slots[(before - self.tail) as usize] = DEAD;
        }
        position
    }

    /// Adds a padding slot.
    pub(crate) fn pad(&mut self) {
        self.slots.push_back(DEAD);
    }

    /// Removes a unit; returns whether it was there.
    pub(crate) fn forget(&mut self, unit: Unit) -> bool {
        if !self.holds(unit) {
            return false;
        }
        let Some(position) = self.remove(unit) else { return false };
        self.slots[(position - self.tail) as usize] = DEAD;
        true
    }

    /// Takes up to `most` of the oldest units, with their positions.
    pub(crate) fn take_oldest(&mut self, most: usize, into: &mut Vec<(Unit, u64)>) {
        into.clear();
        while into.len() < most
            && let Some(unit) = self.slots.pop_front()
        {
            let position = self.tail;
            self.tail += 1;
            if unit != DEAD {
                self.remove(unit);
                into.push((unit, position));
            }
        }
    }

    /// Drops dead slots from the front and returns the number of groups to erase, which count as
    /// erased from now on. An empty ring skips the rest of its group.
    pub(crate) fn reclaim(&mut self) -> u64 {
        while self.slots.front() == Some(&DEAD) {
            self.slots.pop_front();
            self.tail += 1;
        }
        if self.slots.is_empty() && self.tail > self.erased {
            self.tail = self.tail.next_multiple_of(self.group);
        }
        let groups = (self.tail - self.erased) / self.group;
        self.erased += groups * self.group;
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_comes_back_a_group_at_a_time() {
        let mut ring = SlotRing::new(4);
        for unit in 0..6 {
            assert_eq!(ring.append(Unit(unit)), u64::from(unit));
        }
        let mut taken = Vec::new();
        ring.take_oldest(3, &mut taken);
        assert_eq!(taken, [(Unit(0), 0), (Unit(1), 1), (Unit(2), 2)]);
        assert_eq!((ring.reclaim(), ring.occupied()), (0, 6));
        assert!(ring.forget(Unit(3)));
        assert_eq!((ring.reclaim(), ring.occupied(), ring.units()), (1, 2, 2));
        ring.take_oldest(9, &mut taken);
        assert_eq!(taken, [(Unit(4), 4), (Unit(5), 5)]);
        assert_eq!((ring.reclaim(), ring.occupied(), ring.append(Unit(9))), (1, 0, 8));
    }

    #[test]
    fn a_unit_that_is_written_again_leaves_a_dead_slot() {
        let mut ring = SlotRing::new(4);
        ring.append(Unit(5));
        ring.append(Unit(5));
        assert_eq!((ring.locate(Unit(5)), ring.units(), ring.occupied()), (Some(1), 1, 2));
        let mut taken = Vec::new();
        ring.take_oldest(2, &mut taken);
        assert_eq!(taken, [(Unit(5), 1)]);
        assert!(!ring.forget(Unit(5)));
    }
}
