//! A small but realistic run: a phase of durable writes in an open loop, one of saves, and one read
//! too short for most percentiles.

use std::collections::BTreeMap;

use flashlag_schema::*;
use flashlag_spec::scenario::{Durability, EngineKind, Scenario};
use flashlag_spec::*;
use flashlag_stats::{Histogram, OpTimes, PhaseRecord, Recorder, RecorderConfig, WaitSplit};
use flashlag_units::{Bytes, Nanos, per_second};

const STALL_OVER: Nanos = Lag::FRAME_60HZ;

/// `count` operations of `typical` nanoseconds, some longer, every 97th a stall.
pub fn recorded(count: u64, typical: u64, open: bool) -> PhaseRecord {
    let mut recorder = Recorder::new(RecorderConfig {
        start: Nanos(5_000),
        interval: Nanos(typical * count / 5),
        stall_over: STALL_OVER,
        live: None,
    });
    let mut now = Nanos(5_000);
    for number in 1..=count {
        let spread = number * 7_919 % 7 * 14;
        let length = typical + typical * spread / 100;
        let length = Nanos(if number % 97 == 0 { length + 20_000_000 } else { length });
        let op = OpTimes {
            intended: open.then(|| Nanos(now.0 - 100)),
            started: now,
            flush_from: open.then(|| now.plus(Nanos(length.0 / 3))),
            ended: now.plus(length),
            bytes: Bytes(4096),
        };
        let split = WaitSplit::of(length, Nanos(900), Nanos(50));
        recorder.record_wait(length, split);
        recorder.set_temperature(41_000 + number as i64);
        if recorder.record(op) {
            recorder.record_stall(op, (number % 2 == 0).then_some(split));
        }
        now = op.ended;
    }
    recorder.finish(now.plus(Nanos(1_234)))
}

/// A phase of 4 KiB operations in a closed loop, one after the other without a pause: figures that
/// do not follow from the histogram of latencies are left empty.
pub fn closed_loop_phase(
    name: &str,
    state: State,
    operation: Operation,
    latency: &Histogram,
) -> Phase {
    let (ops, elapsed) = (latency.count(), latency.sum());
    let bytes = Bytes(4096 * ops);
    Phase {
        name: name.to_owned(),
        state,
        run: 1,
        operation,
        block_bytes: Bytes(4096),
        span_bytes: Bytes(100_000_000),
        queue_depth: 1,
        threads: 1,
        mixed: None,
        replay: None,
        durable: Durability::Fdatasync,
        direct: true,
        engine: EngineKind::Psync,
        closed_loop: true,
        think: None,
        background: None,
        began_ns: Nanos::ZERO,
        clocks: None,
        ops,
        bytes,
        elapsed_ns: elapsed,
        ops_per_sec: per_second(ops, elapsed).unwrap_or_default(),
        bytes_per_sec: per_second(bytes.0, elapsed).unwrap_or_default(),
        latency_ns: LatencySummary::from(latency),
        histogram: StoredHistogram::from(latency),
        flush_latency_ns: None,
        flush_histogram: None,
        response_ns: None,
        response_histogram: None,
        missed_slots: None,
        time: Reading::unavailable("not split"),
        waits: Vec::new(),
        ledger: Ledger::default(),
        floor: None,
        final_flush_ns: None,
        stopped_ns: None,
        intervals: Vec::new(),
        stalls: Vec::new(),
        stalls_seen: 0,
        stall_over_ns: STALL_OVER,
        watched: None,
        changes: Vec::new(),
        growth: None,
        lag: (operation == Operation::Save).then(|| Lag::of(latency)),
        cut_short: false,
        notes: Vec::new(),
    }
}

/// The phase with these records.
pub fn phase(name: &str, operation: Operation, recorded: &PhaseRecord) -> Phase {
    let any = |histogram: &Histogram| (histogram.count() > 0).then(|| histogram.clone());
    let (flush, response) = (any(&recorded.flush), any(&recorded.response));
    let ops = recorded.latency.count();
    let is_save = operation == Operation::Save;
    let felt = response.as_ref().unwrap_or(&recorded.latency);
    Phase {
        closed_loop: response.is_none(),
        began_ns: Nanos(7_000_000),
        clocks: None,
        bytes: recorded.bytes,
        elapsed_ns: recorded.elapsed,
        ops_per_sec: per_second(ops, recorded.elapsed).unwrap_or_default(),
        bytes_per_sec: per_second(recorded.bytes.0, recorded.elapsed).unwrap_or_default(),
        flush_latency_ns: flush.as_ref().map(LatencySummary::from),
        flush_histogram: flush.as_ref().map(StoredHistogram::from),
        response_ns: response.as_ref().map(LatencySummary::from),
        response_histogram: response.as_ref().map(StoredHistogram::from),
        missed_slots: response.is_some().then_some(3),
        time: Reading::Value(Time {
            on_cpu_ns: Nanos(10),
            runnable_ns: Nanos(20),
            blocked_ns: Nanos(30),
            stopped_ns: Nanos::ZERO,
        }),
        waits: WaitRecord::all(&recorded.waits),
        ledger: Ledger {
            app_bytes: Reading::Value(recorded.bytes),
            device_bytes: Reading::unavailable("this device does not tell"),
            ..Ledger::default()
        },
        intervals: recorded.intervals.iter().map(IntervalRecord::from).collect(),
        stalls: recorded.stalls.iter().map(StallRecord::from).collect(),
        stalls_seen: recorded.stalls_seen,
        changes: vec![Change {
            kind: ChangeKind::Slower,
            t_ns: Nanos(recorded.elapsed.0 / 2),
            written_bytes: Bytes(40_960),
            bytes_per_sec: Some((1.5e6 / 7.0, 1e6 / 3.0)),
            period_ns: None,
            detail: "214 kB/s to 333 kB/s".to_owned(),
        }],
        growth: is_save.then(|| Growth {
            grew: GrowthPart::from(&Histogram::new()),
            in_place: GrowthPart::from(&recorded.latency),
        }),
        lag: is_save.then(|| Lag::of(felt)),
        notes: vec!["a note".to_owned()],
        ..closed_loop_phase(name, State::New, operation, &recorded.latency)
    }
}

/// A run of these phases, with a scenario that can't be parsed; not sealed, nothing derived.
pub fn bare_run(phases: Vec<Phase>) -> Run {
    let flashlag = Program {
        version: "0.1.0".to_owned(),
        commit: Reading::unavailable("not known when this was built"),
    };
    let scenario = ScenarioRecord {
        name: "test".to_owned(),
        hash: String::new(),
        text: String::new(),
        settings: BTreeMap::new(),
        seed: 1,
        assumptions: vec![],
    };
    let target =
        Target { kind: TargetKind::Path, name: ".".to_owned(), directory: None, profile: None };
    let begun = Run::begun(flashlag, scenario, target, Environment::default());
    Run { status: RunStatus::Complete, phases, ..begun }
}

const SCENARIO: &str = r#"
name = "small"
about = "Small."
[settings]
span = "100MB"
[[io]]
name = "rand_write_4k"
operation = "write"
pattern = "random"
block = "4KiB"
span = "$span"
time = "1s"
[[step]]
measure = ["rand_write_4k"]
state = "new"
"#;

/// The whole run, sealed.
pub fn run() -> Run {
    let scenario = Scenario::parse(SCENARIO, &[]).expect("the scenario above parses");
    let phases = vec![
        phase("rand_write_4k", Operation::RandomWrite, &recorded(400, 70_000, true)),
        phase("save_wal", Operation::Save, &recorded(120, 190_000, false)),
        phase("rand_read_4k", Operation::RandomRead, &recorded(9, 30_000, false)),
    ];
    let lag = phases.iter().filter_map(|phase| phase.lag).fold(Lag::default(), Lag::plus);
    let mut environment = Environment::default();
    environment.software.kernel = Reading::Value("Linux 6.1".to_owned());
    environment.device.queue.fua = Reading::Value(false);
    environment.storage_temperature_millicelsius = Reading::Value((41_000, 43_500));
    environment.cpu.count = Reading::Value(2);
    let mut run = Run {
        scenario: ScenarioRecord::of(&scenario, 11),
        command: vec!["flashlag".to_owned(), "run".to_owned()],
        started: Some("2026-01-01T00:00:00Z".to_owned()),
        environment,
        trust: Trust {
            verdict: Verdict::Trusted,
            checks: vec![Check {
                id: CheckId::Clock,
                status: CheckStatus::Pass,
                claim: "The clock can be believed".to_owned(),
                detail: "25 ns a reading".to_owned(),
                cause: None,
                advice: None,
                phases: vec![],
            }],
        },
        lag,
        wear: Wear {
            written_bytes: Bytes(200_000_000),
            block_bytes: Reading::Value(Bytes(210_000_000)),
            life_percent: Reading::Value(1.0 / 30_000.0),
        },
        ..bare_run(phases)
    };
    run.seal();
    run
}
