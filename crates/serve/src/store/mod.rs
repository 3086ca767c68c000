//! What of a device outlives its server: beside the file with its data, the state of its flash.
//!
//! `FILE` has the data, sparse, as it is: an image that anything can read. `FILE.flash` has the
//! flash as it was at some moment, `FILE.log` every request since then. Both together give the
//! flash as it was when the server ended, in whatever way, since the same requests at the same
//! times do the same again. The log is written before a request completes.

mod header;
mod log;
mod snapshot;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use flashlag_flash::Flash;
use flashlag_schema::profile::Model;
use flashlag_units::{Bytes, Nanos};
use rustix::fs::{FlockOperation, flock};

use crate::error::ServeError;
use crate::record::Record;
use header::Header;
use log::Log;

/// With a log larger than this, the flash is stored anew.
const LARGEST_LOG: u64 = 64 << 20;

/// The files of one device, locked against other servers.
#[derive(Debug)]
pub(crate) struct Store {
    /// The state of the flash.
    path: PathBuf,
    header: Header,
    log: Log,
}

/// What a store held.
#[derive(Debug)]
pub(crate) struct Restored {
    pub(crate) store: Store,
    pub(crate) flash: Flash,
    /// The device's time when it ended.
    pub(crate) now: Nanos,
}

/// Another name beside a file's.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// Opens the file with a device's data, or makes it; nobody else may have it open. Says whether it
/// was there.
pub(crate) fn open_data(path: &Path, size: Bytes) -> Result<(File, bool), ServeError> {
    const ADVICE: &str = "give a file of the device's size, or one that is not there";
    let refuse = |error: io::Error| ServeError::file("open", path, &error, ADVICE);
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(refuse)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Err(refuse(io::Error::other("another server has it open")));
    }
    let length = file.metadata().map_err(refuse)?.len();
    if length == 0 {
        file.set_len(size.0).map_err(refuse)?;
    } else if length != size.0 {
        let reason = format!("it has {length} bytes, the device {}", size.0);
        return Err(refuse(io::Error::other(reason)));
    }
    Ok((file, length > 0))
}

impl Store {
    /// The flash that lies beside a data file; `None` where there is none yet.
    ///
    /// # Errors
    /// Files that are damaged, or of another device.
    pub(crate) fn restore(
        data: &Path,
        profile: &str,
        model: &Model,
        seed: u64,
    ) -> Result<Option<Restored>, ServeError> {
        let path = beside(data, ".flash");
        let wanted = Header::new(profile, model, seed)?;
        let Some((header, mut flash)) = snapshot::read(&path, &wanted)? else {
            return Ok(None);
        };
        let log_path = beside(data, ".log");
        let mut now = header.now;
        let mut replay = |record: &Record| {
            now = now.max(record.at).max(record.ended);
            record.replay(&mut flash);
        };
        let log = Log::reopen(&log_path, &header, &mut replay)?;
        Ok(Some(Restored { store: Store { path, header, log }, flash, now }))
    }

    /// Stores a flash for the first time.
    ///
    /// # Errors
    /// Files that can't be written.
    pub(crate) fn begin(
        data: &Path,
        profile: &str,
        model: &Model,
        seed: u64,
        (flash, now): (&Flash, Nanos),
    ) -> Result<Store, ServeError> {
        let path = beside(data, ".flash");
        let mut header = Header::new(profile, model, seed)?;
        snapshot::write(&path, &mut header, flash, now)?;
        let log = Log::begin(&beside(data, ".log"), &header)?;
        Ok(Store { path, header, log })
    }

    /// A request was taken.
    pub(crate) fn note(&mut self, record: &Record) -> io::Result<()> {
        self.log.append(record)
    }

    /// Whether the log is so long that the flash should be stored anew.
    pub(crate) fn is_due(&self) -> bool {
        self.log.length() > LARGEST_LOG
    }

    /// Stores the flash as it is now; the log begins again.
    ///
    /// # Errors
    /// Files that can't be written: the older state and its log stay then.
    pub(crate) fn save(&mut self, flash: &Flash, now: Nanos) -> Result<(), ServeError> {
        snapshot::write(&self.path, &mut self.header, flash, now)?;
        self.log.restart(&self.header)
    }
}
