use flashlag_stats::Wait;
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::ring::SlotRing;
use crate::address::{Die, Unit};
use crate::command::FlashError;
use crate::die::DieWork;
use crate::front::store::{Store, UnitWrite};

/// Blocks in SLC mode, written in the order of their pages: slots of one unit each, a page of all
/// planes on one die after the other.
///
/// A program takes as many pages of one plane (`page`) as its units need, on one die at once. Units
/// that do not fit in what is left of the pages of all planes begin with the next ones, on the next
/// die, so that large writes always use all planes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Area {
    ring: SlotRing,
    pub(super) shape: Shape,
    /// Scratch space of a fold.
    oldest: Vec<(Unit, u64)>,
    moved: Vec<UnitWrite>,
    pub(super) counts: SlcCounts,
}

/// The sizes of an area in units, and the times of its operations.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Shape {
    pub(super) unit_bytes: u64,
    /// Pages of all planes, the least SLC program, and a program unit of the main area.
    pub(super) program: u64,
    pub(super) page: u64,
    pub(super) fold: usize,
    /// A block on each die.
    pub(super) group: u64,
    /// Whether blocks are erased when the first of them is opened, and not as soon as they hold
    /// nothing.
    pub(super) late: bool,
    pub(super) times: Times,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Times {
    pub(super) read: Nanos,
    pub(super) program: Nanos,
    pub(super) erase: Nanos,
}

/// Counts of the write cache, in units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SlcCounts {
    /// Units written by the host.
    pub(crate) written: u64,
    /// Padding of SLC programs.
    pub(crate) padded: u64,
    /// Units of pages of the map's journal.
    pub(crate) journal: u64,
    /// Units copied to the main area.
    pub(crate) folded: u64,
    /// Block erases, each of all planes of a die.
    pub(crate) erased: u64,
}

impl SlcCounts {
    pub(super) fn plus(self, other: SlcCounts) -> SlcCounts {
        SlcCounts {
            written: self.written + other.written,
            padded: self.padded + other.padded,
            journal: self.journal + other.journal,
            folded: self.folded + other.folded,
            erased: self.erased + other.erased,
        }
    }
}

impl Area {
    pub(super) fn new(shape: Shape) -> Area {
        Area {
            ring: SlotRing::new(shape.group),
            shape,
            oldest: Vec::new(),
            moved: Vec::new(),
            counts: SlcCounts::default(),
        }
    }

    /// Number of units.
    pub(super) fn units(&self) -> u64 {
        self.ring.units()
    }

    /// Number of occupied slots, stale ones included.
    pub(super) fn occupied(&self) -> u64 {
        self.ring.occupied()
    }

    pub(super) fn holds(&self, unit: Unit) -> bool {
        self.ring.holds(unit)
    }

    pub(super) fn forget(&mut self, unit: Unit) -> bool {
        self.ring.forget(unit)
    }

    /// The page of a unit, counted over all pages ever programmed.
    #[inline]
    pub(super) fn page(&self, unit: Unit) -> Option<u64> {
        Some(self.ring.locate(unit)? / self.shape.program)
    }

    fn die<S: Store + ?Sized>(&self, store: &S, position: u64) -> Die {
        Die::in_turn(position / self.shape.program, store.dies())
    }

    /// Reads `units` units of a page; returns the end.
    pub(super) fn read_page<S: Store + ?Sized>(
        &self,
        store: &mut S,
        at: Nanos,
        page: u64,
        units: u32,
    ) -> Nanos {
        let die = self.die(store, page * self.shape.program);
        let bytes = u64::from(units) * self.shape.unit_bytes;
        store.work(at, die, DieWork::Read { time: self.shape.times.read, bytes })
    }

    /// Slots that `units` more units take, what they leave of the present pages included.
    pub(super) fn room_for(&self, units: u64) -> u64 {
        let whole = units.next_multiple_of(self.shape.page);
        self.ring.rest_of(self.shape.program, whole) + whole
    }

    /// Programs units on one die, no more than its pages of all planes hold, as soon as `ready`; a
    /// block that is erased late is erased from `at` on. Returns the end, and the units of padding.
    pub(super) fn program<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        ready: Nanos,
        units: impl ExactSizeIterator<Item = Unit>,
    ) -> (Nanos, u64) {
        let count = units.len() as u64;
        let slots = count.next_multiple_of(self.shape.page);
        for _ in 0..self.ring.rest_of(self.shape.program, slots) {
            self.ring.pad();
        }
        let ready = ready.max(self.open(store, at));
        let die = self.die(store, self.ring.head());
        for unit in units {
            self.ring.append(unit);
            if store.is_mapped(unit) {
                store.discard(at, unit, 1);
            }
        }
        self.counts.written += count;
        for _ in count..slots {
            self.ring.pad();
            self.counts.padded += 1;
        }
        let bytes = count * self.shape.unit_bytes;
        let work = DieWork::Program { time: self.shape.times.program, bytes };
        (store.work(ready, die, work), slots - count)
    }

    /// Programs a page of the map's journal from `at` on, in an area with room for it (`room`) or
    /// in none; returns the end.
    pub(super) fn program_journal<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        room: bool,
    ) -> Nanos {
        let mut ready = at;
        let die = self.die(store, self.ring.head());
        if room {
            ready = ready.max(self.open(store, at));
            (0..self.shape.page).for_each(|_| self.ring.pad());
        }
        self.counts.journal += self.shape.page;
        let (time, bytes) = (self.shape.times.program, self.shape.unit_bytes);
        store.work(ready, die, DieWork::Program { time, bytes })
    }

    /// Folds up to `most` program units of the main area, which are read at once and programmed on as
    /// many dies; returns when their room can be used, or `None` if there was nothing to fold.
    pub(super) fn fold<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        most: u32,
    ) -> Result<Option<Nanos>, FlashError> {
        let before = store.trace().map(|trace| trace.reason(Wait::WriteCacheFull));
        let folded = self.fold_oldest(store, at, most);
        if let (Some(trace), Some(before)) = (store.trace(), before) {
            trace.reason(before);
        }
        folded
    }

    fn fold_oldest<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        most: u32,
    ) -> Result<Option<Nanos>, FlashError> {
        let mut oldest = std::mem::take(&mut self.oldest);
        self.ring.take_oldest(self.shape.fold * most as usize, &mut oldest);
        let mut ready = at;
        let program = self.shape.program;
        // Units of one SLC page are read at once.
        for page in oldest.chunk_by(|a, b| a.1 / program == b.1 / program) {
            let end = self.read_page(store, at, page[0].1 / program, page.len() as u32);
            ready = ready.max(end);
        }
        self.moved.clear();
        self.moved.extend(oldest.iter().map(|(unit, _)| UnitWrite { unit: *unit, whole: true }));
        self.oldest = oldest;
        self.counts.folded += self.moved.len() as u64;
        let mut end = ready;
        for unit in self.moved.chunks(self.shape.fold) {
            end = end.max(store.write(ready, unit)?);
        }
        let erased = self.reclaim(store, end);
        let done = self.moved.is_empty() && erased.is_none();
        Ok((!done).then(|| erased.unwrap_or(end)))
    }

    /// Erases the groups that folding has passed; returns the end if there were any.
    pub(super) fn reclaim<S: Store + ?Sized>(&mut self, store: &mut S, at: Nanos) -> Option<Nanos> {
        let groups = self.ring.reclaim();
        let mut end = None;
        for _ in 0..groups {
            let erased = if self.shape.late { at } else { self.erase(store, at) };
            end = end.max(Some(erased));
        }
        end
    }

    /// Erases the blocks that the next slot opens, with late erases; returns the end.
    #[inline]
    fn open<S: Store + ?Sized>(&mut self, store: &mut S, at: Nanos) -> Nanos {
        if self.shape.late && self.ring.head().is_multiple_of(self.shape.group) {
            return self.erase(store, at);
        }
        at
    }

    /// Erases a block of each die; returns the end.
    fn erase<S: Store + ?Sized>(&mut self, store: &mut S, at: Nanos) -> Nanos {
        let mut end = at;
        for die in 0..store.dies() {
            let work = DieWork::Erase { time: self.shape.times.erase };
            end = end.max(store.work(at, Die(die), work));
            self.counts.erased += 1;
        }
        end
    }
}
