//! The write buffer in RAM.

use std::collections::VecDeque;

use flashlag_units::{InOrder, Nanos, always};
use serde::{Deserialize, Deserializer, Serialize};

use super::units::{Part, UnitMap};
use crate::address::Unit;

const NONE: u32 = u32::MAX;

/// A unit in the buffer for which no program was issued.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Slot {
    unit: Unit,
    part: Part,
    older: u32,
    newer: u32,
}

/// Units that wait to be programmed, and units whose programs are in progress.
///
/// A unit is *dirty* until a program is issued for it, together with the other oldest ones so that
/// program units are full, and then *leaving* until the program has ended. Both kinds together fill
/// at most `capacity` units. Writing to a dirty unit replaces it, and the earlier data never
/// reaches the flash. Programs are issued while more than half of the capacity is dirty, so that
/// the other half can be in progress on several dies.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WriteBuffer {
    capacity: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    dirty: UnitMap<u32>,
    oldest: u32,
    newest: u32,
    /// Leaving units, by the end of their programs. Most come in that order, or nearly: a heap takes longer.
    #[serde(deserialize_with = "in_order")]
    leaving: VecDeque<(Nanos, Unit)>,
    /// End of the last program of each leaving unit.
    leaving_until: UnitMap<Nanos>,
}

/// Stored ones may be in any order.
fn in_order<'a, D: Deserializer<'a>>(stored: D) -> Result<VecDeque<(Nanos, Unit)>, D::Error> {
    let mut leaving = Vec::<(Nanos, Unit)>::deserialize(stored)?;
    leaving.order();
    Ok(leaving.into())
}

impl WriteBuffer {
    /// A buffer of `capacity` units, at least one.
    pub(crate) fn new(capacity: usize) -> WriteBuffer {
        WriteBuffer {
            capacity: capacity.max(1),
            slots: Vec::new(),
            free: Vec::new(),
            dirty: UnitMap::default(),
            oldest: NONE,
            newest: NONE,
            leaving: VecDeque::new(),
            leaving_until: UnitMap::default(),
        }
    }

    /// Number of dirty units.
    #[inline]
    pub(crate) fn dirty(&self) -> usize {
        self.dirty.len()
    }

    /// Whether a unit is dirty.
    pub(crate) fn is_dirty(&self, unit: Unit) -> bool {
        self.dirty.contains_key(&unit)
    }

    /// Number of units that fit in.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Number of dirty units above which programs are issued: half of the capacity.
    #[inline]
    pub(crate) fn high_water(&self) -> usize {
        self.capacity / 2
    }

    /// Adds a part to a dirty unit; `false` if the unit is not dirty.
    #[inline]
    pub(crate) fn absorb(&mut self, unit: Unit, part: Part) -> bool {
        let Some(slot) = self.dirty.get(&unit) else {
            return false;
        };
        let slot = &mut self.slots[*slot as usize];
        slot.part = Part(slot.part.0 | part.0);
        true
    }

    /// The earliest time, at `now` or later, with room for another unit; `None` if no program
    /// operation is in progress whose end would make room.
    #[inline]
    pub(crate) fn room_at(&mut self, now: Nanos) -> Option<Nanos> {
        self.pass(now);
        let over = (self.dirty.len() + self.leaving.len() + 1).saturating_sub(self.capacity);
        if over == 0 {
            return Some(now);
        }
        // More than one too many only if a flush emptied a buffer of a single unit.
        let mut room = None;
        for _ in 0..over {
            room = Some(self.pop_leaving()?);
        }
        room
    }

    /// Removes leaving units whose programs ended by `now`.
    #[inline]
    fn pass(&mut self, now: Nanos) {
        while self.leaving.front().is_some_and(|(end, _)| *end <= now) {
            self.pop_leaving();
        }
    }

    fn pop_leaving(&mut self) -> Option<Nanos> {
        let (end, unit) = self.leaving.pop_front()?;
        if self.leaving_until.get(&unit) == Some(&end) {
            self.leaving_until.remove(&unit);
        }
        Some(end)
    }

    /// Adds a unit that is not dirty; there must be room.
    pub(crate) fn insert(&mut self, unit: Unit, part: Part) {
        always!(!self.dirty.contains_key(&unit), "a unit is in the buffer twice");
        let slot = Slot { unit, part, older: self.newest, newer: NONE };
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        match self.newest {
            NONE => self.oldest = index,
            newest => self.slots[newest as usize].newer = index,
        }
        self.newest = index;
        self.dirty.insert(unit, index);
    }

    fn unlink(&mut self, index: u32) -> (Unit, Part) {
        let Slot { unit, part, older, newer } = self.slots[index as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        self.free.push(index);
        (unit, part)
    }

    /// Takes up to `most` of the oldest dirty units, sorted by address. [`WriteBuffer::leave`] must
    /// follow.
    pub(crate) fn take_oldest(&mut self, most: usize, into: &mut Vec<(Unit, Part)>) {
        into.clear();
        while into.len() < most && self.oldest != NONE {
            let taken = self.unlink(self.oldest);
            self.dirty.remove(&taken.0);
            into.push(taken);
        }
        into.sort_unstable_by_key(|(unit, _)| *unit);
    }

    /// The unit that has been dirty longest.
    pub(crate) fn oldest(&self) -> Option<Unit> {
        self.slots.get(self.oldest as usize).filter(|_| self.oldest != NONE).map(|slot| slot.unit)
    }

    /// Takes up to `most` dirty units of a kind, the oldest first, sorted by address.
    /// [`WriteBuffer::leave`] must follow.
    pub(crate) fn take_oldest_of(
        &mut self,
        is_one: impl Fn(Unit) -> bool,
        most: usize,
        into: &mut Vec<(Unit, Part)>,
    ) {
        into.clear();
        let mut next = self.oldest;
        while into.len() < most && next != NONE {
            let Slot { unit, newer, .. } = self.slots[next as usize];
            if is_one(unit) {
                let taken = self.unlink(next);
                self.dirty.remove(&taken.0);
                into.push(taken);
            }
            next = newer;
        }
        into.sort_unstable_by_key(|(unit, _)| *unit);
    }

    /// Takes one dirty unit; [`WriteBuffer::leave`] must follow if it is programmed.
    pub(crate) fn take(&mut self, unit: Unit) -> Option<Part> {
        let index = self.dirty.remove(&unit)?;
        Some(self.unlink(index).1)
    }

    /// Marks a unit as leaving; it needs its room until `end`.
    pub(crate) fn leave(&mut self, unit: Unit, end: Nanos) {
        let later = self.leaving.iter().rev().take_while(|leaving| **leaving > (end, unit)).count();
        self.leaving.insert(self.leaving.len() - later, (end, unit));
        let until = self.leaving_until.entry(unit).or_insert(end);
        *until = (*until).max(end);
    }

    /// Whether a read of a part at `now` can be served from here.
    #[inline]
    pub(crate) fn holds(&self, unit: Unit, part: Part, now: Nanos) -> bool {
        let dirty = self.dirty.get(&unit).map(|slot| self.slots[*slot as usize].part);
        dirty.is_some_and(|held| held.covers(part))
            || (dirty.is_none() && self.leaving_until.get(&unit).is_some_and(|end| *end > now))
    }

    /// End of the last program of a leaving unit; zero for any other.
    pub(crate) fn leaving_until(&self, unit: Unit) -> Nanos {
        self.leaving_until.get(&unit).copied().unwrap_or_default()
    }

    /// Empties a volatile buffer after a power cut.
    pub(crate) fn clear(&mut self) {
        *self = WriteBuffer::new(self.capacity);
    }

    /// Completes all program operations in progress.
    pub(crate) fn settle(&mut self) {
        self.leaving.clear();
        self.leaving_until.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Part = Part(0xff);

    #[test]
    fn overwriting_takes_no_room() {
        let mut buffer = WriteBuffer::new(2);
        buffer.insert(Unit(7), Part(0x0f));
        assert!(buffer.absorb(Unit(7), Part(0xf0)));
        assert!(!buffer.absorb(Unit(8), ALL));
        assert_eq!(buffer.dirty(), 1);
        assert!(buffer.holds(Unit(7), ALL, Nanos(0)));
        assert_eq!(buffer.take(Unit(7)), Some(ALL));
        assert!(!buffer.holds(Unit(7), ALL, Nanos(0)));
    }

    #[test]
    fn room_comes_when_programs_end() {
        let mut buffer = WriteBuffer::new(2);
        buffer.insert(Unit(1), ALL);
        buffer.insert(Unit(2), ALL);
        assert_eq!(buffer.room_at(Nanos(5)), None);
        let mut taken = Vec::new();
        buffer.take_oldest(1, &mut taken);
        assert_eq!(taken, [(Unit(1), ALL)]);
        buffer.leave(Unit(1), Nanos(100));
        assert!(buffer.holds(Unit(1), ALL, Nanos(99)) && !buffer.holds(Unit(1), ALL, Nanos(100)));
        assert_eq!(buffer.room_at(Nanos(5)), Some(Nanos(100)));
        buffer.insert(Unit(3), ALL);
        assert_eq!(buffer.room_at(Nanos(100)), None);
    }

    #[test]
    fn units_leave_in_the_order_in_which_their_programs_end() {
        let mut buffer = WriteBuffer::new(4);
        for (unit, end) in [(1, 50), (2, 20), (3, 90), (4, 20)] {
            buffer.leave(Unit(unit), Nanos(end));
        }
        let rooms = [0, 20, 20, 60].map(|now| {
            buffer.insert(Unit(10 + buffer.dirty() as u32), ALL);
            buffer.room_at(Nanos(now))
        });
        assert_eq!(rooms, [Some(20), Some(50), Some(90), None].map(|room| room.map(Nanos)));
    }

    #[test]
    fn the_oldest_of_a_kind_go_and_the_others_keep_their_order() {
        let mut buffer = WriteBuffer::new(8);
        for unit in [9, 4, 6, 1].map(Unit) {
            buffer.insert(unit, ALL);
        }
        assert_eq!(buffer.oldest(), Some(Unit(9)));
        let mut taken = Vec::new();
        buffer.take_oldest_of(|unit| unit.0 < 6, 8, &mut taken);
        assert_eq!(taken, [(Unit(1), ALL), (Unit(4), ALL)]);
        buffer.take_oldest(1, &mut taken);
        assert_eq!((taken[0].0, buffer.oldest()), (Unit(9), Some(Unit(6))));
        buffer.take_oldest(1, &mut taken);
        assert_eq!(buffer.oldest(), None);
    }

    #[test]
    fn the_oldest_go_first_in_the_order_of_addresses() {
        let mut buffer = WriteBuffer::new(8);
        for unit in [9, 4, 6, 1].map(Unit) {
            buffer.insert(unit, ALL);
        }
        assert_eq!(buffer.take(Unit(4)), Some(ALL));
        let mut taken = Vec::new();
        buffer.take_oldest(2, &mut taken);
        assert_eq!(taken, [(Unit(6), ALL), (Unit(9), ALL)]);
        buffer.take_oldest(9, &mut taken);
        assert_eq!(taken, [(Unit(1), ALL)]);
        assert_eq!(buffer.dirty(), 0);
    }
}
