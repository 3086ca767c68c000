//! Kernel counters at one time, and their difference between two times. Plain data:
//! `flashlag-inspect` reads them from `/proc` and `/sys`; the checks and the ledger of a run only
//! calculate with them.

mod delta;
mod processes;

use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::{LimitCount, PressureStall};

pub use delta::CounterDelta;
pub use processes::{Neighbour, Process, Processes};

/// All counters at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Counters {
    /// `CLOCK_MONOTONIC`.
    pub at: Nanos,
    /// `CLOCK_BOOTTIME`, which continues while the machine is suspended.
    pub at_boottime: Nanos,
    /// `CLOCK_REALTIME`, which anyone may set.
    pub at_realtime: Nanos,
    /// This process and its children that have ended.
    pub self_io: Reading<SelfIo>,
    /// The whole disks below the directory, summed.
    pub disk: Reading<DiskCounters>,
    /// The block device that holds the filesystem: a partition, a mapped device, a loop device.
    pub partition: Reading<DiskCounters>,
    /// All processors.
    pub cpu: Reading<CpuTimes>,
    /// Tasks of the whole system that waited for a CPU.
    pub pressure_cpu: Reading<PressureStall>,
    /// Tasks of the whole system that waited for I/O.
    pub pressure_io: Reading<PressureStall>,
    /// Signs of throttling.
    pub throttle: Reading<Throttle>,
    /// Load average over the last minute × 100.
    pub load_hundredths: Reading<u64>,
    /// Temperature of the hottest storage sensor, in thousandths of a degree Celsius.
    pub storage_millicelsius: Reading<i64>,
    /// Temperature of the hottest CPU sensor, in thousandths of a degree Celsius.
    pub cpu_millicelsius: Reading<i64>,
    pub processes: Reading<Processes>,
    /// The limits of the process's control groups, with their counters.
    pub limits: Vec<LimitCount>,
}

/// The I/O of one process, as in `/proc/self/io`. `rchar` and `wchar` count the bytes of system
/// calls, `read_bytes` and `write_bytes` the bytes submitted to the block layer (a buffered write
/// counts when its page becomes dirty; tmpfs never counts).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfIo {
    /// Bytes returned by reads.
    pub rchar: Bytes,
    /// Bytes passed to writes.
    pub wchar: Bytes,
    /// Read calls.
    pub syscr: u64,
    /// Write calls.
    pub syscw: u64,
    /// Bytes fetched from storage.
    pub read_bytes: Bytes,
    /// Bytes sent to storage.
    pub write_bytes: Bytes,
}

/// The counters of a block device, as in its `stat` file: Documentation/block/stat.rst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Reads completed.
    pub reads: u64,
    pub read_bytes: Bytes,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: Bytes,
    /// Discards completed (Linux 4.18).
    pub discards: Option<u64>,
    /// Bytes discarded (Linux 4.18).
    pub discard_bytes: Option<Bytes>,
    /// Time spent in discards, summed (Linux 4.18).
    pub discard_ns: Option<Nanos>,
    /// Flushes completed (Linux 5.5); whole disks only. Concurrent flushes are merged into one.
    pub flushes: Option<u64>,
    /// Time spent in flushes (Linux 5.5).
    pub flush_ns: Option<Nanos>,
    /// Time with at least one request in flight.
    pub io_ticks: Nanos,
}

impl DiskCounters {
    /// The sum of two disks, field by field; `None` where either has none.
    pub fn plus(&self, other: &DiskCounters) -> DiskCounters {
        let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0);
        let time = |time: Option<Nanos>| time.map(|time| time.0);
        DiskCounters {
            reads: self.reads.saturating_add(other.reads),
            read_bytes: self.read_bytes.plus(other.read_bytes),
            writes: self.writes.saturating_add(other.writes),
            write_bytes: self.write_bytes.plus(other.write_bytes),
            discards: add(self.discards, other.discards),
            discard_bytes: add(bytes(self.discard_bytes), bytes(other.discard_bytes)).map(Bytes),
            discard_ns: add(time(self.discard_ns), time(other.discard_ns)).map(Nanos),
            flushes: add(self.flushes, other.flushes),
            flush_ns: add(time(self.flush_ns), time(other.flush_ns)).map(Nanos),
            io_ticks: self.io_ticks.plus(other.io_ticks),
        }
    }
}

/// Processor time since boot, summed over all processors: the first line of `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// All time, idle or not.
    pub total: Nanos,
    /// Idle time, with or without I/O outstanding.
    pub idle: Nanos,
    /// The part of `idle` with I/O outstanding.
    pub iowait: Nanos,
    /// Time taken by the hypervisor.
    pub steal: Nanos,
}

/// Signs that heat or a lack of power slows the processors. Each is `None` if the machine reports
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    /// How often Intel cores were throttled since boot, summed (`thermal_throttle`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_throttle_count: Option<u64>,
    /// The highest state of a cooling device that slows a processor: above 0 the device is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooling_state: Option<u64>,
    /// The lowest frequency limit in force, in percent of that CPU's own maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_limit_percent: Option<u8>,
    /// The highest frequency at this moment, in kHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_khz: Option<u64>,
    /// Whether a Raspberry Pi has detected undervoltage, at which it slows itself down
    /// (`rpi_volt`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undervoltage: Option<bool>,
}
