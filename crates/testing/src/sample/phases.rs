use flashlag_schema::{
    Growth, GrowthPart, IntervalRecord, Lag, LatencySummary, Ledger, Phase, StallRecord,
    StoredHistogram, Time, WaitRecord,
};
use flashlag_spec::scenario::{Durability, EngineKind};
use flashlag_spec::{Operation, Reading, State};
use flashlag_stats::{Histogram, OpTimes, PhaseRecord, Recorder, RecorderConfig, WaitSplit};
use flashlag_units::{Bytes, Nanos, per_second};

use super::draw::{Draw, Part};

const STALL_OVER: Nanos = Nanos::from_millis(500);

/// What a synthetic phase is made from.
#[derive(Clone, Debug)]
pub struct Spec {
    pub name: &'static str,
    pub state: State,
    pub run: u32,
    pub operation: Operation,
    pub block: Bytes,
    pub ops: u64,
    pub durable: Durability,
    /// Waits, as a mixture.
    pub waits: Vec<Part>,
    /// Time on the CPU and waiting for one, for each operation.
    pub cpu: (Nanos, Nanos),
    /// Operations a second, in an open loop.
    pub rate: Option<u64>,
    pub background: Option<&'static str>,
    /// For a fill: bytes in use at its start and at its end, and the waits at the end.
    pub fill: Option<(Bytes, Bytes, Vec<Part>)>,
    /// After two fifths of the operations, the waits are drawn from these.
    pub then: Option<Vec<Part>>,
    /// For saves: the extra time of a save that grows a file, one in eight.
    pub growth: Option<Nanos>,
    /// Bytes at the block device for each byte, in thousandths; `None` if none reached it.
    pub reached: u64,
}

impl Spec {
    /// A closed loop of `ops` operations.
    pub fn new(name: &'static str, operation: Operation, block: u64, ops: u64) -> Spec {
        Spec {
            name,
            state: State::New,
            run: 1,
            operation,
            block: Bytes(block),
            ops,
            durable: Durability::None,
            waits: vec![(1000, 1.0, 0.2)],
            cpu: (Nanos(9_000), Nanos(3_000)),
            rate: None,
            background: None,
            fill: None,
            then: None,
            growth: None,
            reached: 1020,
        }
    }

    pub fn at(mut self, state: State, run: u32) -> Spec {
        (self.state, self.run) = (state, run);
        self
    }

    pub fn waits(mut self, waits: &[Part]) -> Spec {
        self.waits = waits.to_vec();
        self
    }

    pub fn durable(mut self) -> Spec {
        self.durable = Durability::Fdatasync;
        self
    }
}

/// Draws a phase that began at `began`.
pub fn phase(spec: &Spec, began: Nanos, seed: u64) -> Phase {
    let mut draw = Draw::new(seed);
    let width = Nanos::from_secs(if spec.name == "soak" { 4 } else { 20 });
    let config =
        RecorderConfig { start: Nanos::ZERO, interval: width, stall_over: STALL_OVER, live: None };
    let mut recorder = Recorder::new(config);
    let mut now = Nanos::ZERO;
    let mut grown = (Histogram::new(), Histogram::new());
    for index in 0..spec.ops {
        let mut wait = draw.wait(waits_at(spec, index, seed));
        if let Some(cost) = spec.growth {
            let grows = index.is_multiple_of(8);
            wait = if grows { wait.plus(cost) } else { wait };
            if grows { grown.0.record(wait) } else { grown.1.record(wait) }
        }
        now = one(spec, &mut recorder, &mut draw, now, index, wait);
    }
    let recorded = recorder.finish(now);
    assemble(spec, began, &recorded, grown)
}

fn now_fraction(spec: &Spec, index: u64) -> f64 {
    index as f64 / spec.ops.max(1) as f64
}

/// In a fill, operations near the end draw from the mixture of a full device.
fn waits_at(spec: &Spec, index: u64, seed: u64) -> &[Part] {
    let done = now_fraction(spec, index);
    if let Some(then) = spec.then.as_ref().filter(|_| done >= 0.4) {
        return then;
    }
    let Some((_, _, full)) = &spec.fill else { return &spec.waits };
    // A fixed pattern that takes no random numbers: the fuller, the more often from the full
    // device's mixture.
    let turn = index.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed) >> 40;
    let share = ((done - 0.4) / 0.6).clamp(0.0, 1.0);
    let limit = (share * share * (1u64 << 24) as f64) as u64;
    if turn < limit { full } else { &spec.waits }
}

/// Records one operation; returns when the next may begin.
fn one(
    spec: &Spec,
    recorder: &mut Recorder,
    draw: &mut Draw,
    now: Nanos,
    index: u64,
    wait: Nanos,
) -> Nanos {
    let intended = spec.rate.map(|rate| Nanos(index * 1_000_000_000 / rate));
    let started = now.max(intended.unwrap_or(now));
    let ended = started.plus(wait);
    let flushed = spec.durable != Durability::None && spec.operation != Operation::Save;
    let flush_from = flushed.then(|| started.plus(Nanos(wait.0 / 5)));
    if let Some((from, to, _)) = &spec.fill {
        let share = now_fraction(spec, index + 1);
        recorder.set_filled(Bytes(from.0 + (to.saturating_minus(*from).0 as f64 * share) as u64));
    }
    let op = OpTimes { intended, started, flush_from, ended, bytes: spec.block };
    let split = WaitSplit::of(wait, spec.cpu.0, Nanos(spec.cpu.1.0 * draw.below(200) / 100));
    let stalled = recorder.record(op);
    if stalled {
        recorder.record_stall(op, Some(split));
    }
    if index.is_multiple_of(10) || stalled {
        recorder.record_wait(wait, split);
    }
    ended
}

/// Computes every figure from its histogram, as the runner does.
fn assemble(spec: &Spec, began: Nanos, seen: &PhaseRecord, grown: (Histogram, Histogram)) -> Phase {
    let ops = seen.latency.count();
    let open = spec.rate.is_some();
    let felt = if open { &seen.response } else { &seen.latency };
    let summary = |h: &Histogram| (h.count() > 0).then(|| LatencySummary::from(h));
    let stored = |h: &Histogram| (h.count() > 0).then(|| StoredHistogram::from(h));
    let is_save = spec.operation == Operation::Save;
    Phase {
        name: spec.name.to_owned(),
        state: spec.state,
        run: spec.run,
        operation: spec.operation,
        block_bytes: spec.block,
        span_bytes: if is_save { Bytes::ZERO } else { Bytes::from_mb(100) },
        queue_depth: 1,
        threads: 1,
        mixed: None,
        replay: None,
        durable: spec.durable,
        direct: !is_save,
        engine: if is_save { EngineKind::Sqlite } else { EngineKind::Psync },
        closed_loop: !open,
        think: None,
        background: spec.background.map(str::to_owned),
        began_ns: began,
        clocks: None,
        ops,
        bytes: seen.bytes,
        elapsed_ns: seen.elapsed,
        ops_per_sec: per_second(ops, seen.elapsed).unwrap_or_default(),
        bytes_per_sec: per_second(seen.bytes.0, seen.elapsed).unwrap_or_default(),
        latency_ns: LatencySummary::from(&seen.latency),
        histogram: StoredHistogram::from(&seen.latency),
        flush_latency_ns: summary(&seen.flush),
        flush_histogram: stored(&seen.flush),
        response_ns: summary(&seen.response),
        response_histogram: stored(&seen.response),
        missed_slots: open.then_some(seen.missed_slots),
        time: Reading::Value(whole_time(spec, ops, seen.elapsed)),
        waits: WaitRecord::all(&seen.waits),
        ledger: ledger(spec, seen.bytes, ops),
        floor: None,
        final_flush_ns: None,
        stopped_ns: None,
        intervals: seen.intervals.iter().map(IntervalRecord::from).collect(),
        stalls: stalls(seen),
        stalls_seen: seen.stalls_seen,
        stall_over_ns: STALL_OVER,
        watched: None,
        changes: Vec::new(),
        growth: spec.growth.map(|_| Growth {
            grew: GrowthPart::from(&grown.0),
            in_place: GrowthPart::from(&grown.1),
        }),
        lag: is_save.then(|| Lag::of(felt)),
        cut_short: false,
        notes: Vec::new(),
    }
}

fn whole_time(spec: &Spec, ops: u64, elapsed: Nanos) -> Time {
    Time::from(WaitSplit::of(elapsed, Nanos(spec.cpu.0.0 * ops), Nanos(spec.cpu.1.0 * ops)))
}

fn stalls(seen: &PhaseRecord) -> Vec<StallRecord> {
    seen.stalls.iter().map(StallRecord::from).collect()
}

fn ledger(spec: &Spec, bytes: Bytes, ops: u64) -> Ledger {
    let on_disk = Bytes(bytes.0 * spec.reached / 1000);
    let app = if spec.operation == Operation::Save { Bytes(100 * ops) } else { bytes };
    Ledger {
        app_bytes: Reading::Value(app),
        syscall_bytes: Reading::Value(bytes),
        storage_bytes: Reading::Value(on_disk),
        block_bytes: Reading::Value(on_disk),
        block_writes: Reading::Value(ops * spec.reached / 1000),
        flushes: Reading::Value(if spec.durable == Durability::None || spec.reached < 100 {
            0
        } else {
            ops
        }),
        device_bytes: Reading::unavailable("the device does not tell"),
        kinds: None,
    }
}
