//! What is counted by the kernel while a phase runs.

use flashlag_schema::{PressureStall, Reading};
use flashlag_units::{Bytes, Nanos};

use crate::processes::Processes;
use crate::root::Root;
use crate::thermal::Throttle;

/// All counters at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Counters {
    /// When, on `CLOCK_MONOTONIC`.
    pub at: Nanos,
    /// When, on `CLOCK_BOOTTIME`, which runs on while suspended.
    pub at_boottime: Nanos,
    /// When, on `CLOCK_REALTIME`, which anyone may set.
    pub at_realtime: Nanos,
    /// This process and the children that it waited for.
    pub self_io: Reading<SelfIo>,
    /// The whole disks below, summed.
    pub disk: Reading<DiskCounters>,
    /// The device that the filesystem is on: a partition, a mapped device, a loop device.
    pub partition: Reading<DiskCounters>,
    /// All processors.
    pub cpu: Reading<CpuTimes>,
    /// Waiting for a CPU, anywhere on the system.
    pub pressure_cpu: Reading<PressureStall>,
    /// Waiting for I/O, anywhere on the system.
    pub pressure_io: Reading<PressureStall>,
    /// Signs of throttling.
    pub throttle: Reading<Throttle>,
    /// Load over the last minute × 100.
    pub load_hundredths: Reading<u64>,
    /// The hottest storage sensor, in thousandths of a degree Celsius.
    pub storage_millicelsius: Reading<i64>,
    /// The hottest CPU sensor, in thousandths of a degree Celsius.
    pub cpu_millicelsius: Reading<i64>,
    /// The other processes.
    pub processes: Reading<Processes>,
}

/// `/proc/self/io`. The `char` ones count system calls' bytes, the others what was given to the
/// block layer (for buffered writes: when the page became dirty; nothing on tmpfs).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfIo {
    /// Bytes returned by reads.
    pub rchar: Bytes,
    /// Bytes given to writes.
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

/// `stat` of a block device: Documentation/block/stat.rst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: Bytes,
    /// Discards completed (Linux 4.18).
    pub discards: Option<u64>,
    /// Bytes discarded (Linux 4.18).
    pub discard_bytes: Option<Bytes>,
    /// Flushes completed (Linux 5.5); whole disks only. Flushes that met are merged into one.
    pub flushes: Option<u64>,
    /// Time in flushes (Linux 5.5).
    pub flush_ns: Option<Nanos>,
    /// Time during which anything was in flight.
    pub io_ticks: Nanos,
}

/// The first line of `/proc/stat`, summed over all processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Everything together.
    pub total: Nanos,
    /// Idle, waiting for I/O or not.
    pub idle: Nanos,
    /// The part of `idle` with I/O outstanding.
    pub iowait: Nanos,
    /// Taken by the hypervisor.
    pub steal: Nanos,
}

/// The whole of `/proc/self/io`.
pub(crate) fn self_io(root: &Root) -> Result<SelfIo, String> {
    let file = "/proc/self/io";
    let text = root.line(file)?;
    let field = |name: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
        let found = pairs
            .find(|(key, _)| *key == name)
            .and_then(|(_, value)| value.trim().parse::<u64>().ok());
        found.ok_or_else(|| format!("{file} has no {name}"))
    };
    Ok(SelfIo {
        rchar: Bytes(field("rchar")?),
        wchar: Bytes(field("wchar")?),
        syscr: field("syscr")?,
        syscw: field("syscw")?,
        read_bytes: Bytes(field("read_bytes")?),
        write_bytes: Bytes(field("write_bytes")?),
    })
}

/// Reads a device's `stat`: 11 numbers, 15 since Linux 4.18, 17 since 5.5.
pub(crate) fn disk(root: &Root, directory: &std::path::Path) -> Result<DiskCounters, String> {
    let file = directory.join("stat");
    let text = root.line(&file)?;
    let numbers: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let at = |index: usize| numbers.get(index).copied();
    let bytes = |index: usize| at(index).map(|sectors| Bytes(sectors.saturating_mul(512)));
    let parsed = || {
        Some(DiskCounters {
            reads: at(0)?,
            read_bytes: bytes(2)?,
            writes: at(4)?,
            write_bytes: bytes(6)?,
            io_ticks: Nanos::from_millis(at(9)?),
            discards: at(11),
            discard_bytes: bytes(13),
            flushes: at(15),
            flush_ns: at(16).map(Nanos::from_millis),
        })
    };
    parsed().ok_or_else(|| format!("{} is not in the format known", file.display()))
}

/// Reads `/proc/stat`.
pub(crate) fn cpu_times(root: &Root) -> Result<CpuTimes, String> {
    let text = root.line("/proc/stat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
    let ticks: Vec<u64> =
        line.unwrap_or("").split_whitespace().map_while(|word| word.parse().ok()).collect();
    if ticks.len() < 4 {
        return Err("/proc/stat is not in the format known".to_owned());
    }
    let tick = 1_000_000_000 / root.ticks_per_second();
    let nanos = |index: usize| Nanos(ticks.get(index).map_or(0, |t| t.saturating_mul(tick)));
    // user nice system idle iowait irq softirq steal; guest time is already in user.
    let total = (0..8).map(nanos).fold(Nanos::ZERO, Nanos::plus);
    let iowait = nanos(4);
    Ok(CpuTimes { total, idle: nanos(3).plus(iowait), iowait, steal: nanos(7) })
}
