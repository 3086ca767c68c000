//! The requests since the flash was stored: a line that names the stored state, then records.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::fresh::NewFile;
use super::header::Header;
use crate::error::ServeError;
use crate::record::Record;

/// How much disk space to reserve at a time, so that a full disk is noticed before the flash takes
/// a request. The second amount is for a nearly full disk.
const AHEAD: [u64; 2] = [1 << 20, 4 << 10];
/// The longest first line.
const LONGEST_LINE: u64 = 4096;
const ADVICE: &str = "put the log back, or remove it and the file that ends in .flash to begin with \
                      a flash that holds the data and is otherwise new";

#[derive(Debug)]
pub(super) struct Log {
    file: File,
    /// Offset of the first record.
    begin: u64,
    /// Offset of the next record; bytes after it are a torn record.
    end: u64,
    /// Offset up to which disk space is reserved.
    reserved: u64,
}

/// An empty log, under a temporary name until the state that it follows is stored.
#[derive(Debug)]
pub(super) struct NewLog {
    fresh: NewFile,
    path: PathBuf,
    begin: u64,
}

impl NewLog {
    pub(super) fn create(path: &Path, header: &Header) -> Result<NewLog, ServeError> {
        let refuse = |error: io::Error| {
            ServeError::file("keep the log", path, &error, "is there room on its disk?")
        };
        let line = format!("{}\n", header.state);
        let fresh = NewFile::create(path).map_err(refuse)?;
        fresh.file().and_then(|file| file.write_all_at(line.as_bytes(), 0)).map_err(refuse)?;
        Ok(NewLog { fresh, path: path.to_owned(), begin: line.len() as u64 })
    }

    /// Replaces the log before it.
    pub(super) fn put(self) -> Result<Log, ServeError> {
        let NewLog { fresh, path, begin } = self;
        let file = fresh.put().map_err(|error| Log::refuse(&path, &error))?;
        Ok(Log { file, begin, end: begin, reserved: begin })
    }
}

impl Log {
    fn refuse(path: &Path, error: &io::Error) -> ServeError {
        ServeError::file("keep the log", path, error, ADVICE)
    }

    /// Replays the log written since a snapshot, then appends to it. A torn last record belongs to a
    /// request that never completed, so it is dropped.
    pub(super) fn reopen(
        path: &Path,
        header: &Header,
        replay: &mut impl FnMut(&Record),
    ) -> Result<Log, ServeError> {
        let refuse = |error: io::Error| Log::refuse(path, &error);
        let file = File::options().read(true).write(true).open(path).map_err(refuse)?;
        let mut reader = BufReader::with_capacity(1 << 20, &file);
        let mut line = Vec::new();
        (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(refuse)?;
        let follows = line.trim_ascii_end();
        if follows.is_empty() {
            return Err(refuse(io::Error::other("it is empty")));
        }
        // The server was killed after it stored a state and before it renamed that state's log into
        // place.
        if follows == header.before.as_bytes() {
            return NewLog::create(path, header)?.put();
        }
        if follows != header.state.as_bytes() {
            return Err(refuse(io::Error::other("it does not follow the stored flash")));
        }
        let begin = line.len() as u64;
        let mut end = begin;
        while let Some(record) = Record::read(&mut reader, header.size_bytes).map_err(refuse)? {
            replay(&record);
            end += Record::SIZE as u64;
        }
        drop(reader);
        Ok(Log { file, begin, end, reserved: end })
    }

    /// Ensures that the disk has room for one more record.
    pub(super) fn reserve(&mut self) -> io::Result<()> {
        if self.end + Record::SIZE as u64 <= self.reserved {
            return Ok(());
        }
        let mut full = Errno::NOSPC;
        for ahead in AHEAD {
            match fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.end, ahead) {
                Ok(()) => {
                    self.reserved = self.end + ahead;
                    return Ok(());
                }
                // The filesystem can't reserve space: a write will notice a full disk.
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                    self.reserved = u64::MAX;
                    return Ok(());
                }
                Err(errno) => full = errno,
            }
        }
        Err(full.into())
    }

    /// Appends a record, or leaves the log as it was.
    pub(super) fn append(&mut self, record: &Record) -> io::Result<()> {
        if let Err(error) = self.file.write_all_at(&record.to_bytes(), self.end) {
            // If this fails as well, the next record overwrites the torn one.
            let _ = self.file.set_len(self.end);
            self.reserved = self.reserved.min(self.end);
            return Err(error);
        }
        self.end += Record::SIZE as u64;
        Ok(())
    }

    /// Bytes of records.
    pub(super) fn length(&self) -> u64 {
        self.end - self.begin
    }
}
