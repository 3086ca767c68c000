//! What every modelled filesystem does.

use flashlag_units::{Bytes, Nanos};

use crate::plan::{Plan, Run};

/// Size of a filesystem block and of a page of the page cache.
pub(crate) const BLOCK: u64 = 4096;

/// A file of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) u32);

impl FileId {
    /// The file with this number. Calls on a number without a file find an empty file.
    pub fn from_number(number: u64) -> FileId {
        FileId(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Number of the file.
    pub fn number(self) -> u64 {
        u64::from(self.0)
    }
}

/// No space is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoSpace;

/// Reason for writing data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A direct write, past the page cache.
    Direct,
    /// A sync of the file, which has this many dirty pages.
    Sync { pages: u64 },
    /// Writeback by the kernel's threads.
    Writeback,
}

/// Since when a filesystem has been idle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quiet {
    /// The time.
    pub(crate) now: Nanos,
    /// End of the last request other than a discard.
    pub(crate) used: Nanos,
    /// End of the last work of the idle threads.
    pub(crate) rested: Nanos,
}

/// The requests of an atomic write.
#[derive(Debug)]
pub(crate) struct AtomicWrite {
    /// Requests that the call waits for.
    pub(crate) waited: Plan,
    /// Requests that the filesystem's next write waits for, and not the call.
    pub(crate) after: Plan,
}

/// A filesystem. Ranges of files are in bytes; file numbers are never reused.
pub(crate) trait Filesystem {
    /// Room for files on an empty filesystem.
    fn total(&self) -> Bytes;
    /// Room that is left for files.
    fn free(&self) -> Bytes;
    /// Makes an empty file with this number.
    fn create(&mut self, now: Nanos, file: FileId) -> Result<(), NoSpace>;
    /// Gives a file that was just created its name.
    fn name(&mut self, _file: FileId, _name: &str) {}
    /// Called when the last writer of a file has closed it.
    fn close(&mut self, _file: FileId) {}
    /// Deletes a file; in memory, its blocks are free from then on.
    fn delete(&mut self, now: Nanos, file: FileId);
    /// Sets the size of a file, in memory: truncates it, or extends it with a hole.
    fn resize(&mut self, now: Nanos, file: FileId, size: u64);
    /// Size of a file.
    fn size(&self, file: FileId) -> u64;
    /// Ranges of the device that hold a range of a file; holes are skipped.
    fn locate(&self, file: FileId, offset: u64, length: u64) -> Vec<Run>;
    /// Whether a page of a file has a block.
    fn is_mapped(&self, file: FileId, page: u64) -> bool;
    /// Whether writing a page of a file takes a free block. On a copy-on-write filesystem, pages
    /// that have a block take one, too.
    fn takes_room(&self, file: FileId, page: u64) -> bool {
        !self.is_mapped(file, page)
    }
    /// Allocates blocks for ranges (offset and length), and returns the plan that writes them. A
    /// direct write extends its file if necessary; a file of cached pages already has its size.
    fn write(
        &mut self,
        now: Nanos,
        file: FileId,
        ranges: &[(u64, u64)],
        reason: Reason,
    ) -> Result<Plan, NoSpace>;
    /// Whether the file's inline data must be written out first because a buffered write makes the
    /// file too large for its inode. True at most once for a file.
    fn outgrows(&mut self, _file: FileId, _size: u64) -> bool {
        false
    }
    /// Whether a buffered write that extends a file first writes the page that holds the old end.
    fn writes_old_end(&self, _file: FileId) -> bool {
        false
    }
    /// Updates a file's modification time after a call that changed its data.
    fn touch(&mut self, now: Nanos, file: FileId);
    /// Changes a file's inode and the directory after the file got another name.
    fn rename(&mut self, now: Nanos, file: FileId) {
        self.touch(now, file);
    }
    /// Makes a file (with `None` the directory) durable, after its data was written. `data_only`
    /// means fdatasync.
    fn sync(&mut self, now: Nanos, file: Option<FileId>, data_only: bool) -> Plan;
    /// Writes pages of a file, which is large enough, as one atomic write: after a power cut all of
    /// it is there or nothing.
    fn write_atomically(
        &mut self,
        now: Nanos,
        file: FileId,
        pages: &[u64],
    ) -> Result<AtomicWrite, NoSpace> {
        let ranges: Vec<(u64, u64)> = pages.iter().map(|page| (page * BLOCK, BLOCK)).collect();
        let mut plan =
            self.write(now, file, &ranges, Reason::Sync { pages: pages.len() as u64 })?;
        plan.then_plan(self.sync(now, Some(file), true));
        Ok(AtomicWrite { waited: plan, after: Plan::new() })
    }
    /// When [`Filesystem::rest`] is due next if the device stays idle.
    fn next_rest(&self, _quiet: &Quiet) -> Nanos {
        Nanos::MAX
    }
    /// Work, due now, of the kernel threads that wait for an idle device.
    fn rest(&mut self, _quiet: &Quiet) -> Plan {
        Plan::new()
    }
    /// When [`Filesystem::tick`] is due next.
    fn next_tick(&self) -> Nanos;
    /// Work, due now, of the other kernel threads.
    fn tick(&mut self, now: Nanos) -> Plan;
    /// Discards all free space (`fstrim`); returns the number of bytes discarded.
    fn trim(&mut self) -> (Plan, Bytes);
    /// Every allocated range (file data, directory entries, the maps themselves), recomputed from the
    /// maps.
    #[cfg(test)]
    fn held(&self) -> Vec<Run>;
    /// Bytes reserved for data that has no place yet.
    #[cfg(test)]
    fn promised(&self) -> u64 {
        0
    }
}

/// Size of a file after writing ranges: direct writes extend it.
pub(super) fn grown(size: u64, ranges: &[(u64, u64)], reason: Reason) -> u64 {
    let ends = ranges.iter().map(|(offset, length)| offset + length);
    if reason == Reason::Direct { ends.fold(size, u64::max) } else { size }
}

/// First block of a range, and the block behind its last.
pub(crate) const fn blocks(offset: u64, length: u64) -> (u64, u64) {
    (offset / BLOCK, (offset + length).div_ceil(BLOCK))
}
