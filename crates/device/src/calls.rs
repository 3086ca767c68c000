use flashlag_stats::Waited;
use flashlag_units::{Bytes, Nanos};

use crate::clock::Clock;
use crate::error::DeviceError;
use crate::request::Completion;

/// A system call on a file of a [`CallDevice`]. Files are numbers: a device knows their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Opens the file, and creates it if it does not exist, with or without `create`: a replay may
    /// open a file before the thread that creates it.
    Open {
        /// Whether the traced call would have created a missing file.
        create: bool,
        /// Whether to drop the file's content.
        truncate: bool,
    },
    /// Closes the file.
    Close,
    /// Reads; nothing beyond the end of the file.
    Read {
        offset: Bytes,
        /// How much, of any size.
        length: Bytes,
    },
    Write {
        offset: Bytes,
        /// How much, of any size.
        length: Bytes,
    },
    /// `fsync`, or with `data_only` `fdatasync`.
    Sync {
        /// Whether this is fdatasync, which need not make the file's times durable.
        data_only: bool,
    },
    /// `fsync` of the directory that holds the files.
    SyncDirectory,
    /// Makes everything durable that was written.
    SyncAll,
    /// Sets the file's size.
    Truncate(Bytes),
    /// Removes the file, if it exists.
    Unlink,
    /// Renames the file to another's name, replacing that one.
    Rename {
        /// The other file.
        to: u32,
    },
}

/// A system call to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRequest {
    /// The thread that makes it: less than the device's number of threads, and without a call in
    /// flight.
    pub slot: u32,
    pub file: u32,
    pub call: Call,
}

/// Files on which threads make system calls, one at a time each.
pub trait CallDevice {
    /// The clock that completions are timed by.
    type Clock: Clock;

    /// The clock that completions are timed by.
    fn clock(&self) -> &Self::Clock;

    /// Makes a call. A synchronous device carries it out here.
    ///
    /// # Errors
    /// Only if the call could not be started at all; a later failure is in its completion.
    fn submit(&mut self, request: CallRequest) -> Result<(), DeviceError>;

    /// Appends completions. Waits until there are `at_least` (zero never waits; more than are in
    /// flight waits for all).
    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError>;

    /// Lets time pass until `time` while calls proceed. May return early if one completes.
    fn wait_until(&mut self, time: Nanos);

    /// What the last completed call of a slot waited for: parts that add up to its `ended -
    /// started`. `None` if the device does not know.
    fn waited(&mut self, _slot: u32) -> Option<Waited> {
        None
    }
}
