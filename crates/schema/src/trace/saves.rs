//! Saves without SQLite in a trace.

use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::{LatencySummary, StoredHistogram};

/// How a file was made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceSaveKind {
    /// Android's `SharedPreferences`: as `Backup`, in a directory `shared_prefs`.
    SharedPreferences,
    /// Android's `AtomicFile`: `.new` is renamed over the file, or before Android 11 as `Backup`.
    AtomicFile,
    /// `androidx.datastore`: `.tmp` is renamed over the file.
    Datastore,
    /// The old file is renamed, the new one is written under its name, and the old one is removed.
    Backup,
    /// A new file is written and renamed over the old one.
    Rename,
    /// Bytes are appended to a file.
    AppendLog,
    /// A file is written over, or is new.
    InPlace,
    /// The source does not show how.
    Unknown,
}

/// The saves of one file by one thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSaves {
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
    /// The file that is saved: its path, or how else the source identifies it.
    pub file: String,
    pub kind: TraceSaveKind,
    /// Saves that an fsync or fdatasync made durable.
    pub saves: u64,
    /// Files that were replaced without any sync: not among the saves, and durable whenever the
    /// filesystem writes them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unsynced: u64,
    /// Syncs of the saves, those of directories too.
    pub syncs: u64,
    /// Bytes that the saves wrote.
    pub bytes: Bytes,
    /// What the thread waited: the durations of the calls of each save, from the first to the last.
    /// Absent if the source does not have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<TraceSaveWaits>,
    /// Saves that another one of the same file followed within a frame (16.7 ms).
    #[serde(default, skip_serializing_if = "is_none")]
    pub followed: u64,
}

/// How long saves took for the thread that made them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSaveWaits {
    /// All waits together.
    pub waited_ns: Nanos,
    pub latency_ns: LatencySummary,
    /// All waits.
    pub histogram: StoredHistogram,
    /// Saves that took longer than a frame at 60 Hz.
    pub over_frame: u64,
    /// Saves in which a frame of the app was late by waits for storage: its user saw them. Absent if
    /// no frames are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub janks: Option<u64>,
    /// Saves that took longer than 5 s: Android shows "isn't responding" after that.
    pub over_5s: u64,
    /// The waits of those that were followed within a frame.
    pub followed_ns: Nanos,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}
