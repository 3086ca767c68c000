//! Who writes and who waits: the totals of a trace.

use flashlag_spec::TraceFileKind;
use flashlag_spec::scenario::JournalMode;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::beside::TraceRun;
use super::frames::TraceFrames;
use super::stalls::TraceStalls;
use super::{TraceSaves, TraceSource};
use crate::{LatencySummary, StoredHistogram};

/// A trace added up by thread and file, by database and by layer. What the trace's source does not
/// record is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceLedger {
    /// Where the events come from, and what that source can't see.
    pub source: TraceSource,
    pub events: u64,
    /// What each thread did to each file, most bytes first: bytes at the device, or those of system
    /// calls if the former are unknown.
    pub writers: Vec<TraceWriter>,
    /// The databases that SQLite wrote to, most commits first.
    pub databases: Vec<TraceDatabase>,
    /// Saves without SQLite by thread and file, most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saves: Vec<TraceSaves>,
    /// Writes at each layer.
    pub layers: TraceLayers,
    /// The block devices with requests, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<TraceDeviceUse>,
    /// fsyncs, commits of the filesystem and block requests that took far longer than usual.
    pub stalls: TraceStalls,
    /// Late frames of user interfaces; absent if the source records no frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<TraceFrames>,
    /// What happened while a run measured; absent without a run beside the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<TraceRun>,
}

/// The requests to one block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceDeviceUse {
    pub name: String,
    /// The devices that this one passes its requests to; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Vec<String>>,
    /// Whether its requests are in the totals of the layers. If a device passes requests to another
    /// one in the trace, its own are not: a byte counts once, at the lowest device.
    pub counted: bool,
    /// Write requests.
    pub writes: TraceWrites,
    /// Read requests.
    pub reads: TraceWrites,
    pub discards: TraceWrites,
    /// Flushes of the device's write cache, including those before a write.
    pub flushes: u64,
}

/// What one thread did to one file, or to one kind of blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceWriter {
    /// The process's name; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// The process's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The thread's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The thread's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// Whether this is the main thread of its process, for which a user waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main: Option<bool>,
    /// The file's path, or how else the source identifies files: `inode 12 of 8,1`, `descriptor
    /// 36`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub kind: TraceWrittenKind,
    /// Writes by system calls; absent if the source does not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<TraceWrites>,
    /// fsyncs and fdatasyncs; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs: Option<TraceSyncs>,
    /// Write requests to block devices; absent if the source does not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<TraceWrites>,
    /// Number of changes seen, for a source that does not see the writes themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<u64>,
    /// What the process wrote to all its files, by its counters: write calls to any file, and bytes
    /// sent to disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<TraceWrites>,
}

/// What is written.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum TraceWrittenKind {
    /// An SQLite database.
    Database,
    /// A rollback journal of SQLite.
    Journal,
    /// A write-ahead log of SQLite.
    Wal,
    /// The index of a write-ahead log.
    WalIndex,
    Directory,
    /// Any other file.
    Other,
    /// All files of a process together.
    All,
    /// The journal of the filesystem, or its checkpoints.
    FilesystemJournal,
    FilesystemMetadata,
    /// Discarded blocks (TRIM).
    Discard,
    /// Blocks of unknown content.
    #[default]
    Blocks,
}

impl From<TraceFileKind> for TraceWrittenKind {
    fn from(kind: TraceFileKind) -> TraceWrittenKind {
        match kind {
            TraceFileKind::Database => TraceWrittenKind::Database,
            TraceFileKind::Journal => TraceWrittenKind::Journal,
            TraceFileKind::Wal => TraceWrittenKind::Wal,
            TraceFileKind::WalIndex => TraceWrittenKind::WalIndex,
            TraceFileKind::Directory => TraceWrittenKind::Directory,
            TraceFileKind::NotStorage | TraceFileKind::Other => TraceWrittenKind::Other,
        }
    }
}

/// Writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceWrites {
    pub count: u64,
    pub bytes: Bytes,
}

/// fsyncs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSyncs {
    /// Number of fsyncs, including those of unknown duration.
    pub count: u64,
    /// The sum of all known durations.
    pub waited_ns: Nanos,
    /// Their latency; absent if no duration is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<LatencySummary>,
    /// All lengths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<StoredHistogram>,
}

/// A database of SQLite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceDatabase {
    /// The path, or how else the source identifies the file.
    pub file: String,
    /// The journal mode of most commits; absent if the source does not show how they end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_mode: Option<JournalMode>,
    /// Whether the mode was inferred from what the trace lacks, and not from what it shows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mode_inferred: bool,
    /// Transactions that were committed.
    pub commits: u64,
    /// Commits a second, over the length of the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits_per_sec: Option<f64>,
    /// Transactions that began in the journal but changed nothing in the database.
    pub rolled_back: u64,
    /// Bytes of a write-ahead log that no fsync followed: from commits that can't be counted.
    pub unsynced_bytes: Bytes,
    /// fsyncs of the commits.
    pub syncs: u64,
    /// Bytes that SQLite wrote in the commits: journal or log, and database.
    pub bytes: Bytes,
    /// Bytes of the pages that the commits changed.
    pub page_bytes: Bytes,
    /// Block writes by the commits' threads and by the filesystem's journal during the commits;
    /// absent if the source does not record block requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<TraceWrites>,
    /// Time from a commit's first write to the end of its last fsync; absent if durations of fsyncs
    /// are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<LatencySummary>,
    /// All of these times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<StoredHistogram>,
    /// Commits in which a frame of the app was late by waits for storage: its user saw them. Absent
    /// if no frames are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub janks: Option<u64>,
}

/// Writes at each layer: the ratio of two is the write amplification between them. A layer that the
/// source does not record is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TraceLayers {
    /// Pages that transactions of SQLite changed; only of commits that were recognized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<TraceWrites>,
    /// Writes by system calls in those commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<TraceWrites>,
    /// All writes by system calls to storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<TraceWrites>,
    /// fsyncs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syncs: Option<u64>,
    /// Commits of a journal and checkpoints of the filesystem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem_commits: Option<u64>,
    /// Write requests to block devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<TraceWrites>,
    /// Of these, the filesystem's journal, its checkpoints and metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<TraceWrites>,
    /// Read requests to block devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_reads: Option<TraceWrites>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discards: Option<TraceWrites>,
    /// Flushes of the device's write cache, including those before a write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
}
