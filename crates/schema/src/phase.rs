use flashlag_spec::replay::{ReplayLevel, ReplayPace, TraceTransactions};
use flashlag_spec::scenario::{Durability, EngineKind};
use flashlag_spec::{Operation, Reading, State, TraceSourceKind};
use flashlag_units::{Bytes, Nanos, per_second};
use serde::{Deserialize, Serialize};

use crate::clocks::ClockReading;
use crate::histogram::{LatencySummary, StoredHistogram};
use crate::lag::Lag;
use crate::stall::{StallRecord, Time, WaitPart};
use crate::watched::Watched;

/// One measured stretch of one workload: its settings and its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The test's name in the scenario: `rand_write_4k`.
    pub name: String,
    /// Where the device was in its life.
    pub state: State,
    /// The repetition within that state, from 1.
    pub run: u32,
    /// What was done.
    pub operation: Operation,
    /// Bytes for each operation; a page for saves; 0 for a replay, whose operations differ.
    pub block_bytes: Bytes,
    /// Addresses were drawn from this many bytes.
    pub span_bytes: Bytes,
    /// Operations in flight, in each thread.
    pub queue_depth: u32,
    /// Number of threads that did it concurrently.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub threads: u32,
    /// For one half of a mixed test: the share of the test's operations that read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixed: Option<Mixed>,
    /// For a part of a replayed trace, or its recognised transactions: the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replayed>,
    /// How each operation was made durable.
    pub durable: Durability,
    /// Whether the page cache was bypassed.
    pub direct: bool,
    /// What did the I/O.
    pub engine: EngineKind,
    /// Whether the next operation waits for the last (closed loop); else a schedule gives its start.
    pub closed_loop: bool,
    /// Time in which the app did something else between operations, as the scenario says (closed
    /// loop only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
    /// The name of the workload that ran in parallel, if one did; for a mixed test, its other half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<String>,
    /// Its start, counted from the start of the run.
    pub began_ns: Nanos,
    /// What the system's clocks said at its first operation; absent in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<ClockReading>,
    /// Operations done.
    pub ops: u64,
    /// Bytes moved by them.
    pub bytes: Bytes,
    /// Duration, final flush and think times included.
    pub elapsed_ns: Nanos,
    /// The duration of the one flush at its end, if the writes were not durable one by one. It is
    /// in the elapsed time, and so in the rates, but in no latency and in no interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_flush_ns: Option<Nanos>,
    /// How long this process was stopped during it: by a signal, frozen with its cgroup, or
    /// suspended with the machine. Absent if that was not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_ns: Option<Nanos>,
    /// `ops / elapsed`.
    pub ops_per_sec: f64,
    /// `bytes / elapsed`.
    pub bytes_per_sec: f64,
    /// From the submission of the operation to its completion.
    pub latency_ns: LatencySummary,
    /// Its histogram.
    pub histogram: StoredHistogram,
    /// The part of the flush, if the flush is a separate call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_latency_ns: Option<LatencySummary>,
    /// Its histogram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_histogram: Option<StoredHistogram>,
    /// From the intended start (open loop only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_ns: Option<LatencySummary>,
    /// Its histogram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_histogram: Option<StoredHistogram>,
    /// Slots of the schedule that passed without an operation (open loop only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_slots: Option<u64>,
    /// The split of the measuring thread's time; for several threads, the sum. The halves of a
    /// mixed test share it.
    pub time: Reading<Time>,
    /// The same by latency, from sampled operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitRecord>,
    /// Bytes and calls by layer.
    pub ledger: Ledger,
    /// The software's floor: the same test, shortened, on a device that takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
    /// The course over time, by interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<IntervalRecord>,
    /// The longest stalls: waits far beyond the phase's usual one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<StallRecord>,
    /// Number of all stalls, and their threshold.
    pub stalls_seen: u64,
    /// A wait longer than this is a stall: 100 ms, or ten times the median if that is longer.
    pub stall_over_ns: Nanos,
    /// Kernel counters read during the phase, from which causes of stalls are inferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
    /// What the interval series shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// For saves: those that made the database or its journal grow, and those that did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// For saves: how many were late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<Lag>,
    /// `true` if it ended early: by a signal, an error, or lack of space.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// Anything the reader must know about this phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Phase {
    /// A name that is unique in a run: `filled 2: rand_write_4k`.
    pub fn label(&self) -> String {
        self.state.label(self.run, &self.name)
    }

    /// Operations in flight, over all threads.
    pub fn in_flight(&self) -> u32 {
        self.queue_depth.max(1).saturating_mul(self.threads.max(1))
    }

    /// Whether the scenario sets its rate and not the storage alone: by a schedule, or by think
    /// times between operations.
    pub fn is_paced(&self) -> bool {
        !self.closed_loop || self.think.is_some()
    }

    /// The sum of the think times within it, of all slots.
    pub fn thought(&self) -> Nanos {
        self.think.map_or(Nanos::ZERO, |think| think.total_ns)
    }

    /// Operations a second of the time without think times.
    pub fn served_per_sec(&self) -> f64 {
        if self.think.is_none() {
            return self.ops_per_sec;
        }
        let each = Nanos(self.thought().0 / u64::from(self.in_flight()));
        per_second(self.ops, self.elapsed_ns.saturating_since(each)).unwrap_or_default()
    }

    /// The split of a mean operation's time: on a CPU, waiting for one, blocked, stopped. CPU time
    /// between two operations is subtracted: no latency contains it. For a phase that sleeps
    /// between operations, from the sampled ones. `None` if no time was split.
    pub fn time_each(&self) -> Option<Time> {
        let sleeps = self.operation != Operation::Save && self.is_paced();
        let (time, ops) = if sleeps {
            self.waits.iter().fold((Time::default(), 0u64), |(time, ops), class| {
                (time.plus(&class.time), ops.saturating_add(class.ops))
            })
        } else {
            (*self.time.value()?, self.ops)
        };
        let of = |time: Nanos| time.0.checked_div(ops).map(Nanos);
        let mut each = Time {
            on_cpu_ns: of(time.on_cpu_ns)?,
            runnable_ns: of(time.runnable_ns)?,
            blocked_ns: of(time.blocked_ns)?,
            stopped_ns: of(time.stopped_ns)?,
        };
        if !sleeps && let Some(mean) = self.latency_ns.mean {
            let between = each.total().saturating_since(mean);
            each.on_cpu_ns = each.on_cpu_ns.saturating_since(between);
        }
        (each.total() > Nanos::ZERO).then_some(each)
    }

    /// Whether it is one durable 4 KiB random write at a time: the headline test.
    pub fn is_durable_write(&self) -> bool {
        self.operation == Operation::RandomWrite
            && self.block_bytes == Bytes(4096)
            && self.in_flight() == 1
            && self.mixed.is_none()
            && self.durable != Durability::None
    }
}

/// The mixed test of which a phase is one half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mixed {
    /// The share of reads among the test's operations, in percent, on average.
    pub read_percent: u32,
}

/// Time in which the app does something else between operations. In no latency and no interval's
/// latencies; in the elapsed time, and so in the rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// After each operation, before the next one begins in its slot.
    pub each_ns: Nanos,
    /// All rests during the phase, with how late each ended; summed over the operations in flight.
    /// The halves of a mixed test share it.
    pub total_ns: Nanos,
}

fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

/// Sampled operations of one power of two of latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WaitRecord {
    /// Shortest latency of the class.
    pub from_ns: Nanos,
    /// Latencies of the class are below this.
    pub below_ns: Nanos,
    /// How many were sampled.
    pub ops: u64,
    /// Their time, summed.
    pub time: Time,
}

/// Bytes and calls by layer, for this phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Ledger {
    /// Bytes that the application wanted written: rows for saves, else payload.
    pub app_bytes: Reading<Bytes>,
    /// Bytes in write (for reads: read) system calls.
    pub syscall_bytes: Reading<Bytes>,
    /// Bytes that reached the block device from this process (`/proc/self/io`).
    pub storage_bytes: Reading<Bytes>,
    /// Bytes written (for reads: read) by everyone at the block device.
    pub block_bytes: Reading<Bytes>,
    /// Write (for reads: read) requests at the block device. A kernel counts a request that only
    /// flushes as a write; a virtual device does not.
    pub block_writes: Reading<u64>,
    /// Flushes at the block device.
    pub flushes: Reading<u64>,
    /// Bytes that the flash programmed, if the device reports them.
    pub device_bytes: Reading<Bytes>,
    /// Writes at the block device by their purpose; only if every write was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<BlockKinds>,
}

/// Writes at the block device, by their purpose. A request with several purposes counts for its
/// first; each byte counts for its own purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BlockKinds {
    /// Contents of files.
    pub data: KindCount,
    /// The filesystem's own log.
    pub journal: KindCount,
    /// All other writes of the filesystem: inodes, maps, directories, checkpoints.
    pub metadata: KindCount,
}

/// One kind of [`BlockKinds`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KindCount {
    /// Requests.
    pub writes: u64,
    /// Bytes.
    pub bytes: Bytes,
}

impl KindCount {
    /// What came since.
    pub fn since(self, before: KindCount) -> KindCount {
        KindCount {
            writes: self.writes.saturating_sub(before.writes),
            bytes: self.bytes.saturating_minus(before.bytes),
        }
    }
}

impl BlockKinds {
    /// What came since.
    pub fn since(self, before: BlockKinds) -> BlockKinds {
        BlockKinds {
            data: self.data.since(before.data),
            journal: self.journal.since(before.journal),
            metadata: self.metadata.since(before.metadata),
        }
    }
}

/// The software's part of a latency: no device can be faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Floor {
    /// Operations.
    pub ops: u64,
    /// Their latency.
    pub latency_ns: LatencySummary,
    /// Its histogram.
    pub histogram: StoredHistogram,
}

/// What happened between two moments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IntervalRecord {
    /// Its end, from the start of the phase.
    pub t_ns: Nanos,
    /// Storage in use at its end (fills only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filled_bytes: Option<Bytes>,
    /// Operations that ended in it.
    pub ops: u64,
    /// Bytes they moved.
    pub bytes: Bytes,
    /// Median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<Nanos>,
    /// 90 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<Nanos>,
    /// 99 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<Nanos>,
    /// The longest.
    pub max: Nanos,
    /// Storage temperature at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_millicelsius: Option<i64>,
    /// Histogram of the interval, so that neighbours can be merged.
    pub histogram: StoredHistogram,
    /// What its operations waited for, if a model knows: the parts add up to the sum of their
    /// latencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waited: Vec<WaitPart>,
}

/// What a series of intervals shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The kind of change.
    pub kind: ChangeKind,
    /// When, from the start of the phase.
    pub t_ns: Nanos,
    /// Bytes written by then.
    pub written_bytes: Bytes,
    /// Throughput before and after, if it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_sec: Option<(f64, f64)>,
    /// The period of periodic stalls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<Nanos>,
    /// In words, with the numbers.
    pub detail: String,
}

/// The kinds of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Throughput fell once and stayed low: a write cache was exhausted.
    CacheExhausted,
    /// Throughput fell while the device was hot, or came back when it cooled.
    Throttled,
    /// Stalls at a regular distance.
    PeriodicStalls,
    /// Throughput fell for another reason.
    Slower,
    /// Throughput rose.
    Faster,
    /// Five rounds within 20 % and a slope within 10 % (SNIA).
    SteadyState,
    /// The phase ended before it was steady.
    NotSteady,
}

/// Saves that made a file grow need a commit of the filesystem; they are counted separately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// Saves after which the database or its journal was larger.
    pub grew: GrowthPart,
    /// Saves that stayed within allocated space.
    pub in_place: GrowthPart,
}

/// One side of [`Growth`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GrowthPart {
    /// How many.
    pub ops: u64,
    /// Their latency.
    pub latency_ns: LatencySummary,
    /// Its histogram.
    pub histogram: StoredHistogram,
}

/// What a phase is a replay of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Replayed {
    /// SHA-256 of the trace's file: runs with the same hash did the same operations.
    pub trace_sha256: String,
    /// The kind of the trace's source.
    pub source: TraceSourceKind,
    /// The layer of the operations.
    pub level: ReplayLevel,
    /// When operations began.
    pub pace: ReplayPace,
    /// For a paced replay: the time within which all operations were due. Operations that began
    /// more than a frame (16.67 ms) late are the phase's missed slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_ns: Option<Nanos>,
    /// What the same operations took when the trace was recorded, if the trace says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced_ns: Option<LatencySummary>,
    /// Its histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced_histogram: Option<StoredHistogram>,
    /// For recognised transactions: their number in the trace, by journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<TraceTransactions>,
}
