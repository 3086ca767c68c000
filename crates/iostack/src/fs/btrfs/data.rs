//! Room for data.

use super::chunks::{Chunks, count, usable};
use super::extents::Extents;
use crate::fs::map::{Block, BlockRun};
use crate::fs::space::Space;
use crate::plan::{Run, push_run};

/// Blocks of the chunk that `mkfs.btrfs` makes.
const FIRST_CHUNK: u64 = (8 << 20) / crate::fs::BLOCK;
/// Blocks of the largest extent (`BTRFS_MAX_EXTENT_SIZE`).
const LARGEST: u64 = (128 << 20) / crate::fs::BLOCK;

#[derive(Debug)]
pub(super) struct Data {
    space: Space,
    extents: Extents,
    /// Extents that were freed since the last transaction commit: pinned, since a power cut would
    /// bring them back.
    pinned: Vec<BlockRun>,
}

impl Data {
    pub(super) fn new(chunks: &mut Chunks) -> Data {
        let mut space = Space::new(chunks.end());
        space.take(BlockRun { first: Block(0), count: chunks.end() });
        let mut data = Data { space, extents: Extents::default(), pinned: Vec::new() };
        data.grow(chunks.take(FIRST_CHUNK));
        data
    }

    fn grow(&mut self, chunk: Option<BlockRun>) {
        for block in chunk.into_iter().flat_map(usable).flat_map(BlockRun::blocks) {
            self.space.give_back(block);
        }
    }

    /// Blocks that can be allocated without a commit.
    pub(super) fn ready(&self, chunks: &Chunks) -> u64 {
        self.space.free() + count(&usable(chunks.unallocated()))
    }

    /// Blocks that can be allocated after the transaction is committed.
    pub(super) fn free(&self, chunks: &Chunks) -> u64 {
        self.ready(chunks) + count(&self.pinned)
    }

    /// Allocates an extent of at most `wanted` blocks; makes a new chunk if the others have no free
    /// block.
    pub(super) fn allocate(
        &mut self,
        chunks: &mut Chunks,
        goal: Block,
        wanted: u64,
    ) -> Option<BlockRun> {
        if self.space.free() < wanted {
            self.grow(chunks.take(chunks.data));
        }
        let run = self.space.allocate(goal, wanted.min(LARGEST))?;
        self.extents.add(run);
        Some(run)
    }

    /// Takes blocks out of use. Returns the extent if no file uses any of it now; it stays pinned
    /// until the transaction is committed.
    pub(super) fn release(&mut self, run: BlockRun) -> Option<BlockRun> {
        let extent = self.extents.release(run)?;
        self.pinned.push(extent);
        Some(extent)
    }

    /// Frees the pinned extents; returns where they are on the device.
    pub(super) fn unpin(&mut self) -> Vec<Run> {
        let mut freed = std::mem::take(&mut self.pinned);
        freed.sort_unstable_by_key(|run| run.first);
        let mut runs = Vec::new();
        for run in freed {
            run.blocks().for_each(|block| self.space.give_back(block));
            push_run(&mut runs, run.bytes());
        }
        runs
    }

    /// Ranges of the device that no file uses, those outside all chunks included.
    pub(super) fn free_places(&self, chunks: &Chunks) -> Vec<Run> {
        let free = (0..self.space.groups()).flat_map(|group| self.space.free_runs(group));
        let mut runs = Vec::new();
        for run in free.chain(usable(chunks.unallocated())) {
            push_run(&mut runs, run.bytes());
        }
        runs
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> Vec<Run> {
        self.extents.runs().map(BlockRun::bytes).collect()
    }
}
