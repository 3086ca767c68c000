//! Filesystems: what is written where, and when.
//!
//! A filesystem keeps its own account of blocks and answers calls with plans; it never sees the
//! device and never waits.

mod ext4;
mod f2fs;
mod map;
mod raw;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use flashlag_units::{Bytes, Nanos};

use crate::plan::{Plan, Run};
use crate::spec::{FilesystemKind, StackSpec};

/// Blocks of filesystems, pages of the page cache.
pub(crate) const BLOCK: u64 = 4096;

/// A file of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) u32);

impl FileId {
    /// The file of this number, if there is one: a call on another finds it empty.
    pub fn from_number(number: u64) -> FileId {
        FileId(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Its number.
    pub fn number(self) -> u64 {
        u64::from(self.0)
    }
}

/// There is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// Why data comes to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// By a call that goes past the page cache.
    Direct,
    /// By a sync of its file, which has this many dirty pages.
    Sync { pages: u64 },
    /// By the kernel's own threads.
    Writeback,
}

/// A filesystem. Ranges of files are in bytes; numbers of files are never used again.
pub(crate) trait Filesystem: Debug {
    /// What files can take on an empty filesystem.
    fn total(&self) -> Bytes;
    /// What they can still take.
    fn free(&self) -> Bytes;
    /// Makes an empty file, of this number.
    fn create(&mut self, now: Nanos, file: FileId) -> Result<(), Full>;
    /// Unlinks a file; its blocks are free, in memory at least.
    fn delete(&mut self, now: Nanos, file: FileId);
    /// Makes a file this large, in memory: shorter, or longer with a hole.
    fn resize(&mut self, now: Nanos, file: FileId, size: u64);
    /// How large a file is.
    fn size(&self, file: FileId) -> u64;
    /// Where a range of it is; nothing for holes.
    fn locate(&self, file: FileId, offset: u64, length: u64) -> Vec<Run>;
    /// Whether a page of it has a block.
    fn is_mapped(&self, file: FileId, page: u64) -> bool;
    /// Gives ranges that are to be written (offset and length) their places, and says what is to be
    /// done for them. A direct write makes its file as large as that needs; pages of the cache are
    /// of files that are large enough already.
    fn write(
        &mut self,
        now: Nanos,
        file: FileId,
        ranges: &[(u64, u64)],
        reason: Reason,
    ) -> Result<Plan, Full>;
    /// Whether a buffered write that makes a file this large has what the file holds written out first,
    /// because its inode can't hold it any more. Asked once.
    fn outgrows(&mut self, _file: FileId, _size: u64) -> bool {
        false
    }
    /// A call changed data of the file: its time of modification changes with it.
    fn touch(&mut self, now: Nanos, file: FileId);
    /// Makes a file, or the directory, durable, its data being written already. `data_only` is
    /// fdatasync.
    fn sync(&mut self, now: Nanos, file: Option<FileId>, data_only: bool) -> Plan;
    /// When the kernel's threads are to be asked next.
    fn next_tick(&self) -> Nanos;
    /// What the kernel's threads do at this moment.
    fn tick(&mut self, now: Nanos) -> Plan;
    /// Tells the device what is free (`fstrim`), and how much that is.
    fn trim(&mut self) -> (Plan, Bytes);
    /// Every range that belongs to a file or to names, maps included: counted from the maps.
    #[cfg(test)]
    fn held(&self) -> Vec<Run>;
    /// Bytes that are promised to files and have no place yet.
    #[cfg(test)]
    fn promised(&self) -> u64 {
        0
    }
}

/// A freshly made filesystem on a device of this size.
pub(crate) fn make(spec: &StackSpec, capacity: Bytes) -> Result<Box<dyn Filesystem>, String> {
    Ok(match spec.kind {
        FilesystemKind::Raw => Box::new(raw::Raw::new(capacity, spec)),
        FilesystemKind::Ext4 => Box::new(ext4::Ext4::new(capacity, spec)?),
        FilesystemKind::F2fs => Box::new(f2fs::F2fs::new(capacity, spec)?),
    })
}

/// The end of the last of some ranges, where a direct write makes its file as large as that.
fn grown(size: u64, ranges: &[(u64, u64)], reason: Reason) -> u64 {
    let ends = ranges.iter().map(|(offset, length)| offset + length);
    if reason == Reason::Direct { ends.fold(size, u64::max) } else { size }
}

/// First block and end of the blocks that a range touches.
pub(crate) const fn blocks(offset: u64, length: u64) -> (u64, u64) {
    (offset / BLOCK, (offset + length).div_ceil(BLOCK))
}
