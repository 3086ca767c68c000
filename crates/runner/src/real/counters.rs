//! Bytes and calls by layer, from counters read before and after a phase.

use flashlag_schema::counters::{CounterDelta, Counters, DiskCounters, SelfIo};
use flashlag_schema::{DeviceCount, HostRequests, Ledger};
use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};

use crate::work::Direction;

/// Counters at one edge of a phase.
#[derive(Clone, Debug)]
pub struct EdgeCounters {
    /// The kernel's counters.
    pub kernel: Counters,
    /// The device's own counters, if it is a virtual one.
    pub device: Option<DeviceCount>,
    /// When the query was sent to the device and when its answer came, on the machine's clock.
    pub asked: (Nanos, Nanos),
}

/// Bytes and calls between two edges. `app` is the number of bytes that the application requested.
pub fn ledger(
    before: &EdgeCounters,
    after: &EdgeCounters,
    direction: Direction,
    app: Bytes,
) -> Ledger {
    let mut ledger = kernel_ledger(&after.kernel.since(&before.kernel), direction, app);
    if let (Some(before), Some(after)) = (&before.device, &after.device) {
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
fn take_device(
    ledger: &mut Ledger,
    direction: Direction,
    before: &DeviceCount,
    after: &DeviceCount,
) {
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

#[cfg(test)]
pub(super) mod tests {
    use flashlag_schema::BlockKinds;

    use super::*;

    /// An edge whose counts do not matter.
    pub(in crate::real) fn edge() -> EdgeCounters {
        at(1, None)
    }

    /// Counters that are all `factor` times those at the start.
    fn at(factor: u64, flushes: Option<u64>) -> EdgeCounters {
        let bytes = |each: u64| Bytes(factor * each);
        let disk = DiskCounters {
            reads: factor * 3,
            read_bytes: bytes(4096),
            writes: factor * 5,
            write_bytes: bytes(8192),
            flushes,
            ..DiskCounters::default()
        };
        let self_io = SelfIo {
            rchar: bytes(100),
            wchar: bytes(200),
            read_bytes: bytes(300),
            write_bytes: bytes(400),
            ..SelfIo::default()
        };
        let kernel = Counters {
            at: Nanos(factor),
            at_boottime: Nanos(factor),
            at_realtime: Nanos(factor),
            self_io: Reading::Value(self_io),
            disk: Reading::Value(disk),
            partition: Reading::default(),
            cpu: Reading::default(),
            pressure_cpu: Reading::default(),
            pressure_io: Reading::default(),
            throttle: Reading::default(),
            load_hundredths: Reading::default(),
            storage_millicelsius: Reading::default(),
            cpu_millicelsius: Reading::default(),
            processes: Reading::default(),
            limits: Vec::new(),
        };
        EdgeCounters { kernel, device: None, asked: (Nanos::ZERO, Nanos::ZERO) }
    }

    fn between(before: &EdgeCounters, after: &EdgeCounters, direction: Direction) -> Ledger {
        ledger(before, after, direction, Bytes(77))
    }

    #[test]
    fn a_ledger_has_the_side_of_the_counters_that_the_phase_is_about() {
        let (before, after) = (at(1, Some(10)), at(3, Some(16)));
        let reads = between(&before, &after, Direction::Read);
        let writes = between(&before, &after, Direction::Write);
        let bytes = |ledger: &Ledger| {
            [&ledger.app_bytes, &ledger.syscall_bytes, &ledger.storage_bytes, &ledger.block_bytes]
                .map(|reading| reading.value().map(|bytes| bytes.0))
        };
        assert_eq!(bytes(&reads), [77, 200, 600, 8192].map(Some));
        assert_eq!(bytes(&writes), [77, 400, 800, 16384].map(Some));
        assert_eq!(reads.block_writes, Reading::Value(6));
        assert_eq!(writes.block_writes, Reading::Value(10));
        assert_eq!(writes.flushes, Reading::Value(6));
        assert_eq!((writes.device_bytes.value(), writes.kinds), (None, None));
    }

    #[test]
    fn counters_that_the_kernel_does_not_have_are_unavailable_with_their_reason() {
        let old = between(&at(1, None), &at(2, None), Direction::Write);
        let Reading::Unavailable { unavailable } = &old.flushes else { panic!("{old:?}") };
        assert!(unavailable.contains("before Linux 5.5"), "{unavailable}");
        let mut none = at(2, None);
        none.kernel.disk = Reading::unavailable("no such disk");
        none.kernel.self_io = Reading::unavailable("no such process");
        let ledger = between(&none, &none, Direction::Write);
        for bytes in [&ledger.syscall_bytes, &ledger.storage_bytes, &ledger.block_bytes] {
            assert!(bytes.value().is_none(), "{ledger:?}");
        }
        assert!(ledger.flushes.value().is_none() && ledger.block_writes.value().is_none());
    }

    /// A device with `factor` times the counts at the start.
    fn device(factor: u64) -> DeviceCount {
        let host = HostRequests {
            reads: factor * 7,
            read_bytes: Bytes(factor * 700),
            writes: factor * 11,
            written_bytes: Bytes(factor * 1100),
            flushes: factor * 2,
            fua_writes: factor * 3,
            ..HostRequests::default()
        };
        let mut kinds = BlockKinds::default();
        kinds.journal.writes = factor * 4;
        DeviceCount {
            host,
            programmed: Some(Bytes(factor * 5000)),
            kinds: Some(kinds),
            ..DeviceCount::default()
        }
    }

    #[test]
    fn where_the_device_counts_itself_its_counts_take_the_place_of_the_kernels() {
        let with = |factor, device| EdgeCounters { device, ..at(factor, Some(factor)) };
        let (before, after) = (with(1, Some(device(1))), with(2, Some(device(3))));
        let writes = between(&before, &after, Direction::Write);
        assert_eq!(writes.block_writes, Reading::Value(22));
        assert_eq!(writes.block_bytes, Reading::Value(Bytes(2200)));
        assert_eq!(writes.flushes, Reading::Value(2 * (2 + 3)), "FUA writes are flushes too");
        assert_eq!(writes.device_bytes, Reading::Value(Bytes(10_000)));
        assert_eq!(writes.kinds.map(|kinds| kinds.journal.writes), Some(8));
        let reads = between(&before, &after, Direction::Read);
        assert_eq!(reads.block_writes, Reading::Value(14));
        assert_eq!(reads.block_bytes, Reading::Value(Bytes(1400)));
        // If the device no longer answers, the kernel's counts are used.
        let gone = between(&before, &with(2, None), Direction::Write);
        assert_eq!(gone.block_writes, Reading::Value(5));
        let unmodelled = DeviceCount { programmed: None, kinds: None, ..device(3) };
        let bare = between(&before, &with(2, Some(unmodelled)), Direction::Write);
        assert_eq!((bare.device_bytes.value(), bare.kinds), (None, None));
    }
}
