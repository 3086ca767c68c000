//! Layout of ext4's metadata.
//!
//! Sizes are those of `mke2fs` and Android's `make_ext4fs`: groups of 128 MiB, one inode of 256
//! bytes per 16 KiB, and a journal of 1/64 of the blocks, between 4 and 128 MiB.

use flashlag_units::Bytes;

use crate::fs::BLOCK;
use crate::fs::error::LayoutError;
use crate::fs::map::{Block, BlockRun};
use crate::fs::space::{GROUP, Space};

const INODE_BYTES: u64 = 256;
const INODES_PER_GROUP: u64 = GROUP * BLOCK / (16 * 1024);
const INODES_PER_BLOCK: u64 = BLOCK / INODE_BYTES;
const DESCRIPTOR_BYTES: u64 = 32;
/// Inodes of the root directory and of the first file.
const ROOT_INODE: u64 = 2;
const FIRST_INODE: u64 = 12;

#[derive(Debug)]
pub(super) struct Layout {
    groups: u64,
    descriptors: u64,
    /// First block of the root directory.
    pub(super) directory: Block,
    pub(super) journal: BlockRun,
}

impl Layout {
    /// Lays out a filesystem of `blocks` blocks and takes the metadata's from `space`.
    pub(super) fn new(blocks: u64, space: &mut Space) -> Result<Layout, LayoutError> {
        let groups = blocks.div_ceil(GROUP);
        let descriptors = (groups * DESCRIPTOR_BYTES).div_ceil(BLOCK);
        let journal = (blocks / 64).clamp(1024, 32_768);
        if blocks < journal + 2 * Layout::table_blocks() + descriptors + 4096 {
            return Err(LayoutError::TooSmall {
                filesystem: "ext4",
                least: Bytes::from_mib(32),
                size: Bytes(blocks * BLOCK),
            });
        }
        let nowhere = BlockRun { first: Block(0), count: 0 };
        let mut layout = Layout { groups, descriptors, directory: Block(0), journal: nowhere };
        for group in 0..groups {
            space.take(layout.overhead(group));
        }
        layout.directory = space.allocate(Block(0), 1).ok_or(LayoutError::NoJournal)?.first;
        // In the middle, as mke2fs places it, and contiguous if the groups leave room for that.
        let goal = layout.overhead(groups / 2).end();
        layout.journal = space.allocate(goal, journal).ok_or(LayoutError::NoJournal)?;
        Ok(layout)
    }

    const fn table_blocks() -> u64 {
        INODES_PER_GROUP * INODE_BYTES / BLOCK
    }

    /// Metadata blocks at the front of a group. The first group also has the superblock and the
    /// descriptors.
    fn overhead(&self, group: u64) -> BlockRun {
        let head = if group == 0 { 1 + self.descriptors } else { 0 };
        BlockRun { first: Block::at(group * GROUP), count: head + 2 + Layout::table_blocks() }
    }

    pub(super) const fn superblock(&self) -> Block {
        Block(0)
    }

    /// Block with the descriptor of a group.
    pub(super) fn descriptor(&self, group: u64) -> Block {
        Block::at(1 + group * DESCRIPTOR_BYTES / BLOCK)
    }

    pub(super) fn block_bitmap(&self, group: u64) -> Block {
        let overhead = self.overhead(group);
        overhead.first.plus(overhead.count - 2 - Layout::table_blocks())
    }

    pub(super) fn inode_bitmap(&self, group: u64) -> Block {
        self.block_bitmap(group).plus(1)
    }

    /// Block of the inode table with the inode of file number `index`.
    pub(super) fn inode(&self, index: u64) -> Block {
        self.inode_block(FIRST_INODE - 1 + index % (self.groups * INODES_PER_GROUP - FIRST_INODE))
    }

    /// Block of the inode table with the root directory's inode.
    pub(super) fn root_inode(&self) -> Block {
        self.inode_block(ROOT_INODE - 1)
    }

    fn inode_block(&self, inode: u64) -> Block {
        let (group, index) = (inode / INODES_PER_GROUP, inode % INODES_PER_GROUP);
        self.block_bitmap(group).plus(2 + index / INODES_PER_BLOCK)
    }

    /// Group of the inode of file number `index`.
    pub(super) fn inode_group(&self, index: u64) -> u64 {
        (FIRST_INODE - 1 + index) / INODES_PER_GROUP % self.groups
    }
}
