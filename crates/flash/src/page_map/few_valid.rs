use super::blocks::Blocks;
use crate::address::Block;
use serde::{Deserialize, Serialize};

/// The closed blocks with few valid units, in lists by how many.
///
/// Only blocks with fewer than `below` valid units are listed: most overwrites hit others, and cost
/// nothing here. When no block is listed any more, all are looked at once, and `below` is set just
/// above the fewest.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FewValid {
    below: u32,
    /// No list below this one holds a block.
    lowest: u32,
    /// First of each list.
    first: Vec<Block>,
    next: Vec<Block>,
    before: Vec<Block>,
}

/// Not in any list.
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

    /// Lists a block that is not listed.
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

    /// A block has `valid` valid units now, one fewer than before.
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

    /// Takes a block out, wherever it is.
    pub(super) fn remove(&mut self, block: Block, valid: u32) {
        if self.before[block.index()] != OUT {
            self.unlink(block, valid);
        }
    }

    /// Takes one of the blocks with the fewest valid units; none where all are fully valid.
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
        // Enough that it is seldom done, few enough that most overwrites hit others.
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
