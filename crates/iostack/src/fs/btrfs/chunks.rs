//! Chunks: parts of the device that Btrfs gives to data or to nodes when these run out of room.

use flashlag_units::Bytes;

use crate::fs::BLOCK;
use crate::fs::error::LayoutError;
use crate::fs::map::{Block, BlockRun, HOLE};

/// Offsets of the superblock and its copies (`btrfs_sb_offset`), and the stripe around each copy
/// that Btrfs leaves unused.
pub(super) const SUPERBLOCKS: [u64; 3] = [64 << 10, 64 << 20, 256 << 30];
const STRIPE: u64 = (64 << 10) / BLOCK;
/// Blocks at the start of a device that nothing else may use (`BTRFS_DEVICE_RANGE_RESERVED`), and
/// the two copies of the chunk tree's chunk (`mkfs.btrfs`).
const FRONT: u64 = (1 << 20) / BLOCK + 2 * (8 << 20) / BLOCK;
const GIB: u64 = (1 << 30) / BLOCK;
const LEAST_DEVICE: Bytes = Bytes::from_mib(128);

/// The part of the device that belongs to no chunk yet.
#[derive(Debug)]
pub(super) struct Chunks {
    next: u64,
    end: u64,
    /// Sizes of chunks in blocks (`init_alloc_chunk_ctl_policy_regular`).
    pub(super) data: u64,
    pub(super) nodes: u64,
    /// Whether a chunk was allocated since the last transaction commit. A log that uses it can't be
    /// read before the chunk tree is committed (`btrfs_set_log_full_commit`).
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
        let (data, nodes) = (GIB.min(tenth), nodes_chunk(end));
        Ok(Chunks { next: FRONT, end, data, nodes, is_grown: false })
    }

    /// Blocks of the device.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// Allocates a chunk of `blocks` blocks, or a smaller one at the end of the device. `None` if
    /// nothing is left.
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

/// Blocks in one copy of a node chunk on a device of `end` blocks, as `mkfs.btrfs` 6.2 makes it.
/// The two copies take a tenth of a small device.
fn nodes_chunk(end: u64) -> u64 {
    let usual = if end > 50 * GIB { GIB } else { GIB / 4 };
    let tenth = end / 10;
    if tenth < usual { (tenth / 2 / STRIPE * STRIPE).max(GIB / 32) } else { usual }
}

/// Whether a block is reserved for a copy of the superblock.
pub(super) fn is_kept(block: u64) -> bool {
    SUPERBLOCKS.iter().any(|offset| (offset / BLOCK..offset / BLOCK + STRIPE).contains(&block))
}

/// The parts of a run that are not reserved for copies of the superblock.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_nodes_are_as_large_as_mkfs_makes_them() {
        // Sizes in MiB of a device, and of each copy, as mkfs.btrfs 6.2 prints them.
        let sizes = [
            (128, 32),
            (512, 32),
            (1024, 51),
            (2048, 102),
            (3072, 256),
            (16_384, 256),
            (65_536, 1024),
        ];
        for (device, copy) in sizes {
            let chunks = Chunks::new(Bytes::from_mib(device)).unwrap();
            assert_eq!((chunks.nodes * BLOCK) >> 20, copy, "{device} MiB");
        }
        assert!(Chunks::new(Bytes::from_mib(127)).is_err());
    }

    #[test]
    fn what_is_kept_for_superblocks_is_no_part_of_a_run() {
        let at = SUPERBLOCKS[1] / BLOCK;
        let run = BlockRun { first: Block::at(at - 4), count: 4 + STRIPE + 4 };
        let parts = usable(run);
        assert_eq!(count(&parts), 8);
        assert!(parts.iter().flat_map(|part| part.blocks()).all(|block| !is_kept(block.number())));
        let inside = BlockRun { first: Block::at(at), count: STRIPE };
        assert_eq!(usable(inside), []);
    }
}
