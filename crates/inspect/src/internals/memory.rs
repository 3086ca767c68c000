//! Memory, memory pressure, and swap.

use flashlag_schema::internals::MemoryState;
use flashlag_units::{Bytes, Nanos};

use crate::pressure::pressure;
use crate::reason::Reason;
use crate::root::Root;

pub(super) fn state(root: &Root) -> MemoryState {
    MemoryState {
        available_bytes: meminfo(root, "MemAvailable").into(),
        pressure: pressure(root, "memory").into(),
        io_pressure: pressure(root, "io").into(),
        swapped_to_disk_bytes: swapped(root, false).into(),
        swapped_to_memory_bytes: swapped(root, true).into(),
    }
}

/// A line of `/proc/meminfo`: `MemAvailable`.
pub(crate) fn meminfo(root: &Root, name: &str) -> Result<Bytes, Reason> {
    let text = root.line("/proc/meminfo")?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = lines.next().and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    kib.map(Bytes::from_kib)
        .ok_or_else(|| Reason::content("/proc/meminfo", format!("has no {name}")))
}

/// Memory that is not on storage yet, and memory that is being written.
pub fn unwritten_memory(root: &Root) -> (Option<Bytes>, Option<Bytes>) {
    (meminfo(root, "Dirty").ok(), meminfo(root, "Writeback").ok())
}

/// Time in which some task waited for memory since the machine's start.
pub fn memory_pressure(root: &Root) -> Option<Nanos> {
    pressure(root, "memory").ok().map(|pressure| pressure.total_ns)
}

/// `/proc/swaps` has a heading, then `NAME TYPE SIZE USED PRIORITY` with sizes in KiB.
fn swapped(root: &Root, to_memory: bool) -> Result<Bytes, Reason> {
    let text = root.line("/proc/swaps")?;
    let used = text.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|name| name.contains("zram") == to_memory)?;
        words.nth(2)?.parse::<u64>().ok()
    });
    Ok(Bytes::from_kib(used.fold(0, u64::saturating_add)))
}
