//! A constructed run on a quiet machine with a real disk, for which every check passes that can;
//! each test then spoils one thing.

use std::sync::OnceLock;

use flashlag_schema::counters::{Counters, CpuTimes, DiskCounters, SelfIo, Throttle};
use flashlag_schema::{
    Check, CheckStatus, Environment, IntervalRecord, Limits, Phase, PressureStall, StoredHistogram,
    Time,
};
use flashlag_spec::scenario::Durability;
use flashlag_spec::{Calibration, ClockCalibration, EngineOverhead, Operation, Reading, State};
use flashlag_stats::Histogram;
use flashlag_testing::closed_loop_phase;
use flashlag_units::{Bytes, Nanos};

use crate::evidence::{Evidence, Fill, Verification};

/// Owns what an [`Evidence`] borrows.
#[derive(Clone)]
pub(super) struct Case {
    pub environment: Environment,
    pub phases: Vec<Phase>,
    pub counters: Vec<Option<(Counters, Counters)>>,
    pub baseline: (Counters, Counters),
    pub ended: Option<Counters>,
    pub payload: Reading<Vec<u8>>,
    pub fills: Vec<Fill>,
    pub free_after: Reading<Bytes>,
    pub own_bytes: Reading<Bytes>,
    pub verification: Option<Verification>,
}

/// Deterministic, and as good as random for these tests (splitmix64).
pub(super) fn random_bytes(length: usize) -> Vec<u8> {
    let mut state = 42u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend((mixed ^ (mixed >> 31)).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

impl Case {
    pub fn quiet() -> Case {
        // Each test uses some of them, and recording their operations takes most of its time.
        static QUIET: OnceLock<Case> = OnceLock::new();
        QUIET.get_or_init(Case::record).clone()
    }

    fn record() -> Case {
        let phases = vec![
            phase("seq_read_256k", Operation::SequentialRead, 256 << 10, Durability::None),
            phase("rand_read_4k", Operation::RandomRead, 4096, Durability::None),
            phase("rand_write_4k", Operation::RandomWrite, 4096, Durability::Fdatasync),
            phase("save_wal", Operation::Save, 4096, Durability::Fdatasync),
        ];
        let baseline = (still(), advance(&still(), Nanos::from_millis(300), |_| {}));
        let mut now = baseline.1.clone();
        let counters = phases.iter().map(|phase| {
            let before = advance(&now, Nanos::from_millis(5), |_| {});
            now = during(&before, phase);
            Some((before, now.clone()))
        });
        let counters = counters.collect();
        Case {
            environment: environment(),
            ended: Some(now),
            phases,
            counters,
            baseline,
            payload: Reading::Value(random_bytes(256 << 10)),
            fills: Vec::new(),
            free_after: Reading::Value(Bytes::from_mb(20_000)),
            own_bytes: Reading::Value(Bytes::from_mb(100)),
            verification: None,
        }
    }

    pub fn evidence(&self) -> Evidence<'_> {
        Evidence {
            counters: &self.counters,
            baseline: Some(&self.baseline),
            ended: self.ended.as_ref(),
            disks: Some(1),
            payload: self.payload.clone(),
            fills: self.fills.clone(),
            leave: Bytes::from_mb(1000),
            free_after: self.free_after.clone(),
            own_bytes: self.own_bytes.clone(),
            verification: self.verification.clone(),
            ..Evidence::new(&self.environment, &self.phases)
        }
    }

    pub fn check(&self, check: fn(&Evidence<'_>) -> Option<Check>) -> Option<Check> {
        let found = check(&self.evidence());
        if let Some(found) = &found {
            let passed = found.status == CheckStatus::Pass;
            assert_eq!(found.advice.is_none(), passed, "advice where it did not pass: {found:?}");
            assert!(!found.detail.is_empty());
        }
        found
    }

    pub fn status(&self, check: fn(&Evidence<'_>) -> Option<Check>) -> Option<CheckStatus> {
        self.check(check).map(|found| found.status)
    }

    pub fn index_of(&self, name: &str) -> usize {
        self.phases.iter().position(|phase| phase.name == name).unwrap()
    }

    pub fn keep_only(&mut self, name: &str) {
        let index = self.index_of(name);
        self.phases = vec![self.phases.swap_remove(index)];
        self.counters = vec![self.counters.swap_remove(index)];
    }

    /// A run with the same phase twice, named `mild` and `worst`.
    pub fn twice(name: &str) -> Case {
        let mut case = Case::quiet();
        case.keep_only(name);
        case.phases.push(case.phases[0].clone());
        case.counters.push(case.counters[0].clone());
        case.phases[0].name = "mild".to_owned();
        case.phases[1].name = "worst".to_owned();
        case
    }

    /// The name of the quoted phase, which must not depend on the order of the phases.
    pub fn quoted(&self, check: fn(&Evidence<'_>) -> Option<Check>) -> String {
        let mut reversed = self.clone();
        reversed.phases.reverse();
        reversed.counters.reverse();
        let [one, other] = [self, &reversed].map(|case| case.check(check).unwrap());
        assert_eq!(one.status, other.status);
        let name = |check: &Check| check.detail.split(": ").nth(1).unwrap().to_owned();
        assert_eq!(name(&one), name(&other), "{}\n{}", one.detail, other.detail);
        name(&one)
    }

    pub fn calibrate(&mut self, change: impl FnOnce(&mut Calibration)) {
        if let Reading::Value(calibration) = &mut self.environment.calibration {
            change(calibration);
        }
    }

    /// The time between the counters around a phase.
    pub fn time_around(&self, index: usize) -> Nanos {
        let (before, after) = self.counters[index].as_ref().unwrap();
        after.since(before).elapsed_boottime
    }

    pub fn last_counters(&mut self) -> &mut Counters {
        self.ended.as_mut().unwrap()
    }

    pub fn from(&mut self, index: usize, change: impl FnOnce(&mut Counters)) {
        change(&mut self.counters[index].as_mut().unwrap().0);
    }

    pub fn after(&mut self, index: usize, change: impl FnOnce((&Counters, &mut Counters))) {
        let (before, after) = self.counters[index].as_mut().unwrap();
        change((before, after));
    }

    /// Changes what the disk counted during a phase.
    pub fn disk(&mut self, index: usize, change: impl FnOnce(&mut DiskCounters)) {
        self.after(index, |(before, after)| {
            let mut delta = *after.since(before).disk.value().unwrap();
            change(&mut delta);
            let before = before.disk.value().unwrap();
            after.disk = Reading::Value(add(before, &delta));
        });
    }

    /// Changes what the CPUs counted during a phase.
    pub fn cpu(&mut self, index: usize, change: impl FnOnce(&mut CpuTimes)) {
        self.after(index, |(before, after)| {
            let mut delta = *after.since(before).cpu.value().unwrap();
            change(&mut delta);
            let before = before.cpu.value().unwrap();
            after.cpu = Reading::Value(CpuTimes {
                total: before.total.plus(delta.total),
                idle: before.idle.plus(delta.idle),
                iowait: before.iowait.plus(delta.iowait),
                steal: before.steal.plus(delta.steal),
            });
        });
    }

    pub fn slow_second_half(&mut self, phase: usize, times: u64) {
        let intervals = &mut self.phases[phase].intervals;
        let half = intervals.len() / 2;
        for interval in &mut intervals[half..] {
            interval.histogram = histogram(interval.ops, times);
        }
    }
}

fn add(a: &DiskCounters, b: &DiskCounters) -> DiskCounters {
    DiskCounters {
        reads: a.reads + b.reads,
        read_bytes: a.read_bytes.plus(b.read_bytes),
        writes: a.writes + b.writes,
        write_bytes: a.write_bytes.plus(b.write_bytes),
        flushes: b.flushes.map(|flushes| a.flushes.unwrap() + flushes),
        io_ticks: a.io_ticks.plus(b.io_ticks),
        ..*a
    }
}

/// Latencies of 150 µs and, for one in fifty, 400 µs, multiplied by `times`.
fn histogram(ops: u64, times: u64) -> StoredHistogram {
    let mut histogram = Histogram::new();
    for index in 0..ops {
        let micros = if index % 50 == 0 { 400 } else { 150 };
        histogram.record(Nanos::from_micros(micros * times));
    }
    StoredHistogram::from(&histogram)
}

fn phase(name: &str, operation: Operation, block: u64, durable: Durability) -> Phase {
    const INTERVALS: u64 = 20;
    let ops = 20_000;
    let histogram_of = |ops| histogram(ops, 1);
    let stored = histogram_of(ops);
    let latency = stored.restore().unwrap();
    // 1 % of the time passes between the operations.
    let elapsed = Nanos(stored.sum_ns.0 * 101 / 100);
    let intervals = (1..=INTERVALS).map(|index| IntervalRecord {
        t_ns: Nanos(elapsed.0 * index / INTERVALS),
        filled_bytes: None,
        ops: ops / INTERVALS,
        bytes: Bytes(ops / INTERVALS * block),
        p50: None,
        p90: None,
        p99: None,
        max: stored.max_ns,
        temperature_millicelsius: None,
        histogram: histogram_of(ops / INTERVALS),
        waited: Vec::new(),
    });
    let intervals = intervals.collect();
    Phase {
        block_bytes: Bytes(block),
        durable,
        direct: operation != Operation::Save,
        bytes: Bytes(ops * block),
        elapsed_ns: elapsed,
        histogram: stored,
        time: Reading::Value(Time {
            on_cpu_ns: Nanos(elapsed.0 / 5),
            runnable_ns: Nanos(elapsed.0 / 100),
            blocked_ns: Nanos(elapsed.0 * 79 / 100),
            stopped_ns: Nanos::ZERO,
        }),
        stopped_ns: Some(Nanos::ZERO),
        intervals,
        ..closed_loop_phase(name, State::New, operation, &latency)
    }
}

fn environment() -> Environment {
    let mut environment = Environment::default();
    let text = |text: &str| Reading::Value(text.to_owned());
    environment.software.virtualized = Reading::Value(false);
    environment.limits = Some(Limits::default());
    environment.filesystem.kind = text("ext4");
    environment.filesystem.mount_point = text("/home");
    environment.filesystem.options = Reading::Value(vec!["rw".to_owned(), "relatime".to_owned()]);
    environment.filesystem.total_bytes = Reading::Value(Bytes::from_mb(64_000));
    environment.device.name = text("mmcblk0");
    environment.device.kind = text("emmc");
    environment.device.queue.write_cache = text("write back");
    environment.device.queue.fua = Reading::Value(false);
    environment.storage_temperature_millicelsius = Reading::Value((38_000, 44_000));
    environment.calibration = Reading::Value(Calibration {
        clock: ClockCalibration {
            resolution_ns: Reading::Value(Nanos(1)),
            cost_picoseconds: 25_000,
            cost_min_picoseconds: 24_000,
            ..ClockCalibration::default()
        },
        engine: Reading::Value(EngineOverhead {
            latency_p50_ns: Nanos(60),
            ..EngineOverhead::default()
        }),
        ..Calibration::default()
    });
    environment
}

fn still() -> Counters {
    let start = Nanos::from_secs(1000);
    let disk = DiskCounters {
        discards: Some(0),
        discard_bytes: Some(Bytes::ZERO),
        flushes: Some(0),
        flush_ns: Some(Nanos::ZERO),
        ..DiskCounters::default()
    };
    Counters {
        at: start,
        at_boottime: start.plus(Nanos::from_secs(77)),
        at_realtime: Nanos::from_secs(1_700_000_000),
        self_io: Reading::Value(SelfIo::default()),
        disk: Reading::Value(disk),
        partition: Reading::Value(disk),
        cpu: Reading::Value(CpuTimes::default()),
        pressure_cpu: Reading::Value(PressureStall::default()),
        pressure_io: Reading::Value(PressureStall::default()),
        throttle: Reading::Value(Throttle {
            core_throttle_count: Some(3),
            cooling_state: Some(0),
            frequency_limit_percent: Some(100),
            frequency_khz: Some(1_800_000),
            undervoltage: Some(false),
        }),
        load_hundredths: Reading::Value(10),
        storage_millicelsius: Reading::Value(40_000),
        cpu_millicelsius: Reading::Value(50_000),
        processes: Reading::unavailable("no other process can be seen"),
        limits: Vec::new(),
    }
}

/// Time passes on two CPUs that are 90 % idle.
fn advance(from: &Counters, time: Nanos, change: impl FnOnce(&mut Counters)) -> Counters {
    let mut now = from.clone();
    now.at = now.at.plus(time);
    now.at_boottime = now.at_boottime.plus(time);
    now.at_realtime = now.at_realtime.plus(time);
    if let Reading::Value(cpu) = &mut now.cpu {
        cpu.total = cpu.total.plus(Nanos(time.0 * 2));
        cpu.idle = cpu.idle.plus(Nanos(time.0 * 18 / 10));
    }
    change(&mut now);
    now
}

/// The disk moves exactly the bytes of the phase, and a flush for each durable operation.
fn during(before: &Counters, phase: &Phase) -> Counters {
    let reads = matches!(phase.operation, Operation::SequentialRead | Operation::RandomRead);
    let flushes = if phase.durable == Durability::None { 0 } else { phase.ops };
    advance(before, phase.elapsed_ns.plus(Nanos::from_millis(2)), |now| {
        if let Reading::Value(io) = &mut now.self_io {
            let moved = if reads { &mut io.read_bytes } else { &mut io.write_bytes };
            *moved = moved.plus(phase.bytes);
        }
        for disk in [&mut now.disk, &mut now.partition] {
            let Reading::Value(disk) = disk else { continue };
            let moved = if reads { &mut disk.read_bytes } else { &mut disk.write_bytes };
            *moved = moved.plus(phase.bytes);
            disk.flushes = disk.flushes.map(|seen| seen + flushes);
            disk.io_ticks = disk.io_ticks.plus(Nanos(phase.elapsed_ns.0 * 4 / 5));
        }
    })
}
