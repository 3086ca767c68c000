//! The sentences of findings, of what to do, and of its price.

use flashlag_schema::finding::{FindingAction, FindingId, FindingRisk};

/// What was found, and what that does: a sentence.
pub(crate) fn finding(id: FindingId) -> &'static str {
    match id {
        FindingId::RollbackJournal => ROLLBACK_JOURNAL,
        FindingId::SeveralDatabases => SEVERAL_DATABASES,
        FindingId::SmallTransactions => SMALL_TRANSACTIONS,
        FindingId::CommitPerChange => COMMIT_PER_CHANGE,
        FindingId::WholeFileAgain => WHOLE_FILE_AGAIN,
        FindingId::GrowingFiles => GROWING_FILES,
        FindingId::FlushPerWrite => FLUSH_PER_WRITE,
        FindingId::OtherWriter => OTHER_WRITER,
        FindingId::FragmentedDatabase => FRAGMENTED_DATABASE,
        FindingId::CpuWait => CPU_WAIT,
        FindingId::IoLimit => IO_LIMIT,
        FindingId::CpuQuota => CPU_QUOTA,
        FindingId::MemoryLimit => MEMORY_LIMIT,
        FindingId::Swapping => SWAPPING,
        FindingId::Throttled => THROTTLED,
        FindingId::FuseOnPath => FUSE_ON_PATH,
        FindingId::SoftwareEncryption => SOFTWARE_ENCRYPTION,
        FindingId::Overlay => OVERLAY,
        FindingId::LoopDevice => LOOP_DEVICE,
        FindingId::VirtualDisk => VIRTUAL_DISK,
        FindingId::NotOnFlash => NOT_ON_FLASH,
        FindingId::OtherFilesystem => OTHER_FILESYSTEM,
        FindingId::ReadOnly => READ_ONLY,
        FindingId::NoBarrier => NO_BARRIER,
        FindingId::SyncIsNoOp => SYNC_IS_NO_OP,
        FindingId::NoJournal => NO_JOURNAL,
        FindingId::FilesystemErrors => FILESYSTEM_ERRORS,
        FindingId::FastCommit => FAST_COMMIT,
        FindingId::DataJournal => DATA_JOURNAL,
        FindingId::SyncMount => SYNC_MOUNT,
        FindingId::AccessTimes => ACCESS_TIMES,
        FindingId::FewFreeSegments => FEW_FREE_SEGMENTS,
        FindingId::DiscardOnDelete => DISCARD_ON_DELETE,
        FindingId::NeverTrimmed => NEVER_TRIMMED,
        FindingId::DeletedNotTrimmed => DELETED_NOT_TRIMMED,
        FindingId::FullNotTrimmed => FULL_NOT_TRIMMED,
        FindingId::NearlyFull => NEARLY_FULL,
        FindingId::StorageQuota => STORAGE_QUOTA,
        FindingId::FullStorage => FULL_STORAGE,
        FindingId::SmallSpare => SMALL_SPARE,
        FindingId::Scheduler => SCHEDULER,
        FindingId::DeviceCacheOff => DEVICE_CACHE_OFF,
        FindingId::WriteBoosterOff => WRITE_BOOSTER_OFF,
        FindingId::WriteCacheExhausted => WRITE_CACHE_EXHAUSTED,
        FindingId::IdleWakeUp => IDLE_WAKE_UP,
        FindingId::CollectionPeriod => COLLECTION_PERIOD,
        FindingId::WornFlash => WORN_FLASH,
        FindingId::NoAppClass => NO_APP_CLASS,
        FindingId::BelowClass => BELOW_CLASS,
    }
}

const ROLLBACK_JOURNAL: &str =
    "Saves go through a rollback journal, and wait for several flushes each.";
const SEVERAL_DATABASES: &str =
    "One save changes several databases, and waits for the flushes of each.";
const SMALL_TRANSACTIONS: &str =
    "Each change is a transaction of its own, and waits for its own flushes.";
const COMMIT_PER_CHANGE: &str =
    "Each of several changes has a `commit` of its own, and waits for its own fsync.";
const WHOLE_FILE_AGAIN: &str =
    "A large file is written anew for a change of a hundredth of it or less.";
const GROWING_FILES: &str = "Saves that make a file grow also wait for a commit of the filesystem.";
const FLUSH_PER_WRITE: &str = "Every write waits for a flush of its own.";
const OTHER_WRITER: &str =
    "Another workload uses the storage at the same time, and saves wait behind it.";
const FRAGMENTED_DATABASE: &str =
    "A database lies in many pieces: each page written or read is a request of its own.";
const CPU_WAIT: &str = "Saves wait for a free CPU: the storage is not to blame for this part.";
const IO_LIMIT: &str = "A control group limits what this process may read and write: requests wait for the limit, whatever the storage could do.";
const CPU_QUOTA: &str = "A control group limits CPU time: when the quota is used up, everything stands still until the next period.";
const MEMORY_LIMIT: &str = "A control group limits memory and nearly all of it is used: cached \
     pages are dropped, and a call that needs memory waits.";
const SWAPPING: &str = "Memory is short: apps are swapped to the flash and back, while saves wait.";
const THROTTLED: &str = "Heat slowed the device down.";
const FUSE_ON_PATH: &str =
    "A FUSE process serves these files: each call costs two context switches.";
const SOFTWARE_ENCRYPTION: &str = "The processor encrypts every block without instructions for it.";
const OVERLAY: &str = "An overlay copies a file as a whole before its first change.";
const LOOP_DEVICE: &str =
    "The filesystem is an image file on another one: both journals are written.";
const VIRTUAL_DISK: &str = "The disk is a virtual one: its figures are not those of flash.";
const NOT_ON_FLASH: &str = "These files are not on a disk of this machine.";
const OTHER_FILESYSTEM: &str = "On this device another filesystem would wait less.";
const READ_ONLY: &str = "The filesystem is read-only: nothing can be saved or measured here.";
const NO_BARRIER: &str =
    "Syncs do not flush the device: a power cut loses saves that an app believes stored.";
const SYNC_IS_NO_OP: &str =
    "A sync returns before the flash has stored anything: a power cut loses saves.";
const NO_JOURNAL: &str = "ext4 has no journal: a crash leaves the filesystem to be repaired.";
const FILESYSTEM_ERRORS: &str = "The filesystem has met errors.";
const FAST_COMMIT: &str =
    "ext4's fast commits are on: a save that syncs its directory commits the whole journal, too.";
const DATA_JOURNAL: &str = "Data is written twice, into the journal and in place.";
const SYNC_MOUNT: &str =
    "The mount makes every write or every change of a directory wait for the device.";
const ACCESS_TIMES: &str = "Every read of a file updates its access time, which is then written.";
const FEW_FREE_SEGMENTS: &str =
    "F2FS has few free segments: a write may wait until one is cleaned.";
const DISCARD_ON_DELETE: &str = "Deleted data is discarded at once, and a sync may wait for that.";
const NEVER_TRIMMED: &str =
    "No trim was seen here: without one the flash keeps copying what was deleted.";
const DELETED_NOT_TRIMMED: &str =
    "Files were deleted, and the flash was not informed: it keeps copying their data.";
const FULL_NOT_TRIMMED: &str = "The storage is full and not trimmed.";
const NEARLY_FULL: &str = "More than four fifths are in use: the flash has less room to collect \
     garbage in, and writes wait for it.";
const STORAGE_QUOTA: &str = "A quota limits what may be stored here, however much of the filesystem is free: beyond it writes fail.";
const FULL_STORAGE: &str = "Full, the storage is slower than it was at first.";
const SMALL_SPARE: &str =
    "The last free space is many times slower: the flash keeps little spare room.";
const SCHEDULER: &str = "An I/O scheduler only costs CPU time on an NVMe disk.";
const DEVICE_CACHE_OFF: &str =
    "The eMMC has a write cache, and the cache is off: each write waits for the flash.";
const WRITE_BOOSTER_OFF: &str = "Writes do not go to the WriteBooster buffer: it is off or full.";
const WRITE_CACHE_EXHAUSTED: &str =
    "The device's write cache was full: writes waited for the flash itself.";
const IDLE_WAKE_UP: &str =
    "The device or its link slept: the first request after a rest waits for it.";
const COLLECTION_PERIOD: &str =
    "The flash's own work, above all garbage collection, holds requests up.";
const WORN_FLASH: &str =
    "The flash is nearly worn out: programs and reads take longer, and blocks fail.";
const NO_APP_CLASS: &str = "The card promises no random writes a second: its class is for video.";
const BELOW_CLASS: &str = "The device is slower than its class, or the system's rules, promise.";

/// What to do: a sentence.
pub(crate) fn action(of: FindingAction) -> &'static str {
    match of {
        FindingAction::UseWal => USE_WAL,
        FindingAction::GrowInSteps => GROW_IN_STEPS,
        FindingAction::KeepJournalFile => KEEP_JOURNAL_FILE,
        FindingAction::KeepSpaceFree => KEEP_SPACE_FREE,
        FindingAction::Trim => TRIM,
        FindingAction::DeleteAndTrim => DELETE_AND_TRIM,
        FindingAction::DeferBulkWrites => DEFER_BULK_WRITES,
        FindingAction::FreeCpu => FREE_CPU,
        FindingAction::RaiseIoLimit => RAISE_IO_LIMIT,
        FindingAction::RaiseCpuQuota => RAISE_CPU_QUOTA,
        FindingAction::RaiseMemoryLimit => RAISE_MEMORY_LIMIT,
        FindingAction::GroupFlushes => GROUP_FLUSHES,
        FindingAction::OneDatabase => ONE_DATABASE,
        FindingAction::SaveTogether => SAVE_TOGETHER,
        FindingAction::KeepApart => KEEP_APART,
        FindingAction::RewriteDatabase => REWRITE_DATABASE,
        FindingAction::RelieveMemory => RELIEVE_MEMORY,
        FindingAction::LetItCool => LET_IT_COOL,
        FindingAction::AvoidFuse => AVOID_FUSE,
        FindingAction::FasterCipher => FASTER_CIPHER,
        FindingAction::UseVolume => USE_VOLUME,
        FindingAction::MeasureBelow => MEASURE_BELOW,
        FindingAction::CompareHereOnly => COMPARE_HERE_ONLY,
        FindingAction::NameAnother => NAME_ANOTHER,
        FindingAction::ChangeFilesystem => CHANGE_FILESYSTEM,
        FindingAction::MountWritable => MOUNT_WRITABLE,
        FindingAction::FlushAgain => FLUSH_AGAIN,
        FindingAction::FindLostFlushes => FIND_LOST_FLUSHES,
        FindingAction::AddJournal => ADD_JOURNAL,
        FindingAction::CheckFilesystem => CHECK_FILESYSTEM,
        FindingAction::NoFastCommit => NO_FAST_COMMIT,
        FindingAction::JournalMetadataOnly => JOURNAL_METADATA_ONLY,
        FindingAction::MountAsync => MOUNT_ASYNC,
        FindingAction::RelaxAccessTimes => RELAX_ACCESS_TIMES,
        FindingAction::FreeSegments => FREE_SEGMENTS,
        FindingAction::TrimInBatches => TRIM_IN_BATCHES,
        FindingAction::MakeRoom => MAKE_ROOM,
        FindingAction::MakeRoomInQuota => MAKE_ROOM_IN_QUOTA,
        FindingAction::NoScheduler => NO_SCHEDULER,
        FindingAction::SwitchCacheOn => SWITCH_CACHE_ON,
        FindingAction::LetBufferEmpty => LET_BUFFER_EMPTY,
        FindingAction::WriteInPortions => WRITE_IN_PORTIONS,
        FindingAction::KeepAwake => KEEP_AWAKE,
        FindingAction::ReplaceDevice => REPLACE_DEVICE,
        FindingAction::TakeAppCard => TAKE_APP_CARD,
    }
}

const USE_WAL: &str = "Open the database in WAL mode (`PRAGMA journal_mode=WAL`).";
const GROW_IN_STEPS: &str = "Grow files in larger steps (SQLITE_FCNTL_CHUNK_SIZE).";
const KEEP_JOURNAL_FILE: &str = "Keep the journal's file (`PRAGMA journal_mode=PERSIST`), and grow in larger steps (SQLITE_FCNTL_CHUNK_SIZE).";
const KEEP_SPACE_FREE: &str = "Keep at least 20% free, and trim what is freed.";
const TRIM: &str =
    "Trim now (`fstrim -v MOUNTPOINT`, as root) and once a week (`systemctl enable fstrim.timer`).";
const DELETE_AND_TRIM: &str = "Delete or move data, then trim (`fstrim -v MOUNTPOINT`, as root).";
const DEFER_BULK_WRITES: &str =
    "Write in bulk at another time, or in small pieces at a low I/O priority (`ionice -c 3`).";
const FREE_CPU: &str = "Do less at the same time, or raise the priority of what saves.";
const RAISE_IO_LIMIT: &str = "Raise or remove the limit (systemd: `IOWriteBandwidthMax=` and its like; Docker: `docker run --device-write-bps` and its like).";
const RAISE_CPU_QUOTA: &str = "Raise or remove the quota (systemd: `CPUQuota=`; Docker: `docker run --cpus`; Kubernetes: `limits.cpu`).";
const RAISE_MEMORY_LIMIT: &str = "Raise the limit (systemd: `MemoryHigh=`, `MemoryMax=`; Docker: `docker run --memory`), or use less.";
const GROUP_FLUSHES: &str =
    "Put several changes into one transaction, or several writes before one fdatasync.";
const SAVE_TOGETHER: &str =
    "Make all changes of a moment with one editor, and one `commit` or `apply` of it.";
const KEEP_APART: &str = "Keep what changes often in a small file of its own, or in SQLite.";
const ONE_DATABASE: &str =
    "Keep what changes together in one database, and change it in one transaction.";
const REWRITE_DATABASE: &str =
    "Copy it into one piece: `VACUUM INTO` another file, then take that.";
const RELIEVE_MEMORY: &str = "Run less at a time, or swap to compressed memory (zram) first.";
const LET_IT_COOL: &str = "Let it cool down, and write less at a time.";
const AVOID_FUSE: &str = "Keep databases in the app's own directory, which is not behind FUSE.";
const FASTER_CIPHER: &str = "Use a cipher that is made for such processors: Adiantum (fscrypt, or `cryptsetup -c xchacha12,aes-adiantum-plain64`).";
const USE_VOLUME: &str = "Put databases on a volume of their own.";
const MEASURE_BELOW: &str = "Measure below the loop device to know the disk.";
const COMPARE_HERE_ONLY: &str =
    "Compare figures on this machine only; measure the host for its flash.";
const NAME_ANOTHER: &str = "Name a directory on the storage in question.";
const CHANGE_FILESYSTEM: &str =
    "Format with the other filesystem, after a test on a device of the same kind.";
const MOUNT_WRITABLE: &str = "Mount it writable (`mount -o remount,rw MOUNTPOINT`); where an error made it read-only (see `dmesg`), copy the data elsewhere and check it first, unmounted.";
const FLUSH_AGAIN: &str = "Remount with barriers (`barrier`, F2FS: `fsync_mode=posix`).";
const FIND_LOST_FLUSHES: &str = "Find what drops the flushes: a mount option, a layer below the filesystem, or the device itself.";
const ADD_JOURNAL: &str = "Add one while it is unmounted: `tune2fs -O has_journal DEVICE`.";
const CHECK_FILESYSTEM: &str =
    "Copy the data elsewhere, then check it unmounted: `e2fsck -f DEVICE`.";
const NO_FAST_COMMIT: &str =
    "Switch them off while it is unmounted: `tune2fs -O ^fast_commit DEVICE`.";
const JOURNAL_METADATA_ONLY: &str = "Mount with `data=ordered`.";
const MOUNT_ASYNC: &str =
    "Mount without `sync` and `dirsync`: apps that need it sync by themselves.";
const RELAX_ACCESS_TIMES: &str = "Mount with `relatime` or `noatime`.";
const FREE_SEGMENTS: &str = "Delete or move data; on a phone leave it idle and charging overnight.";
const TRIM_IN_BATCHES: &str =
    "Mount without `discard`, and trim once a week (`systemctl enable fstrim.timer`).";
const MAKE_ROOM: &str = "Delete or move data, then trim.";
const MAKE_ROOM_IN_QUOTA: &str = "See what is left of it (`quota -s`, `quota -g -s`; as root \
     `repquota -s -a`; on Btrfs `btrfs qgroup show -r MOUNTPOINT`), then delete data or have the \
     quota raised.";
const NO_SCHEDULER: &str = "Write `none` to `/sys/block/DISK/queue/scheduler`.";
const SWITCH_CACHE_ON: &str = "Switch it on (`mmc cache enable DEVICE`); barriers keep it safe.";
const LET_BUFFER_EMPTY: &str = "Leave the phone idle, so that the buffer is emptied; if it is off, the maker has switched it off.";
const WRITE_IN_PORTIONS: &str = "Write in portions that the cache holds, with pauses between.";
const KEEP_AWAKE: &str = "Lengthen the rest after which it sleeps (UFS: `auto_hibern8`, NVMe: `default_ps_max_latency_us`), or group what is written.";
const REPLACE_DEVICE: &str = "Copy the data elsewhere, and replace the device or the card.";
const TAKE_APP_CARD: &str = "Take a card of class A1 or A2, and measure it: `flashlag run quick`.";

/// What the action costs: a sentence.
pub(crate) fn price(of: FindingRisk) -> &'static str {
    match of {
        FindingRisk::LogGrows => LOG_GROWS,
        FindingRisk::SpaceAllocated => SPACE_ALLOCATED,
        FindingRisk::SpaceKept => SPACE_KEPT,
        FindingRisk::BusyWhileTrimming => BUSY_WHILE_TRIMMING,
        FindingRisk::OtherWorkWaits => OTHER_WORK_WAITS,
        FindingRisk::LessMemoryForOthers => LESS_MEMORY_FOR_OTHERS,
        FindingRisk::MoreLostAtOnce => MORE_LOST_AT_ONCE,
        FindingRisk::NotShared => NOT_SHARED,
        FindingRisk::Reformat => REFORMAT,
        FindingRisk::EachFlushWaits => EACH_FLUSH_WAITS,
        FindingRisk::CommitsCost => COMMITS_COST,
        FindingRisk::WholeCommits => WHOLE_COMMITS,
        FindingRisk::OrderLost => ORDER_LOST,
        FindingRisk::UnsyncedLost => UNSYNCED_LOST,
        FindingRisk::NoReadTimes => NO_READ_TIMES,
        FindingRisk::DeletedStays => DELETED_STAYS,
        FindingRisk::NoPriorities => NO_PRIORITIES,
        FindingRisk::TakesPower => TAKES_POWER,
        FindingRisk::CopiedOnce => COPIED_ONCE,
        FindingRisk::DataMoved => DATA_MOVED,
    }
}

const LOG_GROWS: &str = "The log grows until a checkpoint, and readers search it.";
const SPACE_ALLOCATED: &str = "Files take more space than they hold.";
const SPACE_KEPT: &str = "Less space is left for data.";
const BUSY_WHILE_TRIMMING: &str = "The device is busy while it is trimmed.";
const OTHER_WORK_WAITS: &str = "The other work ends later.";
const LESS_MEMORY_FOR_OTHERS: &str = "Less memory is left for other work.";
const MORE_LOST_AT_ONCE: &str = "A crash or a power cut loses more changes at once.";
const NOT_SHARED: &str = "Other apps can't read them there.";
const REFORMAT: &str = "All data has to be written anew.";
const EACH_FLUSH_WAITS: &str = "Each durable write waits for a flush.";
const COMMITS_COST: &str = "Each durable write that changes a file's size or place costs a commit.";
const WHOLE_COMMITS: &str = "An fsync of a file alone waits for what others changed, too.";
const ORDER_LOST: &str =
    "Data that was not synced can be old or new after a crash, not in the order of its writes.";
const UNSYNCED_LOST: &str = "What was not synced in the last 30 s is lost with the power.";
const NO_READ_TIMES: &str = "Programs can't tell when a file was read last.";
const DELETED_STAYS: &str = "Until the next trim the flash copies what was deleted.";
const NO_PRIORITIES: &str = "A process that writes much is not held back in favour of others.";
const TAKES_POWER: &str = "The battery lasts less long.";
const COPIED_ONCE: &str = "The database is written once more, beside the old one.";
const DATA_MOVED: &str = "The app has to move its data once.";
