use flashlag_spec::{Calibration, Reading};
use flashlag_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::internals::Internals;
use crate::layer::Layer;
use crate::limits::Limits;
use crate::pressure::PressureStall;

/// What the run ran on. Every string comes from the device and is data, never markup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Environment {
    /// Machine and software.
    pub software: Software,
    /// Processors.
    pub cpu: Cpu,
    /// Memory in all.
    pub memory_bytes: Reading<Bytes>,
    /// The filesystem that holds the directory under test.
    pub filesystem: Filesystem,
    /// The block device below it.
    pub device: Device,
    /// Encryption between the two.
    pub encryption: Reading<Encryption>,
    /// What a write passes through, the path under test first, the disk last. Empty in files of older
    /// versions and in simulations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// The state of filesystem, device and memory; absent in files of older versions and in simulations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internals: Option<Internals>,
    /// The limits of the process's control groups; absent in files of older versions and in
    /// simulations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Storage temperature before and after, in thousandths of a degree Celsius.
    pub storage_temperature_millicelsius: Reading<(i64, i64)>,
    /// Hottest CPU zone before and after, in thousandths of a degree Celsius.
    pub cpu_temperature_millicelsius: Reading<(i64, i64)>,
    /// The clock and the engine, measured at the start.
    pub calibration: Reading<Calibration>,
}

/// The system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Software {
    /// `uname`: system, release, architecture.
    pub kernel: Reading<String>,
    /// Pretty name of the distribution or Android build.
    pub system: Reading<String>,
    /// Product or board name: "Raspberry Pi 4 Model B".
    pub machine: Reading<String>,
    /// Whether a hypervisor is below.
    pub virtualized: Reading<bool>,
}

/// The processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Cpu {
    /// Model name.
    pub model: Reading<String>,
    /// How many this process may use.
    pub count: Reading<u32>,
    /// Frequency governor.
    pub governor: Reading<String>,
    /// Share of time in which some task waited for a CPU, over the last 10 s before the run, in
    /// hundredths of a percent (`/proc/pressure/cpu`).
    pub pressure_before: Reading<PressureStall>,
    /// The same, at the end.
    pub pressure_after: Reading<PressureStall>,
    /// Runnable threads in the last minute × 100, before the run (`/proc/loadavg`).
    pub load_before_hundredths: Reading<u64>,
}

/// The filesystem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Filesystem {
    /// `ext4`, `f2fs`, …
    pub kind: Reading<String>,
    /// Mount point.
    pub mount_point: Reading<String>,
    /// What is mounted: `/dev/mmcblk0p2`.
    pub source: Reading<String>,
    /// Mount options, of the mount and of the superblock.
    pub options: Reading<Vec<String>>,
    /// Why nothing can be written: `/mnt/card is mounted with the option ro`. Absent if it is
    /// writable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<String>,
    /// The quotas of the run's user or by mount options. A quota may leave less than the free
    /// space.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<Quota>,
    /// Its size.
    pub total_bytes: Reading<Bytes>,
    /// Free for us, before the run.
    pub free_bytes: Reading<Bytes>,
    /// Allocation block.
    pub block_bytes: Reading<Bytes>,
    /// Other filesystems on the way, from the top: `fuse`, `overlay` above this one,
    /// `ext4 below loop0` below it.
    pub layers: Vec<String>,
}

/// A quota on the storage of a filesystem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// What it counts together.
    pub of: QuotaOf,
    /// The most that may be stored.
    pub limit_bytes: Reading<Bytes>,
    /// What is stored.
    pub used_bytes: Reading<Bytes>,
}

/// What a quota counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QuotaOf {
    /// The files of a user.
    User,
    /// The files of a group.
    Group,
    /// Files with the id of a project.
    Project,
    /// The files of a Btrfs subvolume.
    Subvolume,
}

impl QuotaOf {
    /// The command that shows the quota.
    pub fn command(self) -> &'static str {
        match self {
            QuotaOf::User => "quota -s",
            QuotaOf::Group => "quota -g -s",
            QuotaOf::Project => "repquota -P -s -a",
            QuotaOf::Subvolume => "btrfs qgroup show -r",
        }
    }
}

impl Filesystem {
    /// Whether this mount option keeps a sync from flushing the device: synced data can then be
    /// lost at a power cut.
    pub fn is_without_flush(option: &str) -> bool {
        matches!(option, "nobarrier" | "barrier=0" | "barrier=none" | "fsync_mode=nobarrier")
    }

    /// The first mount option that keeps a sync from flushing the device; also `None` if options
    /// can't be read.
    pub fn option_without_flush(&self) -> Option<&str> {
        let options = self.options.value()?;
        options.iter().map(String::as_str).find(|option| Filesystem::is_without_flush(option))
    }

    /// Filesystems above this one, from the top: `fuse`, `overlay`.
    pub fn above(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().map(String::as_str).filter(|layer| !layer.contains(" below "))
    }
}

/// The block device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Device {
    /// Kernel name of the whole disk: `mmcblk0`.
    pub name: Reading<String>,
    /// `emmc`, `sd`, `ufs`, `nvme`, `sata`, `virtio`, `loop`, `usb`, …
    pub kind: Reading<String>,
    /// Vendor and model as the device reports them.
    pub model: Reading<String>,
    /// Firmware revision.
    pub firmware: Reading<String>,
    /// Size of the whole disk.
    pub size_bytes: Reading<Bytes>,
    /// The request queue.
    pub queue: Queue,
    /// How much of its life is used.
    pub life: Reading<DeviceLife>,
    /// Devices between the filesystem and the disk, from the top: `dm-0 (crypt)`, `loop0`.
    pub stack: Vec<String>,
}

/// The request queue of the disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Queue {
    /// `write back` (a volatile cache, flushed) or `write through`.
    pub write_cache: Reading<String>,
    /// Whether the device supports FUA writes.
    pub fua: Reading<bool>,
    /// The scheduler in use.
    pub scheduler: Reading<String>,
    /// Whether it rotates.
    pub rotational: Reading<bool>,
    /// Logical and physical block size.
    pub logical_block_bytes: Reading<Bytes>,
    /// Physical block size.
    pub physical_block_bytes: Reading<Bytes>,
    /// The largest discard; 0 without support for discards.
    pub discard_max_bytes: Reading<Bytes>,
    /// Requests the queue holds.
    pub requests: Reading<u64>,
}

/// The wear that the device reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviceLife {
    /// Share of rated life used, in percent, as an upper bound (eMMC and UFS report it in tenths).
    pub used_percent_at_most: u8,
    /// `normal`, `warning` or `urgent`, if reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_eol: Option<String>,
    /// Where this was read.
    pub source: String,
    /// Bytes that hosts have written since it was made, where it counts them (NVMe).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<Bytes>,
}

/// Encryption of the stored data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Encryption {
    /// `none seen`, `dm-crypt`, `fscrypt`, …
    pub kind: String,
    /// Cipher, if reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cipher: Option<String>,
}
