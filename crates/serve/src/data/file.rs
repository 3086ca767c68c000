use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};

/// A sparse file, as large as the device. A write reaches the system's page cache at once, and so
/// survives this process; closing the device forces it to disk.
#[derive(Debug)]
pub(crate) struct FileData {
    file: File,
}

impl FileData {
    pub(crate) fn new(file: File) -> FileData {
        FileData { file }
    }

    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }

    pub(crate) fn write(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        self.file.write_all_at(from, offset)
    }

    pub(crate) fn clear(&self, offset: u64, length: u64) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, hole, offset, length) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(errno.into()),
        }
        // A filesystem without holes.
        let zeros = vec![0; length.min(1 << 20) as usize];
        let mut done = 0;
        while done < length {
            let part = (length - done).min(zeros.len() as u64);
            self.file.write_all_at(&zeros[..part as usize], offset + done)?;
            done += part;
        }
        Ok(())
    }

    pub(crate) fn next_held(&self, offset: u64, end: u64) -> io::Result<Option<(u64, u64)>> {
        let start = match seek(&self.file, SeekFrom::Data(offset)) {
            Ok(start) => start,
            Err(rustix::io::Errno::NXIO) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        if start >= end {
            return Ok(None);
        }
        let until = seek(&self.file, SeekFrom::Hole(start))?.min(end);
        Ok(Some((start, until - start)))
    }

    /// Forces everything to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}
