//! Bytes and calls by layer, from counters read before and after a phase.

use flashlag_schema::counters::{CounterDelta, Counters, DiskCounters, SelfIo};
use flashlag_schema::{DeviceCount, HostRequests, Ledger, Reading};
use flashlag_units::Bytes;

use crate::direction::Direction;

/// Counters at one edge of a phase.
#[derive(Clone, Debug)]
pub struct EdgeCounters {
    /// The kernel's counters.
    pub kernel: Counters,
    /// The device's own counters, if it is a virtual one.
    pub device: Option<DeviceCount>,
}

/// Bytes and calls between two edges. `app` is what the application asked for.
pub fn ledger(
    before: &EdgeCounters,
    after: &EdgeCounters,
    direction: Direction,
    app: Bytes,
) -> Ledger {
    let mut ledger = kernel_ledger(&after.kernel.since(&before.kernel), direction, app);
    if let (Some(before), Some(after)) = (before.device, after.device) {
        take_device(&mut ledger, direction, before, after);
    }
    ledger
}

fn kernel_ledger(delta: &CounterDelta, direction: Direction, app: Bytes) -> Ledger {
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
        device_bytes: Reading::unavailable("the device does not report what its flash programmed"),
        kinds: None,
    }
}

/// Replaces the kernel's counts by the device's own. A kernel counts a request that only flushes as a
/// write, and a write with force unit access as the flushes that the kernel made of it.
fn take_device(ledger: &mut Ledger, direction: Direction, before: DeviceCount, after: DeviceCount) {
    let (from, to) = (before.host, after.host);
    let (requests, bytes) = match direction {
        Direction::Read => {
            (to.reads.saturating_sub(from.reads), to.read_bytes.saturating_minus(from.read_bytes))
        }
        Direction::Write => (
            to.writes.saturating_sub(from.writes),
            to.written_bytes.saturating_minus(from.written_bytes),
        ),
    };
    ledger.block_writes = Reading::Value(requests);
    ledger.block_bytes = Reading::Value(bytes);
    let flushes = |host: HostRequests| host.flushes + host.fua_writes;
    ledger.flushes = Reading::Value(flushes(to).saturating_sub(flushes(from)));
    if let (Some(before), Some(after)) = (before.programmed, after.programmed) {
        ledger.device_bytes = Reading::Value(after.saturating_minus(before));
    }
    if let (Some(before), Some(after)) = (before.kinds, after.kinds) {
        ledger.kinds = Some(after.since(before));
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
