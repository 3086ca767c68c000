//! Free blocks, as a bitmap that is searched from a goal on.

use crate::fs::map::{Block, BlockRun};

/// Blocks per group, covered by one bitmap block.
pub(super) const GROUP: u64 = 32_768;

/// The group of a block.
pub(super) const fn group_of(block: Block) -> u64 {
    block.number() / GROUP
}

#[derive(Debug)]
pub(super) struct Space {
    /// One bit per block, set if it is in use.
    used: Vec<u64>,
    blocks: u64,
    free: u64,
    free_in_group: Vec<u32>,
    /// Blocks preallocated for growing files: used, as far as other files are concerned.
    kept: u64,
    /// Shortest run that was searched for in vain since a block was last freed.
    no_run_of: u64,
}

impl Space {
    pub(super) fn new(blocks: u64) -> Space {
        let mut used = vec![0; blocks.div_ceil(64) as usize];
        if !blocks.is_multiple_of(64)
            && let Some(last) = used.last_mut()
        {
            *last = u64::MAX << (blocks % 64);
        }
        let groups = blocks.div_ceil(GROUP);
        let in_group = |group| GROUP.min(blocks - group * GROUP) as u32;
        Space {
            used,
            blocks,
            free: blocks,
            free_in_group: (0..groups).map(in_group).collect(),
            kept: 0,
            no_run_of: u64::MAX,
        }
    }

    /// Number of free blocks, preallocated ones included.
    pub(super) fn free(&self) -> u64 {
        self.free + self.kept
    }

    /// Number of free blocks that are not preallocated.
    pub(super) fn unkept(&self) -> u64 {
        self.free
    }

    /// Preallocates a run of `wanted` free blocks at or after `goal`; `None` if no run is that long.
    pub(super) fn keep(&mut self, goal: Block, wanted: u64) -> Option<BlockRun> {
        if wanted >= self.no_run_of {
            return None;
        }
        let goal = if goal.number() < self.blocks { goal.number() } else { 0 };
        let here = self.run_at(goal, wanted) == wanted;
        let run = if here {
            BlockRun { first: Block::at(goal), count: wanted }
        } else {
            let found = self.search(goal, wanted);
            if found.is_none() {
                self.no_run_of = wanted;
            }
            found?
        };
        self.kept += self.take(run);
        Some(run)
    }

    /// Uses blocks that were kept.
    pub(super) fn use_kept(&mut self, run: BlockRun) {
        self.kept -= run.count;
    }

    /// Frees preallocated blocks that were not used.
    pub(super) fn release(&mut self, run: BlockRun) {
        self.kept -= run.count;
        run.blocks().for_each(|block| self.give_back(block));
    }

    pub(super) fn groups(&self) -> u64 {
        self.free_in_group.len() as u64
    }

    /// Index of the bitmap's word that covers a block, and the block's bit in it.
    const fn bit(block: Block) -> (usize, u64) {
        ((block.number() / 64) as usize, 1 << (block.number() % 64))
    }

    fn is_used(&self, block: Block) -> bool {
        let (word, bit) = Space::bit(block);
        self.used[word] & bit != 0
    }

    /// Takes the blocks of a range that are free; returns how many.
    pub(super) fn take(&mut self, run: BlockRun) -> u64 {
        let mut taken = 0;
        for block in run.blocks().take_while(|block| block.number() < self.blocks) {
            if !self.is_used(block) {
                let (word, bit) = Space::bit(block);
                self.used[word] |= bit;
                self.free_in_group[group_of(block) as usize] -= 1;
                taken += 1;
            }
        }
        self.free -= taken;
        taken
    }

    pub(super) fn give_back(&mut self, block: Block) {
        assert!(self.is_used(block), "{block:?} is freed twice");
        let (word, bit) = Space::bit(block);
        self.used[word] &= !bit;
        self.free_in_group[group_of(block) as usize] += 1;
        self.free += 1;
        self.no_run_of = u64::MAX;
    }

    /// Allocates up to `wanted` blocks in one run: at `goal` if that is free, else in the first
    /// later run that is long enough, else in the first free run.
    pub(super) fn allocate(&mut self, goal: Block, wanted: u64) -> Option<BlockRun> {
        if self.free == 0 || wanted == 0 {
            return None;
        }
        let goal = if goal.number() < self.blocks { goal.number() } else { 0 };
        let here = self.run_at(goal, wanted);
        let run = if here > 0 {
            BlockRun { first: Block::at(goal), count: here }
        } else {
            self.search(goal, wanted).or_else(|| self.search(goal, 1))?
        };
        let taken = self.take(run);
        assert_eq!(taken, run.count, "a free run holds blocks in use");
        Some(run)
    }

    /// Number of free blocks from `first` on, up to `most`.
    fn run_at(&self, first: u64, most: u64) -> u64 {
        let end = self.blocks.min(first + most);
        let mut block = first;
        while block < end {
            let left = self.used[(block / 64) as usize] >> (block % 64);
            let free = u64::from(left.trailing_zeros()).min(64 - block % 64);
            block += free;
            if left != 0 {
                break;
            }
        }
        block.min(end) - first
    }

    /// Start of the first run of `wanted` free blocks at or after `goal`; then searches from the
    /// start of the device.
    fn search(&self, goal: u64, wanted: u64) -> Option<BlockRun> {
        self.search_in(goal, self.blocks, wanted).or_else(|| self.search_in(0, goal, wanted))
    }

    fn search_in(&self, from: u64, to: u64, wanted: u64) -> Option<BlockRun> {
        let mut block = from;
        while block < to {
            if self.free_in_group[(block / GROUP) as usize] == 0 {
                block = (block / GROUP + 1) * GROUP;
                continue;
            }
            let word = self.used[(block / 64) as usize] >> (block % 64);
            if word & 1 == 1 {
                block += u64::from(word.trailing_ones()).min(64 - block % 64);
                continue;
            }
            let run = self.run_at(block, wanted);
            if run >= wanted {
                return Some(BlockRun { first: Block::at(block), count: run });
            }
            block += run;
        }
        None
    }

    /// The free runs of a group.
    pub(super) fn free_runs(&self, group: u64) -> Vec<BlockRun> {
        let first = group * GROUP;
        let count = self.blocks.min(first + GROUP) - first;
        self.free_in(BlockRun { first: Block::at(first), count })
    }

    /// The free runs within a run of blocks.
    pub(super) fn free_in(&self, range: BlockRun) -> Vec<BlockRun> {
        let (mut block, end) = (range.first.number(), range.end().number());
        let mut runs = Vec::new();
        while block < end {
            let run = self.run_at(block, end - block);
            if run > 0 {
                runs.push(BlockRun { first: Block::at(block), count: run });
            }
            block += run + 1;
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first: u64, count: u64) -> BlockRun {
        BlockRun { first: Block::at(first), count }
    }

    #[test]
    fn a_goal_that_is_free_is_taken_and_else_the_next_run_that_is_long_enough() {
        let mut space = Space::new(1000);
        let goal = Block(100);
        assert_eq!(space.allocate(goal, 50), Some(run(100, 50)));
        assert_eq!(space.allocate(goal, 50), Some(run(150, 50)));
        run(110, 10).blocks().for_each(|block| space.give_back(block));
        assert_eq!(space.allocate(goal, 10), Some(run(110, 10)));
        assert_eq!(space.allocate(goal, 10), Some(run(200, 10)));
    }

    #[test]
    fn space_in_pieces_is_given_in_pieces_until_none_is_left() {
        let mut space = Space::new(128);
        space.take(run(0, 128));
        for block in (0..128).step_by(2) {
            space.give_back(Block(block));
        }
        for _ in 0..64 {
            assert_eq!(space.allocate(Block(7), 4).map(|run| run.count), Some(1));
        }
        assert_eq!(space.allocate(Block(7), 1), None);
        assert_eq!(space.free(), 0);
    }

    #[test]
    fn free_runs_of_a_group_are_all_that_is_free_in_it() {
        let mut space = Space::new(GROUP + 100);
        space.take(run(0, 10));
        space.take(run(20, GROUP - 30));
        assert_eq!(space.free_runs(0), [run(10, 10), run(GROUP - 10, 10)]);
        assert_eq!(space.free_runs(1), [run(GROUP, 100)]);
        assert_eq!(space.free(), 120);
    }
}
