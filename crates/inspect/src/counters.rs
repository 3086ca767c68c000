//! Readers of the kernel's counters.

use flashlag_schema::counters::{CpuTimes, DiskCounters, SelfIo};
use flashlag_units::{Bytes, Nanos};

use crate::reason::Reason;
use crate::root::Root;

/// Reads `/proc/self/io`.
pub(crate) fn self_io(root: &Root) -> Result<SelfIo, Reason> {
    let file = "/proc/self/io";
    let text = root.line(file)?;
    let field = |name: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
        let found = pairs
            .find(|(key, _)| *key == name)
            .and_then(|(_, value)| value.trim().parse::<u64>().ok());
        found.ok_or_else(|| Reason::content(file, format!("has no {name}")))
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
pub(crate) fn disk(root: &Root, directory: &std::path::Path) -> Result<DiskCounters, Reason> {
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
            discard_ns: at(14).map(Nanos::from_millis),
            flushes: at(15),
            flush_ns: at(16).map(Nanos::from_millis),
        })
    };
    parsed().ok_or_else(|| Reason::odd(file))
}

/// Reads `/proc/stat`.
pub(crate) fn cpu_times(root: &Root) -> Result<CpuTimes, Reason> {
    let text = root.line("/proc/stat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
    let ticks: Vec<u64> =
        line.unwrap_or("").split_whitespace().map_while(|word| word.parse().ok()).collect();
    if ticks.len() < 4 {
        return Err(Reason::odd("/proc/stat"));
    }
    let tick = 1_000_000_000 / root.ticks_per_second();
    let nanos = |index: usize| Nanos(ticks.get(index).map_or(0, |t| t.saturating_mul(tick)));
    // user nice system idle iowait irq softirq steal; guest time is already in user.
    let total = (0..8).map(nanos).fold(Nanos::ZERO, Nanos::plus);
    let iowait = nanos(4);
    Ok(CpuTimes { total, idle: nanos(3).plus(iowait), iowait, steal: nanos(7) })
}
