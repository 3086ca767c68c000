//! Classifying a written block: a file's contents, the filesystem's log, or its metadata.
//!
//! A block's kind follows from its address if the filesystem has fixed places, otherwise from its
//! mark: the metadata of btrfs and XFS, and the directories and extent trees of ext4, bear marks.

mod ext4;
mod f2fs;
mod marks;
mod model;
mod xfs;

use std::ops::Range;
use std::path::Path;

use flashlag_schema::{BlockKinds, KindCount};
use flashlag_units::Bytes;

use crate::error::LabError;
use crate::spec::{Filesystem, LabSpec};
pub use model::BlockKind;
use model::{BLOCK, Form};

/// Where a filesystem has its data, log and metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    form: Form,
    /// Whether blocks are encrypted, so that marks can't be read.
    opaque: bool,
}

impl Layout {
    /// The layout of a filesystem in a new image. `None` if its kinds can't be distinguished: NILFS2
    /// writes all kinds into one log, and FAT, exFAT and NTFS have no layout here.
    pub fn read(spec: &LabSpec, image: &Path) -> Result<Option<Layout>, LabError> {
        let opaque = spec.encrypt.is_some();
        let form = match spec.filesystem {
            Filesystem::Ext4 => ext4::read(image)?,
            Filesystem::F2fs => f2fs::read(image)?,
            Filesystem::Btrfs if opaque => return Ok(None),
            Filesystem::Btrfs => marks::read_btrfs(image)?,
            Filesystem::Xfs => xfs::read(image)?,
            Filesystem::Nilfs2 | Filesystem::Vfat | Filesystem::Exfat | Filesystem::Ntfs3 => {
                return Ok(None);
            }
        };
        Ok(Some(Layout { form, opaque }))
    }

    /// Sets the kinds of F2FS's segments, as the kernel reports them: one digit each.
    pub fn update(&mut self, segments: &str) {
        if let Form::F2fs { types, .. } = &mut self.form {
            *types = segments.bytes().map(|digit| digit.wrapping_sub(b'0')).collect();
        }
    }

    /// Counts a write in `kinds`: the request by its first block, each byte by its own.
    pub fn count(&self, offset: Bytes, data: &[u8], kinds: &mut BlockKinds) {
        let mut first = true;
        let mut at = 0;
        while at < data.len() {
            let (kind, length) = self.kind(offset.0 + at as u64, &data[at..]);
            let end = (at + length.max(1)).min(data.len());
            let count = count_of(kinds, kind);
            count.writes += u64::from(first);
            count.bytes = count.bytes.plus(Bytes((end - at) as u64));
            first = false;
            at = end;
        }
    }

    /// The kind of the block at this offset, and a number of bytes that are surely of this kind.
    fn kind(&self, offset: u64, data: &[u8]) -> (BlockKind, usize) {
        let block = BLOCK - (offset % BLOCK as u64) as usize;
        let seen = if self.opaque { &[][..] } else { &data[..block.min(data.len())] };
        let kind = match &self.form {
            Form::Ext4 { journal, metadata } => {
                if lies_in(journal, offset) {
                    BlockKind::Journal
                } else if lies_in(metadata, offset) || marks::is_ext4_tree_or_directory(seen) {
                    BlockKind::Metadata
                } else {
                    BlockKind::Data
                }
            }
            Form::F2fs { main, types } => f2fs::kind(*main, types, offset),
            Form::Btrfs { id, node } => return marks::btrfs_kind(id, *node, seen, block),
            Form::Xfs { log } => {
                if log.contains(&offset) {
                    BlockKind::Journal
                } else if marks::is_xfs_metadata(seen) {
                    BlockKind::Metadata
                } else {
                    BlockKind::Data
                }
            }
        };
        (kind, block)
    }
}

fn count_of(kinds: &mut BlockKinds, kind: BlockKind) -> &mut KindCount {
    match kind {
        BlockKind::Data => &mut kinds.data,
        BlockKind::Journal => &mut kinds.journal,
        BlockKind::Metadata => &mut kinds.metadata,
    }
}

fn lies_in(ranges: &[Range<u64>], offset: u64) -> bool {
    let index = ranges.partition_point(|range| range.end <= offset);
    ranges.get(index).is_some_and(|range| range.contains(&offset))
}

#[cfg(test)]
mod tests {
    use super::model::blocks;
    use super::*;

    #[test]
    fn a_request_counts_for_its_first_block_and_bytes_each_for_their_own() {
        let journal = std::iter::once(blocks(2, 3)).collect();
        let metadata = std::iter::once(blocks(0, 0)).collect();
        let layout = Layout { form: Form::Ext4 { journal, metadata }, opaque: false };
        let mut kinds = BlockKinds::default();
        layout.count(Bytes(4096), &[1; 3 * BLOCK], &mut kinds);
        layout.count(Bytes(512), &[1; 1024], &mut kinds);
        let count = |writes, bytes| KindCount { writes, bytes: Bytes(bytes) };
        assert_eq!(kinds.data, count(1, 4096));
        assert_eq!(kinds.journal, count(0, 8192));
        assert_eq!(kinds.metadata, count(1, 1024));
    }
}
