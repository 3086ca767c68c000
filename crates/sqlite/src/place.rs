use std::fmt;
use std::path::{Path, PathBuf};

use flashlag_device::Clock;
use flashlag_schema::Reading;
use rusqlite::OpenFlags;
use rustix::io::Errno;

use crate::error::SqliteError;
use crate::writes::Writes;

/// Where the databases of a job are. All that a save does differently on a simulated phone is in
/// here; what is measured, and how, is the same.
///
/// Files have a plain name in their place: `save-0.db`.
pub(crate) trait Place: fmt::Debug {
    /// What SQLite is to open, and what errors call it.
    fn path(&self, name: &str) -> PathBuf;

    /// The VFS that SQLite is to open it with; `None` is SQLite's own.
    fn vfs(&self) -> Option<&'static str>;

    /// How it is to be opened besides for reading and writing.
    fn open_flags(&self) -> OpenFlags;

    /// Removes a file where it is there.
    fn remove(&self, name: &str) -> Result<(), SqliteError>;

    /// Size of a file in bytes.
    fn size(&self, name: &str) -> Result<u64, Errno>;

    /// The clock that saves are timed by.
    fn clock(&self) -> &dyn Clock;

    /// What was written up to now.
    fn written(&self) -> Reading<Writes>;

    /// Lets the time pass that SQLite computes for a statement: nothing where computing takes time
    /// of itself.
    fn compute(&self);

    /// What SQLite's failure was about. To be called right after it.
    fn failure(&self, operation: &'static str, path: &Path, error: &rusqlite::Error)
    -> SqliteError;
}

/// What was written to a place since `earlier`.
pub(crate) fn written_since(place: &dyn Place, earlier: &Reading<Writes>) -> Reading<Writes> {
    match (place.written(), earlier) {
        (Reading::Value(now), Reading::Value(earlier)) => Reading::Value(now.since(*earlier)),
        (Reading::Unavailable { unavailable }, _) => Reading::Unavailable { unavailable },
        (_, earlier) => earlier.clone(),
    }
}
