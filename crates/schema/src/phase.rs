use flashlag_units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::{LatencySummary, StoredHistogram};
use crate::reading::Reading;
use crate::scenario::{Durability, EngineKind};

/// One measured stretch of one workload: what was asked, what was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The test's name in the scenario: `rand_write_4k`.
    pub name: String,
    /// Where the device was in its life.
    pub state: State,
    /// Which repetition within that state, from 1.
    pub run: u32,
    /// What was done.
    pub operation: Operation,
    /// Bytes for each operation; a page for saves.
    pub block_bytes: Bytes,
    /// Addresses were drawn from this many bytes.
    pub span_bytes: Bytes,
    /// Operations in flight, in each thread.
    pub queue_depth: u32,
    /// Threads that did it side by side.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub threads: u32,
    /// Where it is one half of a test that read and wrote: which share of its operations read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixed: Option<Mixed>,
    /// How each operation was made durable.
    pub durable: Durability,
    /// Whether the page cache was bypassed.
    pub direct: bool,
    /// What did the I/O.
    pub engine: EngineKind,
    /// `true` where the next operation waits for the last; `false` where a schedule says when.
    pub closed_loop: bool,
    /// The name of the workload that ran beside it, if one did; of a mixed test its other half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<String>,
    /// When it began, from the start of the run.
    pub began_ns: Nanos,
    /// Operations done.
    pub ops: u64,
    /// Bytes moved by them.
    pub bytes: Bytes,
    /// How long it took, final flush included.
    pub elapsed_ns: Nanos,
    /// `ops / elapsed`.
    pub ops_per_sec: f64,
    /// `bytes / elapsed`.
    pub bytes_per_sec: f64,
    /// From handing the operation to the device until it was done.
    pub latency_ns: LatencySummary,
    /// Its histogram.
    pub histogram: StoredHistogram,
    /// The flush's part, where the flush is a call of its own.
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
    /// Where the measuring thread's time went; of several threads, the sum. The halves of a mixed test
    /// share it.
    pub time: Reading<Time>,
    /// The same by latency, from sampled operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitRecord>,
    /// What it cost, layer by layer.
    pub ledger: Ledger,
    /// The same test, for a moment, on a device that takes no time: what the software takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
    /// How it went over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<IntervalRecord>,
    /// The longest stalls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<StallRecord>,
    /// How many stalls there were in all, and beyond what length.
    pub stalls_seen: u64,
    /// A wait longer than this is a stall.
    pub stall_over_ns: Nanos,
    /// What the interval series shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// For saves: those that made the database or its journal grow, and those that did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// For saves: how many were late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<Lag>,
    /// `true` where it ended before its time: a signal, an error, no space.
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

    /// Operations in flight, of all threads together.
    pub fn in_flight(&self) -> u32 {
        self.queue_depth.max(1).saturating_mul(self.threads.max(1))
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

/// What a half of a mixed test says of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mixed {
    /// How many in a hundred operations of the test read, on average.
    pub read_percent: u32,
}

/// Where the device is in its life.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As it was found.
    #[default]
    New,
    /// After a fill.
    Filled,
    /// After the fill was deleted.
    Deleted,
    /// After the free space was trimmed.
    Trimmed,
    /// After an idle wait.
    Idle,
}

impl State {
    /// A test's name that is unique in a run: `new: rand_write_4k`, `filled 2: rand_write_4k`.
    pub fn label(self, run: u32, test: &str) -> String {
        match self {
            State::New => format!("new: {test}"),
            state => format!("{} {run}: {test}", state.name()),
        }
    }

    /// As it is written in files.
    pub fn name(self) -> &'static str {
        match self {
            State::New => "new",
            State::Filled => "filled",
            State::Deleted => "deleted",
            State::Trimmed => "trimmed",
            State::Idle => "idle",
        }
    }
}

/// What a phase did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Reads at ascending addresses.
    SequentialRead,
    /// Writes at ascending addresses.
    SequentialWrite,
    /// Reads at random addresses.
    RandomRead,
    /// Writes at random addresses.
    RandomWrite,
    /// SQLite transactions.
    Save,
}

fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

/// Where a thread's time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Time {
    /// Executing.
    pub on_cpu_ns: Nanos,
    /// Able to run, but no CPU was free.
    pub runnable_ns: Nanos,
    /// Asleep until something completed.
    pub blocked_ns: Nanos,
}

/// Sampled operations of one power of two of latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ledger {
    /// What the application wanted written: rows for saves, payload otherwise.
    pub app_bytes: Reading<Bytes>,
    /// Bytes in write (for reads: read) system calls.
    pub syscall_bytes: Reading<Bytes>,
    /// Bytes that reached the block device from this process (`/proc/self/io`).
    pub storage_bytes: Reading<Bytes>,
    /// Bytes written (for reads: read) by everyone at the block device.
    pub block_bytes: Reading<Bytes>,
    /// Write (for reads: read) requests at the block device.
    pub block_writes: Reading<u64>,
    /// Flushes at the block device.
    pub flushes: Reading<u64>,
    /// Bytes the flash itself programmed, where it tells.
    pub device_bytes: Reading<Bytes>,
    /// Writes at the block device by what they were for; only where each of them was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<BlockKinds>,
}

/// Writes at the block device, by what they were for. A request that holds several kinds counts
/// for its first; bytes are counted each for its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockKinds {
    /// Contents of files.
    pub data: KindCount,
    /// The filesystem's own log.
    pub journal: KindCount,
    /// All else of the filesystem: inodes, maps, directories, checkpoints.
    pub metadata: KindCount,
}

/// One kind of [`BlockKinds`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
            bytes: self.bytes.minus(before.bytes),
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

/// What the software alone takes: below this no device could make it faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Its histogram, so that neighbours can be joined.
    pub histogram: StoredHistogram,
}

/// One long wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StallRecord {
    /// When it began, from the start of the phase.
    pub t_ns: Nanos,
    /// How long it was.
    pub ns: Nanos,
    /// What it waited for, most of the time.
    pub cause: StallCause,
    /// Where its time went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
}

/// What a stall waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallCause {
    /// More than half of it blocked on storage.
    Storage,
    /// More than half of it waiting for a CPU.
    Cpu,
    /// More than half of it executing.
    Executing,
    /// No part has more than half.
    Mixed,
    /// The split could not be read.
    Unknown,
}

/// What a series of intervals shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What it is.
    pub kind: ChangeKind,
    /// When, from the start of the phase.
    pub t_ns: Nanos,
    /// How much had been written by then.
    pub written_bytes: Bytes,
    /// Throughput before and after, where it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_sec: Option<(f64, f64)>,
    /// The period of periodic stalls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<Nanos>,
    /// In words, with the numbers.
    pub detail: String,
}

/// The kinds of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Saves that made a file grow cost a commit of the filesystem's own; these are kept apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// Saves after which the database or its journal was larger.
    pub grew: GrowthPart,
    /// Saves that stayed within what was allocated.
    pub in_place: GrowthPart,
}

/// One side of [`Growth`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrowthPart {
    /// How many.
    pub ops: u64,
    /// Their latency.
    pub latency_ns: LatencySummary,
    /// Its histogram.
    pub histogram: StoredHistogram,
}

/// How many saves were longer than a person's patience. A budget to compare devices by: an app's
/// animations do not run on the thread that saves, so these are not dropped frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lag {
    /// Saves in all.
    pub saves: u64,
    /// Longer than 16.67 ms.
    pub over_60hz: u64,
    /// Longer than 11.11 ms.
    pub over_90hz: u64,
    /// Longer than 8.33 ms.
    pub over_120hz: u64,
    /// Longer than 100 ms.
    pub over_100ms: u64,
    /// Longer than 700 ms, a frozen frame.
    pub over_700ms: u64,
    /// Longer than 5 s, an ANR.
    pub over_5s: u64,
}

impl Lag {
    /// One frame at 60 Hz.
    pub const FRAME_60HZ: Nanos = Nanos(16_666_667);
    /// One frame at 90 Hz.
    pub const FRAME_90HZ: Nanos = Nanos(11_111_111);
    /// One frame at 120 Hz.
    pub const FRAME_120HZ: Nanos = Nanos(8_333_333);

    /// Counted from a histogram: a bucket is over a limit where its middle is.
    pub fn of(histogram: &flashlag_stats::Histogram) -> Lag {
        Lag {
            saves: histogram.count(),
            over_60hz: histogram.count_over(Lag::FRAME_60HZ),
            over_90hz: histogram.count_over(Lag::FRAME_90HZ),
            over_120hz: histogram.count_over(Lag::FRAME_120HZ),
            over_100ms: histogram.count_over(Nanos::from_millis(100)),
            over_700ms: histogram.count_over(Nanos::from_millis(700)),
            over_5s: histogram.count_over(Nanos::from_secs(5)),
        }
    }

    /// The sum, field by field; saturates.
    pub fn plus(self, other: Lag) -> Lag {
        Lag {
            saves: self.saves.saturating_add(other.saves),
            over_60hz: self.over_60hz.saturating_add(other.over_60hz),
            over_90hz: self.over_90hz.saturating_add(other.over_90hz),
            over_120hz: self.over_120hz.saturating_add(other.over_120hz),
            over_100ms: self.over_100ms.saturating_add(other.over_100ms),
            over_700ms: self.over_700ms.saturating_add(other.over_700ms),
            over_5s: self.over_5s.saturating_add(other.over_5s),
        }
    }
}

/// What a clean-up removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cleaned {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: Bytes,
}
