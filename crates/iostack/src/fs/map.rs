//! Block maps of files, one entry per page, for ext4 and F2FS.

use flashlag_units::Nanos;

use super::model::{BLOCK, blocks};
use crate::plan::{Run, push_run};

/// A block that holds a page of a file. In ext4 it is counted from the start of the device, in F2FS
/// from that of the main area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Block(pub(super) u32);

impl Block {
    /// The block of that number. A filesystem has fewer blocks than [`HOLE`].
    pub(super) const fn at(number: u64) -> Block {
        Block(number as u32)
    }

    /// The number, for arithmetic.
    pub(super) const fn number(self) -> u64 {
        self.0 as u64
    }

    /// The block `count` blocks further on.
    pub(super) const fn plus(self, count: u64) -> Block {
        Block::at(self.number() + count)
    }
}

/// Consecutive blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockRun {
    pub(super) first: Block,
    pub(super) count: u64,
}

impl BlockRun {
    /// The block behind the last.
    pub(super) const fn end(self) -> Block {
        self.first.plus(self.count)
    }

    /// Every block, in order.
    pub(super) fn blocks(self) -> impl Iterator<Item = Block> {
        (self.first.number()..self.end().number()).map(Block::at)
    }

    /// The bytes of the block, if the filesystem's first block is the device's.
    pub(super) const fn bytes(self) -> Run {
        Run { offset: self.first.number() * BLOCK, length: self.count * BLOCK }
    }
}

/// The entry of a page without a block.
pub(super) const HOLE: Block = Block(u32::MAX);
/// Resolution of modification times: 100 ticks a second on phones (`HZ`).
const TICK: Nanos = Nanos::from_millis(10);

/// Number of the tick that a time falls into.
pub(super) const fn tick(now: Nanos) -> u64 {
    now.0 / TICK.0
}

/// Whether a page has a block.
pub(super) fn is_mapped(map: &[Block], page: u64) -> bool {
    map.get(page as usize).is_some_and(|block| *block != HOLE)
}

/// Number of pages without a block among those from `first` to before `end`.
pub(super) fn holes(map: &[Block], first: u64, end: u64) -> u64 {
    (end - first) - pages_of(map, first, end).filter(|block| **block != HOLE).count() as u64
}

/// Number of mapped pages from `first` on, up to the first hole or `end`.
pub(super) fn mapped_run(map: &[Block], first: u64, end: u64) -> u64 {
    pages_of(map, first, end).take_while(|block| **block != HOLE).count() as u64
}

/// The map entries of pages; those beyond the map's end are left out.
fn pages_of(map: &[Block], first: u64, end: u64) -> std::slice::Iter<'_, Block> {
    let length = map.len() as u64;
    map[first.min(length) as usize..end.min(length) as usize].iter()
}

/// Ranges of the device that hold a range of a file; holes are skipped. `begins` gives the offset
/// of a block.
pub(super) fn locate(
    map: &[Block],
    offset: u64,
    length: u64,
    begins: impl Fn(Block) -> u64,
) -> Vec<Run> {
    let mut runs = Vec::new();
    let (first, end) = blocks(offset, length);
    for page in first..end.min(map.len() as u64) {
        let block = map[page as usize];
        if block == HOLE {
            continue;
        }
        let (from, to) = (offset.max(page * BLOCK), (offset + length).min((page + 1) * BLOCK));
        push_run(&mut runs, Run { offset: begins(block) + from - page * BLOCK, length: to - from });
    }
    runs
}
