use std::fmt;

use super::kind::Kind;

/// A filesystem that a target can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesystemKind {
    /// No filesystem: files are ranges of the device.
    Raw,
    Ext4,
    /// F2FS.
    F2fs,
    Btrfs,
    Xfs,
    Nilfs2,
    /// FAT32, of cards up to 32 GB and most drives.
    Vfat,
    /// exFAT, of larger cards.
    Exfat,
    /// NTFS by the kernel's own driver.
    Ntfs3,
}

use FilesystemKind::{Btrfs, Exfat, Ext4, F2fs, Nilfs2, Ntfs3, Raw, Vfat, Xfs};

impl FilesystemKind {
    /// Every filesystem.
    pub const ALL: [FilesystemKind; 9] = [Raw, Ext4, F2fs, Btrfs, Xfs, Nilfs2, Vfat, Exfat, Ntfs3];

    /// The name in targets and in the kernel.
    pub fn name(self) -> &'static str {
        match self {
            Raw => "raw",
            Ext4 => "ext4",
            F2fs => "f2fs",
            Btrfs => "btrfs",
            Xfs => "xfs",
            Nilfs2 => "nilfs2",
            Vfat => "vfat",
            Exfat => "exfat",
            Ntfs3 => "ntfs3",
        }
    }

    /// The filesystems of a kind of target.
    pub const fn of(kind: Kind) -> &'static [FilesystemKind] {
        match kind {
            Kind::Sim => &[Raw, Ext4, F2fs, Btrfs],
            Kind::Lab => &[Ext4, F2fs, Btrfs, Xfs, Nilfs2, Vfat, Exfat, Ntfs3],
        }
    }
}

impl fmt::Display for FilesystemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
