use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::shape::Shape;
use crate::address::{Block, Slot};

/// Marks blocks in the tally that are not closed, so that none of them is chosen as a victim.
const NOT_CLOSED: u32 = 1 << 31;

/// State of all blocks: which slots are valid, and how many.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Blocks {
    /// Valid units of each block, with [`NOT_CLOSED`].
    tally: Vec<u32>,
    /// Valid slots as bits, `words` words per block.
    bits: Vec<u64>,
    words: u32,
    closed_at: Vec<u32>,
    closings: u32,
    /// Erased blocks, the one that has been free longest in front.
    pub(super) free: VecDeque<Block>,
    /// Factory bad blocks, never written.
    pub(super) bad: Vec<Block>,
    /// Number of worn out blocks.
    pub(super) retired: u32,
}

impl Blocks {
    pub(super) fn new(shape: &Shape, random: &mut Pcg64Mcg) -> Blocks {
        let words = shape.units.div_ceil(64);
        let mut bad = BTreeSet::new();
        while (bad.len() as u32) < shape.bad {
            bad.insert(Block(random.random_range(0..shape.blocks)));
        }
        Blocks {
            tally: vec![NOT_CLOSED; shape.blocks as usize],
            bits: vec![0; shape.blocks as usize * words as usize],
            words,
            closed_at: vec![0; shape.blocks as usize],
            closings: 0,
            free: (0..shape.blocks).map(Block).filter(|block| !bad.contains(block)).collect(),
            bad: bad.into_iter().collect(),
            retired: 0,
        }
    }

    /// Erases every block that is not bad: all of them are free, and no slot is valid.
    pub(super) fn erase_all(&mut self) {
        self.tally.fill(NOT_CLOSED);
        self.bits.fill(0);
        self.free = self.all().filter(|block| !self.bad.contains(block)).collect();
    }

    /// Number of blocks.
    pub(super) fn count(&self) -> u32 {
        self.tally.len() as u32
    }

    /// All blocks, bad ones included.
    pub(super) fn all(&self) -> impl Iterator<Item = Block> + use<> {
        (0..self.count()).map(Block)
    }

    #[inline]
    pub(super) fn valid(&self, block: Block) -> u32 {
        self.tally[block.index()] & !NOT_CLOSED
    }

    #[inline]
    pub(super) fn is_closed(&self, block: Block) -> bool {
        self.tally[block.index()] & NOT_CLOSED == 0
    }

    /// Valid units of all blocks; a block that is not closed has a very large tally.
    pub(super) fn tallies(&self) -> &[u32] {
        &self.tally
    }

    /// Marks a slot invalid and returns the new tally of its block.
    #[inline]
    pub(super) fn invalidate(&mut self, block: Block, slot: Slot) -> u32 {
        let (word, bit) = slot.bit();
        let word = &mut self.bits[block.index() * self.words as usize + word];
        assert!(*word >> bit & 1 == 1, "a slot is invalid twice");
        *word &= !(1 << bit);
        let tally = &mut self.tally[block.index()];
        *tally -= 1;
        *tally
    }

    /// Marks a slot of an open block valid.
    #[inline]
    pub(super) fn set_valid(&mut self, block: Block, slot: Slot) {
        let (word, bit) = slot.bit();
        let word = &mut self.bits[block.index() * self.words as usize + word];
        assert!(*word >> bit & 1 == 0, "a slot is written twice");
        *word |= 1 << bit;
        self.tally[block.index()] += 1;
    }

    /// Marks `count` slots in a row of an open block valid.
    pub(super) fn set_valid_run(&mut self, block: Block, from: Slot, count: u32) {
        let base = block.index() * self.words as usize;
        let (mut slot, end) = (from.0, from.0 + count);
        while slot < end {
            let take = (64 - slot % 64).min(end - slot);
            let run = if take == 64 { u64::MAX } else { (1 << take) - 1 };
            self.bits[base + slot as usize / 64] |= run << (slot % 64);
            slot += take;
        }
        self.tally[block.index()] += count;
    }

    /// Marks 64 slots of an open block valid or not, by bits.
    pub(super) fn set_word(&mut self, block: Block, word: u32, bits: u64) {
        self.bits[block.index() * self.words as usize + word as usize] = bits;
        self.tally[block.index()] += bits.count_ones();
    }

    /// Marks at most `most` valid slots of a word invalid, from the first on, and returns their
    /// bits.
    #[inline]
    pub(super) fn take_word(&mut self, block: Block, word: u32, most: u32) -> u64 {
        let index = block.index() * self.words as usize + word as usize;
        let mut bits = self.bits[index];
        while bits.count_ones() > most {
            bits ^= 1 << bits.ilog2();
        }
        self.bits[index] ^= bits;
        self.tally[block.index()] -= bits.count_ones();
        bits
    }

    /// Whether no slot of a word is valid.
    #[inline]
    pub(super) fn is_empty_word(&self, block: Block, word: u32) -> bool {
        self.bits[block.index() * self.words as usize + word as usize] == 0
    }

    /// Words per block.
    pub(super) fn words(&self) -> u32 {
        self.words
    }

    #[cfg(test)]
    pub(super) fn word(&self, block: Block, word: u32) -> u64 {
        self.bits[block.index() * self.words as usize + word as usize]
    }

    /// Closes a block that is full.
    pub(super) fn close(&mut self, block: Block) {
        assert!(!self.is_closed(block), "a block is closed twice");
        self.tally[block.index()] &= !NOT_CLOSED;
        self.closings = self.closings.wrapping_add(1);
        self.closed_at[block.index()] = self.closings;
    }

    /// Marks a closed block as being relocated, so that it is no victim any more.
    pub(super) fn reopen(&mut self, block: Block) {
        assert!(self.is_closed(block), "a block that is open is relocated");
        self.tally[block.index()] |= NOT_CLOSED;
    }

    /// Closings since a block was closed.
    #[inline]
    pub(super) fn age(&self, block: Block) -> u32 {
        self.closings.wrapping_sub(self.closed_at[block.index()])
    }

    /// Memory of the tables, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.bits.capacity() * 8
            + (self.tally.capacity() + self.closed_at.capacity() + self.free.capacity()) * 4
    }
}
