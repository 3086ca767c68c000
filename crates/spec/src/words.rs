//! Words that requests and results share. Their names are part of both formats.

use serde::{Deserialize, Serialize};

/// The state of the device: its place in the life cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The state in which the run found the device.
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

    /// The word in files.
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

/// The kind of operations of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
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
    /// Reads of a trace.
    ReplayRead,
    /// Writes of a trace.
    ReplayWrite,
    /// Syncs and flushes of a trace.
    ReplaySync,
    /// Opens, creations, truncations, renames and unlinks of files.
    ReplayNames,
    /// Discards of a trace.
    ReplayDiscard,
}

impl Operation {
    /// `random_write`, as in the run file.
    pub fn name(self) -> &'static str {
        match self {
            Operation::SequentialRead => "sequential_read",
            Operation::SequentialWrite => "sequential_write",
            Operation::RandomRead => "random_read",
            Operation::RandomWrite => "random_write",
            Operation::Save => "save",
            Operation::ReplayRead => "replay_read",
            Operation::ReplayWrite => "replay_write",
            Operation::ReplaySync => "replay_sync",
            Operation::ReplayNames => "replay_names",
            Operation::ReplayDiscard => "replay_discard",
        }
    }

    /// Whether a phase of this operation is a part of a replayed trace: of calls or requests of all sizes, at
    /// the trace's addresses. Replayed transactions are saves.
    pub fn is_replay(self) -> bool {
        matches!(
            self,
            Operation::ReplayRead
                | Operation::ReplayWrite
                | Operation::ReplaySync
                | Operation::ReplayNames
                | Operation::ReplayDiscard
        )
    }

    /// Whether a phase of this operation is a test of block I/O: of one size, in one order.
    pub fn is_block_test(self) -> bool {
        self != Operation::Save && !self.is_replay()
    }

    /// Whether bytes a second say anything of a phase of this operation.
    pub fn moves_bytes(self) -> bool {
        self.is_block_test() || matches!(self, Operation::ReplayRead | Operation::ReplayWrite)
    }

    /// Whether a phase of this operation wrote blocks of its own. Saves write through SQLite, whose
    /// bytes are not the phase's.
    pub fn writes_blocks(self) -> bool {
        matches!(self, Operation::SequentialWrite | Operation::RandomWrite)
    }
}

/// The order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Ascending, from the start again at the end.
    Sequential,
    /// Uniform over the span. In a fill, each block once.
    Random,
}

/// How a write is made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Not at all, or once at the end.
    #[default]
    None,
    /// `write`, then `fdatasync`.
    Fdatasync,
    /// `write`, then `fsync`.
    Fsync,
    /// The file is open with `O_DSYNC`.
    Dsync,
    /// `pwritev2` with `RWF_DSYNC`.
    RwfDsync,
}

impl Durability {
    /// `rwf_dsync`, as in the run file.
    pub fn name(self) -> &'static str {
        match self {
            Durability::None => "none",
            Durability::Fdatasync => "fdatasync",
            Durability::Fsync => "fsync",
            Durability::Dsync => "dsync",
            Durability::RwfDsync => "rwf_dsync",
        }
    }
}

/// The program or system calls that do the I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// `pread` and `pwrite` at depth 1, io_uring above.
    #[default]
    Auto,
    /// `pread` and `pwrite`.
    Psync,
    /// io_uring.
    IoUring,
    /// Real SQLite.
    Sqlite,
    /// fio.
    Fio,
    /// Discards writes and reads zeroes at once: for measuring the ruler.
    Null,
}

/// The layer at which a trace is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReplayLevel {
    /// System calls on files.
    #[default]
    Calls,
    /// Requests to a block device.
    Blocks,
}

/// When the operations of a replay begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReplayPace {
    /// At the trace's own times, or those divided by a speed.
    #[default]
    Own,
    /// As soon as the operation before it in its thread has ended.
    Flat,
}

/// The kinds of operations of a replay. Each kind is a phase of its own in the run file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayKind {
    /// Reads.
    Read,
    Write,
    /// fsync, fdatasync, sync; flushes of a device.
    Sync,
    /// Opening, creating, truncating, renaming and removing files.
    Names,
    /// Discards.
    Discard,
    /// SQLite transactions that were recognised in the trace.
    Save,
}

impl ReplayKind {
    /// Every kind, in the order of the phases.
    pub const ALL: [ReplayKind; 6] = [
        ReplayKind::Read,
        ReplayKind::Write,
        ReplayKind::Sync,
        ReplayKind::Names,
        ReplayKind::Discard,
        ReplayKind::Save,
    ];

    /// The end of a phase's name: `replay_write`.
    pub fn name(self) -> &'static str {
        match self {
            ReplayKind::Read => "read",
            ReplayKind::Write => "write",
            ReplayKind::Sync => "sync",
            ReplayKind::Names => "names",
            ReplayKind::Discard => "discard",
            ReplayKind::Save => "save",
        }
    }

    /// The operation of its phase.
    pub fn operation(self) -> Operation {
        match self {
            ReplayKind::Read => Operation::ReplayRead,
            ReplayKind::Write => Operation::ReplayWrite,
            ReplayKind::Sync => Operation::ReplaySync,
            ReplayKind::Names => Operation::ReplayNames,
            ReplayKind::Discard => Operation::ReplayDiscard,
            ReplayKind::Save => Operation::Save,
        }
    }
}

/// The verdict over all checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No check failed.
    Trusted,
    /// At least one check failed, or nothing was measured. The value of a run that checked nothing
    /// yet.
    #[default]
    Untrusted,
}

/// The kinds of sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TraceSourceKind {
    /// Programs in the kernel on its tracepoints.
    Ebpf,
    /// The kernel's tracepoints, read as text.
    Tracefs,
    /// File events of fanotify and counters of /proc.
    Fanotify,
    /// Android's atrace, over a cable.
    Atrace,
    /// Text of `blkparse`.
    Blkparse,
    /// Text of ftrace or atrace from a file.
    Ftrace,
    /// A Perfetto trace.
    Perfetto,
    /// Text of `strace`.
    Strace,
    /// A list of an application's system calls.
    SystemCalls,
    /// A table of block requests.
    BlockTable,
    /// Not known.
    #[default]
    Unknown,
}

/// The kinds of files, by name and content.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum TraceFileKind {
    /// An SQLite database.
    Database,
    /// A rollback journal of SQLite.
    Journal,
    /// A write-ahead log of SQLite.
    Wal,
    /// The index of a write-ahead log, which is shared memory and never made durable.
    WalIndex,
    Directory,
    /// A pipe, a socket, a terminal or a device: not storage.
    NotStorage,
    #[default]
    Other,
}
