//! What would remove a cause, and its price.

use serde::{Deserialize, Serialize};

/// What would remove a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FindingAction {
    /// Open the database in WAL mode.
    UseWal,
    /// Allocate files in larger steps.
    GrowInSteps,
    /// Allocate files in larger steps and keep the rollback journal's file.
    KeepJournalFile,
    /// Keep a part of the storage free, and trimmed.
    KeepSpaceFree,
    /// Trim regularly, or mount with discard.
    Trim,
    /// Delete files, then trim.
    DeleteAndTrim,
    /// Write in bulk at another time or a lower I/O priority.
    DeferBulkWrites,
    /// Run less at the same time, or raise the priority of the process that saves.
    FreeCpu,
    /// Raise or remove the control group's limit on I/O.
    RaiseIoLimit,
    /// Raise or remove the control group's quota of CPUs.
    RaiseCpuQuota,
    /// Raise or remove the control group's limit of memory.
    RaiseMemoryLimit,
    /// Put several changes into one transaction or several writes before one flush.
    GroupFlushes,
    /// Save the changes of one moment together.
    SaveTogether,
    /// Keep what changes often apart from what does not.
    KeepApart,
    /// Keep data that changes together in one database.
    OneDatabase,
    /// Copy the database into one piece (`VACUUM INTO`).
    RewriteDatabase,
    /// Swap to compressed memory, or run less at a time.
    RelieveMemory,
    /// Let the device cool down, and write in smaller portions.
    LetItCool,
    /// Keep databases in a directory that no process serves.
    AvoidFuse,
    /// Use a cipher for processors without instructions for AES.
    FasterCipher,
    /// Keep databases on a volume of their own.
    UseVolume,
    /// Measure below the loop device.
    MeasureBelow,
    /// Compare figures on this machine only.
    CompareHereOnly,
    /// Name a directory on the storage in question.
    NameAnother,
    /// Format with the other filesystem.
    ChangeFilesystem,
    /// Mount writable, after a check where an error made it read-only.
    MountWritable,
    /// Mount with barriers.
    FlushAgain,
    /// Find the layer that drops flushes.
    FindLostFlushes,
    /// Add a journal.
    AddJournal,
    /// Copy the data elsewhere and check the filesystem.
    CheckFilesystem,
    /// Switch ext4's fast commits off.
    NoFastCommit,
    /// Mount with `data=ordered`.
    JournalMetadataOnly,
    /// Mount without `sync` and `dirsync`.
    MountAsync,
    /// Mount with `relatime` or `noatime`.
    RelaxAccessTimes,
    /// Delete or move data and leave the device idle.
    FreeSegments,
    /// Mount without `discard` and trim once a week.
    TrimInBatches,
    /// Delete or move data, then trim.
    MakeRoom,
    /// See how much of the quota is left, and delete data or have the quota raised.
    MakeRoomInQuota,
    /// Use no scheduler.
    NoScheduler,
    /// Switch the device's cache on.
    SwitchCacheOn,
    /// Leave the device idle, so that its buffer is emptied.
    LetBufferEmpty,
    /// Write in portions that fit the cache, with pauses.
    WriteInPortions,
    /// Keep the device awake while it is used.
    KeepAwake,
    /// Copy the data elsewhere and replace the device.
    ReplaceDevice,
    /// Use a card of a class for apps.
    TakeAppCard,
}

/// The price of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FindingRisk {
    /// The write-ahead log grows until a checkpoint, and readers search it.
    LogGrows,
    /// Files take more space than their data.
    SpaceAllocated,
    /// Less space is left for data.
    SpaceKept,
    /// The storage is busy during the trim.
    BusyWhileTrimming,
    /// The other work ends later.
    OtherWorkWaits,
    /// Less memory is left for other work.
    LessMemoryForOthers,
    /// A crash or power cut loses more changes at once.
    MoreLostAtOnce,
    /// Other apps can't read the files there.
    NotShared,
    /// All data must be written again.
    Reformat,
    /// Each durable write waits for its own flush.
    EachFlushWaits,
    /// Changes of a file's size or place cost a commit.
    CommitsCost,
    /// An fsync of a file also commits the changes of others.
    WholeCommits,
    /// Data that was not synced may be old or new after a crash, in any order.
    OrderLost,
    /// Data that was not synced recently is lost at a power cut.
    UnsyncedLost,
    /// Programs can't tell when a file was last read.
    NoReadTimes,
    /// Until the next trim, the flash copies deleted data.
    DeletedStays,
    /// A process that writes much is no longer held back in favour of others.
    NoPriorities,
    /// The battery lasts less long.
    TakesPower,
    /// The database is copied once, beside the old one.
    CopiedOnce,
    /// The app must move its data once.
    DataMoved,
}
