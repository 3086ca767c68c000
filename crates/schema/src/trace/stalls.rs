//! Events that took far longer than is normal for their kind.

use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

/// Events far beyond what is normal for their kind: over 100 ms and over ten times the median.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceStalls {
    pub count: u64,
    /// The longest, in order of time.
    pub listed: Vec<TraceStall>,
}

/// An event that took far longer than usual.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceStall {
    /// Its start, from the start of the trace.
    pub t_ns: Nanos,
    /// How long.
    pub took_ns: Nanos,
    pub event: u64,
    /// What was done.
    pub what: TraceStalled,
    /// The process or thread that waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// What took far longer than usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceStalled {
    /// An fsync or fdatasync, sync or syncfs.
    Sync,
    /// A write by a system call.
    Write,
    /// A read by a system call.
    Read,
    /// A commit of the filesystem's journal, or a checkpoint.
    FilesystemCommit,
    /// A read request to the device.
    BlockRead,
    /// A write request to the device.
    BlockWrite,
    /// A flush of the device's write cache.
    Flush,
    Discard,
}
