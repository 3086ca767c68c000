//! What `flashlag watch` records over months: waits by hour and by day, and incidents.
//!
//! The same types are written compactly into the pages of a history file, so no field is left out
//! where it is absent.

mod incident;
mod program;
mod sums;
mod trend;

use flashlag_spec::PackedText;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::histogram::StoredHistogram;

pub use incident::{Before, Incident, Second, WaitKind};
pub use program::ProgramBytes;
pub use sums::Sums;
pub use trend::{Beside, Shift, Trend, Trends};

/// The version of a history; raise it with every change of these types.
pub const HISTORY: &str = "flashlag.history/1";

/// A day in seconds.
pub const DAY_S: u64 = 86_400;
/// A time before this, in seconds since 1970, is that of a clock that was not set: 2020.
pub const CLOCK_WAS_SET_S: u64 = 1_577_836_800;

/// A history: what was watched, by hour and by day, with its incidents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct History {
    /// `flashlag.history/1`.
    #[cfg_attr(feature = "json-schema", schemars(extend("const" = HISTORY)))]
    pub schema: String,
    /// What is watched, as of the last start; absent if its page is damaged.
    pub subject: Option<Subject>,
    /// Hours and days, in order of time. An hour that was watched in part is there too.
    pub spans: Vec<Span>,
    /// The incidents, in order of time.
    pub incidents: Vec<Incident>,
    /// How the waits changed over time.
    pub trends: Trends,
    /// Pages of the file that can't be read.
    pub damaged_pages: u64,
    /// What was dropped to keep the file below its size began before this, in seconds since 1970; 0 if nothing was.
    pub dropped_before_s: u64,
}

/// What is watched, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// The version of flashlag.
    pub flashlag: String,
    /// The watched directory.
    pub directory: String,
    /// Its disk: `mmcblk0`.
    pub disk: Option<String>,
    /// What the disk says it is.
    pub model: Option<String>,
    /// `sd`, `emmc`, `nvme`, …
    pub kind: Option<String>,
    /// Its size.
    pub size_bytes: Option<Bytes>,
    /// The filesystem.
    pub filesystem: Option<String>,
    /// The system's own name.
    pub system: Option<String>,
    /// A wait longer than this may be an incident.
    pub over_ns: Nanos,
    /// How often flashlag itself makes a durable write; absent if it only looks on.
    pub probe_ns: Option<Nanos>,
    /// What can't be read here, and why.
    pub missing: Vec<String>,
}

/// An hour, or a day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// Its start, in seconds since 1970, UTC.
    pub start_s: u64,
    /// Its length: an hour's or a day's.
    pub seconds: u32,
    /// How long of that the storage was watched.
    pub watched_ns: Nanos,
    /// How long of that nothing could be said: the machine was suspended or flashlag stopped.
    pub stopped_ns: Nanos,
    /// Waits for flashlag's own durable writes.
    pub probes: StoredHistogram,
    /// Waits for reads: the mean of each look, once for each request.
    pub reads: StoredHistogram,
    /// Waits for writes, likewise.
    pub writes: StoredHistogram,
    /// Waits for flushes, likewise.
    pub flushes: StoredHistogram,
    /// Bytes read from and written to the disk.
    pub disk_bytes: Bytes,
    /// Bytes that flashlag itself wrote, its probes among them.
    pub own_bytes: Bytes,
    /// CPU time that flashlag itself used.
    pub own_cpu_ns: Nanos,
    /// The state of the machine, as last seen.
    pub state: MachineState,
    /// The programs that moved most bytes, most first.
    pub programs: Vec<ProgramBytes>,
    /// Incidents that began in it.
    pub incidents: u32,
    /// The longest wait of these.
    pub longest_ns: Nanos,
}

impl Span {
    /// The waits of a kind. Whether requests that nothing completed were reads or writes is not known: they count
    /// as writes.
    pub fn waits(&self, of: WaitKind) -> &StoredHistogram {
        match of {
            WaitKind::Probe => &self.probes,
            WaitKind::Read => &self.reads,
            WaitKind::Write | WaitKind::Freeze => &self.writes,
            WaitKind::Flush => &self.flushes,
        }
    }
}

/// The state of machine and disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MachineState {
    /// Free space of the filesystem.
    pub free_bytes: Option<Bytes>,
    /// Its size.
    pub total_bytes: Option<Bytes>,
    /// At most this share of the disk's rated life is used, in percent; 110 is beyond.
    pub used_percent_at_most: Option<u8>,
    /// What the disk says about its reserve: `normal`, `warning`, `urgent`.
    pub pre_eol: Option<String>,
    /// Bytes that the disk says were ever written to it.
    pub written_bytes: Option<Bytes>,
    /// The disk's highest temperature, in thousandths of a degree Celsius.
    pub hottest_millicelsius: Option<i64>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The disk's firmware.
    pub firmware: Option<String>,
}

/// The JSON Schema of a history in its JSON form, as indented JSON.
pub static HISTORY_JSON_SCHEMA: PackedText =
    PackedText::new(include_bytes!(concat!(env!("OUT_DIR"), "/history.schema.json")));

/// The JSON Schema of a history, generated from the types.
#[cfg(feature = "json-schema")]
pub fn history_json_schema() -> serde_json::Value {
    schemars::schema_for!(History).to_value()
}
