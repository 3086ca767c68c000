//! Every kind of finding, one row each: what is said of it, what would remove it, what that costs, and
//! what shows its cost. A new one is a row here and a rule in `flashlag-explain`.

use flashlag_spec::target::{Cipher, TargetOption};
use serde::{Deserialize, Serialize};

/// Version of the rules and of these rows: raise it with every change of what is found. 5: what an
/// operation took before and after a change is read from its waits; what is felt comes before what may
/// help a little. 6: limits of control groups. 7: quotas on storage. 8: saves without SQLite. 10: drives
/// that can be pulled out. 11: commits on the main thread. 12: what is seen on a
/// fill comes after what somebody waits for.
pub const RULES: u32 = 12;

/// What is known of a kind of finding, whatever run it is found in.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingRow {
    /// What was found, and what that does: a sentence.
    pub sentence: &'static str,
    /// What would remove it.
    pub action: FindingAction,
    /// The price of that.
    pub risk: Option<FindingRisk>,
    /// What shows its cost, where no comparison of the run does.
    pub shown: Option<Shown>,
}

/// What shows the cost of a finding: a simulation of a device that differs in this, or two runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// Another journal mode of SQLite.
    Journal,
    /// A device that is filled less.
    Fill,
    /// As [`Shown::Fill`], by F2FS's count of segments.
    FillOfSegments,
    /// A trim.
    Trim,
    /// Discards on deletion, off.
    Discard,
    /// The device's write cache, switched on.
    Buffer,
    /// Flash that is not worn.
    Wear,
    /// A simulated target without this option.
    Without(TargetOption),
    /// Two runs: no model has this.
    Runs {
        /// What the model lacks.
        lacks: &'static str,
        /// The runs.
        pair: Pair,
    },
}

/// Two runs, with what was found and without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// On two targets.
    On(&'static str, &'static str),
    /// In one directory, with this command between them.
    Between(&'static str),
}

/// The kinds of findings with their rows.
macro_rules! findings {
    ($($id:ident: $sentence:tt => $action:ident $(, price $risk:ident)? $(, by $shown:expr)?;)*) => {
        /// What can be found.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum FindingId {
            $(#[doc = $sentence] $id,)*
        }

        impl FindingId {
            /// Every kind.
            pub const ALL: [FindingId; [$(FindingId::$id),*].len()] = [$(FindingId::$id),*];

            /// What is known of every finding of the kind.
            pub fn row(self) -> FindingRow {
                use Shown::*;
                match self {
                    $(FindingId::$id => {
                        let action = FindingAction::$action;
                        let (risk, shown) = (None $(.or(Some(FindingRisk::$risk)))?, None $(.or(Some($shown)))?);
                        FindingRow { sentence: $sentence, action, risk, shown }
                    })*
                }
            }
        }
    };
}

/// Words of the run file with a sentence each.
macro_rules! sentences {
    ($about:tt $of:ident $($id:ident: $sentence:tt;)*) => {
        #[doc = $about]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum $of {
            $(#[doc = $sentence] $id,)*
        }

        impl $of {
            /// The sentence.
            pub fn sentence(self) -> &'static str {
                match self {
                    $($of::$id => $sentence,)*
                }
            }
        }
    };
}

findings! {
    // Of apps.
    RollbackJournal: "Saves go through a rollback journal, and wait for several flushes each."
        => UseWal, price LogGrows, by Journal;
    SeveralDatabases: "One save changes several databases, and waits for the flushes of each."
        => OneDatabase, price DataMoved;
    SmallTransactions: "Each change is a transaction of its own, and waits for its own flushes."
        => GroupFlushes, price MoreLostAtOnce;
    CommitPerChange: "Each of several changes has a `commit` of its own, and waits for its own fsync."
        => SaveTogether, price MoreLostAtOnce;
    CommitOnMainThread: "An app's main thread waits in `commit` until the file is durable, at times for longer than a frame."
        => SaveBehind, price StoredLater;
    WholeFileAgain: "A large file is written anew for a change of a hundredth of it or less."
        => KeepApart, price DataMoved;
    GrowingFiles: "Saves that make a file grow also wait for a commit of the filesystem."
        => GrowInSteps, price SpaceAllocated;
    FlushPerWrite: "Every write waits for a flush of its own."
        => GroupFlushes, price MoreLostAtOnce;
    OtherWriter: "Another workload uses the storage at the same time, and saves wait behind it."
        => DeferBulkWrites, price OtherWorkWaits;
    FragmentedDatabase: "A database lies in many pieces: each page written or read is a request of its own."
        => RewriteDatabase, price CopiedOnce;
    // Of the machine.
    CpuWait: "Saves wait for a free CPU: the storage is not to blame for this part."
        => FreeCpu, price OtherWorkWaits;
    IoLimit: "A control group limits what this process may read and write: requests wait for the limit, whatever the storage could do."
        => RaiseIoLimit, price OtherWorkWaits;
    CpuQuota: "A control group limits CPU time: when the quota is used up, everything stands still until the next period."
        => RaiseCpuQuota, price OtherWorkWaits;
    MemoryLimit: "A control group limits memory and nearly all of it is used: cached pages are dropped, and a call that needs memory waits."
        => RaiseMemoryLimit, price LessMemoryForOthers;
    Swapping: "Memory is short: apps are swapped to the flash and back, while saves wait."
        => RelieveMemory;
    Throttled: "Heat slowed the device down."
        => LetItCool;
    // Of the path.
    FuseOnPath: "A FUSE process serves these files: each call costs two context switches."
        => AvoidFuse, price NotShared, by Without(TargetOption::Fuse);
    FuseDriver: "A FUSE daemon serves this drive, not the kernel: each call costs two context switches."
        => KernelDriver, by Runs { lacks: "driver of this filesystem", pair: Pair::Between("umount MOUNTPOINT; mount -t DRIVER DEVICE MOUNTPOINT") };
    SoftwareEncryption: "The processor encrypts every block without instructions for it."
        => FasterCipher, price Reformat, by Without(TargetOption::Encrypt(Cipher::AesXts));
    Overlay: "An overlay copies a file as a whole before its first change."
        => UseVolume, by Runs { lacks: "overlay", pair: Pair::On("DIR", "VOLUME") };
    LoopDevice: "The filesystem is an image file on another one: both journals are written."
        => MeasureBelow;
    VirtualDisk: "The disk is a virtual one: its figures are not those of flash."
        => CompareHereOnly;
    NotOnFlash: "These files are not on a disk of this machine."
        => NameAnother;
    // Of the filesystem.
    OtherFilesystem: "On this device another filesystem would wait less."
        => ChangeFilesystem, price Reformat;
    ReadOnly: "The filesystem is read-only: nothing can be saved or measured here."
        => MountWritable;
    NoBarrier: "Syncs do not flush the device: a power cut loses saves that an app believes stored."
        => FlushAgain, price EachFlushWaits, by Without(TargetOption::Barrier(false));
    SyncIsNoOp: "A sync returns before the flash has stored anything: a power cut loses saves."
        => FindLostFlushes, price EachFlushWaits, by Without(TargetOption::Barrier(false));
    LostIfUnplugged: "The drive can be pulled out, and its filesystem writes no journal: what was not synced is lost, and a directory that was being written may be damaged."
        => Unmount;
    NoJournal: "ext4 has no journal: a crash leaves the filesystem to be repaired."
        => AddJournal, price CommitsCost;
    FilesystemErrors: "The filesystem has met errors."
        => CheckFilesystem;
    FastCommit: "ext4's fast commits are on: a save that syncs its directory commits the whole journal, too."
        => NoFastCommit, price WholeCommits, by Without(TargetOption::FastCommit);
    DataJournal: "Data is written twice, into the journal and in place."
        => JournalMetadataOnly, price OrderLost, by Runs { lacks: "data=journal", pair: Pair::On("lab:PROFILE+ext4,data=journal", "lab:PROFILE+ext4") };
    SyncMount: "The mount makes every write or every change of a directory wait for the device."
        => MountAsync, price UnsyncedLost, by Runs { lacks: "synchronous mount", pair: Pair::Between("mount -o remount,async MOUNTPOINT") };
    AccessTimes: "Every read of a file updates its access time, which is then written."
        => RelaxAccessTimes, price NoReadTimes;
    FewFreeSegments: "F2FS has few free segments: a write may wait until one is cleaned."
        => FreeSegments, by FillOfSegments;
    DiscardOnDelete: "Deleted data is discarded at once, and a sync may wait for that."
        => TrimInBatches, price DeletedStays, by Discard;
    NeverTrimmed: "No trim was seen here: without one the flash keeps copying what was deleted."
        => Trim, price BusyWhileTrimming, by Trim;
    DeletedNotTrimmed: "Files were deleted, and the flash was not informed: it keeps copying their data."
        => Trim, price BusyWhileTrimming;
    FullNotTrimmed: "The storage is full and not trimmed."
        => DeleteAndTrim, price BusyWhileTrimming;
    NearlyFull: "More than four fifths are in use: the flash has less room to collect garbage in, and writes wait for it."
        => MakeRoom, by Fill;
    StorageQuota: "A quota limits what may be stored here, however much of the filesystem is free: beyond it writes fail."
        => MakeRoomInQuota;
    FullStorage: "Full, the storage is slower than it was at first."
        => KeepSpaceFree, price SpaceKept;
    // Of the device.
    SmallSpare: "The last free space is many times slower: the flash keeps little spare room."
        => KeepSpaceFree, price SpaceKept;
    Scheduler: "An I/O scheduler only costs CPU time on an NVMe disk."
        => NoScheduler, price NoPriorities, by Runs { lacks: "scheduler of requests", pair: Pair::Between("echo none > /sys/block/DISK/queue/scheduler") };
    DeviceCacheOff: "The eMMC has a write cache, and the cache is off: each write waits for the flash."
        => SwitchCacheOn, by Buffer;
    WriteBoosterOff: "Writes do not go to the WriteBooster buffer: it is off or full."
        => LetBufferEmpty;
    WriteCacheExhausted: "The device's write cache was full: writes waited for the flash itself."
        => WriteInPortions, price OtherWorkWaits;
    IdleWakeUp: "The device or its link slept: the first request after a rest waits for it."
        => KeepAwake, price TakesPower;
    CollectionPeriod: "The flash's own work, above all garbage collection, holds requests up."
        => KeepSpaceFree, price SpaceKept;
    WornFlash: "The flash is nearly worn out: programs and reads take longer, and blocks fail."
        => ReplaceDevice, by Wear;
    NoAppClass: "The card promises no random writes a second: its class is for video."
        => TakeAppCard;
    BelowClass: "The device is slower than its class, or the system's rules, promise."
        => TakeAppCard;
}

sentences! {
    "What would remove a cause." FindingAction
    UseWal: "Open the database in WAL mode (`PRAGMA journal_mode=WAL`).";
    GrowInSteps: "Grow files in larger steps (SQLITE_FCNTL_CHUNK_SIZE).";
    KeepJournalFile: "Keep the journal's file (`PRAGMA journal_mode=PERSIST`), and grow in larger steps (SQLITE_FCNTL_CHUNK_SIZE).";
    KeepSpaceFree: "Keep at least 20% free, and trim what is freed.";
    Trim: "Trim now (`fstrim -v MOUNTPOINT`, as root) and once a week (`systemctl enable fstrim.timer`).";
    DeleteAndTrim: "Delete or move data, then trim (`fstrim -v MOUNTPOINT`, as root).";
    DeferBulkWrites: "Write in bulk at another time, or in small pieces at a low I/O priority (`ionice -c 3`).";
    FreeCpu: "Do less at the same time, or raise the priority of what saves.";
    RaiseIoLimit: "Raise or remove the limit (systemd: `IOWriteBandwidthMax=` and its like; Docker: `docker run --device-write-bps` and its like).";
    RaiseCpuQuota: "Raise or remove the quota (systemd: `CPUQuota=`; Docker: `docker run --cpus`; Kubernetes: `limits.cpu`).";
    RaiseMemoryLimit: "Raise the limit (systemd: `MemoryHigh=`, `MemoryMax=`; Docker: `docker run --memory`), or use less.";
    GroupFlushes: "Put several changes into one transaction, or several writes before one fdatasync.";
    SaveTogether: "Make all changes of a moment with one editor, and one `commit` or `apply` of it.";
    SaveBehind: "Save with `apply`, or call `commit` on another thread.";
    KeepApart: "Keep what changes often in a small file of its own, or in SQLite.";
    OneDatabase: "Keep what changes together in one database, and change it in one transaction.";
    RewriteDatabase: "Copy it into one piece: `VACUUM INTO` another file, then take that.";
    RelieveMemory: "Run less at a time, or swap to compressed memory (zram) first.";
    LetItCool: "Let it cool down, and write less at a time.";
    AvoidFuse: "Keep databases in the app's own directory, which is not behind FUSE.";
    FasterCipher: "Use a cipher that is made for such processors: Adiantum (fscrypt, or `cryptsetup -c xchacha12,aes-adiantum-plain64`).";
    UseVolume: "Put databases on a volume of their own.";
    MeasureBelow: "Measure below the loop device to know the disk.";
    CompareHereOnly: "Compare figures on this machine only; measure the host for its flash.";
    NameAnother: "Name a directory on the storage in question.";
    ChangeFilesystem: "Format with the other filesystem, after a test on a device of the same kind.";
    MountWritable: "Mount it writable (`mount -o remount,rw MOUNTPOINT`); where an error made it read-only (see `dmesg`), copy the data elsewhere and check it first, unmounted.";
    FlushAgain: "Remount with barriers (`barrier`, F2FS: `fsync_mode=posix`).";
    FindLostFlushes: "Find what drops the flushes: a mount option, a layer below the filesystem, or the device itself.";
    Unmount: "Unmount it before it is pulled out (`umount MOUNTPOINT`, or eject it); an app that must not lose a file syncs it.";
    KernelDriver: "Mount it by the kernel's driver, where the kernel has it: `mount -t ntfs3` (Linux 5.15), `mount -t exfat` (Linux 5.7) or `mount -t vfat`.";
    AddJournal: "Add one while it is unmounted: `tune2fs -O has_journal DEVICE`.";
    CheckFilesystem: "Copy the data elsewhere, then check it unmounted: `e2fsck -f DEVICE`.";
    NoFastCommit: "Switch them off while it is unmounted: `tune2fs -O ^fast_commit DEVICE`.";
    JournalMetadataOnly: "Mount with `data=ordered`.";
    MountAsync: "Mount without `sync` and `dirsync`: apps that need it sync by themselves.";
    RelaxAccessTimes: "Mount with `relatime` or `noatime`.";
    FreeSegments: "Delete or move data; on a phone leave it idle and charging overnight.";
    TrimInBatches: "Mount without `discard`, and trim once a week (`systemctl enable fstrim.timer`).";
    MakeRoom: "Delete or move data, then trim.";
    MakeRoomInQuota: "See what is left of it (`quota -s`, `quota -g -s`; as root `repquota -s -a`; on Btrfs `btrfs qgroup show -r MOUNTPOINT`), then delete data or have the quota raised.";
    NoScheduler: "Write `none` to `/sys/block/DISK/queue/scheduler`.";
    SwitchCacheOn: "Switch it on (`mmc cache enable DEVICE`); barriers keep it safe.";
    LetBufferEmpty: "Leave the phone idle, so that the buffer is emptied; if it is off, the maker has switched it off.";
    WriteInPortions: "Write in portions that the cache holds, with pauses between.";
    KeepAwake: "Lengthen the rest after which it sleeps (UFS: `auto_hibern8`, NVMe: `default_ps_max_latency_us`), or group what is written.";
    ReplaceDevice: "Copy the data elsewhere, and replace the device or the card.";
    TakeAppCard: "Take a card of class A1 or A2, and measure it: `flashlag run quick`.";
}

sentences! {
    "The price of an action." FindingRisk
    LogGrows: "The log grows until a checkpoint, and readers search it.";
    SpaceAllocated: "Files take more space than they hold.";
    SpaceKept: "Less space is left for data.";
    BusyWhileTrimming: "The device is busy while it is trimmed.";
    OtherWorkWaits: "The other work ends later.";
    LessMemoryForOthers: "Less memory is left for other work.";
    MoreLostAtOnce: "A crash or a power cut loses more changes at once.";
    StoredLater: "The change is lost if the app is killed just after it, and an activity that stops waits for what `apply` left.";
    NotShared: "Other apps can't read them there.";
    Reformat: "All data has to be written anew.";
    EachFlushWaits: "Each durable write waits for a flush.";
    CommitsCost: "Each durable write that changes a file's size or place costs a commit.";
    WholeCommits: "An fsync of a file alone waits for what others changed, too.";
    OrderLost: "Data that was not synced can be old or new after a crash, not in the order of its writes.";
    UnsyncedLost: "What was not synced in the last 30 s is lost with the power.";
    NoReadTimes: "Programs can't tell when a file was read last.";
    DeletedStays: "Until the next trim the flash copies what was deleted.";
    NoPriorities: "A process that writes much is not held back in favour of others.";
    TakesPower: "The battery lasts less long.";
    CopiedOnce: "The database is written once more, beside the old one.";
    DataMoved: "The app has to move its data once.";
}
