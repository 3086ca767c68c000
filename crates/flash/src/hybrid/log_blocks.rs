use flashlag_schema::profile::Model;
use flashlag_units::{Nanos, never};
use serde::{Deserialize, Serialize};

use super::fast::Fast;
use super::layout::{Layout, Spot};
use super::medium::{Medium, Merges, Place};
use crate::address::{Block, Die, Slot, Unit};
use crate::command::FlashError;
use crate::front::{DieWork, UnitWrite};
use crate::power::WordLine;

/// The dies that a map of log blocks works on.
pub(crate) trait Dies {
    /// Reads from one page of all planes; so many bytes leave the die.
    fn read(&mut self, at: Nanos, spot: Spot, bytes: u64) -> Nanos;

    /// Programs a program unit.
    fn program(&mut self, at: Nanos, spot: Spot, bytes: u64) -> Nanos;

    /// Erases a block of all planes.
    fn erase(&mut self, at: Nanos, spot: Spot) -> Nanos;

    /// An operation that is not the map's own.
    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos;

    /// Where on its word line the last program went, where that matters.
    fn word_line(&self) -> Option<WordLine>;

    /// How many there are.
    fn count(&self) -> u32;

    /// Nothing that is under way goes on.
    fn power_cut(&mut self, at: Nanos);

    /// Whether they can still be written to.
    ///
    /// # Errors
    /// Where they can't.
    fn check_wear(&self) -> Result<(), FlashError>;
}

/// Dies as a medium of slots.
struct Slots<'a, D> {
    dies: &'a mut D,
    layout: &'a Layout,
}

impl<D: Dies> Medium for Slots<'_, D> {
    fn read(&mut self, at: Nanos, block: Block, slot: Slot, count: u32) -> Nanos {
        let program = self.layout.shape.program;
        let (mut slot, last, mut end) = (slot, slot.plus(count), at);
        while slot < last {
            let take = (program - slot.0 % program).min(last.0 - slot.0);
            let bytes = u64::from(take) * self.layout.unit_bytes;
            end = end.max(self.dies.read(at, self.layout.spot(block, slot), bytes));
            slot = slot.plus(take);
        }
        end
    }

    fn program(&mut self, at: Nanos, block: Block, slot: Slot, units: &[Unit]) -> Nanos {
        let bytes = units.len() as u64 * self.layout.unit_bytes;
        self.dies.program(at, self.layout.spot(block, slot), bytes)
    }

    fn copy(&mut self, at: Nanos, from: &[Place], block: Block, slot: Slot) -> Nanos {
        let mut ready = at;
        let follows = |a: &Place, b: &Place| a.block == b.block && a.slot.plus(1) == b.slot;
        let mut units = 0;
        for run in from.chunk_by(|a, b| !a.is_nowhere() && !b.is_nowhere() && follows(a, b)) {
            if !run[0].is_nowhere() {
                units += run.len() as u64;
                ready = ready.max(self.read(at, run[0].block, run[0].slot, run.len() as u32));
            }
        }
        let bytes = units * self.layout.unit_bytes;
        self.dies.program(ready, self.layout.spot(block, slot), bytes)
    }

    fn erase(&mut self, at: Nanos, block: Block) -> Nanos {
        let parts = 0..self.layout.parts();
        let ends = parts.map(|part| self.dies.erase(at, self.layout.part(block, part)));
        ends.max().unwrap_or_else(|| {
            never!("a block without parts");
            at
        })
    }
}

/// A map of log blocks, with what it needs to know of idle time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LogBlocks {
    layout: Layout,
    map: Fast,
    idle_after: Option<Nanos>,
    idle_until: usize,
    page_read: Nanos,
    /// Units that were written to it.
    pub(crate) written: u64,
    /// Units that were read to complete others.
    pub(crate) completed: u64,
}

impl LogBlocks {
    /// The log-block map of a model.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub(crate) fn new(model: &Model) -> Result<LogBlocks, FlashError> {
        let layout = Layout::new(model)?;
        let (shape, logs) = (layout.shape, Layout::logs(model));
        Ok(LogBlocks {
            layout,
            map: Fast::new(shape, logs, model.map.open_units),
            idle_after: model.gc.idle_after.map(|after| after.0),
            idle_until: model.gc.idle_until.map_or(usize::MAX, |until| until as usize),
            page_read: model.nand.read.0,
            written: 0,
            completed: 0,
        })
    }

    /// What merging has cost so far.
    pub(crate) fn merges(&self) -> Merges {
        self.map.blocks.merges
    }

    fn place(&self, unit: Unit) -> Place {
        self.map.place(unit)
    }

    pub(crate) fn is_mapped(&self, unit: Unit) -> bool {
        !self.place(unit).is_nowhere()
    }

    pub(crate) fn mapped_units(&self) -> u64 {
        self.map.blocks.mapped_units
    }

    /// Reads units in a row; what was never written is there at once.
    pub(crate) fn read<D: Dies>(
        &mut self,
        dies: &mut D,
        at: Nanos,
        unit: Unit,
        count: u32,
    ) -> Nanos {
        let program = self.layout.shape.program;
        let (mut end, mut next) = (at, unit);
        let last = unit.plus(count);
        while next < last {
            let first = self.place(next);
            let mut run = 1;
            // Units of one program are read at once.
            while next.plus(run) < last && !first.is_nowhere() {
                let slot = first.slot.plus(run);
                if slot.0.is_multiple_of(program)
                    || self.place(next.plus(run)) != (Place { slot, ..first })
                {
                    break;
                }
                run += 1;
            }
            if !first.is_nowhere() {
                let mut slots = Slots { dies, layout: &self.layout };
                end = end.max(slots.read(at, first.block, first.slot, run));
            }
            next = next.plus(run);
        }
        end
    }

    /// Writes units, in rising order; says when all are programmed.
    pub(crate) fn write<D: Dies>(&mut self, dies: &mut D, at: Nanos, units: &[UnitWrite]) -> Nanos {
        let mut ready = at;
        for write in units.iter().filter(|write| !write.whole) {
            if self.is_mapped(write.unit) {
                ready = ready.max(self.read(dies, at, write.unit, 1));
                self.completed += 1;
            }
        }
        self.written += units.len() as u64;
        let mut end = ready;
        let mut slots = Slots { dies, layout: &self.layout };
        for run in units.chunk_by(|a, b| a.unit.plus(1) == b.unit) {
            let (first, count) = (run[0].unit, run.len() as u32);
            end = end.max(self.map.write(&mut slots, ready, first, count));
        }
        end
    }

    pub(crate) fn discard<D: Dies>(&mut self, dies: &mut D, at: Nanos, unit: Unit, count: u32) {
        let mut slots = Slots { dies, layout: &self.layout };
        self.map.discard(&mut slots, at, unit, count);
    }

    /// Merges the oldest logs in idle time, until enough blocks are free.
    pub(crate) fn background<D: Dies>(&mut self, dies: &mut D, from: Nanos, until: Nanos) {
        let Some(after) = self.idle_after else {
            return;
        };
        let mut now = from.plus(after);
        while now < until && self.free() < self.idle_until {
            let mut slots = Slots { dies, layout: &self.layout };
            // A dead log costs no time but its erase, which goes on beside the next merge.
            let Some(end) = self.map.reclaim_oldest(&mut slots, now) else {
                return;
            };
            now = end;
        }
    }

    /// Blocks that are erased and free.
    pub(crate) fn free(&self) -> usize {
        self.map.blocks.free.count()
    }

    /// How long it takes to find the map again: the spare areas of all open logs' pages are read
    /// on all dies at once; the block map is small and read with them.
    pub(crate) fn recovery(&self, dies: u32) -> Nanos {
        let programs = self.map.open_slots().div_ceil(u64::from(self.layout.shape.program));
        let each = programs.div_ceil(u64::from(dies.max(1))) + 1;
        Nanos(self.page_read.0.saturating_mul(each))
    }
}
