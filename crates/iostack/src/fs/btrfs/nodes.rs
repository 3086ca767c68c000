//! Room for nodes: 16 KiB each, in two copies (`DUP`).

use super::chunks::{Chunks, is_kept};
use crate::fs::BLOCK;
use crate::fs::map::{Block, BlockRun};
use crate::fs::space::Space;
use crate::plan::{Run, push_run};

/// Size of a node (`nodesize`).
pub(super) const NODE: u64 = 16 << 10;
/// Nodes that are reserved for a commit.
pub(super) const RESERVE: u64 = 64;

/// Blocks of a node.
const BLOCKS: u64 = NODE / BLOCK;

/// Nodes are numbered through all chunks.
#[derive(Debug)]
pub(super) struct Nodes {
    space: Space,
    chunks: Vec<Chunk>,
    /// Nodes that were replaced since the last transaction commit: pinned, since a power cut would
    /// bring them back.
    pinned: Vec<Block>,
    goal: Block,
}

#[derive(Debug)]
struct Chunk {
    first: u64,
    nodes: u64,
    /// Where the copies begin.
    copies: [Block; 2],
}

impl Nodes {
    /// Room for nodes on a device, in one chunk.
    pub(super) fn new(chunks: &mut Chunks) -> Nodes {
        let most = chunks.end() / (2 * BLOCKS);
        let mut space = Space::new(most);
        space.take(BlockRun { first: Block(0), count: most });
        let mut nodes = Nodes { space, chunks: Vec::new(), pinned: Vec::new(), goal: Block(0) };
        nodes.grow(chunks);
        nodes
    }

    /// Adds a chunk; returns whether there was room for one. Adds none if a commit would free half
    /// of all nodes: the caller is to commit instead.
    pub(super) fn grow(&mut self, chunks: &mut Chunks) -> bool {
        let all = self.chunks.last().map_or(0, |last| last.first + last.nodes);
        let is_full = 2 * self.free_then() <= all;
        if !is_full || chunks.unallocated().count < 2 * chunks.nodes {
            return false;
        }
        let Some(run) = chunks.take(2 * chunks.nodes) else { return false };
        let first = all;
        let half = run.count / 2;
        let copies = [run.first, run.first.plus(half)];
        let nodes = half / BLOCKS;
        for node in 0..nodes {
            let mut blocks = copies.iter().flat_map(|copy| {
                let begin = copy.number() + node * BLOCKS;
                begin..begin + BLOCKS
            });
            if !blocks.any(is_kept) {
                self.space.give_back(Block::at(first + node));
            }
        }
        self.chunks.push(Chunk { first, nodes, copies });
        true
    }

    /// Nodes that can be allocated after the transaction is committed.
    pub(super) fn free_then(&self) -> u64 {
        self.space.free() + self.pinned.len() as u64
    }

    /// Nodes that can be allocated.
    pub(super) fn free(&self) -> u64 {
        self.space.free()
    }

    pub(super) fn allocate(&mut self) -> Option<Block> {
        let node = self.space.allocate(self.goal, 1)?.first;
        self.goal = node.plus(1);
        Some(node)
    }

    /// Pins replaced nodes until the transaction is committed.
    pub(super) fn pin(&mut self, left: impl IntoIterator<Item = Block>) {
        self.pinned.extend(left);
    }

    /// Frees the pinned nodes; returns where they are on the device.
    pub(super) fn unpin(&mut self) -> Vec<Run> {
        let mut freed = std::mem::take(&mut self.pinned);
        freed.sort_unstable();
        freed.iter().for_each(|node| self.space.give_back(*node));
        self.goal = freed.first().copied().unwrap_or(self.goal);
        self.places(&freed)
    }

    /// Ranges of the device with both copies of these nodes; adjacent ones are joined.
    pub(super) fn places(&self, nodes: &[Block]) -> Vec<Run> {
        let mut runs = Vec::new();
        for copy in 0..2 {
            for node in nodes {
                let offset = self.block(*node, copy) * BLOCK;
                push_run(&mut runs, Run { offset, length: NODE });
            }
        }
        runs
    }

    /// First block of a node's copy.
    pub(super) fn block(&self, node: Block, copy: usize) -> u64 {
        let index = self.chunks.partition_point(|chunk| chunk.first <= node.number());
        index
            .checked_sub(1)
            .and_then(|index| self.chunks.get(index))
            .map_or(0, |chunk| chunk.copies[copy].number() + (node.number() - chunk.first) * BLOCKS)
    }

    /// Places of the nodes that nothing uses.
    pub(super) fn free_places(&self) -> Vec<Run> {
        let runs = (0..self.space.groups()).flat_map(|group| self.space.free_runs(group));
        let nodes: Vec<Block> = runs.flat_map(BlockRun::blocks).collect();
        self.places(&nodes)
    }

    /// Blocks of all chunks but the first one.
    #[cfg(test)]
    pub(super) fn added(&self) -> Vec<Run> {
        let later = self.chunks.iter().skip(1);
        let run = |chunk: &Chunk| {
            let first = chunk.copies[0];
            BlockRun { first, count: 2 * (chunk.copies[1].number() - first.number()) }.bytes()
        };
        later.map(run).collect()
    }
}
