//! The statistics of a running virtual device.

use flashlag_spec::FlashState;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::BlockKinds;
use crate::histogram::{LatencySummary, StoredHistogram};
use crate::stall::WaitPart;

/// The statistics of a served device since its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviceStats {
    /// The profile's name.
    pub profile: String,
    /// What the host sees.
    pub size_bytes: Bytes,
    /// What every random choice follows from.
    pub seed: u64,
    /// How many times faster than real time the device lives.
    pub time_scale: f64,
    /// The device's own time.
    pub virtual_ns: Nanos,
    /// Whether it has power.
    pub powered: bool,
    /// The reason of a read-only device.
    pub read_only: Option<String>,
    /// What hosts asked for.
    pub host: HostRequests,
    /// The flash's statistics; absent if no flash is modelled.
    pub flash: Option<FlashState>,
    /// Lateness of completions compared with the model; absent if no flash is modelled.
    pub lateness_ns: Option<Lateness>,
    /// Power cuts so far.
    pub power_cuts: u64,
    /// The loss at the last power cut.
    pub last_cut: Option<CutReport>,
    /// Faults that are set.
    pub faults: u64,
    /// Number of recorded requests; absent if none are being recorded.
    pub recorded: Option<u64>,
}

/// Counts of a device since its start, as the host and the guest of a lab exchange them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCount {
    pub host: HostRequests,
    /// Bytes that the flash programmed; absent if no flash is modelled.
    pub programmed: Option<Bytes>,
    /// Bytes written, by their purpose; `None` once the purpose is unknown.
    pub kinds: Option<BlockKinds>,
    /// When it was counted, in the device's own time.
    #[serde(default)]
    pub at_ns: Option<Nanos>,
    /// The time between query and answer, before and after that moment.
    #[serde(default)]
    pub took_ns: (Nanos, Nanos),
    /// Slow requests since the count before.
    #[serde(default)]
    pub slow: Vec<SlowRequest>,
}

/// A slow request at a virtual device, and what it waited for there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowRequest {
    /// Its arrival, in the device's own time.
    pub at_ns: Nanos,
    /// Its duration, in that time.
    pub ns: Nanos,
    /// What it waited for: the parts add up to that.
    pub waited: Vec<WaitPart>,
}

/// What hosts asked of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HostRequests {
    /// Reads.
    pub reads: u64,
    /// Bytes of them.
    pub read_bytes: Bytes,
    /// Writes.
    pub writes: u64,
    /// Bytes of them.
    pub written_bytes: Bytes,
    /// Writes with force unit access, which are among the writes.
    pub fua_writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub trims: u64,
    /// Bytes of them.
    pub trimmed_bytes: Bytes,
    /// Requests to write zeros; they also count as the writes or discards that the device made of
    /// them.
    pub zeroes: u64,
    /// Requests that failed.
    pub failed: u64,
}

/// How much later than in the model requests completed, in real time and within the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Lateness {
    /// Its percentiles.
    pub summary: LatencySummary,
    /// The total.
    pub histogram: StoredHistogram,
}

/// The loss of a device by a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CutReport {
    /// When, in the device's own time.
    pub virtual_ns: Nanos,
    /// Mapping units that went back to older data.
    pub lost_units: u64,
    /// Bytes of them.
    pub lost_bytes: Bytes,
    /// Time of the recovery until the device answers.
    pub recovery_ns: Nanos,
}
