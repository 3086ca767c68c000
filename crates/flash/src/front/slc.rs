use flashlag_schema::profile::{CellKind, EraseTime, Model, SlcFull};
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::ring::SlotRing;
use super::store::{DieWork, Store, UnitWrite};
use super::units::Part;
use crate::address::{Die, Unit};
use crate::command::FlashError;

/// Binary places of a share.
const PLACES: u32 = 32;

/// The write cache in SLC mode (pSLC, WriteBooster).
///
/// SLC pages (of all planes) are programmed on the dies in turn until `static + dynamic · free / b`
/// bytes are in use, where free is the unmapped capacity and b the bits of a cell otherwise.
/// Without overwriting and idle time, and with F bytes free at first, that happens after
///
/// `(static + dynamic · F / b) / (1 + dynamic / b)` bytes,
///
/// the cliff: further writes go to the main area (`direct`), or wait until the oldest units are
/// folded there (`fold`). Folding reads as many units as fit a program unit, oldest first, and
/// programs them in the main area; overwritten and discarded units are not copied. A group of
/// blocks, one on each die, is erased when folding has passed it, or with late erases when it is
/// opened. In idle time a step begins before
/// the next command and may end after it.
///
/// A program takes as many pages of one plane (`program_page`) as its units need, on one die at
/// once. Units that do not fit in what is left of the pages of all planes begin with the next ones,
/// on the next die, so that large writes always use all planes: n durable writes of a unit each
/// program `n · program_page · (1 + flush_pages)` bytes, the second term being the map's journal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SlcCache {
    ring: SlotRing,
    fixed: u64,
    /// SLC bytes lent per free byte, as a share of 2³².
    lent: u64,
    unit_bytes: u64,
    capacity_units: u64,
    /// Units of SLC pages of all planes, of the least SLC program, and of a program unit of the
    /// main area.
    program: u64,
    page: u64,
    fold: usize,
    /// Whether idle time folds whole program units only.
    fold_whole: bool,
    journal: Journal,
    times: Times,
    pub(crate) fold_after: Option<Nanos>,
    full: SlcFull,
    /// Slots of the blocks, one on each die, that are erased when the first of them is opened; 0 if
    /// blocks are erased as soon as they hold nothing.
    late: u64,
    /// Scratch space of a fold.
    oldest: Vec<(Unit, u64)>,
    moved: Vec<UnitWrite>,
    pub(crate) counts: SlcCounts,
}

/// The journal of the map, which flushes program.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Journal {
    /// Pages of a flush.
    pages: u32,
    /// Whether the journal goes into the padding of the data's last page.
    pack: bool,
    /// Whether data was programmed since the last journal, here or in the main area.
    due: bool,
    /// Units of padding of the last page since then.
    padding: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Times {
    read: Nanos,
    program: Nanos,
    erase: Nanos,
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

fn bits(cell: CellKind) -> u64 {
    match cell {
        CellKind::Slc => 1,
        CellKind::Mlc => 2,
        CellKind::Tlc => 3,
        CellKind::Qlc => 4,
    }
}

impl SlcCache {
    /// The write cache of a model on `dies` dies; `None` if it has none.
    pub(crate) fn new(model: &Model, dies: u32) -> Option<SlcCache> {
        let slc = model.slc.as_ref()?;
        let (nand, unit) = (&model.nand, model.map.unit.0.0);
        let stripe = nand.page.0.0 * u64::from(nand.planes);
        let program = (stripe / unit).max(1);
        let page = slc.program_page.map_or(program, |page| page.0.0 / unit);
        // A block keeps its cells and stores one bit in each.
        let pages = u64::from(nand.pages_per_block) / bits(nand.cell);
        let group = program * pages.max(1) * u64::from(dies);
        let lent = (slc.dynamic * (1u64 << PLACES) as f64) as u64 / bits(nand.cell);
        Some(SlcCache {
            ring: SlotRing::new(group),
            fixed: slc.fixed.0.0,
            lent,
            unit_bytes: unit,
            capacity_units: model.map.capacity.0.0 / unit,
            program,
            page: page.clamp(1, program),
            fold: (model.map.program_unit.0.0 / unit).max(1) as usize,
            fold_whole: slc.fold_whole,
            journal: Journal { pages: slc.flush_pages, pack: slc.pack, due: false, padding: 0 },
            times: Times { read: slc.read.0, program: slc.program.0, erase: slc.erase.0 },
            fold_after: slc.fold_after.map(|after| after.0),
            full: slc.full,
            late: if model.gc.erase == EraseTime::Late { group } else { 0 },
            oldest: Vec::new(),
            moved: Vec::new(),
            counts: SlcCounts::default(),
        })
    }

    /// Number of units in the cache.
    pub(crate) fn units(&self) -> u64 {
        self.ring.units()
    }

    pub(crate) fn holds(&self, unit: Unit) -> bool {
        self.ring.locate(unit).is_some()
    }

    pub(crate) fn forget(&mut self, unit: Unit) -> bool {
        self.ring.forget(unit)
    }

    /// Number of occupied slots, stale ones included.
    pub(crate) fn occupied(&self) -> u64 {
        self.ring.occupied()
    }

    /// Number of slots that may be occupied at present.
    pub(crate) fn most<S: Store>(&self, store: &S) -> u64 {
        let free = self.capacity_units.saturating_sub(store.mapped_units() + self.ring.units());
        let free = u128::from(free) * u128::from(self.unit_bytes);
        let lent = (u128::from(self.lent) * free) >> PLACES;
        (self.fixed + lent as u64) / self.unit_bytes
    }

    fn has_room<S: Store>(&mut self, store: &mut S, at: Nanos, units: u64) -> bool {
        self.reclaim(store, at);
        self.ring.occupied() + units <= self.most(store)
    }

    fn die<S: Store>(&self, store: &S, position: u64) -> Die {
        Die::in_turn(position / self.program, store.dies())
    }

    /// The page of a unit, counted over all pages ever programmed.
    #[inline]
    pub(crate) fn page(&self, unit: Unit) -> Option<u64> {
        Some(self.ring.locate(unit)? / self.program)
    }

    /// Reads `units` units of a page; returns the end.
    pub(crate) fn read_page<S: Store>(
        &self,
        store: &mut S,
        at: Nanos,
        page: u64,
        units: u32,
    ) -> Nanos {
        let die = self.die(store, page * self.program);
        let bytes = u64::from(units) * self.unit_bytes;
        store.work(at, die, DieWork::Read { time: self.times.read, bytes })
    }

    /// Reads one unit and returns the end; `None` if it is not in the cache.
    pub(crate) fn read<S: Store>(&self, store: &mut S, at: Nanos, unit: Unit) -> Option<Nanos> {
        Some(self.read_page(store, at, self.page(unit)?, 1))
    }

    /// Writes units, folding others if there is no room; `None` if they must go to the main area.
    ///
    /// # Errors
    /// As the store's writes, which folding uses.
    pub(crate) fn write<S: Store>(
        &mut self,
        store: &mut S,
        at: Nanos,
        units: &[(Unit, Part)],
        is_whole: impl Fn(Part) -> bool,
    ) -> Result<Option<Nanos>, FlashError> {
        let whole = (units.len() as u64).next_multiple_of(self.page);
        let room = self.ring.rest_of(self.program, whole) + whole;
        let mut at = at;
        while !self.has_room(store, at, room) {
            if self.full == SlcFull::Direct {
                return Ok(None);
            }
            match self.fold(store, at)? {
                Some(end) => at = end,
                None => return Ok(None),
            }
        }
        let mut end = at;
        for group in units.chunks(self.program as usize) {
            end = end.max(self.program(store, at, group, &is_whole));
        }
        Ok(Some(end))
    }

    /// Programs the journal of the map, if a flush needs to; returns the end.
    ///
    /// A full cache has no room for the journal, which then takes its time all the same.
    pub(crate) fn journal<S: Store>(&mut self, store: &mut S, at: Nanos) -> Nanos {
        let Journal { pages, pack, due, padding } = self.journal;
        self.journal.due = false;
        self.journal.padding = 0;
        if pages == 0 || !due || (pack && padding > 0) {
            return at;
        }
        let mut end = at;
        for _ in 0..pages {
            let room = self.has_room(store, end, self.page);
            let die = self.die(store, self.ring.head());
            if room {
                end = end.max(self.open(store, end));
                (0..self.page).for_each(|_| self.ring.pad());
            }
            self.counts.journal += self.page;
            let work = DieWork::Program { time: self.times.program, bytes: self.unit_bytes };
            end = store.work(end, die, work);
        }
        end
    }

    /// Notes that data was programmed in the main area, for which the map's journal is due.
    #[inline]
    pub(crate) fn passed_by(&mut self) {
        self.journal.due = true;
        self.journal.padding = 0;
    }

    /// Whether idle time goes on folding.
    pub(crate) fn is_worth_folding<S: Store>(&self, store: &S) -> bool {
        !self.fold_whole
            || self.ring.units() >= self.fold as u64
            || self.ring.occupied() * 2 > self.most(store)
    }

    /// Programs pages of one die; returns the end.
    fn program<S: Store>(
        &mut self,
        store: &mut S,
        at: Nanos,
        units: &[(Unit, Part)],
        is_whole: &impl Fn(Part) -> bool,
    ) -> Nanos {
        let mut ready = at;
        for (unit, part) in units {
            if !is_whole(*part) {
                let held = self.read(store, at, *unit);
                let old = held.or_else(|| store.is_mapped(*unit).then(|| store.read(at, *unit, 1)));
                ready = ready.max(old.unwrap_or(at));
            }
        }
        let slots = (units.len() as u64).next_multiple_of(self.page);
        for _ in 0..self.ring.rest_of(self.program, slots) {
            self.ring.pad();
        }
        ready = ready.max(self.open(store, at));
        let mut die = Die(0);
        for (index, (unit, _)) in units.iter().enumerate() {
            let position = self.ring.append(*unit);
            if index == 0 {
                die = self.die(store, position);
            }
            if store.is_mapped(*unit) {
                store.discard(at, *unit, 1);
            }
        }
        self.counts.written += units.len() as u64;
        for _ in units.len() as u64..slots {
            self.ring.pad();
            self.counts.padded += 1;
        }
        self.journal.due = true;
        self.journal.padding = slots - units.len() as u64;
        let bytes = units.len() as u64 * self.unit_bytes;
        store.work(ready, die, DieWork::Program { time: self.times.program, bytes })
    }

    /// Folds up to one program unit of the main area and returns when its room can be used; `None`
    /// if there was nothing to fold.
    ///
    /// # Errors
    /// As the store's writes.
    pub(crate) fn fold<S: Store>(
        &mut self,
        store: &mut S,
        at: Nanos,
    ) -> Result<Option<Nanos>, FlashError> {
        let mut oldest = std::mem::take(&mut self.oldest);
        self.ring.take_oldest(self.fold, &mut oldest);
        let mut ready = at;
        // Units of one SLC page are read at once.
        for page in oldest.chunk_by(|a, b| a.1 / self.program == b.1 / self.program) {
            let die = self.die(store, page[0].1);
            let bytes = page.len() as u64 * self.unit_bytes;
            let work = DieWork::Read { time: self.times.read, bytes };
            ready = ready.max(store.work(at, die, work));
        }
        self.moved.clear();
        self.moved.extend(oldest.iter().map(|(unit, _)| UnitWrite { unit: *unit, whole: true }));
        self.oldest = oldest;
        self.counts.folded += self.moved.len() as u64;
        let mut end = ready;
        if !self.moved.is_empty() {
            end = store.write(ready, &self.moved)?;
        }
        let erased = self.reclaim(store, end);
        let done = self.moved.is_empty() && erased.is_none();
        Ok((!done).then(|| erased.unwrap_or(end)))
    }

    /// Erases the groups that folding has passed; returns the end if there were any.
    fn reclaim<S: Store>(&mut self, store: &mut S, at: Nanos) -> Option<Nanos> {
        let groups = self.ring.reclaim();
        let mut end = None;
        for _ in 0..groups {
            let erased = if self.late == 0 { self.erase(store, at) } else { at };
            end = end.max(Some(erased));
        }
        end
    }

    /// Erases the blocks that the next slot opens, with late erases; returns the end.
    #[inline]
    fn open<S: Store>(&mut self, store: &mut S, at: Nanos) -> Nanos {
        if self.late > 0 && self.ring.head().is_multiple_of(self.late) {
            return self.erase(store, at);
        }
        at
    }

    /// Erases a block of each die; returns the end.
    fn erase<S: Store>(&mut self, store: &mut S, at: Nanos) -> Nanos {
        let mut end = at;
        for die in 0..store.dies() {
            let work = DieWork::Erase { time: self.times.erase };
            end = end.max(store.work(at, Die(die), work));
            self.counts.erased += 1;
        }
        end
    }
}
