//! Chunks: pieces of the device that are given to data or to nodes when these run out of room.

use flashlag_units::Bytes;

use crate::fs::BLOCK;
use crate::fs::error::LayoutError;
use crate::fs::map::{Block, BlockRun, HOLE};

/// Offsets of the superblock and its copies (`btrfs_sb_offset`), and the stripe about a copy that
/// nothing else uses.
pub(super) const SUPERBLOCKS: [u64; 3] = [64 << 10, 64 << 20, 256 << 30];
const STRIPE: u64 = (64 << 10) / BLOCK;
/// The front of a device, and the two copies of the chunk tree's chunk (`BTRFS_DEVICE_RANGE_RESERVED`,
/// `mkfs.btrfs`).
const FRONT: u64 = (1 << 20) / BLOCK + 2 * (8 << 20) / BLOCK;
const GIB: u64 = (1 << 30) / BLOCK;
const LEAST_DEVICE: Bytes = Bytes::from_mib(128);

/// The device's part that belongs to no chunk yet.
#[derive(Debug)]
pub(super) struct Chunks {
    next: u64,
    end: u64,
    /// Sizes of chunks in blocks (`init_alloc_chunk_ctl_policy_regular`).
    pub(super) data: u64,
    pub(super) nodes: u64,
    /// Whether a chunk was taken since the last commit of a transaction: a log can't be read before the
    /// tree of chunks has it (`btrfs_set_log_full_commit`).
    pub(super) is_grown: bool,
}

impl Chunks {
    pub(super) fn new(capacity: Bytes) -> Result<Chunks, LayoutError> {
        if capacity < LEAST_DEVICE {
            let (filesystem, least) = ("btrfs", LEAST_DEVICE);
            return Err(LayoutError::TooSmall { filesystem, least, size: capacity });
        }
        let end = (capacity.0 / BLOCK).min(HOLE.number());
        let tenth = end / 10 / STRIPE * STRIPE;
        let nodes = if end > 50 * GIB { GIB } else { GIB / 4 };
        let (data, nodes) = (GIB.min(tenth), nodes.min(tenth));
        Ok(Chunks { next: FRONT, end, data, nodes, is_grown: false })
    }

    /// Blocks of the device.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// Takes a chunk of that many blocks, or with less at the end of the device. `None` if nothing
    /// is left.
    pub(super) fn take(&mut self, blocks: u64) -> Option<BlockRun> {
        let count = blocks.min(self.end - self.next);
        let run = BlockRun { first: Block::at(self.next), count };
        self.next += count;
        self.is_grown = true;
        (count > 0).then_some(run)
    }

    /// The blocks that belong to no chunk.
    pub(super) fn unallocated(&self) -> BlockRun {
        BlockRun { first: Block::at(self.next), count: self.end - self.next }
    }
}

/// Whether a block is kept for a copy of the superblock.
pub(super) fn is_kept(block: u64) -> bool {
    SUPERBLOCKS.iter().any(|offset| (offset / BLOCK..offset / BLOCK + STRIPE).contains(&block))
}

/// The parts of a run that are not kept for copies of the superblock.
pub(super) fn usable(run: BlockRun) -> Vec<BlockRun> {
    let mut parts = Vec::new();
    let (mut at, end) = (run.first.number(), run.end().number());
    for kept in SUPERBLOCKS.map(|offset| offset / BLOCK) {
        if (at..end).contains(&kept) {
            parts.push(BlockRun { first: Block::at(at), count: kept - at });
            at = end.min(kept + STRIPE);
        }
    }
    parts.push(BlockRun { first: Block::at(at), count: end - at });
    parts.retain(|part| part.count > 0);
    parts
}

/// The number of blocks in runs.
pub(super) fn count(runs: &[BlockRun]) -> u64 {
    runs.iter().map(|run| run.count).sum()
}
