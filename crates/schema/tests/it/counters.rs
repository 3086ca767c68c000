//! The difference of two readings of kernel counters, and what limits a control group.

use std::collections::BTreeMap;

use flashlag_schema::counters::{
    Counters, CpuTimes, DiskCounters, Neighbour, Process, Processes, SelfIo,
};
use flashlag_schema::{Limit, LimitKind, PressureStall};
use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};

fn disk(n: u64) -> DiskCounters {
    DiskCounters {
        reads: n,
        read_bytes: Bytes(2 * n),
        writes: 3 * n,
        write_bytes: Bytes(4 * n),
        discards: Some(5 * n),
        discard_bytes: Some(Bytes(6 * n)),
        discard_ns: Some(Nanos(7 * n)),
        flushes: Some(8 * n),
        flush_ns: Some(Nanos(9 * n)),
        io_ticks: Nanos(10 * n),
    }
}

fn own(n: u64) -> SelfIo {
    let [rchar, wchar, read_bytes, write_bytes] = [n, 2 * n, 5 * n, 6 * n].map(Bytes);
    SelfIo { rchar, wchar, syscr: 3 * n, syscw: 4 * n, read_bytes, write_bytes }
}

fn cpu(n: u64) -> CpuTimes {
    let [total, idle, iowait, steal] = [n, 2 * n, 3 * n, 4 * n].map(Nanos);
    CpuTimes { total, idle, iowait, steal }
}

/// Every counter as a multiple of `n`.
fn counters(n: u64) -> Counters {
    let pressure = |total| PressureStall { avg10_hundredths: 1, total_ns: Nanos(total) };
    Counters {
        at: Nanos(11 * n),
        at_boottime: Nanos(12 * n),
        at_realtime: Nanos(13 * n),
        self_io: Reading::Value(own(n)),
        disk: Reading::Value(disk(n)),
        partition: Reading::Value(disk(2 * n)),
        cpu: Reading::Value(cpu(n)),
        pressure_cpu: Reading::Value(pressure(14 * n)),
        pressure_io: Reading::Value(pressure(15 * n)),
        throttle: Reading::default(),
        load_hundredths: Reading::default(),
        storage_millicelsius: Reading::default(),
        cpu_millicelsius: Reading::default(),
        processes: Reading::Value(Processes::default()),
        limits: Vec::new(),
    }
}

#[test]
fn a_difference_is_of_each_counter() {
    let since = counters(7).since(&counters(4));
    assert_eq!((since.elapsed, since.elapsed_boottime), (Nanos(33), Nanos(36)));
    assert_eq!(since.elapsed_realtime, Reading::Value(Nanos(39)));
    assert_eq!(since.self_io, Reading::Value(own(3)));
    assert_eq!(since.disk, Reading::Value(disk(3)));
    assert_eq!(since.partition, Reading::Value(disk(6)));
    assert_eq!(since.cpu, Reading::Value(cpu(3)));
    assert_eq!(since.pressure_cpu, Reading::Value(Nanos(42)));
    assert_eq!(since.pressure_io, Reading::Value(Nanos(45)));
    assert_eq!(since.neighbours, Reading::Value(Vec::new()));
}

#[test]
fn a_counter_that_went_back_or_was_not_read_has_no_difference_and_says_why() {
    let back = counters(4).since(&counters(7));
    let why = Some("a counter went back");
    let reasons = [back.self_io.reason(), back.disk.reason(), back.cpu.reason()];
    assert_eq!(reasons, [why; 3]);
    assert_eq!(back.elapsed_realtime.reason(), Some("the wall clock was set back"));
    let mut unread = counters(4);
    unread.disk = Reading::unavailable("no such file");
    assert_eq!(counters(7).since(&unread).disk.reason(), Some("no such file"));
    assert_eq!(unread.since(&counters(1)).disk.reason(), Some("no such file"));
}

#[test]
fn what_an_older_kernel_does_not_count_is_absent_from_a_difference_and_from_a_sum() {
    let old = DiskCounters { flushes: None, flush_ns: None, ..disk(4) };
    let mut earlier = counters(4);
    earlier.disk = Reading::Value(old);
    let since = *counters(7).since(&earlier).disk.value().unwrap();
    assert_eq!(since, DiskCounters { flushes: None, flush_ns: None, ..disk(3) });
    assert_eq!(disk(3).plus(&old), DiskCounters { flushes: None, flush_ns: None, ..disk(7) });
}

/// An idle CPU that wakes may take a tick back.
#[test]
fn idle_time_that_went_back_is_none() {
    let (mut earlier, later) = (counters(4), counters(7));
    earlier.cpu = Reading::Value(CpuTimes { idle: Nanos(99), ..cpu(4) });
    let since = later.since(&earlier).cpu;
    assert_eq!(since, Reading::Value(CpuTimes { idle: Nanos::ZERO, ..cpu(3) }));
}

#[test]
fn neighbours_are_summed_by_name_and_a_number_used_again_is_another_process() {
    let process = |name: &str, started, cpu, io: Option<u64>| Process {
        name: name.to_owned(),
        started,
        cpu: Nanos(cpu),
        io: io.map(Bytes),
    };
    let earlier = Processes(BTreeMap::from([
        (1, process("cc1plus", 10, 100, Some(1_000))),
        (2, process("cc1plus", 11, 200, Some(2_000))),
        (3, process("sh", 12, 5_000, None)),
        (4, process("gone", 13, 1, None)),
    ]));
    let later = Processes(BTreeMap::from([
        (1, process("cc1plus", 10, 130, Some(1_400))),
        (2, process("cc1plus", 99, 7, Some(20))),
        (3, process("sh", 12, 5_004, None)),
    ]));
    let neighbour = |name: &str, processes, cpu, io| Neighbour {
        name: name.to_owned(),
        processes,
        cpu: Nanos(cpu),
        io_bytes: Bytes(io),
    };
    let expected = [neighbour("cc1plus", 2, 37, 420), neighbour("sh", 1, 4, 0)];
    assert_eq!(later.since(&earlier), expected);
}

fn limit(kind: LimitKind, device: Option<&str>, value: u64) -> Limit {
    let file = "/sys/fs/cgroup/io.max".to_owned();
    Limit { kind, file, device: device.map(str::to_owned), value, used: None }
}

#[test]
fn a_limit_says_what_it_limits_and_of_what() {
    use LimitKind::*;
    let memory = [false, false, true];
    for (kind, value, words, [rate, of_io, of_memory]) in [
        (ReadBytes, 400_000, "400 kB/s of reads from sda", [true, true, false]),
        (WriteBytes, 400_000, "400 kB/s of writes to sda", [true, true, false]),
        (ReadOps, 1_200, "1,200 reads a second from sda", [true, true, false]),
        (WriteOps, 1_200, "1,200 writes a second to sda", [true, true, false]),
        (Latency, 2_500, "another group's target of 2.5 ms on sda", [false, true, false]),
        (Cost, 5_005, "shares by weight of at most 50.05% of sda", [false, true, false]),
        (Cpu, 1_000, "1 CPU", [false; 3]),
        (Cpu, 3_000, "3 CPUs", [false; 3]),
        (Cpu, 1_200, "1.20 CPUs", [false; 3]),
        (Cpu, 200, "0.20 CPUs", [false; 3]),
        (MemoryHigh, 256_000_000, "256 MB of memory", memory),
        (MemoryMax, 256_000_000, "256 MB of memory", memory),
    ] {
        let of_a_device = kind.is_of_io().then_some("sda");
        assert_eq!(limit(kind, of_a_device, value).in_words(), words);
        let said = [kind.is_of_rate(), kind.is_of_io(), kind.is_of_memory()];
        assert_eq!(said, [rate, of_io, of_memory], "{kind:?}");
    }
}

#[test]
fn a_limit_is_the_same_whatever_its_value_if_kind_file_and_device_are() {
    let one = limit(LimitKind::ReadBytes, Some("sda"), 1);
    assert!(one.is_same_as(&limit(LimitKind::ReadBytes, Some("sda"), 2)));
    let other_file = Limit { file: "/sys/fs/cgroup/a/io.max".to_owned(), ..one.clone() };
    for other in [
        limit(LimitKind::ReadOps, Some("sda"), 1),
        limit(LimitKind::ReadBytes, Some("sdb"), 1),
        limit(LimitKind::ReadBytes, None, 1),
        other_file,
    ] {
        assert!(!one.is_same_as(&other), "{other:?}");
    }
}
