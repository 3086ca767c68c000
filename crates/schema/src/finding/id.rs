use serde::{Deserialize, Serialize};

/// What can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FindingId {
    // Of apps.
    /// SQLite saves with a rollback journal wait longer than with WAL.
    RollbackJournal,
    /// One save changes several databases, each in its own transaction.
    SeveralDatabases,
    /// Each change is its own transaction.
    SmallTransactions,
    /// Each of several changes of `SharedPreferences` has a `commit` of its own.
    CommitPerChange,
    /// A large file is written anew for a small change.
    WholeFileAgain,
    /// Saves that make a file grow wait longer than saves within allocated space.
    GrowingFiles,
    /// Every durable write waits for its own flush.
    FlushPerWrite,
    /// Another workload writes at the same time.
    OtherWriter,
    /// A database lies in many pieces.
    FragmentedDatabase,
    // Of the machine.
    /// The measuring thread was runnable, but no CPU was free.
    CpuWait,
    /// A control group limits requests or bytes to the disk.
    IoLimit,
    /// A control group limits CPUs.
    CpuQuota,
    /// A control group limits memory, and its use is near the limit.
    MemoryLimit,
    /// Tasks wait for memory, and memory is swapped to the flash.
    Swapping,
    /// The device slowed down because of heat.
    Throttled,
    // Of the path.
    /// A process serves the files.
    FuseOnPath,
    /// Encryption by a processor without AES instructions.
    SoftwareEncryption,
    /// An overlay copies a whole file before its first change.
    Overlay,
    /// A loop device: a filesystem within a file of another one.
    LoopDevice,
    /// The disk is another machine's software.
    VirtualDisk,
    /// The files are in memory or on another machine.
    NotOnFlash,
    // Of the filesystem.
    /// Another filesystem would wait less on this device.
    OtherFilesystem,
    /// Nothing can be written: the mount or the device is read-only.
    ReadOnly,
    /// Syncs do not flush the device.
    NoBarrier,
    /// A sync returns before the device has stored anything.
    SyncIsNoOp,
    /// ext4 without a journal.
    NoJournal,
    /// The filesystem has noted errors.
    FilesystemErrors,
    /// ext4 with fast commits: an fsync of a directory still commits everything, and less of it was
    /// committed before.
    FastCommit,
    /// Data is written twice, into ext4's journal and in place.
    DataJournal,
    /// A mount option makes each write synchronous.
    SyncMount,
    /// Reads change the files' nodes.
    AccessTimes,
    /// F2FS has few free segments and must clean before it writes.
    FewFreeSegments,
    /// Each deletion is discarded at once.
    DiscardOnDelete,
    /// Nothing trims the filesystem.
    NeverTrimmed,
    /// Files were deleted and the free space was not trimmed.
    DeletedNotTrimmed,
    /// The storage is full; deleting and trimming makes it faster.
    FullNotTrimmed,
    /// More than four fifths of the filesystem are in use.
    NearlyFull,
    /// A quota limits what may be stored.
    StorageQuota,
    /// The storage is slower full than it was at first.
    FullStorage,
    // Of the device.
    /// Writes become many times slower as the last free space is filled: the spare area is small.
    SmallSpare,
    /// A scheduler that orders requests costs time on a disk with many queues.
    Scheduler,
    /// The write cache of the eMMC is off.
    DeviceCacheOff,
    /// The WriteBooster buffer of the UFS is off or exhausted.
    WriteBoosterOff,
    /// The device's write cache was full.
    WriteCacheExhausted,
    /// The device or its link had to wake up.
    IdleWakeUp,
    /// Garbage collection in the flash, or stalls at regular intervals.
    CollectionPeriod,
    /// The flash is nearly worn out.
    WornFlash,
    /// An SD card without the app performance class.
    NoAppClass,
    /// The device is slower than its class, or the system's rules, require.
    BelowClass,
}

impl FindingId {
    /// Every kind.
    pub const ALL: [FindingId; 49] = [
        FindingId::RollbackJournal,
        FindingId::SeveralDatabases,
        FindingId::SmallTransactions,
        FindingId::CommitPerChange,
        FindingId::WholeFileAgain,
        FindingId::GrowingFiles,
        FindingId::FlushPerWrite,
        FindingId::OtherWriter,
        FindingId::FragmentedDatabase,
        FindingId::CpuWait,
        FindingId::IoLimit,
        FindingId::CpuQuota,
        FindingId::MemoryLimit,
        FindingId::Swapping,
        FindingId::Throttled,
        FindingId::FuseOnPath,
        FindingId::SoftwareEncryption,
        FindingId::Overlay,
        FindingId::LoopDevice,
        FindingId::VirtualDisk,
        FindingId::NotOnFlash,
        FindingId::OtherFilesystem,
        FindingId::ReadOnly,
        FindingId::NoBarrier,
        FindingId::SyncIsNoOp,
        FindingId::NoJournal,
        FindingId::FilesystemErrors,
        FindingId::FastCommit,
        FindingId::DataJournal,
        FindingId::SyncMount,
        FindingId::AccessTimes,
        FindingId::FewFreeSegments,
        FindingId::DiscardOnDelete,
        FindingId::NeverTrimmed,
        FindingId::DeletedNotTrimmed,
        FindingId::FullNotTrimmed,
        FindingId::NearlyFull,
        FindingId::StorageQuota,
        FindingId::FullStorage,
        FindingId::SmallSpare,
        FindingId::Scheduler,
        FindingId::DeviceCacheOff,
        FindingId::WriteBoosterOff,
        FindingId::WriteCacheExhausted,
        FindingId::IdleWakeUp,
        FindingId::CollectionPeriod,
        FindingId::WornFlash,
        FindingId::NoAppClass,
        FindingId::BelowClass,
    ];
}
