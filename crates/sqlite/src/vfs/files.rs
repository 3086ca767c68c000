use std::fmt;

use flashlag_device::{Clock, DeviceError};

/// Files of a simulated phone, as a program calls them. Names are plain; files are numbers.
///
/// A call returns when it is done on the clock.
pub trait Files: fmt::Debug {
    /// The file of this name; `None` where there is none.
    fn find(&self, name: &str) -> Option<u64>;

    /// Makes an empty file.
    fn create(&self, name: &str) -> Result<u64, DeviceError>;

    /// Reads what there is of `into` from `offset` on, and tells how much that was.
    fn read(&self, file: u64, offset: u64, into: &mut [u8]) -> Result<usize, DeviceError>;

    /// Writes all of `from` at `offset`.
    fn write(&self, file: u64, offset: u64, from: &[u8]) -> Result<(), DeviceError>;

    /// Makes it this large.
    fn truncate(&self, file: u64, size: u64) -> Result<(), DeviceError>;

    /// Makes it durable, by the call that SQLite was built with.
    fn sync(&self, file: u64) -> Result<(), DeviceError>;

    /// Makes the names in the directory durable.
    fn sync_directory(&self) -> Result<(), DeviceError>;

    /// Removes a file that is there.
    fn delete(&self, name: &str) -> Result<(), DeviceError>;

    /// Its size in bytes.
    fn size(&self, file: u64) -> Result<u64, DeviceError>;

    /// The virtual clock; letting time pass lets work in the background go on.
    fn clock(&self) -> &dyn Clock;
}
