//! The difference of two readings.

use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};

use super::{Counters, CpuTimes, DiskCounters, Neighbour, SelfIo};
use crate::PressureStall;

/// The difference of the counters between two moments. A field is absent if either reading was
/// absent, or if a counter went back (a device was replaced).
#[derive(Clone, Debug, PartialEq)]
pub struct CounterDelta {
    /// Time on the monotonic clock.
    pub elapsed: Nanos,
    /// Time on the boot-time clock.
    pub elapsed_boottime: Nanos,
    /// Time on the wall clock; absent if the clock was set back.
    pub elapsed_realtime: Reading<Nanos>,
    /// This process.
    pub self_io: Reading<SelfIo>,
    /// The whole disks.
    pub disk: Reading<DiskCounters>,
    /// The block device that holds the filesystem.
    pub partition: Reading<DiskCounters>,
    /// All processors.
    pub cpu: Reading<CpuTimes>,
    /// Time in which some task waited for a CPU.
    pub pressure_cpu: Reading<Nanos>,
    /// Time in which some task waited for I/O.
    pub pressure_io: Reading<Nanos>,
    /// CPU time and I/O of other processes, by name.
    pub neighbours: Reading<Vec<Neighbour>>,
}

impl Counters {
    /// The difference from `earlier` to `self`.
    pub fn since(&self, earlier: &Counters) -> CounterDelta {
        let stall = |from: &Reading<_>, to: &Reading<_>| {
            between(from, to, |a: &PressureStall, b| sub_time(b.total_ns, a.total_ns))
        };
        let realtime = sub_time(self.at_realtime, earlier.at_realtime);
        CounterDelta {
            elapsed: self.at.saturating_since(earlier.at),
            elapsed_boottime: self.at_boottime.saturating_since(earlier.at_boottime),
            elapsed_realtime: realtime.ok_or("the wall clock was set back").into(),
            self_io: between(&earlier.self_io, &self.self_io, sub_self),
            disk: between(&earlier.disk, &self.disk, sub_disk),
            partition: between(&earlier.partition, &self.partition, sub_disk),
            cpu: between(&earlier.cpu, &self.cpu, sub_cpu),
            pressure_cpu: stall(&earlier.pressure_cpu, &self.pressure_cpu),
            pressure_io: stall(&earlier.pressure_io, &self.pressure_io),
            neighbours: between(&earlier.processes, &self.processes, |a, b| Some(b.since(a))),
        }
    }
}

fn between<T, D>(
    from: &Reading<T>,
    to: &Reading<T>,
    difference: impl Fn(&T, &T) -> Option<D>,
) -> Reading<D> {
    match (from, to) {
        (Reading::Value(from), Reading::Value(to)) => difference(from, to)
            .map_or_else(|| Reading::unavailable("a counter went back"), Reading::Value),
        (Reading::Unavailable { unavailable }, _) | (_, Reading::Unavailable { unavailable }) => {
            Reading::unavailable(unavailable.clone())
        }
    }
}

fn sub_time(later: Nanos, earlier: Nanos) -> Option<Nanos> {
    later.0.checked_sub(earlier.0).map(Nanos)
}

fn sub_bytes(later: Bytes, earlier: Bytes) -> Option<Bytes> {
    later.0.checked_sub(earlier.0).map(Bytes)
}

fn sub_self(a: &SelfIo, b: &SelfIo) -> Option<SelfIo> {
    Some(SelfIo {
        rchar: sub_bytes(b.rchar, a.rchar)?,
        wchar: sub_bytes(b.wchar, a.wchar)?,
        syscr: b.syscr.checked_sub(a.syscr)?,
        syscw: b.syscw.checked_sub(a.syscw)?,
        read_bytes: sub_bytes(b.read_bytes, a.read_bytes)?,
        write_bytes: sub_bytes(b.write_bytes, a.write_bytes)?,
    })
}

fn sub_disk(a: &DiskCounters, b: &DiskCounters) -> Option<DiskCounters> {
    let pair = |a: Option<u64>, b: Option<u64>| b?.checked_sub(a?);
    let time = |time: Option<Nanos>| time.map(|time| time.0);
    let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0);
    Some(DiskCounters {
        reads: b.reads.checked_sub(a.reads)?,
        read_bytes: sub_bytes(b.read_bytes, a.read_bytes)?,
        writes: b.writes.checked_sub(a.writes)?,
        write_bytes: sub_bytes(b.write_bytes, a.write_bytes)?,
        discards: pair(a.discards, b.discards),
        discard_bytes: pair(bytes(a.discard_bytes), bytes(b.discard_bytes)).map(Bytes),
        discard_ns: pair(time(a.discard_ns), time(b.discard_ns)).map(Nanos),
        flushes: pair(a.flushes, b.flushes),
        flush_ns: pair(time(a.flush_ns), time(b.flush_ns)).map(Nanos),
        io_ticks: sub_time(b.io_ticks, a.io_ticks)?,
    })
}

/// Idle and I/O-wait time can go back by a tick when a CPU wakes: such a difference is 0.
fn sub_cpu(a: &CpuTimes, b: &CpuTimes) -> Option<CpuTimes> {
    Some(CpuTimes {
        total: sub_time(b.total, a.total)?,
        idle: b.idle.saturating_since(a.idle),
        iowait: b.iowait.saturating_since(a.iowait),
        steal: b.steal.saturating_since(a.steal),
    })
}
