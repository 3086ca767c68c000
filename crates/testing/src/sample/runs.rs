use flashlag_schema::{
    Change, ChangeKind, Check, CheckId, CheckStatus, Environment, IntervalRecord, Lag, Options,
    Phase, Program, Run, RunStatus, ScenarioRecord, Skipped, Target, TargetKind, Trust, Wear,
};
use flashlag_spec::scenario::Scenario;
use flashlag_spec::{Operation, Reading, State};
use flashlag_units::{Bytes, Nanos, per_second};

use super::draw::Part;
use super::environment;
use super::lifecycle::lifecycle;
use super::phases::{Spec, phase};

/// Which synthetic run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleKind {
    /// `quick` on a smooth device.
    Quick,
    /// `lifecycle` with saves and a fill by random writes; the Idle row is untrusted.
    Lifecycle,
    /// `sqlite`, all 36 kinds of save.
    Sqlite,
    /// `soak`: a write cache is exhausted.
    Soak,
    /// `quick` in memory: untrusted.
    Memory,
}

impl SampleKind {
    /// All of them.
    pub const ALL: [SampleKind; 5] = [
        SampleKind::Quick,
        SampleKind::Lifecycle,
        SampleKind::Sqlite,
        SampleKind::Soak,
        SampleKind::Memory,
    ];

    /// The name of its file.
    pub fn name(self) -> &'static str {
        match self {
            SampleKind::Quick => "quick",
            SampleKind::Lifecycle => "lifecycle",
            SampleKind::Sqlite => "sqlite",
            SampleKind::Soak => "soak",
            SampleKind::Memory => "memory",
        }
    }

    /// The run, sealed.
    pub fn run(self) -> Run {
        match self {
            SampleKind::Quick => quick(),
            SampleKind::Lifecycle => lifecycle(),
            SampleKind::Sqlite => sqlite(),
            SampleKind::Soak => soak(),
            SampleKind::Memory => memory(),
        }
    }
}

/// All samples.
pub fn all() -> Vec<(SampleKind, Run)> {
    SampleKind::ALL.into_iter().map(|kind| (kind, kind.run())).collect()
}

pub(super) const NEW: &[Part] = &[(1000, 2.6, 0.30), (6, 28.0, 0.55)];
/// The four tests; `slow` divides the speed of writes.
pub(super) fn four(state: State, run: u32, write: &[Part], slow: f64) -> Vec<Spec> {
    let spec = |name, operation, block, ops, ms: f64, sigma| {
        Spec::new(name, operation, block, ops).waits(&[(1000, ms, sigma)]).at(state, run)
    };
    vec![
        spec("seq_read_256k", Operation::SequentialRead, 262_144, 800, 1.07, 0.12),
        spec("seq_write_256k", Operation::SequentialWrite, 262_144, 800, 3.0 * slow, 0.25),
        spec("rand_read_4k", Operation::RandomRead, 4096, 12_000, 0.20, 0.22),
        Spec::new("rand_write_4k", Operation::RandomWrite, 4096, 12_000)
            .waits(write)
            .durable()
            .at(state, run),
    ]
}

pub(super) fn save(name: &'static str, waits: &[Part], growth_us: u64) -> Spec {
    let mut spec = Spec::new(name, Operation::Save, 4096, 12_000).waits(waits).durable();
    spec.cpu = (Nanos(110_000), Nanos(70_000));
    spec.growth = Some(Nanos::from_micros(growth_us));
    spec
}

/// `quick` on a device that is smooth alone and hitches beside a busy writer.
pub fn quick() -> Run {
    quick_with(&[(1000, 3.6, 0.4), (12, 60.0, 0.6)], 1_200)
}

/// `quick` on a device that does four of a hundred saves a second beside a busy writer: the
/// schedule's queue grows to the end.
pub fn overloaded() -> Run {
    let mut run = quick_with(&[(1000, 260.0, 0.1)], 47);
    for phase in run.phases.iter_mut().filter(|phase| !phase.closed_loop) {
        // All slots except the first: begun more than a period late, or never.
        phase.missed_slots = Some(phase.elapsed_ns.0 / 10_000_000 - 1);
    }
    run.seal();
    run
}

/// `quick` on a device whose every wait takes this many times as long.
pub fn slower(times: f64) -> Run {
    let mut specs = quick_specs(&[(1000, 3.6, 0.4)], 1_200);
    for spec in &mut specs {
        spec.waits.iter_mut().for_each(|(_, millis, _)| *millis *= times);
    }
    quick_of(&specs)
}

fn quick_with(waits: &[Part], busy_saves: u64) -> Run {
    quick_of(&quick_specs(waits, busy_saves))
}

fn quick_specs(waits: &[Part], busy_saves: u64) -> Vec<Spec> {
    let mut specs = four(State::New, 1, NEW, 1.0);
    specs.push(save("save_wal", &[(1000, 3.0, 0.3), (5, 26.0, 0.5)], 1_800));
    specs.push(save("save_delete", &[(1000, 8.1, 0.25), (6, 40.0, 0.4)], 900));
    let mut busy = save("save_busy", waits, 1_800);
    (busy.rate, busy.background, busy.ops) = (Some(100), Some("stream_1m"), busy_saves);
    specs.push(busy);
    specs
}

fn quick_of(specs: &[Spec]) -> Run {
    let text = include_str!("../../../../scenarios/quick.toml");
    build(text, 20_160, "/data/sample", environment::tablet(), specs, checks(&[]))
}

/// `sqlite`: inserts, updates and deletes by journal mode and `synchronous`.
pub fn sqlite() -> Run {
    let text = include_str!("../../../../scenarios/sqlite.toml");
    let mut specs = Vec::new();
    for name in SAVE_NAMES {
        let waits = sqlite_waits(name);
        let mut spec = save(name, &waits, 700);
        spec.ops = 2_000;
        if name.contains("memory") || name.contains("off") {
            spec.growth = None;
        }
        specs.push(spec);
    }
    build(text, 20_160, "/data/sample", environment::tablet(), &specs, checks(&[]))
}

const SAVE_NAMES: [&str; 36] = [
    "insert_delete_full",
    "insert_delete_normal",
    "insert_truncate_full",
    "insert_truncate_normal",
    "insert_persist_full",
    "insert_persist_normal",
    "insert_wal_full",
    "insert_wal_normal",
    "insert_memory_full",
    "insert_memory_normal",
    "insert_off_full",
    "insert_off_normal",
    "update_delete_full",
    "update_delete_normal",
    "update_truncate_full",
    "update_truncate_normal",
    "update_persist_full",
    "update_persist_normal",
    "update_wal_full",
    "update_wal_normal",
    "update_memory_full",
    "update_memory_normal",
    "update_off_full",
    "update_off_normal",
    "delete_delete_full",
    "delete_delete_normal",
    "delete_truncate_full",
    "delete_truncate_normal",
    "delete_persist_full",
    "delete_persist_normal",
    "delete_wal_full",
    "delete_wal_normal",
    "delete_memory_full",
    "delete_memory_normal",
    "delete_off_full",
    "delete_off_normal",
];

fn sqlite_waits(name: &str) -> Vec<Part> {
    let words: Vec<&str> = name.split('_').collect();
    let full = words[2] == "full";
    let median = match (words[1], full) {
        ("wal", true) => 3.0,
        ("wal", false) => 0.08,
        ("delete", true) => 8.1,
        ("delete", false) => 6.4,
        ("truncate", true) => 7.7,
        ("truncate", false) => 6.0,
        ("persist", true) => 6.9,
        ("persist", false) => 5.1,
        (_, true) => 2.7,
        (_, false) => 2.6,
    };
    vec![(1000, median, 0.28), (6, median * 9.0, 0.4)]
}

/// `soak`: fast until a write cache is used up.
pub fn soak() -> Run {
    let text = include_str!("../../../../scenarios/soak.toml");
    let mut spec =
        Spec::new("soak", Operation::SequentialWrite, 262_144, 30_000).waits(&[(1000, 1.5, 0.15)]);
    spec.then = Some(vec![(1000, 7.0, 0.3), (20, 70.0, 0.4)]);
    let directory = "/data/sample";
    let mut run = build(text, 20_160, directory, environment::tablet(), &[spec], checks(&[]));
    for phase in &mut run.phases {
        phase.changes = soak_changes(phase);
    }
    run.seal();
    run
}

/// The changes that the intervals of the soak show, from their own numbers.
fn soak_changes(phase: &Phase) -> Vec<Change> {
    let bytes = |intervals: &[IntervalRecord]| intervals.iter().map(|i| i.bytes.0).sum::<u64>();
    let fast = phase.intervals.iter().take_while(|i| i.p50 < Some(Nanos::from_millis(3))).count();
    let (before, after) = phase.intervals.split_at(fast);
    let at = before.last().map_or(Nanos::ZERO, |interval| interval.t_ns);
    let rate = |bytes, time| per_second(bytes, time).unwrap_or_default();
    let rates =
        (rate(bytes(before), at), rate(bytes(after), phase.elapsed_ns.saturating_since(at)));
    let change = |kind, t_ns, written, bytes_per_sec, detail: String| Change {
        kind,
        t_ns,
        written_bytes: Bytes(written),
        bytes_per_sec,
        period_ns: None,
        detail,
    };
    let (from, to) = (rates.0 / 1e6, rates.1 / 1e6);
    let fell = format!("throughput fell from {from:.0} to {to:.0} MB/s and stayed there");
    let steady = format!("five rounds within 9% at {to:.0} MB/s");
    let end = phase.elapsed_ns;
    vec![
        change(ChangeKind::CacheExhausted, at, bytes(before), Some(rates), fell),
        change(ChangeKind::SteadyState, end, phase.bytes.0, None, steady),
    ]
}

/// `quick` in memory: nothing reached storage.
pub fn memory() -> Run {
    let text = include_str!("../../../../scenarios/quick.toml");
    let mut specs = four(State::New, 1, &[(1000, 0.03, 0.2)], 0.02);
    specs.push(save("save_wal", &[(1000, 0.06, 0.2)], 10));
    specs.push(save("save_delete", &[(1000, 0.09, 0.2)], 10));
    for spec in &mut specs {
        (spec.reached, spec.cpu) = (8, (Nanos(15_000), Nanos(1_000)));
    }
    let failed = [
        check(
            CheckId::CacheBypass,
            CheckStatus::Fail,
            "Writes reached storage",
            "The block device counted 0.4 MB for 49.2 MB written (0.01×); at least 0.95× is \
             needed. /tmp is tmpfs, held in memory.",
            Some("choose a directory on the storage, for example flashlag run --on /var/lib"),
            &[],
        ),
        check(
            CheckId::FlushIsReal,
            CheckStatus::Fail,
            "Flushes were issued",
            "0 flushes seen for 12,000 writes.",
            None,
            &[],
        ),
    ];
    build(text, 20_160, "/tmp", environment::memory(), &specs, checks(&failed))
}

pub(super) fn check(
    id: CheckId,
    status: CheckStatus,
    claim: &str,
    detail: &str,
    advice: Option<&str>,
    phases: &[&str],
) -> Check {
    Check {
        id,
        status,
        claim: claim.to_owned(),
        detail: detail.to_owned(),
        cause: None,
        advice: advice.map(str::to_owned),
        phases: phases.iter().map(|label| (*label).to_owned()).collect(),
    }
}

/// A run's checks: the given ones, one unknown, then passes.
pub(super) fn checks(given: &[Check]) -> Vec<Check> {
    use CheckId as Id;
    let pass = |id, claim, detail| check(id, CheckStatus::Pass, claim, detail, None, &[]);
    let mut checks = given.to_vec();
    checks.push(check(
        Id::ThermalThrottling,
        CheckStatus::Unknown,
        "Heat slowed neither the storage nor the processors",
        "The storage has no temperature sensor. The CPU stayed between 38 and 44 °C.",
        None,
        &[],
    ));
    let passes = [
        pass(Id::CacheBypass, "Writes reached storage", "Block device: 1.02× the bytes written."),
        pass(Id::FlushIsReal, "Flushes were issued", "1.00 flush for each durable write."),
        pass(Id::PayloadIncompressible, "Payload can't be compressed", "7.99 bits a byte."),
        pass(
            Id::CpuContention,
            "A CPU was free when wanted",
            "0.4% of the time was spent waiting.",
        ),
        pass(
            Id::ForeignIo,
            "Nothing else was writing",
            "Others wrote 0.3% of the bytes (limit 2%).",
        ),
        pass(Id::Clock, "Clock is fine enough", "Step 52 ns, cost 31 ns; shortest wait 610 µs."),
        pass(Id::Accounting, "Times add up", "Waits make up 99.6% of the elapsed time."),
        pass(Id::EngineOverhead, "The engine is cheap", "0.3 µs an operation."),
    ];
    let seen: Vec<Id> = checks.iter().map(|check| check.id).collect();
    checks.extend(passes.into_iter().filter(|check| !seen.contains(&check.id)));
    checks
}

fn record(text: &str) -> ScenarioRecord {
    match Scenario::parse(text, &[]) {
        Ok(scenario) => ScenarioRecord::of(&scenario, 20_160),
        Err(error) => unreachable!("the samples' scenarios parse in every test: {error}"),
    }
}

/// Puts a run together and seals it.
pub(super) fn build(
    text: &str,
    seed: u64,
    directory: &str,
    environment: Environment,
    specs: &[Spec],
    checks: Vec<Check>,
) -> Run {
    let record = record(text);
    let mut phases: Vec<Phase> = Vec::new();
    let mut began = Nanos::from_millis(900);
    for (index, spec) in specs.iter().enumerate() {
        let drawn = phase(spec, began, seed + index as u64);
        began = began.plus(drawn.elapsed_ns).plus(Nanos::from_millis(40));
        phases.push(drawn);
    }
    let written = phases.iter().filter(|phase| writes(phase)).map(|phase| phase.bytes.0).sum();
    let idle_skipped = record.settings.get("idle").is_some_and(|idle| idle == "0s");
    let flashlag = Program {
        version: "0.1.0".to_owned(),
        commit: Reading::unavailable("a synthetic sample: no device was measured"),
    };
    let target = Target {
        kind: TargetKind::Path,
        name: directory.to_owned(),
        directory: Some(directory.to_owned()),
        profile: None,
    };
    let mut run = Run {
        command: ["flashlag", "run", &record.name, "--on", directory].map(str::to_owned).to_vec(),
        started: Some("2026-11-21T09:30:00Z".to_owned()),
        status: RunStatus::Complete,
        options: Options {
            leave_bytes: Bytes::from_mb(1450),
            leave_reason: "5% of 29 GB".to_owned(),
            budget_bytes: None,
            verify: false,
            limits: Default::default(),
            engine: "flashlag".to_owned(),
        },
        lag: lag_of(&phases),
        phases,
        skipped: idle_skipped.then(skipped_idle).into_iter().collect(),
        trust: Trust::of(checks, specs.len()),
        wear: Wear {
            written_bytes: Bytes(written),
            block_bytes: Reading::Value(Bytes(written + written / 50)),
            life_percent: Reading::unavailable("the device does not tell its rated endurance"),
        },
        ..Run::begun(flashlag, record, target, environment)
    };
    run.seal();
    run
}

fn writes(phase: &Phase) -> bool {
    !matches!(phase.operation, Operation::SequentialRead | Operation::RandomRead)
}

fn lag_of(phases: &[Phase]) -> Lag {
    phases.iter().filter_map(|phase| phase.lag).fold(Lag::default(), Lag::plus)
}

fn skipped_idle() -> Skipped {
    Skipped {
        step: "idle".to_owned(),
        state: State::Idle,
        reason: "no idle wait was asked for; --set idle=24h waits as long as the reviewers did"
            .to_owned(),
    }
}
