use flashlag_stats::Waited;
use flashlag_units::{Bytes, Nanos};

use crate::clock::Clock;
use crate::error::DeviceError;
use crate::request::Completion;

/// A system call on a file of a [`CallDevice`]. Files are numbers: a device knows their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Opens the file. One that is not there is made, whether that is asked for or not: a replay may
    /// come to it before its maker.
    Open {
        /// Whether a file that is not there was to be made.
        create: bool,
        /// Whether what is in it is dropped.
        truncate: bool,
    },
    /// Closes the file.
    Close,
    /// Reads; beyond the end of the file nothing.
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
        /// Whether the file's times need not be durable.
        data_only: bool,
    },
    /// `fsync` of the directory with the files.
    SyncDirectory,
    /// Makes everything durable that was written.
    SyncAll,
    /// Sets the file's size.
    Truncate(Bytes),
    /// Removes the file, if it is there.
    Unlink,
    /// Gives the file the name of another, which is gone after that.
    Rename {
        /// The other file.
        to: u32,
    },
}

/// A system call to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRequest {
    /// The thread that makes it: below the device's number of threads, with no call under way.
    pub slot: u32,
    pub file: u32,
    pub call: Call,
}

/// Files on which threads make system calls, one at a time each.
pub trait CallDevice {
    /// The clock that completions are timed by.
    type Clock: Clock;

    /// That clock.
    fn clock(&self) -> &Self::Clock;

    /// Makes a call. A device that works synchronously does it here.
    ///
    /// # Errors
    /// Only where the call could not be begun at all; what fails later is in its completion.
    fn submit(&mut self, request: CallRequest) -> Result<(), DeviceError>;

    /// Appends what has completed, after waiting until at least `at_least` calls have (zero never waits;
    /// more than are under way waits for all).
    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError>;

    /// Lets time pass until `time` while calls go on. Returns early where a completion is ready.
    fn wait_until(&mut self, time: Nanos);

    /// Where the time went of the call that completed last in a slot: parts that add up to its
    /// `ended - started`. `None` where the device does not know.
    fn waited(&mut self, _slot: u32) -> Option<Waited> {
        None
    }
}
