//! Incidents: waits that a person notices, and what happened before them.

use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::program::ProgramBytes;
use crate::stall::{CauseBasis, StallCause};

/// What waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// A durable write of flashlag's own.
    #[default]
    Probe,
    /// Reads of any process.
    Read,
    /// Writes of any process, which some process waited for.
    Write,
    /// Flushes of the disk's cache.
    Flush,
    /// Everything: the disk completed nothing, with requests in flight.
    Freeze,
}

/// Waits of one cause in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Incident {
    /// When the first wait began, in milliseconds since 1970, UTC.
    pub start_ms: u64,
    /// From the start of the first wait to the end of the last.
    pub lasted_ns: Nanos,
    /// The longest wait.
    pub longest_ns: Nanos,
    /// How many waits there were.
    pub waits: u32,
    /// What the longest one waited for.
    pub kind: WaitKind,
    /// The usual wait of that kind then.
    pub usual_ns: Option<Nanos>,
    /// The cause; `storage` where no rule names one.
    pub cause: StallCause,
    /// How it is known.
    pub cause_basis: CauseBasis,
    /// Who was in uninterruptible sleep when it was noticed, with thread, call and file where known.
    pub waiting: Vec<String>,
    /// What happened before and during it.
    pub before: Before,
}

/// The half minute before an incident, and the first wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Before {
    /// The length of the time that programs were counted in.
    pub window_ns: Nanos,
    /// The programs that moved most bytes, most first.
    pub programs: Vec<ProgramBytes>,
    /// Memory whose changes were not on storage yet, when the wait was noticed.
    pub dirty_bytes: Option<Bytes>,
    /// Memory that was being written then.
    pub writeback_bytes: Option<Bytes>,
    /// Commits of the filesystem's journal.
    pub commits: Option<u64>,
    /// Discards.
    pub discards: Option<u64>,
    /// Time in which some task waited for a CPU.
    pub cpu_pressure_ns: Option<Nanos>,
    /// Time in which some task waited for I/O.
    pub io_pressure_ns: Option<Nanos>,
    /// Time in which some task waited for memory.
    pub memory_pressure_ns: Option<Nanos>,
    /// Times that limits of flashlag's own control groups held its processes back.
    pub held_back: Option<u64>,
    /// The disk's temperature, in thousandths of a degree Celsius.
    pub millicelsius: Option<i64>,
    /// The disk second by second, the last one the end of the first wait.
    pub seconds: Vec<Second>,
    /// Where the disk had hardly a request during the wait: the files by which control groups limit I/O to it.
    pub limits: Vec<String>,
}

/// The disk in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Second {
    /// Bytes that it moved.
    pub bytes: Bytes,
    /// Requests that it completed.
    pub requests: u64,
    /// Time in which it had a request in flight.
    pub busy_ns: Nanos,
}
