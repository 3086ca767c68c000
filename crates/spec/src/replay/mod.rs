//! Replays of traces: the operations to repeat, in a form that can be sent to another process.

mod op;

use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::scenario::ReplayFacts;
use crate::words::{TraceFileKind, TraceSourceKind};

pub use crate::words::{ReplayKind, ReplayLevel, ReplayPace};
pub use op::{ReplayCall, ReplayOp};

/// No block request of a replay is larger: larger ones of a trace are split, as a kernel splits
/// them.
pub const LARGEST_REQUEST: Bytes = Bytes::from_mib(1);

/// The operations of a trace, ready to be repeated, without any path of the traced machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayStream {
    /// SHA-256 of the trace's file.
    pub sha256: String,
    pub source: TraceSourceKind,
    /// The layer of the operations.
    pub level: ReplayLevel,
    /// Threads of the operations; one for block requests.
    pub threads: u32,
    /// The files of system calls.
    pub files: Vec<ReplayFile>,
    /// Space that the files of system calls need at most.
    pub room: Bytes,
    /// The space of addresses of block requests.
    pub span: Bytes,
    /// The operations by time; those of one thread in their order.
    pub ops: Vec<ReplayOp>,
    /// Recognised transactions, by their first operation.
    pub saves: Vec<ReplaySave>,
    /// What was left out of the trace or changed, for the reader.
    pub notes: Vec<String>,
}

/// A file of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayFile {
    /// The size that the file must have had before the trace; absent if it did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Bytes>,
    /// The kind, which determines the ending of the file's name in flashlag's directory.
    #[serde(default)]
    pub kind: TraceFileKind,
}

impl ReplayFile {
    /// The name of the file with this index: flashlag's own name, whatever the trace says.
    pub fn name(&self, index: usize) -> String {
        let ending = match self.kind {
            TraceFileKind::Database => "db",
            TraceFileKind::Journal => "db-journal",
            TraceFileKind::Wal => "db-wal",
            TraceFileKind::WalIndex => "db-shm",
            TraceFileKind::Directory | TraceFileKind::NotStorage | TraceFileKind::Other => "dat",
        };
        format!("replay{index}.{ending}")
    }
}

/// A transaction of a trace: operations of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplaySave {
    /// Index of the first operation.
    pub first: u32,
    /// Index of the operation that makes the transaction durable.
    pub last: u32,
    /// Whether a write-ahead log holds the transaction; else a rollback journal does.
    #[serde(default)]
    pub log: bool,
}

/// Recognised SQLite transactions of a trace, by their journals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TraceTransactions {
    /// Through a rollback journal.
    pub rollback: u64,
    /// Through a write-ahead log (WAL).
    pub log: u64,
}

impl ReplayStream {
    /// The recognised transactions by their journals; `None` without any.
    pub fn transactions(&self) -> Option<TraceTransactions> {
        let log = self.saves.iter().filter(|save| save.log).count() as u64;
        let all = self.saves.len() as u64;
        (all > 0).then_some(TraceTransactions { rollback: all.saturating_sub(log), log })
    }

    /// Bytes that the operations write.
    pub fn written(&self) -> Bytes {
        let writes = self.ops.iter().filter(|op| op.call.kind() == ReplayKind::Write);
        writes.fold(Bytes::ZERO, |sum, op| Bytes(sum.0.saturating_add(op.bytes)))
    }

    /// Bytes written before the first operation, to give the files their contents before the trace.
    pub fn laid_out(&self) -> Bytes {
        let before = self.files.iter().filter_map(|file| file.before);
        let files = before.fold(Bytes::ZERO, |sum, size| Bytes(sum.0.saturating_add(size.0)));
        files.max(self.span)
    }

    /// Whether every number in the operations is that of an existing thread, file or operation.
    /// Checked before a replay, since another process may have sent them.
    pub fn is_whole(&self) -> bool {
        let file = |index: u64| index < self.files.len() as u64;
        let known = |op: &ReplayOp| {
            let target = op.call != ReplayCall::Rename || file(op.offset);
            let has_file = match self.level {
                ReplayLevel::Calls => op.call.has_file(),
                ReplayLevel::Blocks => false,
            };
            op.thread < self.threads.max(1) && target && (!has_file || file(u64::from(op.file)))
        };
        let count = self.ops.len();
        let saves = self.saves.iter().all(|save| (save.last as usize) < count);
        saves && self.ops.iter().all(known)
    }

    /// The trace's data for the test that replays it.
    pub fn facts(&self) -> ReplayFacts {
        ReplayFacts {
            level: self.level,
            laid_out: self.laid_out(),
            room: self.room.max(self.span),
            written: self.written(),
            lasts: self.lasts(),
            ops: self.ops.len() as u64,
        }
    }

    /// When the last operation is due, counted from the first.
    pub fn lasts(&self) -> Nanos {
        self.ops.last().map(|op| op.at).unwrap_or_default()
    }
}
