use super::blocks::Blocks;
use crate::address::Block;
use serde::{Deserialize, Serialize};

/// Closed blocks with few valid units, in one list per number of valid units.
///
/// Only blocks with fewer than `below` valid units are listed, so most overwrites cost nothing
/// here. When all lists are empty, all blocks are visited once and `below` is set just above the
/// fewest.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FewValid {
    below: u32,
    /// All lists below this one are empty.
    lowest: u32,
    /// First block of each list.
    first: Vec<Block>,
    next: Vec<Block>,
    before: Vec<Block>,
}

/// A block in no list.
const OUT: Block = Block(u32::MAX - 1);

impl FewValid {
    pub(super) fn new(blocks: u32) -> FewValid {
        FewValid {
            below: 0,
            lowest: 0,
            first: Vec::new(),
            next: vec![Block::NONE; blocks as usize],
            before: vec![OUT; blocks as usize],
        }
    }

    #[inline]
    pub(super) fn below(&self) -> u32 {
        self.below
    }

    /// Adds a block that is in no list.
    #[inline]
    pub(super) fn put(&mut self, block: Block, valid: u32) {
        let first = std::mem::replace(&mut self.first[valid as usize], block);
        self.next[block.index()] = first;
        self.before[block.index()] = Block::NONE;
        if first != Block::NONE {
            self.before[first.index()] = block;
        }
        self.lowest = self.lowest.min(valid);
    }

    /// Moves a block to the list for `valid`, after it has lost one valid unit.
    #[inline]
    pub(super) fn fall(&mut self, block: Block, valid: u32) {
        if self.before[block.index()] != OUT {
            self.unlink(block, valid + 1);
        }
        self.put(block, valid);
    }

    #[inline]
    fn unlink(&mut self, block: Block, valid: u32) {
        let next = self.next[block.index()];
        let before = std::mem::replace(&mut self.before[block.index()], OUT);
        if before == Block::NONE {
            self.first[valid as usize] = next;
        } else {
            self.next[before.index()] = next;
        }
        if next != Block::NONE {
            self.before[next.index()] = before;
        }
    }

    /// Removes a block from its list, if it is in one.
    pub(super) fn remove(&mut self, block: Block, valid: u32) {
        if self.before[block.index()] != OUT {
            self.unlink(block, valid);
        }
    }

    /// Takes a block with the fewest valid units; `None` if all are fully valid.
    pub(super) fn take(&mut self, blocks: &Blocks, units: u32) -> Option<Block> {
        self.find_lowest();
        if self.lowest >= self.below {
            self.look_at_all(blocks, units);
            self.find_lowest();
        }
        let block = *self.first.get(self.lowest as usize)?;
        if self.lowest >= self.below || block == Block::NONE {
            return None;
        }
        self.unlink(block, self.lowest);
        Some(block)
    }

    fn find_lowest(&mut self) {
        while self.lowest < self.below && self.first[self.lowest as usize] == Block::NONE {
            self.lowest += 1;
        }
    }

    #[cold]
    fn look_at_all(&mut self, blocks: &Blocks, units: u32) {
        let fewest = blocks.tallies().iter().copied().min().unwrap_or(units);
        // High enough to be needed seldom, low enough that most overwrites hit other blocks.
        self.below = fewest.saturating_add(2 + units / 64).min(units);
        self.lowest = fewest.min(self.below);
        self.first.clear();
        self.first.resize(self.below as usize, Block::NONE);
        self.before.fill(OUT);
        for (block, valid) in blocks.all().zip(blocks.tallies()) {
            if *valid < self.below {
                self.put(block, *valid);
            }
        }
    }

    pub(super) fn memory(&self) -> usize {
        (self.first.capacity() + self.next.capacity() + self.before.capacity()) * 4
    }
}
