use std::collections::BTreeMap;

use flashlag_units::{Bytes, Nanos, Text};
use serde::{Deserialize, Serialize};

use super::card::Card;
use super::file_save::FileSave;
use super::pace::{Arrivals, SavePace, hundred_bytes, is_one, one, yes};
use super::replay::Replay;
use crate::words::{Durability, EngineKind, Pattern, State};

/// A scenario with its settings applied and its matrices expanded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    pub name: String,
    /// A description, in a line.
    pub about: String,
    /// Assumptions without a source.
    pub assumptions: Vec<String>,
    /// Settings in force, as text.
    #[serde(skip)]
    pub settings: BTreeMap<String, String>,
    /// The file as it was read, before settings were applied.
    #[serde(skip)]
    pub text: String,
    pub tests: BTreeMap<String, Test>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// What its figures must reach where it asks whether a storage is good enough for a purpose. No part of the
    /// canonical form: it changes nothing of what is done.
    #[serde(skip)]
    pub requirements: Vec<Requirement>,
}

/// A figure that a storage must reach to be good enough for the purpose that a scenario is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// A test and its figure, as `--fail-if` names them: `append.p99`.
    pub figure: String,
    /// What it must not cross.
    pub limit: Limit,
    /// Who published the limit, and where.
    pub source: String,
}

/// A limit as it was written, in the unit of its figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The most that the figure may be: `10ms`.
    AtMost(String),
    /// The least that it must be: `1500` operations, or `10MB`, a second.
    AtLeast(String),
}

/// A test: block I/O, saves, a card or a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Block I/O.
    Io(Io),
    /// SQLite transactions.
    Save(Save),
    /// Saves of a file.
    FileSave(FileSave),
    /// A trace.
    Replay(Replay),
    /// A card that is asked whether it is what it says.
    Card(Card),
}

/// Block I/O over a span of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Io {
    /// Its name in the run file: `rand_write_4k`. A mixed test is there twice, as `NAME_read` and
    /// `NAME_write`.
    pub name: String,
    /// Read, write or both.
    pub operation: IoOperation,
    /// With `operation = "mixed"`: the percentage of reads. Each operation is drawn by itself, from
    /// the seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "json-schema", schemars(range(min = 1, max = 99)))]
    pub read_percent: Option<u32>,
    /// The order of addresses.
    pub pattern: Pattern,
    /// Bytes for each operation: a multiple of 512 B, at most 64 MiB.
    pub block: Text<Bytes>,
    /// The span of addresses, in bytes. Not for a fill, which uses all free space.
    #[serde(default)]
    pub span: Option<Text<Bytes>>,
    /// Where in the file under test its addresses begin; at its start if absent. Tests whose spans
    /// do not overlap use separate data. A multiple of 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Text<Bytes>>,
    /// Ends after this many bytes.
    #[serde(default)]
    pub bytes: Option<Text<Bytes>>,
    /// Ends after this long (but see `min_ops`).
    #[serde(default)]
    pub time: Option<Text<Nanos>>,
    /// If fewer operations were done within `time`, the test continues, up to four times as long.
    #[serde(default)]
    pub min_ops: Option<u64>,
    /// Not counted at the start.
    #[serde(default)]
    pub warmup: Option<Text<Nanos>>,
    /// A condition for the end, besides the limits above.
    #[serde(default)]
    pub until: Until,
    /// With `until = "steady"`: continues until it has moved this much, steady or not. A write
    /// cache looks steady until it is used up.
    // Omitted from the canonical form if absent, as every later field must be, so that the hashes
    // of older scenarios do not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Text<Bytes>>,
    /// Operations in flight; with several threads, in each of them.
    #[serde(default = "one")]
    #[cfg_attr(feature = "json-schema", schemars(range(min = 1, max = 256)))]
    pub queue_depth: u32,
    /// Number of threads, each with its own addresses, schedule and device. Limits and `arrivals`
    /// apply to all threads together.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[cfg_attr(feature = "json-schema", schemars(range(min = 1, max = 64), extend("default" = 1)))]
    pub threads: u32,
    /// The part of the span that each of several threads uses.
    #[serde(default, skip_serializing_if = "ThreadSpans::is_default")]
    #[cfg_attr(feature = "json-schema", schemars(extend("default" = "disjoint")))]
    pub thread_spans: ThreadSpans,
    /// How each write is made durable; `fdatasync` and `fsync` are separate calls after it.
    #[serde(default)]
    pub durable: Durability,
    /// Whether the page cache is bypassed.
    #[serde(default = "yes")]
    pub direct: bool,
    /// What does the I/O.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(extend("x-without" = ["sqlite", "fio"])))]
    pub engine: EngineKind,
    /// When operations begin.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Time that the app spends on something else after each operation, before the next begins in
    /// its slot. In no latency, but in the elapsed time and in the rates. Not with `arrivals`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Text<Nanos>>,
    /// The name of an `[[io]]` that runs in parallel.
    #[serde(default)]
    pub background: Option<String>,
    /// Whether its file is rewritten before the test begins.
    #[serde(default)]
    pub fresh: bool,
    /// Whether its file is a separate one that grew 4 KiB at a time, each made durable, alternating
    /// with a second file, as databases and logs grow beside one another: it has as many fragments
    /// as the filesystem makes of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "json-schema", schemars(extend("default" = false)))]
    pub grown: bool,
    /// Whether only the state that it leaves matters, as for a fill: the time of a virtual device
    /// may run faster meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "json-schema", schemars(extend("default" = false)))]
    pub prepares: bool,
}

impl Io {
    /// The offset in the file under test at which its addresses begin.
    pub fn begin(&self) -> Bytes {
        self.offset.map(|offset| offset.0).unwrap_or_default()
    }

    /// Operations in flight, over all threads.
    pub fn in_flight(&self) -> u32 {
        self.queue_depth.max(1).saturating_mul(self.threads.max(1))
    }

    /// The names of its phases in the run file: one, or for a mixed test that of its reads and that
    /// of its writes.
    pub fn phase_names(&self) -> Vec<String> {
        match self.operation {
            IoOperation::Read | IoOperation::Write => vec![self.name.clone()],
            IoOperation::Mixed => {
                vec![format!("{}_read", self.name), format!("{}_write", self.name)]
            }
        }
    }

    /// Size of the file under test that the test needs; 0 for a fill.
    pub fn end(&self) -> Bytes {
        self.span.map_or(Bytes::ZERO, |span| self.begin().plus(span.0))
    }
}

/// SQLite transactions on a database of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Save {
    /// Its name in the run file: `save_wal`.
    pub name: String,
    /// What each save does.
    pub statement: Statement,
    /// SQLite's journal mode.
    pub journal: JournalMode,
    /// SQLite's `synchronous`.
    pub synchronous: Synchronous,
    /// The system call by which SQLite makes a file durable.
    #[serde(default, skip_serializing_if = "SyncCall::is_default")]
    pub sync_call: SyncCall,
    /// Whether SQLite commits by F2FS's batch atomic writes; if absent, by the target's option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atomic: Option<bool>,
    /// Number of pages in a write-ahead log at which a save does a checkpoint; SQLite's 1000 if
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wal_autocheckpoint: Option<u32>,
    /// The size to which a remaining journal or log is truncated; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_size_limit: Option<Text<Bytes>>,
    /// Statements in one transaction, each on another row.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub statements: u32,
    /// Bytes of content in a row.
    #[serde(default = "hundred_bytes")]
    pub row: Text<Bytes>,
    /// Rows in each database before the first save.
    #[serde(default)]
    pub rows: u64,
    /// Databases changed by one save, one transaction each.
    #[serde(default = "one")]
    pub databases: u32,
    /// Ends after this many saves.
    #[serde(default)]
    pub saves: Option<u64>,
    /// Ends after this long (but see `min_saves`).
    #[serde(default)]
    pub time: Option<Text<Nanos>>,
    /// If fewer saves were done within `time`, the test continues, up to four times as long.
    #[serde(default)]
    pub min_saves: Option<u64>,
    /// When saves begin.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Time that the app spends on something else after each save.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Text<Nanos>>,
    /// The name of an `[[io]]` that runs in parallel.
    #[serde(default)]
    pub background: Option<String>,
}

impl Save {
    /// When its saves begin and when they end.
    pub fn pace(&self) -> SavePace {
        SavePace {
            saves: self.saves,
            time: self.time.map(|time| time.0),
            min_saves: self.min_saves,
            think: self.think.map(|think| think.0).unwrap_or_default(),
            arrivals: self.arrivals,
        }
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Runs tests, in order, and this `repeat` times.
    Measure {
        tests: Vec<String>,
        /// The state of the device at this step.
        state: State,
        /// Number of repeats, counted by `run` from 1.
        repeat: u32,
    },
    /// Writes until only `--leave` is free.
    Fill {
        /// The name of the `[[io]]` that fills.
        test: String,
        /// Another directory to fill; if absent, the one under test.
        directory: Option<String>,
    },
    /// Deletes what fills wrote.
    Delete,
    /// Tells the device which blocks are free (`fstrim`).
    Trim,
    /// Waits.
    Idle {
        /// How long.
        time: Text<Nanos>,
    },
}

/// Read, write or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IoOperation {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes: `read_percent` of them are reads.
    Mixed,
}

impl IoOperation {
    /// Whether any of it writes.
    pub fn writes(self) -> bool {
        self != IoOperation::Read
    }
}

/// The part of a span that each of several threads uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ThreadSpans {
    /// An equal part for each thread.
    #[default]
    Disjoint,
    /// The whole for each thread; ascending ones begin at equal distances.
    Shared,
    /// The whole for each thread, from its start, as jobs of fio without an offset.
    Same,
}

impl ThreadSpans {
    fn is_default(&self) -> bool {
        *self == ThreadSpans::default()
    }
}

/// When a test ends, besides its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// At its limits.
    #[default]
    Limits,
    /// At steady state (SNIA: five rounds, range within 20 %, slope within 10 %), or at its limits.
    Steady,
}

/// What a save does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Statement {
    /// Adds a row.
    Insert,
    /// Changes a row.
    Update,
    /// Removes a row.
    Delete,
}

/// SQLite's journal modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JournalMode {
    /// Rollback journal, deleted at every commit: SQLite's default.
    Delete,
    /// Rollback journal, truncated.
    Truncate,
    /// Rollback journal, its header zeroed.
    Persist,
    /// Write-ahead log.
    Wal,
    /// Rollback journal in memory.
    Memory,
    /// None.
    Off,
}

/// SQLite's `synchronous`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Synchronous {
    /// As `full`; and if a commit is the deletion of a rollback journal, the deletion is made
    /// durable as well.
    Extra,
    /// Every commit is durable once the device has stored the written data: the deletion of a
    /// rollback journal may not have reached it.
    Full,
    /// In WAL mode a commit is durable only after the next checkpoint.
    Normal,
}

/// The system call by which SQLite makes a file durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SyncCall {
    /// `fdatasync`, as Android and most distributions build SQLite (`HAVE_FDATASYNC`).
    #[default]
    Fdatasync,
    /// `fsync`, as SQLite is built without options: also commits the file's times.
    Fsync,
}

impl SyncCall {
    fn is_default(&self) -> bool {
        *self == SyncCall::default()
    }

    /// The same call as the durability of a phase.
    pub fn durability(self) -> Durability {
        match self {
            SyncCall::Fdatasync => Durability::Fdatasync,
            SyncCall::Fsync => Durability::Fsync,
        }
    }
}

impl Test {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Test::Io(io) => &io.name,
            Test::Save(save) => &save.name,
            Test::FileSave(save) => &save.name,
            Test::Replay(replay) => &replay.name,
            Test::Card(card) => &card.name,
        }
    }

    /// The names of its phases in the run file.
    pub fn phase_names(&self) -> Vec<String> {
        match self {
            Test::Io(io) => io.phase_names(),
            Test::Save(save) => vec![save.name.clone()],
            Test::FileSave(save) => vec![save.name.clone()],
            Test::Replay(replay) => replay.phase_names(),
            Test::Card(card) => vec![card.write_phase(), card.read_phase()],
        }
    }

    /// The name of what runs beside it.
    pub fn background(&self) -> Option<&str> {
        match self {
            Test::Io(io) => io.background.as_deref(),
            Test::Save(save) => save.background.as_deref(),
            Test::FileSave(save) => save.background.as_deref(),
            Test::Replay(_) | Test::Card(_) => None,
        }
    }
}
