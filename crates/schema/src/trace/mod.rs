//! A trace: what processes and the kernel did to storage, event by event, with separate lists of
//! tasks, files and devices. Every importer and every live source makes one; the table of writers,
//! the replay and the exports use one.

mod event;
mod ledger;
mod packed;
mod packing;
mod stored;

use std::collections::BTreeMap;

use flashlag_spec::{TraceFileKind, TraceSourceKind};
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

pub use event::{BlockFlags, BlockOperation, FailedCall, TraceAction, TraceEvent};
pub use ledger::{
    TraceDatabase, TraceDeviceUse, TraceLayers, TraceLedger, TraceStall, TraceStalled, TraceStalls,
    TraceSyncs, TraceWriter, TraceWrites, TraceWrittenKind,
};
pub use packed::{IntoItems, Items, Pack, PackedList};
pub use packing::{PackedEvent, PackedFlags};
pub use stored::{TraceHead, TraceLine};

/// The version of the stored form.
pub const TRACE_SCHEMA: &str = "flashlag.trace/1";

/// The events of a trace, packed: ten million of them take a quarter of a gigabyte.
pub type TraceEvents = PackedList<TraceEvent>;

/// What a source recorded. The stored form is one [`TraceLine`] after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Where the events come from, and what that source can't see.
    pub source: TraceSource,
    /// Threads, in the order of their first event.
    pub tasks: Vec<TraceTask>,
    /// Files, in the order of their first event.
    pub files: Vec<TraceFile>,
    /// Block devices, in the order of their first event.
    pub devices: Vec<TraceDevice>,
    /// Events by time; at equal times in the order of the source.
    pub events: TraceEvents,
}

/// Where the events of a trace come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSource {
    pub kind: TraceSourceKind,
    /// How a file was understood, where that is not plain from its format: the columns of a table and
    /// their units, what the times of strace are counted from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_as: Option<String>,
    /// Layers whose events the source records completely: no event of a layer that is not in here says
    /// that nothing happened there.
    pub layers: Vec<TraceLayer>,
    /// How long the source recorded.
    pub lasted_ns: Nanos,
    /// Events that the source is known to have lost; absent where the source does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Lines or records that could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damaged: u64,
    /// Calls and requests that move or sync data, are in the source and are not among the events: each
    /// kind of them is named in `limits`. A trace with any is only half understood.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Lines or records that are no event of storage, by what they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, u64>,
    /// Requests and calls of which only one end is in the source.
    #[serde(default, skip_serializing_if = "TraceUnmatched::is_none")]
    pub unmatched: TraceUnmatched,
    /// What the source can't see, and what was left out of it, in plain sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

/// Events of which only one end is in the source: the other is before its beginning, after its end, or
/// lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TraceUnmatched {
    /// Those that begin and do not end.
    pub begins: u64,
    /// Those that end and did not begin.
    pub ends: u64,
}

impl TraceUnmatched {
    /// Whether every event has both ends.
    pub fn is_none(&self) -> bool {
        *self == TraceUnmatched::default()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Where in the stack an event was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceLayer {
    /// System calls of processes.
    SystemCalls,
    /// Commits, checkpoints and cleaning of the filesystem.
    Filesystem,
    /// Requests to block devices.
    Block,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceTask {
    /// The thread's number; absent where the source has names only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// The process's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The process's name, as the source has it: any text at all, not yet fit for a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// The thread's name, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

impl TraceTask {
    /// Whether this is its process's main thread, which an app's user waits for; `None` where the
    /// source has not both numbers.
    pub fn is_main(&self) -> Option<bool> {
        Some(self.tid? == self.pid?)
    }
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// The path, as the source has it; absent where the source has inode numbers or descriptors only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The inode's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// The number that a process has for the open file; present only where the source has nothing else
    /// to tell the file by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<u32>,
    /// The device of the file, by index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
    pub kind: TraceFileKind,
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceDevice {
    /// The name, as `mmcblk0p28` or `253,5`.
    pub name: String,
    /// The devices that this one passes its requests on to, by name: of a partition its disk, of a loop
    /// device the disk with its file, of dm and md what they are made of. Empty for a disk itself;
    /// absent where the source does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Vec<String>>,
}
