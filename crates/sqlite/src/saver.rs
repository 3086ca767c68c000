//! The work of a loop of saves: transactions of databases, or files that are written anew.

use flashlag_units::Bytes;

use crate::error::SqliteError;

/// Makes the saves of a loop, one after another.
pub(crate) trait Saver {
    /// Most bytes that one save writes.
    fn most_of_a_save(&self) -> Bytes;

    /// Content that one save changes.
    fn content_of_a_save(&self) -> Bytes;

    /// Whether something must be put back before the next save.
    fn has_run_out(&self) -> bool {
        false
    }

    /// Most bytes that [`Saver::put_back`] writes.
    fn most_to_put_back(&self) -> Bytes {
        Bytes::ZERO
    }

    /// Puts back what saves removed; returns the number of rows.
    fn put_back(&mut self) -> Result<u64, SqliteError> {
        Ok(0)
    }

    /// Prepares what the next save needs, outside of its latency. `number` counts from 0.
    fn make_ready(&mut self, number: u64) -> Result<(), SqliteError>;

    /// One save.
    fn save(&mut self, number: u64) -> Result<(), SqliteError>;

    /// Whether a lasting file is larger than it ever was.
    fn grew(&mut self) -> Result<bool, SqliteError>;

    /// Size of all that saves keep.
    fn size(&self) -> Bytes;
}
