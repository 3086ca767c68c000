use std::fmt;
use std::path::{Path, PathBuf};

use flashlag_device::Clock;
use flashlag_spec::Reading;
use flashlag_stats::Waited;
use rusqlite::OpenFlags;
use rustix::io::Errno;

use crate::error::SqliteError;
use crate::writes::Writes;

/// The place to which a job saves: a real directory or a simulated phone. All differences between
/// the two are here and in the traits that know more about a place; what is measured, and how, is
/// the same.
pub(crate) trait Place: fmt::Debug {
    /// The clock that saves are timed by.
    fn clock(&self) -> &dyn Clock;

    /// Writes up to now.
    fn written(&self) -> Reading<Writes>;

    /// The sum of all waits up to now, if the place knows.
    fn waited(&self) -> Option<Waited> {
        None
    }
}

/// The place of a job's databases. Files have plain names in their place: `save-0.db`.
pub(crate) trait Storage: Place {
    /// Path for SQLite to open, and for error messages.
    fn path(&self, name: &str) -> PathBuf;

    /// The VFS for SQLite to open it with; `None` is SQLite's own.
    fn vfs(&self) -> Option<&'static str>;

    /// Further flags for opening.
    fn open_flags(&self) -> OpenFlags;

    /// Removes a file if it exists.
    fn remove(&self, name: &str) -> Result<(), SqliteError>;

    /// Size of a file in bytes.
    fn size(&self, name: &str) -> Result<u64, Errno>;

    /// Lets the time pass that SQLite computes for a statement, if computing takes no time by
    /// itself.
    fn compute(&self);

    /// Atomic writes that the filesystem refused, so that SQLite used its journal for them.
    fn refused_atomic_writes(&self) -> u64 {
        0
    }

    /// The error for a failure of SQLite; to be called right after it.
    fn failure(&self, operation: &'static str, path: &Path, error: &rusqlite::Error)
    -> SqliteError;
}

/// Writes to a place since `earlier`.
pub(crate) fn written_since(place: &dyn Place, earlier: &Reading<Writes>) -> Reading<Writes> {
    match (place.written(), earlier) {
        (Reading::Value(now), Reading::Value(earlier)) => Reading::Value(now.since(*earlier)),
        (Reading::Unavailable { unavailable }, _) => Reading::Unavailable { unavailable },
        (_, earlier) => earlier.clone(),
    }
}
