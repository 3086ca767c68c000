//! Blocks that bear a mark of their kind.

use std::path::Path;

use super::model::{BLOCK, BlockKind, Form, bytes_at};
use crate::error::LabError;

/// Marks of ext4: a directory's block ends with an entry of 12 bytes for its checksum, of a type that
/// no file has; a block of an extent tree begins with a magic number and its number of entries.
pub(super) fn is_ext4_tree_or_directory(block: &[u8]) -> bool {
    const DIRECTORY_TAIL: [u8; 8] = [0, 0, 0, 0, 12, 0, 0, 0xde];
    const TREE: [u8; 2] = 0xf30a_u16.to_le_bytes();
    const TREE_ROOM: [u8; 2] = 340_u16.to_le_bytes();
    block.len() == BLOCK
        && (block[BLOCK - 12..BLOCK - 4] == DIRECTORY_TAIL
            || (block[..2] == TREE && block[4..6] == TREE_ROOM))
}

/// Magic numbers of XFS's metadata with checksums, the default of `mkfs`.
pub(super) fn is_xfs_metadata(block: &[u8]) -> bool {
    const MARKS: [&[u8]; 11] = [
        b"XFSB", b"XAGF", b"XAGI", b"XAFL", b"AB3B", b"AB3C", b"IAB3", b"FIB3", b"BMA3", b"XDB3",
        b"XDD3",
    ];
    const INODE: [u8; 2] = *b"IN";
    const INODE_VERSION: u8 = 3;
    MARKS.iter().any(|mark| block.starts_with(mark))
        || (block.starts_with(&INODE) && block.get(4) == Some(&INODE_VERSION))
}

/// Offset of Btrfs's superblock, and offsets in it of the filesystem's id and the node size.
const BTRFS_SUPERBLOCK: u64 = 64 << 10;
const BTRFS_ID: usize = 32;
const BTRFS_NODE_SIZE: u64 = 148;
/// Offset of the owning tree in a node, and the id of the log tree.
const BTRFS_OWNER: usize = 88;
const BTRFS_LOG: u64 = (-6_i64).cast_unsigned();
const BTRFS_MAGIC: (usize, &[u8]) = (64, b"_BHRfS_M");

pub(super) fn read_btrfs(image: &Path) -> Result<Form, LabError> {
    let id = bytes_at::<16>(image, BTRFS_SUPERBLOCK + BTRFS_ID as u64)?;
    let node = u32::from_le_bytes(bytes_at(image, BTRFS_SUPERBLOCK + BTRFS_NODE_SIZE)?);
    Ok(Form::Btrfs { id, node: node as usize })
}

/// A node and the superblock bear the id of the filesystem.
pub(super) fn btrfs_kind(
    id: &[u8; 16],
    node: usize,
    seen: &[u8],
    block: usize,
) -> (BlockKind, usize) {
    if seen.get(BTRFS_ID..BTRFS_ID + 16) != Some(id.as_slice()) {
        return (BlockKind::Data, block);
    }
    let (at, magic) = BTRFS_MAGIC;
    if seen.get(at..at + magic.len()) == Some(magic) {
        return (BlockKind::Metadata, block);
    }
    let log = seen.get(BTRFS_OWNER..BTRFS_OWNER + 8) == Some(&BTRFS_LOG.to_le_bytes());
    (if log { BlockKind::Journal } else { BlockKind::Metadata }, node.max(block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_btrfs_is_one_kind_to_its_end() {
        let id = [7; 16];
        let mut block = [0; BLOCK];
        assert_eq!(btrfs_kind(&id, 16384, &block, BLOCK), (BlockKind::Data, BLOCK));
        block[32..48].copy_from_slice(&id);
        assert_eq!(btrfs_kind(&id, 16384, &block, BLOCK), (BlockKind::Metadata, 16384));
        block[88..96].copy_from_slice(&BTRFS_LOG.to_le_bytes());
        assert_eq!(btrfs_kind(&id, 16384, &block, BLOCK), (BlockKind::Journal, 16384));
    }

    #[test]
    fn marks_are_not_seen_where_there_are_none() {
        assert!(!is_ext4_tree_or_directory(&[]) && !is_xfs_metadata(&[]));
        assert!(!is_ext4_tree_or_directory(&[0; BLOCK]) && !is_xfs_metadata(&[0; BLOCK]));
        assert!(is_xfs_metadata(b"XAGF1234") && is_xfs_metadata(b"IN\x81\xa4\x03"));
    }
}
