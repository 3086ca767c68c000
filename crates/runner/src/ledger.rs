//! Bytes and calls by layer, from counters read before and after a phase.

use flashlag_inspect::{CounterDelta, DiskCounters, SelfIo};
use flashlag_schema::{Ledger, Reading};
use flashlag_units::Bytes;

/// Which way the phase moved its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It read.
    Read,
    /// It wrote.
    Write,
}

/// What happened in `delta`. `app` is what the application wanted moved.
pub fn ledger(delta: &CounterDelta, direction: Direction, app: Bytes) -> Ledger {
    let reads = direction == Direction::Read;
    let from_self = |read: fn(&SelfIo) -> Bytes, write: fn(&SelfIo) -> Bytes| {
        map(&delta.self_io, if reads { read } else { write })
    };
    let disk_bytes: fn(&DiskCounters) -> Bytes =
        if reads { |disk| disk.read_bytes } else { |disk| disk.write_bytes };
    let disk_requests: fn(&DiskCounters) -> u64 =
        if reads { |disk| disk.reads } else { |disk| disk.writes };
    Ledger {
        app_bytes: Reading::Value(app),
        syscall_bytes: from_self(|io| io.rchar, |io| io.wchar),
        storage_bytes: from_self(|io| io.read_bytes, |io| io.write_bytes),
        block_bytes: map(&delta.disk, disk_bytes),
        block_writes: map(&delta.disk, disk_requests),
        flushes: flushes(&delta.disk),
        device_bytes: Reading::unavailable("the device does not tell what its flash programmed"),
    }
}

fn flushes(disk: &Reading<DiskCounters>) -> Reading<u64> {
    match disk {
        Reading::Value(disk) => match disk.flushes {
            Some(flushes) => Reading::Value(flushes),
            None => Reading::unavailable("the kernel counts no flushes (before Linux 5.5)"),
        },
        Reading::Unavailable { unavailable } => Reading::unavailable(unavailable.clone()),
    }
}

fn map<T, U>(reading: &Reading<T>, field: impl Fn(&T) -> U) -> Reading<U> {
    match reading {
        Reading::Value(value) => Reading::Value(field(value)),
        Reading::Unavailable { unavailable } => Reading::unavailable(unavailable.clone()),
    }
}
