//! One event of a trace.

use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceEvent {
    /// When the event began, from the beginning of the trace.
    pub t_ns: Nanos,
    /// How long the event took; absent where the source has only one of its ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ns: Option<Nanos>,
    /// The thread that caused the event, by index; absent where the source does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// What was done.
    pub action: TraceAction,
}

/// What was done. Files and devices are indices into a trace's lists.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum TraceAction {
    /// A file was opened.
    Open {
        file: u32,
        /// Whether what was in the file is gone.
        truncated: bool,
        /// Whether the file is made if it does not exist.
        created: bool,
    },
    /// A file was closed.
    Close { file: u32 },
    /// A file was changed: by how many writes and bytes the source does not say, and changes that follow
    /// each other closely are one.
    Change { file: u32 },
    /// What a process wrote to all of its files since the last such event, by its counters.
    Counted {
        /// Calls that write, to whatever.
        writes: u64,
        /// Bytes that the process sent towards disks.
        bytes: Bytes,
    },
    /// Bytes were read by a system call.
    Read {
        file: u32,
        /// Where; absent where the source does not say and the position can't be followed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        bytes: Bytes,
    },
    /// Bytes were written by a system call.
    Write {
        file: u32,
        /// Where; absent where the source does not say and the position can't be followed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        bytes: Bytes,
    },
    /// A file was made durable: fsync or fdatasync.
    Sync {
        file: u32,
        /// Whether only the data was asked for: fdatasync.
        data_only: bool,
    },
    /// All of a filesystem, or of the machine, was made durable: sync or syncfs.
    SyncAll,
    /// A file's size was set.
    Truncate {
        file: u32,
        /// The new size.
        bytes: Bytes,
    },
    /// A file's name was removed.
    Unlink { file: u32 },
    /// A file's name was changed.
    Rename {
        file: u32,
        /// The file that has the new name from then on.
        to: u32,
    },
    /// A system call failed: nothing was changed, and `took_ns` is what it waited all the same.
    Failed {
        call: FailedCall,
        /// The file; absent where the call names none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<u32>,
        /// Linux's number of the error (28 is ENOSPC); 0 where the source has a name that is not known.
        error: u16,
    },
    /// The filesystem's journal was committed: jbd2 of ext4.
    Commit { device: u32 },
    /// The filesystem wrote a checkpoint: F2FS.
    Checkpoint { device: u32 },
    /// The filesystem cleaned segments: F2FS.
    Clean { device: u32 },
    /// A request to a block device, from its issue on, or from its queueing on in a source without the
    /// issue; `took_ns` goes to its completion.
    Block {
        device: u32,
        /// What was asked for.
        operation: BlockOperation,
        /// Where, in bytes from the device's beginning.
        offset: u64,
        /// How many bytes: 0 of a flush alone.
        bytes: Bytes,
        flags: BlockFlags,
        /// Time in the queue before the issue; absent where the source does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queued_ns: Option<Nanos>,
        /// The file whose content the request carries; absent where the source does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<u32>,
    },
}

/// A system call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedCall {
    /// A file was to be opened.
    Open,
    /// A file was to be closed.
    Close,
    /// Bytes were to be read.
    Read,
    /// Bytes were to be written.
    Write,
    /// A file, or all of a filesystem, was to be made durable.
    Sync,
    /// A file's size was to be set.
    Truncate,
    /// A file's name was to be removed.
    Unlink,
    /// A file's name was to be changed.
    Rename,
}

/// What is asked of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockOperation {
    Read,
    Write,
    /// Flush the device's write cache.
    Flush,
    /// Discard (TRIM).
    Discard,
}

/// How a block request is marked, as in the column `RWBS` of blktrace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BlockFlags {
    /// Somebody waits for the request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sync: bool,
    /// Metadata of a filesystem.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub meta: bool,
    /// The journal of a filesystem, where the source says so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub journal: bool,
    /// Flushed before: the write cache is made durable first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub preflush: bool,
    /// Forced unit access: the request itself is durable when it completes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fua: bool,
    /// Read ahead.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ahead: bool,
}
