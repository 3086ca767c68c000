use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::reading::Reading;

/// The calibration, measured before anything else: the cost of the clock and of the engine
/// themselves, to compare latencies with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Calibration {
    /// The monotonic clock.
    pub clock: ClockCalibration,
    /// Median cost of a reading of the thread's times (`/proc/thread-self/schedstat`).
    pub wait_meter_cost_ns: Reading<Nanos>,
    /// The measuring loop on a device that does nothing.
    pub engine: Reading<EngineOverhead>,
    /// Duration of the calibration.
    pub took_ns: Nanos,
}

/// The monotonic clock, measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ClockCalibration {
    /// The resolution that the kernel reports (`clock_getres`).
    pub claimed_resolution_ns: Reading<Nanos>,
    /// The smallest step that was seen.
    pub resolution_ns: Reading<Nanos>,
    /// The cost of one reading, in thousandths of a nanosecond: median of many batches.
    pub cost_picoseconds: u64,
    /// The same, of the fastest batch.
    pub cost_min_picoseconds: u64,
    /// By how many parts in a million it ran faster than the boot-time clock, which also runs
    /// during a suspend. If it is not zero, the machine slept in the meantime, or a clock is
    /// broken.
    pub against_boottime_ppm: Reading<f64>,
    /// By how many parts in a million it ran faster than the raw clock, which NTP does not steer.
    /// Steering explains up to 500.
    pub against_raw_ppm: Reading<f64>,
    /// Number of readings earlier than the previous one; above 0 the clock is broken.
    pub steps_back: u64,
    /// The window over which the clocks were compared.
    pub window_ns: Nanos,
}

/// What the measuring loop adds to every operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EngineOverhead {
    /// Operations done on the device that does nothing.
    pub ops: u64,
    /// The median of their recorded latencies: flashlag's own part of any latency.
    pub latency_p50_ns: Nanos,
    /// The 99th percentile of the same.
    pub latency_p99_ns: Nanos,
    /// CPU time for each operation, in thousandths of a nanosecond.
    pub cpu_picoseconds_per_op: u64,
}
