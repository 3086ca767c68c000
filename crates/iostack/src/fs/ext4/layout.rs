//! Where ext4 keeps what is not data.
//!
//! Sizes as `mke2fs` and Android's `make_ext4fs` choose them: groups of 128 MiB, an inode of
//! 256 bytes for each 16 KiB, a journal of 1/64 of the blocks, 4 to 128 MiB of it.

use super::space::{GROUP, Space};
use crate::fs::BLOCK;

const INODE_BYTES: u64 = 256;
const INODES_PER_GROUP: u64 = GROUP * BLOCK / (16 * 1024);
const INODES_PER_BLOCK: u64 = BLOCK / INODE_BYTES;
const DESCRIPTOR_BYTES: u64 = 32;
/// The root directory's inode, and the first of a user's.
const ROOT_INODE: u64 = 2;
const FIRST_INODE: u64 = 12;

#[derive(Debug)]
pub(super) struct Layout {
    groups: u64,
    descriptors: u64,
    /// First block of the root directory.
    pub(super) directory: u64,
    /// The journal: first block, and how many.
    pub(super) journal: (u64, u64),
}

impl Layout {
    /// Lays out a filesystem of so many blocks, and takes from `space` what is not for files.
    pub(super) fn new(blocks: u64, space: &mut Space) -> Result<Layout, String> {
        let groups = blocks.div_ceil(GROUP);
        let descriptors = (groups * DESCRIPTOR_BYTES).div_ceil(BLOCK);
        let journal = (blocks / 64).clamp(1024, 32_768);
        if blocks < journal + 2 * Layout::table_blocks() + descriptors + 4096 {
            return Err(format!(
                "ext4 needs a device of 32 MiB at least; this one has {} MiB",
                (blocks * BLOCK) >> 20
            ));
        }
        let mut layout = Layout { groups, descriptors, directory: 0, journal: (0, journal) };
        for group in 0..groups {
            let (first, count) = layout.overhead(group);
            space.take(first, count);
        }
        let missing = || "ext4 finds no room for its journal".to_owned();
        layout.directory = space.allocate(0, 1).ok_or_else(missing)?.0;
        // In the middle, as mke2fs puts it, in one piece where the groups leave one.
        let (first, count) =
            space.allocate(layout.overhead_end(groups / 2), journal).ok_or_else(missing)?;
        layout.journal = (first, count);
        Ok(layout)
    }

    const fn table_blocks() -> u64 {
        INODES_PER_GROUP * INODE_BYTES / BLOCK
    }

    /// What a group keeps for itself, at its front: descriptors in the first, bitmaps and inodes.
    fn overhead(&self, group: u64) -> (u64, u64) {
        let head = if group == 0 { 1 + self.descriptors } else { 0 };
        (group * GROUP, head + 2 + Layout::table_blocks())
    }

    fn overhead_end(&self, group: u64) -> u64 {
        let (first, count) = self.overhead(group);
        first + count
    }

    pub(super) const fn superblock(&self) -> u64 {
        0
    }

    /// The block with the descriptor of a group.
    pub(super) fn descriptor(&self, group: u64) -> u64 {
        1 + group * DESCRIPTOR_BYTES / BLOCK
    }

    fn first_bitmap(&self, group: u64) -> u64 {
        let (first, count) = self.overhead(group);
        first + count - 2 - Layout::table_blocks()
    }

    pub(super) fn block_bitmap(&self, group: u64) -> u64 {
        self.first_bitmap(group)
    }

    pub(super) fn inode_bitmap(&self, group: u64) -> u64 {
        self.first_bitmap(group) + 1
    }

    /// The block of the inode table that holds the inode of the `index`-th file of a user.
    pub(super) fn inode(&self, index: u64) -> u64 {
        self.inode_block(FIRST_INODE - 1 + index % (self.groups * INODES_PER_GROUP - FIRST_INODE))
    }

    /// That of the root directory.
    pub(super) fn root_inode(&self) -> u64 {
        self.inode_block(ROOT_INODE - 1)
    }

    fn inode_block(&self, inode: u64) -> u64 {
        let (group, index) = (inode / INODES_PER_GROUP, inode % INODES_PER_GROUP);
        self.first_bitmap(group) + 2 + index / INODES_PER_BLOCK
    }

    /// The group of an inode.
    pub(super) fn inode_group(&self, index: u64) -> u64 {
        (FIRST_INODE - 1 + index) / INODES_PER_GROUP % self.groups
    }
}
