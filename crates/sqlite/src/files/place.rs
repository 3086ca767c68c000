use crate::error::SqliteError;
use crate::storage::Place;

/// The files on which a save makes its calls: one directory, with at most one file of it open.
pub(crate) trait FilePlace: Place {
    /// Size of a file; `None` if it is not there.
    fn stat(&self, name: &str) -> Result<Option<u64>, SqliteError>;

    /// Opens a file for writing, empty.
    fn open(&self, name: &str) -> Result<(), SqliteError>;

    /// Writes all of `from` behind what was written to the open file.
    fn write(&self, from: &[u8]) -> Result<(), SqliteError>;

    /// Makes the open file durable; `data_only` is fdatasync.
    fn sync(&self, data_only: bool) -> Result<(), SqliteError>;

    /// Closes the open file.
    fn close(&self) -> Result<(), SqliteError>;

    /// Lets the file's owner and group read and write it.
    fn chmod(&self, name: &str) -> Result<(), SqliteError>;

    /// Renames a file, over another if there is one.
    fn rename(&self, from: &str, to: &str) -> Result<(), SqliteError>;

    /// Removes a file if it is there.
    fn unlink(&self, name: &str) -> Result<(), SqliteError>;

    /// Makes the directory durable.
    fn sync_directory(&self) -> Result<(), SqliteError>;
}
