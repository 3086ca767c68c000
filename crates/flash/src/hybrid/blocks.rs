use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::medium::{FreeBlocks, Medium, Merges, Place, Shape, UnitSet};
use crate::address::{Block, Logical, Slot, Unit};

/// Data blocks of a log-block map: one for each logical block, with each unit in the slot of its
/// offset; and which units have content.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DataBlocks {
    pub(crate) shape: Shape,
    /// Data block of each logical block; [`Block::NONE`] if it has none.
    data: Vec<Block>,
    /// Number of units with content, of each logical block.
    filled: Vec<u32>,
    mapped: UnitSet,
    pub(crate) free: FreeBlocks,
    pub(crate) merges: Merges,
    pub(crate) mapped_units: u64,
    /// Scratch space for the sources of a program.
    sources: Vec<Place>,
}

impl DataBlocks {
    pub(crate) fn new(shape: Shape) -> DataBlocks {
        let logical = shape.logical_blocks as usize;
        DataBlocks {
            shape,
            data: vec![Block::NONE; logical],
            filled: vec![0; logical],
            mapped: UnitSet::new(u64::from(shape.logical_blocks) * u64::from(shape.units)),
            free: FreeBlocks::new(shape.blocks),
            merges: Merges::default(),
            mapped_units: 0,
            sources: Vec::new(),
        }
    }

    /// The unit at an offset of a logical block.
    pub(crate) fn unit(&self, logical: Logical, offset: u32) -> Unit {
        Unit(logical.0 * self.shape.units + offset)
    }

    /// The logical block of a unit, and the unit's offset in it.
    pub(crate) fn split(&self, unit: Unit) -> (Logical, u32) {
        (Logical(unit.0 / self.shape.units), unit.0 % self.shape.units)
    }

    pub(crate) fn is_mapped(&self, unit: Unit) -> bool {
        self.mapped.holds(unit)
    }

    /// Whether no unit of a logical block has content.
    pub(crate) fn is_empty(&self, logical: Logical) -> bool {
        self.filled[logical.index()] == 0
    }

    pub(crate) fn set_mapped(&mut self, unit: Unit) {
        if self.mapped.insert(unit) {
            let (logical, _) = self.split(unit);
            self.mapped_units += 1;
            self.filled[logical.index()] += 1;
        }
    }

    pub(crate) fn set_unmapped(&mut self, unit: Unit) {
        if self.mapped.remove(unit) {
            let (logical, _) = self.split(unit);
            self.mapped_units -= 1;
            self.filled[logical.index()] -= 1;
        }
    }

    /// Place of a unit in its data block, whatever the log blocks hold; [`Place::NOWHERE`] if
    /// unmapped.
    pub(crate) fn place(&self, unit: Unit) -> Place {
        let (logical, offset) = self.split(unit);
        let block = self.data[logical.index()];
        if block == Block::NONE || !self.mapped.holds(unit) {
            return Place::NOWHERE;
        }
        Place { block, slot: Slot(offset) }
    }

    /// Copies the units of a logical block from slot `from` on to the same slots of `block`, each
    /// from the place that `latest` returns; returns the end.
    pub(crate) fn copy<M: Medium>(
        &mut self,
        medium: &mut M,
        at: Nanos,
        logical: Logical,
        (block, from): (Block, Slot),
        latest: impl Fn(&DataBlocks, Unit) -> Place,
    ) -> Nanos {
        let Shape { units, program, .. } = self.shape;
        let mut sources = std::mem::take(&mut self.sources);
        let (mut end, mut slot) = (at, from.0);
        while slot < units {
            let count = program.min(units - slot);
            sources.clear();
            let all = (slot..slot + count).map(|offset| latest(self, self.unit(logical, offset)));
            sources.extend(all);
            let copied = sources.iter().filter(|place| !place.is_nowhere()).count() as u32;
            // A program unit without content is skipped: its slots stay erased.
            if copied > 0 {
                end = end.max(medium.copy(at, &sources, block, Slot(slot)));
                self.merges.copied += u64::from(copied);
                self.merges.padded += u64::from(program - copied);
            }
            slot += count;
        }
        self.sources = sources;
        end
    }

    /// Makes `block` the data block and erases the one before.
    pub(crate) fn replace<M: Medium>(
        &mut self,
        medium: &mut M,
        at: Nanos,
        logical: Logical,
        block: Block,
    ) {
        let before = std::mem::replace(&mut self.data[logical.index()], block);
        self.free.give_back(medium, at, before, &mut self.merges);
    }

    pub(crate) fn give_back<M: Medium>(&mut self, medium: &mut M, at: Nanos, block: Block) {
        self.free.give_back(medium, at, block, &mut self.merges);
    }
}
