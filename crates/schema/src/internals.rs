//! What a filesystem, a device and the memory report about themselves, beyond options and sizes.

use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::counters::Throttle;
use crate::pressure::PressureStall;

/// The state of filesystem, device and memory at the start of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Internals {
    /// The filesystem's own account.
    pub filesystem: Reading<FilesystemInternals>,
    /// The device's own account.
    pub device: Reading<DeviceInternals>,
    /// Memory and its pressure.
    pub memory: MemoryState,
    /// When a timer of the system last trimmed the filesystem, before the run.
    pub trimmed_before_ns: Reading<Nanos>,
    /// Whether the processor has instructions for AES.
    pub aes_instructions: Reading<bool>,
    /// Signs that heat holds the machine back.
    pub thermal: Reading<Throttle>,
    /// SQLite databases below the directory.
    pub databases: Reading<Databases>,
    /// What is lost if the drive is pulled out; absent if it can't be, and in files of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unplugged: Option<Unplugged>,
}

/// What is lost of a drive that is pulled out while it is mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Unplugged {
    /// Why the drive can be pulled out: `it is on USB`.
    pub because: String,
    /// The age at which the kernel begins to write what was not synced, and the time until it looks
    /// (`dirty_expire_centisecs` and `dirty_writeback_centisecs` in `/proc/sys/vm`).
    pub stays_ns: Reading<Nanos>,
    /// Written by programs and not yet on the drive, before the run.
    pub unwritten_bytes: Reading<Bytes>,
    /// The same at the end.
    pub unwritten_at_end_bytes: Reading<Bytes>,
    /// Whether these two are of all storage: only root can see those of one drive, in debugfs.
    pub of_all_storage: bool,
}

/// A format that other systems read too. The drivers that Linux has for it write no journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PortableFormat {
    /// FAT12, FAT16 or FAT32.
    Fat,
    /// exFAT.
    Exfat,
    /// NTFS.
    Ntfs,
}

impl PortableFormat {
    /// `exFAT`
    pub fn name(self) -> &'static str {
        match self {
            PortableFormat::Fat => "FAT",
            PortableFormat::Exfat => "exFAT",
            PortableFormat::Ntfs => "NTFS",
        }
    }
}

/// When a filesystem writes what nobody has synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unsynced {
    /// Before the call that writes returns: mounted with `sync`.
    AtOnce,
    /// When the file is closed: FAT mounted with `flush`.
    AtClose,
    /// When the kernel finds it old, or needs its memory.
    Later,
}

/// The SQLite databases found by a bounded search below a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Databases {
    /// Number of directory entries examined.
    pub searched: u64,
    /// Whether these were all.
    pub complete: bool,
    /// Databases of 256 KiB or more.
    pub databases: u64,
    /// The one in most pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<DatabasePieces>,
}

/// A database, and the number of its pieces on the storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DatabasePieces {
    /// Its file name; absent in run files, since those are passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its size.
    pub bytes: Bytes,
    /// Pieces, as the filesystem counts them.
    pub pieces: u64,
}

/// What a filesystem says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FilesystemInternals {
    /// ext4, by `/proc/fs/ext4` and `/sys/fs/ext4`.
    Ext4 {
        /// What the journal holds.
        journal: Reading<Ext4Journal>,
        /// Whether a sync flushes the device.
        barrier: Reading<bool>,
        /// Seconds between commits if nothing requests one.
        commit_s: Reading<u64>,
        /// Fast commits since the mount.
        fast_commits: Reading<u64>,
        /// Written in the filesystem's life.
        lifetime_written_bytes: Reading<Bytes>,
        /// Errors that the filesystem has noted.
        errors: Reading<u64>,
        /// Features of the superblock, which root can read: `fast_commit`, `metadata_csum`. Absent in
        /// files of older versions.
        #[serde(default)]
        features: Reading<Vec<String>>,
    },
    /// F2FS, by `/sys/fs/f2fs`.
    F2fs {
        /// Segments of 2 MiB without data.
        free_segments: Reading<u64>,
        /// Segments that are partly outdated.
        dirty_segments: Reading<u64>,
        /// Segments that are kept for cleaning.
        spare_segments: Reading<u64>,
        /// What an fsync flushes: `posix`, `strict`, `nobarrier`.
        fsync_mode: Reading<String>,
        /// The policy of overwriting in place: the kernel's bits (`fs/f2fs/segment.h`).
        ipu_policy: Reading<String>,
        /// Checkpoints that an operation waited for, and others.
        checkpoints: Reading<Calls>,
        /// Segments cleaned while an operation waited, and others.
        cleanings: Reading<Calls>,
        /// Written in the filesystem's life.
        lifetime_written_bytes: Reading<Bytes>,
    },
    /// FAT, exFAT or NTFS, by the mount.
    Portable {
        format: PortableFormat,
        /// Whether a FUSE daemon serves the files, and not the kernel.
        by_fuse: bool,
        /// When it writes what nobody has synced.
        unsynced: Unsynced,
    },
    /// Btrfs, by mount options.
    Btrfs {
        /// `zstd:1`; absent without compression.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compression: Option<String>,
        /// Whether data is overwritten in place.
        nodatacow: bool,
    },
}

/// What ext4's journal holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ext4Journal {
    /// There is no journal.
    None,
    /// Metadata; data at any time.
    Writeback,
    /// Metadata; data before it.
    Ordered,
    /// Metadata and data, so that both are written twice.
    Journal,
}

/// How often something was done since the mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// While a call waited.
    pub foreground: u64,
    /// By the filesystem's own thread.
    pub background: u64,
}

/// What a device says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum DeviceInternals {
    /// An eMMC, by sysfs; cache and background operations by EXT_CSD, which only root can read.
    Emmc {
        /// Whether the command queue is in use.
        command_queue: Reading<bool>,
        /// The volatile write cache's size; 0 without one.
        cache_bytes: Reading<Bytes>,
        /// Whether the cache is switched on.
        cache_on: Reading<bool>,
        /// Whether the device may do background operations by itself (AUTO_EN) or on request
        /// (MANUAL_EN).
        background_operations: Reading<bool>,
    },
    /// A UFS device, by the host controller's sysfs.
    Ufs {
        /// `3.1`: the version of the standard.
        version: Reading<String>,
        /// Whether writes go to the WriteBooster buffer.
        write_booster: Reading<bool>,
        /// Part of the WriteBooster buffer that is free, in percent, in steps of 10.
        write_booster_free_percent: Reading<u8>,
        /// Whether the host keeps a part of the device's map (HPB).
        host_map: Reading<bool>,
        /// `HS_GEAR3`.
        gear: Reading<String>,
        /// Lanes of the link.
        lanes: Reading<u64>,
        /// Idle time after which the link goes to sleep by itself (hibern8); 0: never.
        sleeps_after_ns: Reading<Nanos>,
    },
    /// An SD card, by its status register.
    Sd {
        /// `10`: 10 MB/s in sequence at least.
        speed_class: Reading<u8>,
        /// `1` or `3`: U1 and U3.
        uhs_grade: Reading<u8>,
        /// `30`: V30.
        video_class: Reading<u8>,
        /// `1` or `2`: A1 and A2; 0 without an application class.
        app_class: Reading<u8>,
        /// The allocation unit.
        allocation_unit_bytes: Reading<Bytes>,
    },
    /// An NVMe disk.
    Nvme {
        /// The longest wake-up that the kernel allows the disk, by its module's parameter.
        wakes_within_ns: Reading<Nanos>,
    },
}

/// Memory, and how long tasks wait for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct MemoryState {
    /// Available without swapping (`MemAvailable`).
    pub available_bytes: Reading<Bytes>,
    /// Tasks that waited for memory.
    pub pressure: Reading<PressureStall>,
    /// Tasks that waited for I/O.
    pub io_pressure: Reading<PressureStall>,
    /// Swapped out, to disks and not to compressed memory.
    pub swapped_to_disk_bytes: Reading<Bytes>,
    /// Swapped out to compressed memory (zram), before compression.
    pub swapped_to_memory_bytes: Reading<Bytes>,
}
