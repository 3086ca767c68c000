//! Runs made up for the tests of this crate.
#![allow(clippy::unwrap_used)]

use flashlag_schema::scenario::{Durability, EngineKind};
use flashlag_schema::*;
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, Nanos};

/// A histogram of waits in milliseconds.
pub fn of_ms(waits: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    waits.iter().for_each(|ms| histogram.record(Nanos::from_millis(*ms)));
    histogram
}

/// `n` waits of that many nanoseconds.
pub fn all(nanos: u64, n: u64) -> Histogram {
    let mut histogram = Histogram::new();
    (0..n).for_each(|_| histogram.record(Nanos(nanos)));
    histogram
}

/// `n` waits spread evenly over a tenth of a millisecond around `ms`.
pub fn around(ms: u64, n: u64) -> Histogram {
    let mut histogram = Histogram::new();
    (0..n).for_each(|i| histogram.record(Nanos(ms * 1_000_000 - 50_000 + i % 11 * 10_000)));
    histogram
}

/// A phase of durable 4 KiB writes.
pub fn writes(name: &str, state: State, waits_ms: &[u64]) -> Phase {
    phase(name, state, Operation::RandomWrite, &of_ms(waits_ms))
}

/// A phase of saves.
pub fn saves(name: &str, state: State, waits: &Histogram) -> Phase {
    phase(name, state, Operation::Save, waits)
}

/// A phase in a closed loop.
pub fn phase(name: &str, state: State, operation: Operation, waits: &Histogram) -> Phase {
    let elapsed = waits.sum();
    let per_second = |count| flashlag_units::per_second(count, elapsed).unwrap_or_default();
    let bytes = Bytes(4096 * waits.count());
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
        durable: Durability::Fdatasync,
        direct: true,
        engine: EngineKind::Psync,
        closed_loop: true,
        background: None,
        began_ns: Nanos::ZERO,
        ops: waits.count(),
        bytes,
        elapsed_ns: elapsed,
        final_flush_ns: None,
        stopped_ns: None,
        ops_per_sec: per_second(waits.count()),
        bytes_per_sec: per_second(bytes.0),
        latency_ns: LatencySummary::from(waits),
        histogram: StoredHistogram::from(waits),
        flush_latency_ns: None,
        flush_histogram: None,
        response_ns: None,
        response_histogram: None,
        missed_slots: None,
        time: Reading::unavailable("not split"),
        waits: Vec::new(),
        ledger: Ledger::default(),
        floor: None,
        intervals: Vec::new(),
        stalls: Vec::new(),
        stalls_seen: 0,
        stall_over_ns: Lag::FRAME_60HZ,
        changes: Vec::new(),
        growth: None,
        lag: (operation == Operation::Save).then(|| Lag::of(waits)),
        cut_short: false,
        notes: Vec::new(),
    }
}

/// How a phase's time was split, in parts of 1,000.
pub fn split(phase: &mut Phase, on_cpu: u64, runnable: u64) {
    let part =
        |parts: u64| Nanos((u128::from(phase.elapsed_ns.0) * u128::from(parts) / 1000) as u64);
    phase.time = Reading::Value(Time {
        on_cpu_ns: part(on_cpu),
        runnable_ns: part(runnable),
        blocked_ns: phase.elapsed_ns.since(part(on_cpu)).since(part(runnable)),
        stopped_ns: Nanos::ZERO,
    });
}

/// A failed check over those phases, by their labels; over all where there are none.
pub fn failing(id: CheckId, phases: &[&str]) -> Check {
    Check {
        id,
        status: CheckStatus::Fail,
        claim: "a claim".to_owned(),
        detail: String::new(),
        cause: None,
        advice: None,
        phases: phases.iter().map(|label| (*label).to_owned()).collect(),
    }
}

/// A run of these phases, without a scenario that could be read.
pub fn run(phases: Vec<Phase>) -> Run {
    Run {
        schema: SCHEMA.to_owned(),
        flashlag: Program { version: "0".to_owned(), commit: Reading::unavailable("a test") },
        scenario: ScenarioRecord {
            name: "test".to_owned(),
            hash: String::new(),
            text: String::new(),
            settings: Default::default(),
            seed: 1,
            assumptions: Vec::new(),
        },
        target: Target {
            kind: TargetKind::Path,
            name: ".".to_owned(),
            directory: None,
            profile: None,
        },
        label: None,
        command: Vec::new(),
        started: None,
        simulated_ns: None,
        status: RunStatus::Complete,
        options: Options::default(),
        environment: Environment::default(),
        phases,
        skipped: Vec::new(),
        downgrades: Vec::new(),
        trust: Trust::default(),
        findings: None,
        lag: Lag::default(),
        wear: Wear::default(),
        integrity: Integrity::default(),
    }
}
