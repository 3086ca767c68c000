mod area;
mod ring;

use flashlag_spec::profile::{EraseTime, MapKind, Model, SlcFull, SlcSpace};
use flashlag_stats::Wait;
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use self::area::{Area, Shape, Times};
use super::store::Store;
use super::units::Part;
use crate::address::Unit;
use crate::command::FlashError;

pub(crate) use area::SlcCounts;

/// Binary places of a share.
const PLACES: u32 = 32;

/// The mark of a page of the reserve.
const RESERVED: u64 = 1 << 63;

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
/// opened. In idle time a step folds `fold_streams` program units, read and then programmed at
/// once: in `pages / dies · tR + tPROG`. It begins before the next command and may end after it.
/// Steps begin after `fold_after` and stop after `fold_until`, or later, when a share of
/// `fold_below` is available.
///
/// A shared cache has `min(static, free / b)` bytes. A write beside one that holds more folds a
/// program unit, until it fits: of the data written then, one part in b. It takes nothing then until
/// it is empty and holds a group of blocks again, so that no data passes through room that is given
/// back.
///
/// A program takes as many pages of one plane (`program_page`) as its units need: n durable writes
/// of a unit each program `n · program_page · (1 + flush_pages)` bytes, the second term being the
/// map's journal. While the cache is full, those that fill no program unit go to the `reserve`, if
/// there is one, which gathers them to whole program units: n of them then program `n · unit` bytes
/// of the main area, and without a reserve `n · program_unit`. While the last free group of the
/// reserve is being filled, a program unit of its oldest is folded for each that is written; a
/// write waits for that only where there is no room at all.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SlcCache {
    cache: Area,
    reserve: Option<Box<Reserve>>,
    fixed: u64,
    /// The bits of a cell in normal use, if the constant capacity is part of the user's.
    shared: Option<u64>,
    /// Whether a shared cache has given room back, and takes nothing until it is empty.
    giving_back: bool,
    /// SLC bytes lent per free byte, as a share of 2³².
    lent: u64,
    capacity_units: u64,
    /// Whether idle time folds whole program units only.
    fold_whole: bool,
    journal: Journal,
    idle: IdleFolding,
    full: SlcFull,
}

/// When idle time folds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct IdleFolding {
    /// The rest after which folding begins; never if `None`.
    pub(crate) after: Option<Nanos>,
    /// The rest after which folding stops, unless too little is available.
    pub(crate) until: Option<Nanos>,
    /// The share that has to be available then, of 2³².
    below: u64,
    /// Program units of a step.
    streams: u32,
}

/// Separate blocks for small writes while the cache is full.
#[derive(Debug, Serialize, Deserialize)]
struct Reserve {
    area: Area,
    /// Slots that may be occupied.
    most: u64,
    /// Units to write until the next program unit is folded, while the last free group is in use.
    until_fold: u64,
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

/// Notes that the host waits for room between two times.
fn waits_for_room<S: Store + ?Sized>(store: &mut S, from: Nanos, to: Nanos) {
    if let Some(trace) = store.trace() {
        trace.stop(Wait::WriteCacheFull, from, to);
    }
}

impl Reserve {
    /// Folds the oldest until `room` slots are free; returns when they are, or `None` if there will
    /// never be as many.
    fn make_room<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        room: u64,
    ) -> Result<Option<Nanos>, FlashError> {
        let mut at = at;
        self.area.reclaim(store, at);
        while self.area.occupied() + room > self.most {
            match self.area.fold(store, at, 1)? {
                Some(end) => {
                    waits_for_room(store, at, end);
                    at = end;
                }
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// While the last free group is in use, folds a program unit of the oldest for each program unit
    /// that is written, `units` of it now, so that a group is free again when that one is full.
    fn gather<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        units: u64,
    ) -> Result<(), FlashError> {
        self.area.reclaim(store, at);
        if self.area.occupied() + self.area.shape.group <= self.most {
            self.until_fold = 0;
            return Ok(());
        }
        if self.until_fold < units {
            self.area.fold(store, at, 1)?;
            self.until_fold += self.area.shape.fold as u64;
        }
        self.until_fold -= units;
        Ok(())
    }
}

impl SlcCache {
    /// The write cache of a model on `dies` dies; `None` if it has none.
    pub(crate) fn new(model: &Model, dies: u32) -> Option<SlcCache> {
        // The blocks in SLC mode of a zoned device are no cache.
        let slc = model.slc.as_ref().filter(|_| model.map.kind != MapKind::Zoned)?;
        let (nand, unit) = (&model.nand, model.map.unit.0.0);
        let stripe = nand.page.0.0 * u64::from(nand.planes);
        let program = (stripe / unit).max(1);
        let page = slc.program_page.map_or(program, |page| page.0.0 / unit);
        // A block keeps its cells and stores one bit in each.
        let pages = u64::from(nand.pages_per_block) / nand.cell.bits();
        let shape = Shape {
            unit_bytes: unit,
            program,
            page: page.clamp(1, program),
            fold: (model.map.program_unit.0.0 / unit).max(1) as usize,
            group: program * pages.max(1) * u64::from(dies),
            late: model.gc.erase == EraseTime::Late,
            times: Times { read: slc.read.0, program: slc.program.0, erase: slc.erase.0 },
        };
        let share = |share: f64| (share * (1u64 << PLACES) as f64) as u64;
        let idle = IdleFolding {
            after: slc.fold_after.map(|after| after.0),
            until: slc.fold_until.map(|until| until.0),
            below: share(slc.fold_below),
            streams: slc.fold_streams,
        };
        let reserve = slc.reserve.map(|reserve| {
            let most = reserve.0.0 / unit;
            Box::new(Reserve { area: Area::new(shape), most, until_fold: 0 })
        });
        Some(SlcCache {
            cache: Area::new(shape),
            reserve,
            fixed: slc.fixed.0.0,
            shared: (slc.space == SlcSpace::Shared).then(|| nand.cell.bits()),
            giving_back: false,
            lent: share(slc.dynamic) / nand.cell.bits(),
            capacity_units: model.map.capacity.0.0 / unit,
            fold_whole: slc.fold_whole,
            journal: Journal { pages: slc.flush_pages, pack: slc.pack, due: false, padding: 0 },
            idle,
            full: slc.full,
        })
    }

    /// Number of units in the cache and its reserve.
    pub(crate) fn units(&self) -> u64 {
        self.cache.units() + self.reserve.as_ref().map_or(0, |reserve| reserve.area.units())
    }

    pub(crate) fn holds(&self, unit: Unit) -> bool {
        self.cache.holds(unit)
            || self.reserve.as_ref().is_some_and(|reserve| reserve.area.holds(unit))
    }

    pub(crate) fn forget(&mut self, unit: Unit) {
        if !self.cache.forget(unit)
            && let Some(reserve) = &mut self.reserve
        {
            reserve.area.forget(unit);
        }
    }

    /// Number of places of a unit within the cache and its reserve.
    #[cfg(test)]
    pub(crate) fn places(&self, unit: Unit) -> u32 {
        let reserved = self.reserve.as_ref().is_some_and(|reserve| reserve.area.holds(unit));
        u32::from(self.cache.holds(unit)) + u32::from(reserved)
    }

    /// Number of occupied slots of the cache, stale ones included.
    pub(crate) fn occupied(&self) -> u64 {
        self.cache.occupied()
    }

    pub(crate) fn counts(&self) -> SlcCounts {
        match &self.reserve {
            None => self.cache.counts,
            Some(reserve) => self.cache.counts.plus(reserve.area.counts),
        }
    }

    /// Number of slots of the cache that may be occupied at present.
    pub(crate) fn most<S: Store + ?Sized>(&self, store: &S) -> u64 {
        let free = self.capacity_units.saturating_sub(store.mapped_units() + self.units());
        let unit_bytes = self.cache.shape.unit_bytes;
        if let Some(bits) = self.shared {
            return (self.fixed / unit_bytes).min(free / bits);
        }
        let lent = (u128::from(self.lent) * u128::from(free) * u128::from(unit_bytes)) >> PLACES;
        (self.fixed + lent as u64) / unit_bytes
    }

    fn has_room<S: Store + ?Sized>(&mut self, store: &mut S, at: Nanos, units: u64) -> bool {
        self.cache.reclaim(store, at);
        let (occupied, most) = (self.cache.occupied(), self.most(store));
        // The cache takes data again once it is empty and the blocks of a row of dies fit in.
        let group = self.cache.shape.group.min(self.fixed / self.cache.shape.unit_bytes);
        self.giving_back &= occupied > 0 || most < group;
        !self.giving_back && occupied + units <= most
    }

    /// The page of a unit, counted over all pages ever programmed, with a mark if it is one of the
    /// reserve.
    #[inline]
    pub(crate) fn page(&self, unit: Unit) -> Option<u64> {
        match (self.cache.page(unit), &self.reserve) {
            (None, Some(reserve)) => Some(reserve.area.page(unit)? | RESERVED),
            (page, _) => page,
        }
    }

    /// Reads `units` units of a page; returns the end.
    pub(crate) fn read_page<S: Store + ?Sized>(
        &self,
        store: &mut S,
        at: Nanos,
        page: u64,
        units: u32,
    ) -> Nanos {
        match &self.reserve {
            Some(reserve) if page & RESERVED != 0 => {
                reserve.area.read_page(store, at, page & !RESERVED, units)
            }
            _ => self.cache.read_page(store, at, page, units),
        }
    }

    /// Reads one unit and returns the end; `None` if it is not in the cache.
    pub(crate) fn read<S: Store + ?Sized>(
        &self,
        store: &mut S,
        at: Nanos,
        unit: Unit,
    ) -> Option<Nanos> {
        Some(self.read_page(store, at, self.page(unit)?, 1))
    }

    /// Writes units, folding others if there is no room; `None` if they must go to the main area.
    pub(crate) fn write<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        units: &[(Unit, Part)],
        is_whole: impl Fn(Part) -> bool,
    ) -> Result<Option<Nanos>, FlashError> {
        let room = self.cache.room_for(units.len() as u64);
        let mut at = at;
        while !self.has_room(store, at, room) {
            if self.full == SlcFull::Direct {
                if self.shared.is_some() && self.cache.occupied() > self.most(store) {
                    self.giving_back = true;
                    self.cache.fold(store, at, 1)?;
                }
                return self.write_reserve(store, at, units, is_whole);
            }
            match self.cache.fold(store, at, 1)? {
                Some(end) => {
                    waits_for_room(store, at, end);
                    at = end;
                }
                None => return Ok(None),
            }
        }
        let mut end = at;
        for group in units.chunks(self.cache.shape.program as usize) {
            let ready = self.read_rests(store, at, group, &is_whole);
            let (done, padding) = self.cache.program(store, at, ready, group.iter().map(|u| u.0));
            if let Some(reserve) = &mut self.reserve {
                group.iter().for_each(|(unit, _)| _ = reserve.area.forget(*unit));
            }
            (self.journal.due, self.journal.padding) = (true, padding);
            end = end.max(done);
        }
        Ok(Some(end))
    }

    /// Writes units that fill no program unit to the reserve while the cache is full; `None` if
    /// they must go to the main area.
    fn write_reserve<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        units: &[(Unit, Part)],
        is_whole: impl Fn(Part) -> bool,
    ) -> Result<Option<Nanos>, FlashError> {
        let Some(reserve) = &self.reserve else {
            return Ok(None);
        };
        let room = reserve.area.room_for(units.len() as u64);
        if units.len() >= reserve.area.shape.fold {
            return Ok(None);
        }
        let Some(at) = self.make_room(store, at, room)? else {
            return Ok(None);
        };
        let mut end = at;
        for group in units.chunks(self.cache.shape.program as usize) {
            let ready = self.read_rests(store, at, group, &is_whole);
            let Some(reserve) = &mut self.reserve else { return Ok(None) };
            let (done, padding) = reserve.area.program(store, at, ready, group.iter().map(|u| u.0));
            group.iter().for_each(|(unit, _)| _ = self.cache.forget(*unit));
            (self.journal.due, self.journal.padding) = (true, padding);
            end = end.max(done);
        }
        if let Some(reserve) = &mut self.reserve {
            reserve.gather(store, end, units.len() as u64)?;
        }
        Ok(Some(end))
    }

    /// Folds the oldest of the reserve until `room` slots are free; returns when they are, or `None`
    /// if there will never be as many.
    fn make_room<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        room: u64,
    ) -> Result<Option<Nanos>, FlashError> {
        match &mut self.reserve {
            None => Ok(None),
            Some(reserve) => reserve.make_room(store, at, room),
        }
    }

    /// Reads the unwritten rest of partly written units; returns the end.
    fn read_rests<S: Store + ?Sized>(
        &self,
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
        ready
    }

    /// Programs the journal of the map, if a flush needs to; returns the end.
    ///
    /// It goes to the reserve while the cache is full. Without a reserve it has no room, and takes
    /// its time all the same.
    pub(crate) fn journal<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
    ) -> Result<Nanos, FlashError> {
        let Journal { pages, pack, due, padding } = self.journal;
        self.journal.due = false;
        self.journal.padding = 0;
        if pages == 0 || !due || (pack && padding > 0) {
            return Ok(at);
        }
        let (page, mut end) = (self.cache.shape.page, at);
        for _ in 0..pages {
            let room = self.has_room(store, end, page);
            let ready = if room { None } else { self.make_room(store, end, page)? };
            end = match (ready, &mut self.reserve) {
                (Some(ready), Some(reserve)) => reserve.area.program_journal(store, ready, true),
                _ => self.cache.program_journal(store, end, room),
            };
        }
        Ok(end)
    }

    /// Notes that data was programmed in the main area, for which the map's journal is due.
    #[inline]
    pub(crate) fn passed_by(&mut self) {
        self.journal.due = true;
        self.journal.padding = 0;
    }

    /// When idle time folds.
    pub(crate) fn idle(&self) -> IdleFolding {
        self.idle
    }

    /// Whether less is available than has to be before the power may go.
    pub(crate) fn must_go_on<S: Store + ?Sized>(&self, store: &S) -> bool {
        let most = self.most(store);
        let available = most.saturating_sub(self.cache.occupied());
        u128::from(available) << PLACES < u128::from(self.idle.below) * u128::from(most)
    }

    /// A step of folding in idle time, of the cache and then of its reserve; returns its end, or
    /// `None` if there is nothing that is worth it.
    pub(crate) fn fold_idle<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
    ) -> Result<Option<Nanos>, FlashError> {
        let most = if self.fold_whole { self.most(store) } else { 0 };
        if self.is_worth_folding(&self.cache, most)
            && let Some(end) = self.cache.fold(store, at, self.idle.streams)?
        {
            return Ok(Some(end));
        }
        match self.reserve.take() {
            None => Ok(None),
            Some(mut reserve) => {
                let worth = self.is_worth_folding(&reserve.area, reserve.most);
                let folded =
                    if worth { reserve.area.fold(store, at, self.idle.streams) } else { Ok(None) };
                self.reserve = Some(reserve);
                folded
            }
        }
    }

    fn is_worth_folding(&self, area: &Area, most: u64) -> bool {
        !self.fold_whole || area.units() >= area.shape.fold as u64 || area.occupied() * 2 > most
    }
}
