//! Files and the directory as items of trees.

use super::extents::FileMap;
use super::tree::{Key, Kind};
use crate::fs::{BLOCK, FileId};

/// Sizes of items (`btrfs_inode_item`, `btrfs_inode_ref`, `btrfs_dir_item`, `btrfs_dir_log_item`,
/// `btrfs_file_extent_item`), names aside.
pub(super) const INODE: u32 = 160;
pub(super) const INODE_REF: u32 = 10;
pub(super) const DIR_ENTRY: u32 = 30;
pub(super) const DIR_LOG: u32 = 8;
pub(super) const FILE_EXTENT: u32 = 53;
/// Blocks of data whose checksums fill an item (4 bytes each, `MAX_CSUM_ITEMS`).
pub(super) const CHECKED: u64 = 4060;
pub(super) const CHECKSUM: u64 = 4;
/// Object numbers in the tree: an app's directory in the root directory, then files; checksums come
/// last (`BTRFS_EXTENT_CSUM_OBJECTID`).
const DIRECTORY: u64 = 257;
const CHECKSUMS: u64 = (-10_i64).cast_unsigned();

/// A file.
#[derive(Debug, Default)]
pub(super) struct Inode {
    pub(super) size: u64,
    pub(super) map: FileMap,
    /// Bytes of the name.
    pub(super) name: u32,
    pub(super) activity: Activity,
}

/// What the running transaction changed in a file or the directory.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// The transaction that the other fields are about; they are stale in any later one.
    transaction: u64,
    /// Whether a sync has something to log.
    pub(super) is_changed: bool,
    /// Whether the log has it.
    pub(super) is_logged: bool,
    /// Whether the next sync logs all of it: new files, and files that became shorter
    /// (`BTRFS_INODE_NEEDS_FULL_SYNC`).
    pub(super) is_whole: bool,
    /// Pages that were written since they were last logged, as ranges.
    pub(super) written: Vec<(u64, u64)>,
    /// First pages of the rests of pieces that were cut since then.
    pub(super) rests: Vec<u64>,
}

impl Activity {
    /// The activity of this transaction; forgets that of an earlier one.
    pub(super) fn of(&mut self, transaction: u64) -> &mut Activity {
        if self.transaction != transaction {
            *self = Activity { transaction, ..Activity::default() };
        }
        self
    }
}

/// Number of a file's inode.
const fn object(file: FileId) -> u64 {
    DIRECTORY + 1 + file.0 as u64
}

pub(super) const fn directory(kind: Kind, offset: u64) -> Key {
    Key { object: DIRECTORY, kind, offset }
}

pub(super) const fn inode(file: FileId) -> Key {
    Key { object: object(file), kind: Kind::Inode, offset: 0 }
}

/// Key of the item with the file's name in its inode's leaf.
pub(super) const fn inode_ref(file: FileId) -> Key {
    Key { object: object(file), kind: Kind::InodeRef, offset: DIRECTORY }
}

/// Key of the piece of a file that begins at a page.
pub(super) const fn file_extent(file: FileId, page: u64) -> Key {
    Key { object: object(file), kind: Kind::FileExtent, offset: page * BLOCK }
}

/// The last key that an item of a file may have.
pub(super) const fn last_of(file: FileId) -> Key {
    Key { object: object(file), kind: Kind::FileExtent, offset: u64::MAX }
}

/// Key of the checksums of data from a block on.
pub(super) const fn checksum(block: u64) -> Key {
    Key { object: CHECKSUMS, kind: Kind::Checksum, offset: block * BLOCK }
}
