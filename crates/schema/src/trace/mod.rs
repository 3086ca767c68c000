//! A trace: what processes and the kernel did to storage, event by event, with separate lists of
//! tasks, files and devices. Every importer and every live source produces one; the table of
//! writers, the replay and the exports read one.

mod beside;
mod event;
mod frames;
mod ledger;
mod packed;
mod packing;
mod saves;
mod stalls;
mod stored;

use std::collections::BTreeMap;

use flashlag_spec::{TraceFileKind, TraceSourceKind};
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::clocks::ClockReading;

pub use beside::{TraceDuring, TraceRun, TraceRunSaves, TraceRunStall, TraceRunTest};
pub use event::{BlockFlags, BlockOperation, FailedCall, TraceAction, TraceEvent};
pub use frames::{TraceFrame, TraceFrames, TraceLateFrame};
pub use ledger::{
    TraceDatabase, TraceDeviceUse, TraceLayers, TraceLedger, TraceSyncs, TraceWriter, TraceWrites,
    TraceWrittenKind,
};
pub use packed::{IntoItems, Items, Pack, PackedList};
pub use packing::{PackedEvent, PackedFlags};
pub use saves::{TraceSaveKind, TraceSaveWaits, TraceSaves};
pub use stalls::{TraceStall, TraceStalled, TraceStalls};
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
    /// Frames of user interfaces that were late, by the time of their end.
    pub late_frames: Vec<TraceFrame>,
}

/// Where the events of a trace come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSource {
    pub kind: TraceSourceKind,
    /// How a file was interpreted, if its format does not determine that: the columns of a table
    /// and their units, the origin of strace's times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_as: Option<String>,
    /// Layers whose events the source records completely: only for these does the absence of an
    /// event mean that nothing happened.
    pub layers: Vec<TraceLayer>,
    /// How long the source recorded.
    pub lasted_ns: Nanos,
    /// What the system's clocks said at time 0 of the trace; absent if the source does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<ClockReading>,
    /// Frames of apps that the source records, late or not; absent if it records none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<u64>,
    /// Events that the source is known to have lost; absent if it does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Lines or records that could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damaged: u64,
    /// Whether the file ends before what it records does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
    /// Calls and requests in the source that move or sync data, but are not among the events:
    /// `limits` names each kind. A trace with any is only half understood.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Lines or records that are no storage events, by their kind.
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
    /// The thread's id; absent if the source has names only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// The process's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The process's name in the source: any text, not yet safe for a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// The thread's name, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

impl TraceTask {
    /// Whether this is its process's main thread, for which an app's user waits; `None` unless both
    /// ids are known.
    pub fn is_main(&self) -> Option<bool> {
        Some(self.tid? == self.pid?)
    }
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// The path in the source; absent if the source has only inode numbers or descriptors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The inode's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// The descriptor of the open file; present only if nothing else identifies the file.
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
    /// The devices that this one passes its requests to, by name: for a partition its disk, for a
    /// loop device the disk with its file, for dm and md their parts. Empty for a disk itself;
    /// absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Vec<String>>,
}
