//! The files of a device that outlive its server: its data, and the state of its flash.
//!
//! `FILE` holds the data as a sparse image that any program can read. `FILE.flash` is a snapshot of
//! the flash, and `FILE.log` has every request since then. Replaying the log on the snapshot gives
//! the flash as it was when the server ended, in whatever way, since the same requests at the same
//! times have the same effect. A request is logged before it completes.

mod existing;
mod fresh;
mod header;
mod log;
mod snapshot;

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flashlag_flash::Flash;
use flashlag_spec::profile::Model;
use flashlag_units::{Bytes, Nanos};
use rustix::fs::{FlockOperation, flock};

use crate::error::ServeError;
use crate::record::{LATEST, Record};
pub(crate) use existing::check_store;
pub(crate) use fresh::PRIVATE;
use header::{Header, beside};
use log::{Log, NewLog};

/// When the log is larger than this, the flash is stored again.
const LARGEST_LOG: u64 = 64 << 20;

/// When the log is larger than this and the flash can't be stored, that is an error.
const LOG_LIMIT: u64 = 4 * LARGEST_LOG;
/// After a failure to store the flash, how much the log grows before the next try.
const RETRY: u64 = 64 << 10;

/// The files of one device, locked against other servers.
#[derive(Debug)]
pub(crate) struct Store {
    /// The state of the flash.
    path: PathBuf,
    log_path: PathBuf,
    header: Header,
    log: Log,
    /// Size of the log at which to try again after a failure to store the flash.
    retry: u64,
    /// For want of disk space the log lacks something that the flash has done: store the flash as
    /// soon as there is room.
    behind: bool,
    /// The log does not follow the stored state: accept no more requests.
    lost: bool,
}

/// The content of a store.
#[derive(Debug)]
pub(crate) struct StoredState {
    pub(crate) store: Store,
    pub(crate) flash: Flash,
    /// The device's time when the server ended.
    pub(crate) now: Nanos,
}

/// A device's data file, locked against other servers.
#[derive(Debug)]
pub(crate) struct DataFile {
    pub(crate) file: File,
    path: PathBuf,
    size: Bytes,
    existed: bool,
    /// Whether it held anything.
    pub(crate) was_there: bool,
}

impl DataFile {
    /// Opens or creates it; a new file stays empty until [`DataFile::finish`].
    pub(crate) fn open(path: &Path, size: Bytes) -> Result<DataFile, ServeError> {
        const ADVICE: &str = "give a file of the device's size, or one that is not there";
        let refuse = |error: io::Error| ServeError::file("open", path, &error, ADVICE);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(PRIVATE);
        let existed = path.exists();
        let file = options.open(path).map_err(refuse)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(refuse(io::Error::other("another server has it open")));
        }
        let length = file.metadata().map_err(refuse)?.len();
        let was_there = length > 0;
        Ok(DataFile { file, path: path.to_owned(), size, existed, was_there })
    }

    /// Marks the first content as complete by giving the file the device's size. A start that was
    /// cut short is recognised by the size.
    pub(crate) fn finish(&self) -> Result<(), ServeError> {
        let advice = "is there room on its disk?";
        let sized = self.file.set_len(self.size.0);
        sized.map_err(|error| ServeError::file("size", &self.path, &error, advice))
    }

    /// Undoes what a failed start has created.
    pub(crate) fn undo(&self) {
        if self.was_there {
            return;
        }
        // The next start refuses, by name, what can't be removed now.
        let _ = if self.existed { self.file.set_len(0) } else { std::fs::remove_file(&self.path) };
    }
}

impl Store {
    /// The flash stored beside a data file; `None` if none is stored yet.
    pub(crate) fn restore(
        data: &Path,
        profile: &str,
        model: &Model,
        seed: u64,
    ) -> Result<Option<StoredState>, ServeError> {
        let path = beside(data, ".flash");
        let log_path = beside(data, ".log");
        let wanted = Header::new(profile, model, seed)?;
        let Some((header, mut flash)) = snapshot::read(&path, &wanted)? else {
            // A start that was cut short leaves a log without data.
            let has_data = std::fs::metadata(data).is_ok_and(|found| found.len() > 0);
            if has_data && log_path.exists() {
                let gone = io::Error::other("it is gone, but the log of its requests exists");
                let advice = "remove the log as well, and the flash begins as new under the data";
                return Err(ServeError::file("open", &path, &gone, advice));
            }
            return Ok(None);
        };
        let mut now = header.now;
        let mut replay = |record: &Record| {
            now = now.max(record.at).max(record.ended);
            record.replay(&mut flash);
        };
        let log = Log::reopen(&log_path, &header, &mut replay)?;
        let store = Store { path, log_path, header, log, retry: 0, behind: false, lost: false };
        Ok(Some(StoredState { store, flash, now }))
    }

    /// Stores a flash for the first time.
    pub(crate) fn begin(
        data: &Path,
        profile: &str,
        model: &Model,
        seed: u64,
        (flash, now): (&Flash, Nanos),
    ) -> Result<Store, ServeError> {
        let (path, log_path) = (beside(data, ".flash"), beside(data, ".log"));
        let header = Header::new(profile, model, seed)?;
        let (header, body) = snapshot::next(&path, &header, flash, now)?;
        // The log comes first: a flash without a log is refused.
        let log = NewLog::create(&log_path, &header)?.put()?;
        snapshot::write(&path, &header, &body)?;
        Ok(Store { path, log_path, header, log, retry: 0, behind: false, lost: false })
    }

    /// Ensures that there is room to log one more request.
    pub(crate) fn reserve(&mut self) -> io::Result<()> {
        if self.lost {
            return Err(io::Error::other("its log was lost: end the server, and start it again"));
        }
        self.log.reserve()
    }

    /// Adds an accepted request to the log.
    pub(crate) fn note(&mut self, record: &Record) -> io::Result<()> {
        let noted = if record.ended > LATEST {
            Err(io::Error::other(
                "the device's clock has reached its last value: begin another store",
            ))
        } else {
            self.log.append(record)
        };
        self.behind |= noted.is_err();
        noted
    }

    /// Records that the flash has done something that can't be logged.
    pub(crate) fn miss(&mut self) {
        self.behind = true;
    }

    /// Whether the flash should be stored again.
    pub(crate) fn is_due(&self) -> bool {
        let length = self.log.length();
        length >= self.retry && (self.behind || length > LARGEST_LOG)
    }

    /// Whether it must be stored, since the log may not grow any more.
    pub(crate) fn is_overdue(&self) -> bool {
        self.log.length() > LOG_LIMIT
    }

    /// Stores the present state of the flash and begins a new log.
    ///
    /// # Errors
    /// Files that can't be written; the previous state and its log then stay in use.
    pub(crate) fn save(&mut self, flash: &Flash, now: Nanos) -> Result<(), ServeError> {
        self.retry = self.log.length() + RETRY;
        let (header, body) = snapshot::next(&self.path, &self.header, flash, now)?;
        let log = NewLog::create(&self.log_path, &header)?;
        snapshot::write(&self.path, &header, &body)?;
        self.header = header;
        // From here on the previous log is useless: the next start drops it.
        self.lost = true;
        self.log = log.put()?;
        (self.retry, self.behind, self.lost) = (0, false, false);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
