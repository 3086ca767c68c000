use std::fmt;

use flashlag_device::{Clock, DeviceError};
use flashlag_spec::scenario::SyncCall;
use flashlag_stats::Waited;
use flashlag_units::Nanos;

/// Files of a simulated phone, as a program uses them: names are plain, files are numbers.
///
/// A call returns when it has ended in virtual time.
pub trait Files: fmt::Debug {
    /// The file with this name; `None` if there is none.
    fn find(&self, name: &str) -> Option<u64>;

    /// Makes an empty file.
    fn create(&self, name: &str) -> Result<u64, DeviceError>;

    /// Reads into a buffer from `offset` on; returns the number of bytes read, which is less at the
    /// end of the file.
    fn read(&self, file: u64, offset: u64, into: &mut [u8]) -> Result<usize, DeviceError>;

    /// Writes all of `from` at `offset`.
    fn write(&self, file: u64, offset: u64, from: &[u8]) -> Result<(), DeviceError>;

    /// Whether files support atomic writes and use them.
    fn is_atomic(&self) -> bool {
        false
    }

    /// Whether files support atomic writes, used or not: see [`Files::is_atomic`].
    fn can_be_atomic(&self) -> bool {
        self.is_atomic()
    }

    /// Makes several writes (offset and bytes of each) as one that is durable when the call
    /// returns. Called only if [`Files::is_atomic`].
    fn write_atomically(&self, file: u64, writes: &[(u64, &[u8])]) -> Result<(), DeviceError> {
        for (offset, from) in writes {
            self.write(file, *offset, from)?;
        }
        self.sync(file, SyncCall::Fdatasync)
    }

    /// Sets the size of a file.
    fn truncate(&self, file: u64, size: u64) -> Result<(), DeviceError>;

    /// Makes a file durable by this call.
    fn sync(&self, file: u64, call: SyncCall) -> Result<(), DeviceError>;

    /// Makes the directory durable.
    fn sync_directory(&self) -> Result<(), DeviceError>;

    /// Removes an existing file.
    fn delete(&self, name: &str) -> Result<(), DeviceError>;

    /// Gives a file another name; a file that has that name is removed.
    fn rename(&self, from: &str, to: &str) -> Result<(), DeviceError>;

    /// Changes the permissions of a file.
    fn change_mode(&self, file: u64) -> Result<(), DeviceError>;

    /// Says that nobody writes a file any more.
    fn close(&self, _file: u64) {}

    /// Size of a file in bytes.
    fn size(&self, file: u64) -> Result<u64, DeviceError>;

    /// The sum of what calls on the files, and [`Files::compute`], have waited for, if the place
    /// knows.
    fn waited(&self) -> Option<Waited> {
        None
    }

    /// The virtual clock; background work goes on while time passes.
    fn clock(&self) -> &dyn Clock;

    /// Lets SQLite's computing time pass; by default as long as the work takes at full speed.
    fn compute(&self, work: Nanos) {
        let clock = self.clock();
        clock.pass_until(clock.now().plus(work));
    }
}
