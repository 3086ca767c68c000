use std::collections::{BTreeSet, VecDeque};

use flashlag_spec::profile::Model;
use flashlag_units::Nanos;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use super::shape::ZonedShape;
use super::table::ZoneTable;
use crate::address::{Block, Die, Slot, Unit};
use crate::command::FlashError;
use crate::die::{DieWork, Dies};
use crate::front::{Store, UnitWrite};
use crate::nand::{Cells, Nand};
use crate::page_map::PageMap;
use crate::power::WordLine;
use crate::trace::Trace;

/// What a zone holds, in units from its start.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Held {
    /// Units in the zone's own blocks: whole program units.
    programmed: u32,
    /// End of the units that are on the flash; those from `programmed` on are in SLC mode.
    end: u32,
    /// Whether the host has finished the zone.
    finished: bool,
}

/// A free superblock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct FreeRow {
    row: Block,
    /// Whether the time of its erase is still to be spent, when a zone takes it: a reset of all zones would else
    /// hold the dies up for many seconds.
    erase_is_due: bool,
}

/// Counts of the zones, in units.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ZoneCounts {
    /// Programmed in a zone's own blocks without having been in SLC mode.
    pub(crate) direct: u64,
    /// Moved from blocks in SLC mode to a zone's own.
    pub(crate) moved: u64,
    /// Padding of program units.
    pub(crate) padded: u64,
    /// Of the map's journal.
    pub(crate) journal: u64,
}

/// The journal of the map, which a flush programs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Journal {
    pages: u32,
    /// Whether anything was programmed since the last one.
    due: bool,
    program: Nanos,
    /// Units of a page.
    units: u64,
    next: u64,
}

/// Zones on the dies, and blocks in SLC mode.
///
/// A zone's units are programmed in its own superblocks as soon as a program unit is complete. Units
/// that have to leave the write buffer before wait in SLC mode, and are read again when the rest of
/// their program unit has come. A page map has these units, after the conventional zones; it is the
/// only thing that is collected.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ZoneStore {
    pub(crate) nand: Nand,
    /// What the host may write.
    pub(crate) table: ZoneTable,
    shape: ZonedShape,
    /// The map of the blocks in SLC mode: the conventional zones' units, then a program unit of each
    /// zone.
    any_order: PageMap,
    /// The cells of those blocks, which change places with the dies' own while they work.
    cells: Cells,
    zones: Vec<Held>,
    /// The superblocks of each zone.
    rows: Vec<Block>,
    /// Free superblocks, the one that has been free longest in front.
    free: VecDeque<FreeRow>,
    bad: u32,
    retired: u32,
    pub(crate) counts: ZoneCounts,
    journal: Journal,
}

impl ZoneStore {
    pub(crate) fn new(model: &Model, seed: u64) -> Result<ZoneStore, FlashError> {
        let shape = ZonedShape::new(model)?;
        let inner = shape.in_order(model);
        let any_order = PageMap::new(&inner, seed)?;
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut bad = BTreeSet::new();
        while (bad.len() as u32) < shape.blocks.bad {
            bad.insert(Block(random.random_range(0..shape.blocks.blocks)));
        }
        let good = (0..shape.blocks.blocks).map(Block).filter(|row| !bad.contains(row));
        let free = good.map(|row| FreeRow { row, erase_is_due: false }).collect();
        let bad: Vec<Block> = bad.into_iter().collect();
        let cells = Cells::new(&inner, any_order.shape().blocks, any_order.factory_bad(), seed);
        let journal = Journal {
            pages: model.slc.as_ref().map_or(0, |slc| slc.flush_pages),
            due: false,
            program: inner.nand.program.0,
            units: inner.map.program_unit.0.0 / shape.blocks.unit_bytes,
            next: 0,
        };
        Ok(ZoneStore {
            table: ZoneTable::new(&shape.geometry(model), model.map.unit.0),
            nand: Nand::new(model, shape.blocks.blocks, &bad, seed),
            any_order,
            cells,
            zones: vec![Held::default(); shape.count as usize],
            rows: vec![Block::NONE; shape.count as usize * shape.rows as usize],
            free,
            bad: bad.len() as u32,
            retired: 0,
            counts: ZoneCounts::default(),
            journal,
            shape,
        })
    }

    /// Adds cycles to every good block.
    pub(crate) fn age(&mut self, cycles: u32) {
        self.nand.age(cycles);
        self.cells.age(cycles);
    }

    pub(crate) fn any_order(&self) -> &PageMap {
        &self.any_order
    }

    pub(crate) fn free_rows(&self) -> u32 {
        self.free.len() as u32 + self.any_order.free_blocks()
    }

    pub(crate) fn bad_rows(&self) -> u32 {
        self.bad + self.retired + self.any_order.bad_blocks()
    }

    /// The larger share of the rated cycles: of the zones' blocks, or of those in SLC mode.
    pub(crate) fn life_used(&self) -> Option<f64> {
        let (own, slc) = (self.nand.life_used(), self.cells.life_used());
        own.into_iter().chain(slc).reduce(f64::max)
    }

    /// Puts the zones' pointers behind what survived a power cut.
    pub(crate) fn restore_pointers(&mut self) {
        let (zones, all) = (&self.zones, self.shape.units);
        let unit = self.shape.blocks.unit_bytes;
        self.table.power_cut(|zone| {
            let held = zones.get(zone as usize).copied().unwrap_or_default();
            u64::from(if held.finished { all } else { held.end }) * unit
        });
    }

    /// The zone of a unit, and the unit's place in it.
    fn place(&self, unit: Unit) -> Option<(u32, u32)> {
        let within = unit.0.checked_sub(self.shape.first)?;
        let zone = within / self.shape.units;
        (zone < self.shape.count).then_some((zone, within % self.shape.units))
    }

    /// The unit of the page map where a unit of a zone waits.
    fn waiting(&self, zone: u32, at: u32) -> Unit {
        let program = self.shape.blocks.program;
        Unit(self.shape.first + zone * program + at % program)
    }

    /// Lets the page map work on the dies, whose cells are then in SLC mode.
    fn in_slc<T>(&mut self, work: impl FnOnce(&mut PageMap, &mut Nand) -> T) -> T {
        self.nand.exchange(&mut self.cells);
        let done = work(&mut self.any_order, &mut self.nand);
        self.nand.exchange(&mut self.cells);
        done
    }

    /// Writes units of one zone, which follow its end.
    fn write_zone(
        &mut self,
        at: Nanos,
        zone: u32,
        from: u32,
        count: u32,
    ) -> Result<Nanos, FlashError> {
        let (mut ready, mut end) = (at, at);
        let (mut from, last) = (from, from + count);
        while from < last {
            let program = self.shape.blocks.program;
            let border = ((from / program + 1) * program).min(self.shape.units);
            let until = last.min(border);
            if until == border {
                end = end.max(self.program_zone(ready, zone, until)?);
            } else {
                let units: Vec<UnitWrite> = (from..until)
                    .map(|at| UnitWrite { unit: self.waiting(zone, at), whole: true })
                    .collect();
                ready = self.in_slc(|map, nand| map.write(nand, ready, &units))?;
                end = end.max(ready);
            }
            if let Some(held) = self.zones.get_mut(zone as usize) {
                held.end = until;
            }
            from = until;
        }
        Ok(end)
    }

    /// Programs the present program unit of a zone up to `until`: with what of it waits in SLC mode,
    /// which is read first.
    fn program_zone(&mut self, at: Nanos, zone: u32, until: u32) -> Result<Nanos, FlashError> {
        let Held { programmed, end, .. } =
            self.zones.get(zone as usize).copied().unwrap_or_default();
        let (die, row, page) = self.row_of(at, zone, programmed)?;
        let waits = end.saturating_sub(programmed);
        let mut ready = at;
        if waits > 0 {
            let first = self.waiting(zone, programmed);
            ready = self.in_slc(|map, nand| {
                let read = map.read(nand, at, first, waits);
                map.discard(first, waits);
                read
            });
        }
        let units = until - programmed;
        let bytes = u64::from(units) * self.shape.blocks.unit_bytes;
        self.counts.direct += u64::from(units - waits);
        self.counts.moved += u64::from(waits);
        self.counts.padded += u64::from(self.shape.blocks.program - units);
        if let Some(held) = self.zones.get_mut(zone as usize) {
            (held.programmed, held.end) = (until, until);
        }
        Ok(self.nand.program_unit(ready, die, row, page, bytes))
    }

    /// Die, superblock and page of a unit of a zone; a zone takes a superblock, which is then erased if
    /// it was used before, when the first unit of one is written.
    fn row_of(
        &mut self,
        at: Nanos,
        zone: u32,
        unit: u32,
    ) -> Result<(Die, Block, crate::address::Page), FlashError> {
        let units = self.shape.blocks.units;
        let index = (zone * self.shape.rows + unit / units) as usize;
        if self.rows[index] == Block::NONE {
            let Some(FreeRow { row, erase_is_due }) = self.free.pop_front() else {
                return Err(FlashError::WornOut { cycles: self.nand.mean_cycles() });
            };
            self.rows[index] = row;
            for die in (0..self.shape.blocks.dies).map(Die).filter(|_| erase_is_due) {
                self.nand.spend_erase(at, die, row);
            }
        }
        let (die, page) = self.shape.blocks.place(Slot(unit % units));
        Ok((die, self.rows[index], page))
    }

    /// Makes a zone full: programs what of it waits in SLC mode, padded; returns the end.
    pub(crate) fn finish(&mut self, at: Nanos, zone: u32) -> Result<Nanos, FlashError> {
        let held = self.zones.get(zone as usize).copied().unwrap_or_default();
        let mut ended = at;
        if held.end > held.programmed {
            ended = self.program_zone(at, zone, held.end)?;
        }
        if let Some(held) = self.zones.get_mut(zone as usize) {
            held.finished = true;
        }
        self.table.finish(zone);
        Ok(ended)
    }

    /// Empties a zone, whose superblocks are free; they are erased before they are programmed again.
    fn reset(&mut self, zone: u32) {
        let held = self.zones.get(zone as usize).copied().unwrap_or_default();
        if held.end > held.programmed {
            let first = self.waiting(zone, held.programmed);
            self.any_order.discard(first, held.end - held.programmed);
        }
        for index in 0..self.shape.rows {
            let index = (zone * self.shape.rows + index) as usize;
            let row = std::mem::replace(&mut self.rows[index], Block::NONE);
            if row == Block::NONE {
                continue;
            }
            for die in (0..self.shape.blocks.dies).map(Die) {
                self.nand.count_erase(die, row);
            }
            if self.nand.is_worn(row) {
                self.retired += 1;
            } else {
                self.free.push_back(FreeRow { row, erase_is_due: true });
            }
        }
        self.zones[zone as usize] = Held::default();
    }

    /// Takes back what a power cut has lost of a zone. What is left of the last program unit counts
    /// as waiting in SLC mode.
    fn cut_to(&mut self, zone: u32, end: u32) {
        let program = self.shape.blocks.program;
        let Some(held) = self.zones.get(zone as usize).copied() else { return };
        if held.end <= end {
            return;
        }
        let from = held.programmed.max(end);
        if held.end > from {
            let first = self.waiting(zone, from);
            self.any_order.discard(first, held.end - from);
        }
        let programmed =
            if end < held.programmed { end / program * program } else { held.programmed };
        self.zones[zone as usize] = Held { programmed, end, finished: false };
    }

    /// Reads units of which `bytes` leave the dies, those of one page together.
    fn read_bytes(&mut self, at: Nanos, unit: Unit, count: u32, bytes: u64) -> Nanos {
        let (mut end, mut left) = (at, bytes);
        let (mut unit, last) = (unit, unit.0 + count);
        let size = self.shape.blocks.unit_bytes;
        while unit.0 < last {
            let Some((zone, from)) = self.place(unit) else {
                let run = (last.min(self.shape.first)).saturating_sub(unit.0).max(1);
                let bytes = left.min(u64::from(run) * size);
                end =
                    end.max(self.in_slc(|map, nand| map.read_bytes(nand, at, (unit, run), bytes)));
                left -= bytes;
                unit = unit.plus(run);
                continue;
            };
            let held = self.zones[zone as usize];
            let wanted = last - unit.0;
            let run = if from < held.programmed {
                // A page holds `group` units in a row.
                let group = self.shape.blocks.group;
                let run = wanted.min(group - from % group).min(held.programmed - from);
                let bytes = left.min(u64::from(run) * size);
                if let Ok((die, row, page)) = self.row_of(at, zone, from) {
                    end = end.max(self.nand.read_this_page(at, die, (row, page), bytes));
                }
                left -= bytes;
                run
            } else if from < held.end {
                let run = wanted.min(held.end - from);
                let (first, bytes) = (self.waiting(zone, from), left.min(u64::from(run) * size));
                end =
                    end.max(self.in_slc(|map, nand| map.read_bytes(nand, at, (first, run), bytes)));
                left -= bytes;
                run
            } else {
                wanted.min(self.shape.units - from)
            };
            unit = unit.plus(run.max(1));
        }
        end
    }
}

impl Store for ZoneStore {
    fn read(&mut self, at: Nanos, unit: Unit, count: u32) -> Nanos {
        self.read_bytes(at, unit, count, u64::from(count) * self.shape.blocks.unit_bytes)
    }

    fn read_part(&mut self, at: Nanos, unit: Unit, bytes: u64) -> Nanos {
        self.read_bytes(at, unit, 1, bytes)
    }

    fn write(&mut self, at: Nanos, units: &[UnitWrite]) -> Result<Nanos, FlashError> {
        self.journal.due = true;
        let mut end = at;
        let follow = |a: &UnitWrite, b: &UnitWrite| match (self.place(a.unit), self.place(b.unit)) {
            (None, None) => true,
            (Some((a, _)), Some((b, _))) => a == b,
            _ => false,
        };
        let runs: Vec<&[UnitWrite]> = units.chunk_by(follow).collect();
        for run in runs {
            let Some(first) = run.first() else { continue };
            let done = match self.place(first.unit) {
                None => self.in_slc(|map, nand| map.write(nand, at, run))?,
                Some((zone, from)) => self.write_zone(at, zone, from, run.len() as u32)?,
            };
            end = end.max(done);
        }
        Ok(end)
    }

    fn word_line(&self) -> Option<WordLine> {
        self.nand.word_line()
    }

    /// A whole zone is reset. A part of one is what a power cut has lost.
    fn discard(&mut self, _: Nanos, unit: Unit, count: u32) {
        self.journal.due = true;
        let (mut unit, last) = (unit, unit.0 + count);
        while unit.0 < last {
            let run = match self.place(unit) {
                None => {
                    let run = last.min(self.shape.first).saturating_sub(unit.0).max(1);
                    self.any_order.discard(unit, run);
                    run
                }
                Some((zone, 0)) if last - unit.0 >= self.shape.units => {
                    self.reset(zone);
                    self.shape.units
                }
                Some((zone, from)) => {
                    self.cut_to(zone, from);
                    (last - unit.0).min(self.shape.units - from)
                }
            };
            unit = unit.plus(run);
        }
    }

    fn is_mapped(&self, unit: Unit) -> bool {
        match self.place(unit) {
            None => self.any_order.is_mapped(unit),
            Some((zone, at)) => at < self.zones[zone as usize].end,
        }
    }

    fn mapped_units(&self) -> u64 {
        let own: u64 = self.zones.iter().map(|held| u64::from(held.programmed)).sum();
        own + u64::from(self.any_order.mapped())
    }

    fn background(&mut self, from: Nanos, until: Nanos) -> Result<(), FlashError> {
        self.in_slc(|map, nand| map.background(nand, from, until));
        Ok(())
    }

    /// Recovery reads the last page of each zone that is written in part, and the pages of the open
    /// blocks in SLC mode.
    fn power_cut(&mut self, at: Nanos) -> Nanos {
        self.nand.power_cut(at);
        let partly = |held: &&Held| held.end > 0 && held.end < self.shape.units && !held.finished;
        let pages = self.any_order.open_pages() + self.zones.iter().filter(partly).count() as u64;
        self.nand.recovery(pages)
    }

    fn dies(&self) -> u32 {
        self.nand.count()
    }

    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos {
        self.nand.work(at, die, work)
    }

    fn trace(&mut self) -> Option<&mut Trace> {
        self.nand.trace.as_deref_mut()
    }

    /// The program unit of a zone that a unit belongs to; all units that can be written in any order
    /// are one group.
    fn group_of(&self, unit: Unit) -> Option<u64> {
        Some(self.place(unit).map_or(u64::MAX, |(zone, at)| {
            let program = at / self.shape.blocks.program;
            u64::from(zone) * u64::from(self.shape.programs) + u64::from(program)
        }))
    }

    fn journal(&mut self, at: Nanos) -> Nanos {
        let mut end = at;
        if !std::mem::take(&mut self.journal.due) {
            return end;
        }
        for _ in 0..self.journal.pages {
            let die = Die::in_turn(self.journal.next, self.nand.count());
            self.journal.next += 1;
            self.counts.journal += self.journal.units;
            let bytes = self.journal.units * self.shape.blocks.unit_bytes;
            let work = DieWork::Program { time: self.journal.program, bytes };
            end = self.nand.work(end, die, work);
        }
        end
    }
}
