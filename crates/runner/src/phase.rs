//! From what a worker recorded to what is stored.

use flashlag_schema::scenario::{Durability, EngineKind};
use flashlag_schema::{
    Growth, GrowthPart, IntervalRecord, Lag, LatencySummary, Ledger, Operation, Phase, Reading,
    StallCause, StallRecord, State, StoredHistogram, Time, WaitRecord,
};
use flashlag_stats::{Histogram, Interval, Percentile, Recorded, Stall, WaitSplit, WaitTable};
use flashlag_units::{Bytes, Nanos, per_second};

/// What is known of a phase before it runs.
#[derive(Clone, Debug)]
pub struct PhaseHead {
    /// The test's name.
    pub name: String,
    /// Where the device is in its life.
    pub state: State,
    /// Which repetition, from 1.
    pub run: u32,
    /// What it does.
    pub operation: Operation,
    /// Bytes for each operation.
    pub block: Bytes,
    /// Addresses come from this many bytes.
    pub span: Bytes,
    /// Operations in flight.
    pub queue_depth: u32,
    /// How writes become durable.
    pub durable: Durability,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// What does the I/O.
    pub engine: EngineKind,
    /// Whether the next operation waits for the last.
    pub closed_loop: bool,
    /// What runs beside it.
    pub background: Option<String>,
    /// When it begins, from the start of the run.
    pub began: Nanos,
    /// A wait longer than this is a stall.
    pub stall_over: Nanos,
}

/// What is known after it ran, beside the recorder's own.
#[derive(Clone, Debug, Default)]
pub struct PhaseTail {
    /// Where the measuring thread's time went.
    pub time: Option<WaitSplit>,
    /// Bytes and calls by layer.
    pub ledger: Ledger,
    /// Saves that grew a file, and those that did not.
    pub growth: Option<(Histogram, Histogram)>,
    /// Whether it ended before its time.
    pub cut_short: bool,
    /// What the reader must know.
    pub notes: Vec<String>,
}

/// Puts a phase together. Every figure in it is derived from its histograms.
pub fn phase(head: PhaseHead, recorded: &Recorded, tail: PhaseTail) -> Phase {
    let ops = recorded.latency.count();
    let is_save = head.operation == Operation::Save;
    let open = !head.closed_loop;
    let felt = if open { &recorded.response } else { &recorded.latency };
    Phase {
        ops,
        bytes: recorded.bytes,
        elapsed_ns: recorded.elapsed,
        ops_per_sec: per_second(ops, recorded.elapsed).unwrap_or_default(),
        bytes_per_sec: per_second(recorded.bytes.0, recorded.elapsed).unwrap_or_default(),
        latency_ns: LatencySummary::from(&recorded.latency),
        histogram: StoredHistogram::from(&recorded.latency),
        flush_latency_ns: summary_if_any(&recorded.flush),
        flush_histogram: stored_if_any(&recorded.flush),
        response_ns: summary_if_any(&recorded.response),
        response_histogram: stored_if_any(&recorded.response),
        missed_slots: open.then_some(recorded.missed_slots),
        time: time_of(tail.time),
        waits: wait_records(&recorded.waits),
        ledger: tail.ledger,
        intervals: recorded.intervals.iter().map(interval_record).collect(),
        stalls: recorded.stalls.iter().map(stall_record).collect(),
        stalls_seen: recorded.stalls_seen,
        stall_over_ns: head.stall_over,
        changes: Vec::new(),
        growth: tail.growth.map(|(grew, in_place)| Growth {
            grew: growth_part(&grew),
            in_place: growth_part(&in_place),
        }),
        lag: is_save.then(|| Lag::of(felt)),
        cut_short: tail.cut_short,
        notes: tail.notes,
        name: head.name,
        state: head.state,
        run: head.run,
        operation: head.operation,
        block_bytes: head.block,
        span_bytes: head.span,
        queue_depth: head.queue_depth,
        durable: head.durable,
        direct: head.direct,
        engine: head.engine,
        closed_loop: head.closed_loop,
        background: head.background,
        began_ns: head.began,
    }
}

fn summary_if_any(histogram: &Histogram) -> Option<LatencySummary> {
    (histogram.count() > 0).then(|| LatencySummary::from(histogram))
}

fn stored_if_any(histogram: &Histogram) -> Option<StoredHistogram> {
    (histogram.count() > 0).then(|| StoredHistogram::from(histogram))
}

fn growth_part(histogram: &Histogram) -> GrowthPart {
    GrowthPart {
        ops: histogram.count(),
        latency_ns: LatencySummary::from(histogram),
        histogram: StoredHistogram::from(histogram),
    }
}

fn time_of(split: Option<WaitSplit>) -> Reading<Time> {
    match split {
        Some(split) => Reading::Value(stored_time(split)),
        None => Reading::unavailable("the kernel keeps no scheduler statistics for this thread"),
    }
}

fn stored_time(split: WaitSplit) -> Time {
    Time { on_cpu_ns: split.on_cpu, runnable_ns: split.runnable, blocked_ns: split.blocked }
}

fn wait_records(table: &WaitTable) -> Vec<WaitRecord> {
    let records = table.occupied().map(|(power, class)| WaitRecord {
        from_ns: Nanos(1 << power),
        below_ns: Nanos(2u64.checked_shl(power).unwrap_or(u64::MAX)),
        ops: class.ops,
        time: stored_time(class.split),
    });
    records.collect()
}

fn interval_record(interval: &Interval) -> IntervalRecord {
    let histogram = interval.histogram();
    IntervalRecord {
        t_ns: interval.ends,
        filled_bytes: interval.filled,
        ops: histogram.count(),
        bytes: interval.bytes,
        p50: histogram.percentile(Percentile::P50),
        p90: histogram.percentile(Percentile::P90),
        p99: histogram.percentile(Percentile::P99),
        max: histogram.max().unwrap_or_default(),
        temperature_millicelsius: interval.temperature_millicelsius,
        histogram: StoredHistogram::from(&histogram),
    }
}

fn stall_record(stall: &Stall) -> StallRecord {
    StallRecord {
        t_ns: stall.at,
        ns: stall.length,
        cause: stall.split.map_or(StallCause::Unknown, cause),
        time: stall.split.map(stored_time),
    }
}

/// The part that has more than half of the wait.
fn cause(split: WaitSplit) -> StallCause {
    let half = Nanos(split.total().0 / 2);
    if split.blocked > half {
        StallCause::Storage
    } else if split.runnable > half {
        StallCause::Cpu
    } else if split.on_cpu > half {
        StallCause::Executing
    } else {
        StallCause::Mixed
    }
}
