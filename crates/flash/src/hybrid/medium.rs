use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::address::{Block, Slot, Unit};

/// Where a unit is: an erase block and a slot in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) block: Block,
    pub(crate) slot: Slot,
}

impl Place {
    pub(crate) const NOWHERE: Place = Place { block: Block::NONE, slot: Slot::NONE };

    pub(crate) const fn is_nowhere(self) -> bool {
        self.block.0 == Block::NONE.0
    }
}

/// The flash as log-block maps see it: blocks of slots that hold a mapping unit each. Slots are
/// programmed in rising order and once between erases; each call says when it is done.
pub(crate) trait Medium {
    /// Reads slots of one block.
    fn read(&mut self, at: Nanos, block: Block, slot: Slot, count: u32) -> Nanos;

    /// Programs what the host wrote: one program, of no more than a program unit.
    fn program(&mut self, at: Nanos, block: Block, slot: Slot, units: &[Unit]) -> Nanos;

    /// Reads units from where they are and programs them in one program; nothing where a source
    /// is nowhere.
    fn copy(&mut self, at: Nanos, from: &[Place], block: Block, slot: Slot) -> Nanos;

    /// Erases a block.
    fn erase(&mut self, at: Nanos, block: Block) -> Nanos;
}

/// What log-block maps divide into: units a block, and units a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// Blocks that the host sees.
    pub(crate) logical_blocks: u32,
    /// Blocks in all.
    pub(crate) blocks: u32,
    /// Units of a block.
    pub(crate) units: u32,
    /// Units that are programmed at once.
    pub(crate) program: u32,
}

/// What merging has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Merges {
    /// A log block took the data block's place as it was.
    pub(crate) switches: u64,
    /// A log block was filled up from the data block, and took its place.
    pub(crate) partials: u64,
    /// A block was put together anew.
    pub(crate) fulls: u64,
    /// Units that were copied.
    pub(crate) copied: u64,
    /// Units' room that was programmed with nothing in it.
    pub(crate) padded: u64,
    /// Blocks that were erased.
    pub(crate) erased: u64,
}

/// Blocks that are erased and free, in the order in which they came.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FreeBlocks(std::collections::VecDeque<Block>);

impl FreeBlocks {
    pub(crate) fn new(blocks: u32) -> FreeBlocks {
        FreeBlocks((0..blocks).map(Block).collect())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The one that has been free the longest, so that wear spreads. There always is one: a map
    /// holds `logical_blocks + log blocks` at most, and there is one more than that.
    pub(crate) fn take(&mut self) -> Block {
        self.0.pop_front().expect("a log-block map has one block more than its logs and its data")
    }

    /// Erases a block, which does not hold up whoever gave it back.
    pub(crate) fn give_back<M: Medium>(
        &mut self,
        medium: &mut M,
        at: Nanos,
        block: Block,
        merges: &mut Merges,
    ) {
        if block != Block::NONE {
            medium.erase(at, block);
            merges.erased += 1;
            self.0.push_back(block);
        }
    }
}

/// A bit for each unit.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UnitSet(Vec<u64>);

impl UnitSet {
    pub(crate) fn new(units: u64) -> UnitSet {
        UnitSet(vec![0; units.div_ceil(64) as usize])
    }

    #[inline]
    pub(crate) fn holds(&self, unit: Unit) -> bool {
        self.0[unit.index() / 64] >> (unit.0 % 64) & 1 == 1
    }

    /// Whether that is a change.
    #[inline]
    pub(crate) fn insert(&mut self, unit: Unit) -> bool {
        let (word, bit) = (&mut self.0[unit.index() / 64], 1 << (unit.0 % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether that is a change.
    #[inline]
    pub(crate) fn remove(&mut self, unit: Unit) -> bool {
        let (word, bit) = (&mut self.0[unit.index() / 64], 1 << (unit.0 % 64));
        let was = *word & bit != 0;
        *word &= !bit;
        was
    }
}
