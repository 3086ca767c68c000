use flashlag_stats::Wait;
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::address::{Block, Slot, Unit};
use crate::trace::Trace;

/// Place of a unit: a block and a slot in it.
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

/// The flash as log-block maps see it: blocks of slots, one per mapping unit. Between two erases
/// slots are programmed once, in ascending order. Calls return the end of their work.
pub(crate) trait Medium {
    /// Reads `count` slots of a block.
    fn read(&mut self, at: Nanos, block: Block, slot: Slot, count: u32) -> Nanos;

    /// Programs units of the host in one program, at most one program unit.
    fn program(&mut self, at: Nanos, block: Block, slot: Slot, units: &[Unit]) -> Nanos;

    /// Reads units from their places and programs them in one operation; a source without a place
    /// leaves its slot empty.
    fn copy(&mut self, at: Nanos, from: &[Place], block: Block, slot: Slot) -> Nanos;

    /// Erases a block.
    fn erase(&mut self, at: Nanos, block: Block) -> Nanos;

    /// The account of what commands wait for, if one is kept.
    fn trace(&mut self) -> Option<&mut Trace> {
        None
    }
}

/// Does work of the map itself, which counts as collection for what waits for it.
pub(crate) fn merging<M: Medium, T>(medium: &mut M, work: impl FnOnce(&mut M) -> T) -> T {
    let before = medium.trace().map(|trace| trace.reason(Wait::GarbageCollection));
    let done = work(medium);
    if let (Some(trace), Some(before)) = (medium.trace(), before) {
        trace.reason(before);
    }
    done
}

/// Notes that the host waits for merges between two times.
pub(crate) fn waits_for_merges<M: Medium>(medium: &mut M, from: Nanos, to: Nanos) {
    if let Some(trace) = medium.trace() {
        trace.stop(Wait::GarbageCollection, from, to);
    }
}

/// Dimensions of a log-block map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// Blocks of the host's address space.
    pub(crate) logical_blocks: u32,
    pub(crate) blocks: u32,
    /// Units per block.
    pub(crate) units: u32,
    /// Units per program unit.
    pub(crate) program: u32,
}

/// Cost of merges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Merges {
    /// Switch merges: a full log block replaced its data block.
    pub(crate) switches: u64,
    /// Partial merges: a log block was completed and replaced its data block.
    pub(crate) partials: u64,
    /// Full merges: a block was rewritten.
    pub(crate) fulls: u64,
    /// Units copied.
    pub(crate) copied: u64,
    /// Units of padding.
    pub(crate) padded: u64,
    /// Blocks erased.
    pub(crate) erased: u64,
}

/// Free blocks, the one that has been free longest in front.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FreeBlocks(std::collections::VecDeque<Block>);

impl FreeBlocks {
    pub(crate) fn new(blocks: u32) -> FreeBlocks {
        FreeBlocks((0..blocks).map(Block).collect())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Takes the block that has been free longest, which spreads wear. One is always free: a map
    /// uses at most `logical_blocks + log blocks`, and there is one more.
    pub(crate) fn take(&mut self) -> Block {
        self.0.pop_front().expect("a log-block map has one block more than its logs and its data")
    }

    /// Erases a block and adds it, without holding up the caller.
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

/// A set of units, one bit each.
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

    /// Adds a unit; returns whether it was missing.
    #[inline]
    pub(crate) fn insert(&mut self, unit: Unit) -> bool {
        let (word, bit) = (&mut self.0[unit.index() / 64], 1 << (unit.0 % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Removes a unit; returns whether it was there.
    #[inline]
    pub(crate) fn remove(&mut self, unit: Unit) -> bool {
        let (word, bit) = (&mut self.0[unit.index() / 64], 1 << (unit.0 % 64));
        let was = *word & bit != 0;
        *word &= !bit;
        was
    }
}
