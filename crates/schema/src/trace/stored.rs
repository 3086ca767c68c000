//! The stored form of a trace, `flashlag.trace/1`: one JSON object a line.

use serde::{Deserialize, Serialize};

use super::{TraceDevice, TraceEvent, TraceFile, TraceFrame, TraceSource, TraceTask};

/// A line of a stored trace. `trace` comes first; tasks, files and devices are numbered from 0 in
/// the order of their lines, and each comes before the first event with its number; `end` comes
/// last, so that a truncated file is recognised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceLine {
    /// The head.
    Trace(TraceHead),
    /// The next thread.
    Task(TraceTask),
    /// The next file.
    File(TraceFile),
    /// The next block device.
    Device(TraceDevice),
    /// The next event.
    Event(TraceEvent),
    /// A frame that was late.
    Frame(TraceFrame),
    /// The end: what is known about the source after the last event.
    End(TraceSource),
}

/// The first line of a stored trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceHead {
    /// [`super::TRACE_SCHEMA`].
    pub schema: String,
    /// What is known about the source before the first event.
    pub source: TraceSource,
}
