use flashlag_spec::profile::Model;
use flashlag_units::{Nanos, never};
use serde::{Deserialize, Serialize};

use super::fast::{Fast, Logs};
use super::layout::Layout;
use super::medium::{Medium, Merges, Place, merging};
use crate::address::{Block, Slot, Unit};
use crate::command::FlashError;
use crate::die::Dies;
use crate::front::UnitWrite;
use crate::trace::Trace;

/// The dies as a [`Medium`].
struct Slots<'a, D> {
    dies: &'a mut D,
    layout: &'a Layout,
}

impl<D: Dies> Medium for Slots<'_, D> {
    fn trace(&mut self) -> Option<&mut Trace> {
        self.dies.trace()
    }

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

/// A log-block map with its idle work.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LogBlocks {
    layout: Layout,
    map: Fast,
    idle_after: Option<Nanos>,
    idle_until: usize,
    page_read: Nanos,
    /// Units written by the host.
    pub(crate) written: u64,
    /// Units that were read because the host wrote only a part of them.
    pub(crate) completed: u64,
}

impl LogBlocks {
    /// The log-block map of a model.
    pub(crate) fn new(model: &Model) -> Result<LogBlocks, FlashError> {
        let layout = Layout::new(model)?;
        let logs = Logs {
            all: Layout::logs(model),
            sequential: model.map.sequential_logs,
            most_open: model.map.open_units,
        };
        Ok(LogBlocks {
            layout,
            map: Fast::new(layout.shape, logs),
            idle_after: model.gc.idle_after.map(|after| after.0),
            idle_until: model.gc.idle_until.map_or(usize::MAX, |until| until as usize),
            page_read: model.nand.read.0,
            written: 0,
            completed: 0,
        })
    }

    /// Cost of merges so far.
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

    /// Reads `count` units and returns the end; units without content take no time.
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
            // Units of one program are read together.
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

    /// Writes units in ascending order; returns the end of the last program.
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

    /// Reclaims the oldest logs in idle time until enough blocks are free.
    pub(crate) fn background<D: Dies>(&mut self, dies: &mut D, from: Nanos, until: Nanos) {
        let Some(after) = self.idle_after else {
            return;
        };
        let mut now = from.plus(after);
        while now < until && self.free() < self.idle_until {
            let mut slots = Slots { dies, layout: &self.layout };
            // Reclaiming a log without valid units only takes an erase, which overlaps the next
            // merge.
            let Some(end) = merging(&mut slots, |slots| self.map.reclaim_oldest(slots, now)) else {
                return;
            };
            now = end;
        }
    }

    /// Number of free blocks.
    pub(crate) fn free(&self) -> usize {
        self.map.blocks.free.count()
    }

    /// Time to find the map again: the spare areas of all pages of open logs are read on all dies
    /// at once; the block map is small and read with them.
    pub(crate) fn recovery(&self, dies: u32) -> Nanos {
        let programs = self.map.open_slots().div_ceil(u64::from(self.layout.shape.program));
        let each = programs.div_ceil(u64::from(dies.max(1))) + 1;
        Nanos(self.page_read.0.saturating_mul(each))
    }
}
