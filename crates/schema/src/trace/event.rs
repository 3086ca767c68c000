//! One event of a trace.

use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceEvent {
    /// The start of the event, from the start of the trace.
    pub t_ns: Nanos,
    /// The duration of the event; absent if the source has only one of its ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ns: Option<Nanos>,
    /// The thread that caused the event, by index; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// What was done.
    pub action: TraceAction,
}

/// The action. Files and devices are indices into a trace's lists.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum TraceAction {
    /// A file was opened.
    Open {
        file: u32,
        /// Whether the file's contents were discarded.
        truncated: bool,
        /// Whether the file is made if it does not exist.
        created: bool,
    },
    /// A file was closed.
    Close { file: u32 },
    /// A file was changed: the source does not give the number of writes and bytes, and it reports
    /// close changes as one.
    Change { file: u32 },
    /// What a process wrote to all its files since the last such event, by its counters.
    Counted {
        /// Calls that write, to whatever.
        writes: u64,
        /// Bytes that the process sent towards disks.
        bytes: Bytes,
    },
    /// Bytes were read by a system call.
    Read {
        file: u32,
        /// The position; absent if the source does not give it and it can't be derived.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        bytes: Bytes,
    },
    /// Bytes were written by a system call.
    Write {
        file: u32,
        /// The position; absent if the source does not give it and it can't be derived.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        bytes: Bytes,
    },
    /// A file was made durable: fsync or fdatasync.
    Sync {
        file: u32,
        /// Whether it syncs only the data: fdatasync.
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
    /// A system call failed: nothing was changed, but `took_ns` was waited.
    Failed {
        call: FailedCall,
        /// The file; absent if the call names none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<u32>,
        /// Linux's errno (28 is ENOSPC); 0 if the source has an unknown name.
        error: u16,
    },
    /// The filesystem's journal was committed: jbd2 of ext4.
    Commit { device: u32 },
    /// The filesystem wrote a checkpoint: F2FS.
    Checkpoint { device: u32 },
    /// The filesystem cleaned segments: F2FS.
    Clean { device: u32 },
    /// A request to a block device, from its issue (from its queueing if the source has no issue);
    /// `took_ns` lasts to its completion.
    Block {
        device: u32,
        /// What was asked for.
        operation: BlockOperation,
        /// The position, in bytes from the start of the device.
        offset: u64,
        /// Number of bytes: 0 for a mere flush.
        bytes: Bytes,
        flags: BlockFlags,
        /// Time in the queue before the issue; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queued_ns: Option<Nanos>,
        /// The file whose content the request carries; absent if unknown.
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
    /// A sync of a file or of a whole filesystem.
    Sync,
    /// A change of a file's size.
    Truncate,
    /// The unlink of a file.
    Unlink,
    /// The rename of a file.
    Rename,
}

/// The operation of a block request.
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
    /// A flush comes first: the write cache is made durable before the write.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub preflush: bool,
    /// Forced unit access: the request itself is durable when it completes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fua: bool,
    /// Read ahead.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ahead: bool,
}
