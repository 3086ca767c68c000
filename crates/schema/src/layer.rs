//! The layers that a write passes through, from the path under test down to the disk.

use serde::{Deserialize, Serialize};

/// One layer of the path to the storage. The topmost comes first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// What the layer is.
    pub kind: LayerKind,
    /// The layer's own name: a mount point for a filesystem, the kernel's name for a device.
    pub name: String,
    /// What it consists of, in the system's words: `f2fs`, `crypt`, `raid1`, `Samsung SSD 980`.
    /// Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The kinds of layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// A part of a filesystem that is mounted at another place: a bind mount, a subvolume.
    Bind,
    /// A filesystem served by a process.
    Fuse,
    /// A filesystem that passes calls to another one: overlay, sdcardfs, ecryptfs.
    Stacked,
    /// Encryption of single files, by the filesystem (fscrypt).
    FileEncryption,
    /// The filesystem that stores.
    Filesystem,
    /// A filesystem in memory.
    Memory,
    /// A filesystem of another machine, or of the host of a virtual one.
    Remote,
    /// Encryption of a block device (dm-crypt, dm-default-key).
    BlockEncryption,
    /// A logical volume.
    Volume,
    /// Several disks as one.
    Raid,
    /// Another mapped device.
    Mapped,
    /// A file that looks like a disk.
    Loop,
    /// A part of a disk.
    Partition,
    /// The disk.
    Disk,
}
