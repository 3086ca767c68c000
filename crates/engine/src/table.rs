//! The open files of a device, and the system calls on them.

use flashlag_device::{DeviceError, SyncCall};
use flashlag_units::Bytes;
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use crate::files::{FILE_BITS, FileSet};

/// How a single write is made durable, without a flush of all earlier writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DurableWrite {
    /// The files are open with `O_DSYNC`: every write is durable.
    Dsync,
    /// `pwritev2` with `RWF_DSYNC`.
    RwfDsync,
    /// A write followed by a sync call.
    Sync,
}

/// Open files in the order of their offsets, 2 GiB each but the last.
#[derive(Debug)]
pub(crate) struct FileTable {
    set: FileSet,
    files: Vec<OwnedFd>,
    pub(crate) sync: SyncCall,
}

impl FileTable {
    pub(crate) fn new(set: FileSet, files: Vec<OwnedFd>, sync: SyncCall) -> FileTable {
        FileTable { set, files, sync }
    }

    /// The index of the file that holds `offset`, and the offset in that file. A request never
    /// reaches past the span, so the file exists.
    #[inline]
    pub(crate) fn locate(&self, offset: Bytes) -> (usize, u64) {
        ((offset.0 >> FILE_BITS) as usize, offset.0 & (FileSet::FILE_BYTES.0 - 1))
    }

    /// The part of `length` from `offset` that lies in the same file as `offset`.
    #[inline]
    pub(crate) fn within(&self, offset: Bytes, length: u64) -> u64 {
        length.min(FileSet::FILE_BYTES.0 - (offset.0 & (FileSet::FILE_BYTES.0 - 1)))
    }

    /// Whether a block of that size may lie in two files.
    pub(crate) fn crosses(&self, block: Bytes) -> bool {
        self.files.len() > 1 && !FileSet::FILE_BYTES.0.is_multiple_of(block.0.max(1))
    }

    /// The file with an index below [`FileSet::count`].
    #[inline]
    pub(crate) fn file(&self, index: usize) -> &OwnedFd {
        &self.files[index]
    }

    pub(crate) fn raw(&self) -> Vec<RawFd> {
        self.files.iter().map(|file| file.as_raw_fd()).collect()
    }

    /// An error of the operating system on the file that holds `offset`.
    #[cold]
    pub(crate) fn error(
        &self,
        operation: &'static str,
        offset: Bytes,
        errno: Errno,
    ) -> DeviceError {
        let (index, at) = self.locate(offset);
        let subject = self.set.path(index).display().to_string();
        DeviceError::os(operation, subject, Some(Bytes(at)), errno)
    }

    /// The error for a file that ends before the request does.
    #[cold]
    pub(crate) fn short(&self, offset: Bytes) -> DeviceError {
        let (index, at) = self.locate(offset);
        DeviceError {
            operation: "read",
            subject: self.set.path(index).display().to_string(),
            offset: Some(Bytes(at)),
            errno: None,
            reason: "the file ends here".to_owned(),
            advice: "something else truncated it: run again in a directory of your own".to_owned(),
        }
    }

    /// Makes the file that holds `offset` durable.
    #[inline]
    pub(crate) fn sync_at(&self, offset: Bytes) -> Result<(), DeviceError> {
        let file = self.file(self.locate(offset).0);
        sync(file, self.sync).map_err(|errno| self.error(self.sync.name(), offset, errno))
    }

    /// Makes every file durable.
    pub(crate) fn sync_all(&self) -> Result<(), DeviceError> {
        (0..self.files.len()).try_for_each(|index| self.sync_at(Bytes((index as u64) << FILE_BITS)))
    }

    /// Gives a range back to the filesystem; it reads as zeroes afterwards.
    pub(crate) fn discard(&self, offset: Bytes, length: Bytes) -> Result<(), DeviceError> {
        let (mut offset, mut left) = (offset, length.0);
        while left > 0 {
            let step = self.within(offset, left);
            let (index, at) = self.locate(offset);
            let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(self.file(index), how, at, step)
                .map_err(|errno| self.error("discard", offset, errno))?;
            (offset, left) = (offset.plus(Bytes(step)), left - step);
        }
        Ok(())
    }
}

#[inline]
fn sync(file: &OwnedFd, how: SyncCall) -> Result<(), Errno> {
    let call = |file: BorrowedFd<'_>| match how {
        SyncCall::Data => rustix::fs::fdatasync(file),
        SyncCall::All => rustix::fs::fsync(file),
    };
    retry(|| call(rustix::fd::AsFd::as_fd(file)))
}

/// Repeats a call that a signal interrupted.
#[inline]
pub(crate) fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
