//! Mount specifications: filesystem and options, as in `ext4,nobarrier,fuse`.

use std::fmt;

use flashlag_spec::target::{self, FsyncMode, Kind, MountSpec, TargetError, TargetOption};

/// A modelled filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesystemKind {
    /// No filesystem: files are ranges of the device.
    Raw,
    /// ext4 with an ordered journal.
    Ext4,
    /// F2FS.
    F2fs,
    Btrfs,
}

/// A modelled mount: a filesystem and the effects of its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackSpec {
    pub kind: FilesystemKind,
    /// Whether a sync flushes the device (`nobarrier` turns it off).
    pub barrier: bool,
    /// How an F2FS fsync flushes.
    pub fsync_mode: FsyncMode,
    /// Whether SQLite commits by F2FS's atomic writes (`atomic`).
    pub atomic: bool,
    /// Whether pages of an atomic write wait in memory (`inmem`), as before Linux 5.19, and not in
    /// a second inode.
    pub atomic_in_memory: bool,
    /// Whether F2FS cleans while the device is idle (`background_gc=on`).
    pub background_cleaning: bool,
    /// Whether concurrent callers that need an F2FS checkpoint share one (`checkpoint_merge`).
    pub checkpoint_merge: bool,
    /// Whether Btrfs copies data on write (`nodatacow` turns it off).
    pub copy_on_write: bool,
    /// Whether ext4 has fast commits (`fast_commit`).
    pub fast_commit: bool,
    /// Whether freed space is discarded at once; the default on F2FS.
    pub discard: bool,
    /// Whether an F2FS fsync of a few pages writes in place, as since Linux 3.17 (`noipu` turns it
    /// off).
    pub ipu: bool,
    /// Whether F2FS's files are in the root directory (`rootdir`), which has a block for names. By
    /// default they are in an app's own directory, which holds its few names in its inode.
    pub rootdir: bool,
    /// Whether calls go through a FUSE daemon.
    pub fuse: bool,
    /// Whether the device is encrypted below the filesystem.
    pub encrypt: bool,
}

impl fmt::Display for FilesystemKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            FilesystemKind::Raw => "raw",
            FilesystemKind::Ext4 => "ext4",
            FilesystemKind::F2fs => "f2fs",
            FilesystemKind::Btrfs => "btrfs",
        })
    }
}

impl StackSpec {
    /// Parses `FS[,OPTION]...` as a simulated target has it.
    ///
    /// # Errors
    /// If a word is unknown, or has no meaning in a simulation or for the filesystem.
    pub fn parse(text: &str) -> Result<StackSpec, TargetError> {
        StackSpec::of(&MountSpec::parse(Kind::Sim, text)?)
    }

    /// The mount that a target describes. Options of the device are ignored.
    pub fn of(mount: &MountSpec) -> Result<StackSpec, TargetError> {
        mount.check(Kind::Sim)?;
        let kind = match mount.filesystem {
            target::FilesystemKind::Ext4 => FilesystemKind::Ext4,
            target::FilesystemKind::F2fs => FilesystemKind::F2fs,
            target::FilesystemKind::Btrfs => FilesystemKind::Btrfs,
            // The check leaves no other.
            _ => FilesystemKind::Raw,
        };
        let mut spec = StackSpec {
            kind,
            barrier: true,
            fsync_mode: FsyncMode::Posix,
            atomic: false,
            atomic_in_memory: false,
            background_cleaning: false,
            checkpoint_merge: false,
            copy_on_write: true,
            fast_commit: false,
            discard: kind == FilesystemKind::F2fs,
            ipu: true,
            rootdir: false,
            fuse: false,
            encrypt: false,
        };
        mount.options.iter().for_each(|option| spec.apply(option));
        Ok(spec)
    }

    fn apply(&mut self, option: &TargetOption) {
        match option {
            TargetOption::Barrier(on) => self.barrier = *on,
            TargetOption::FsyncMode(mode) => self.fsync_mode = *mode,
            TargetOption::AtomicWrites => self.atomic = true,
            TargetOption::AtomicInMemory => self.atomic_in_memory = true,
            TargetOption::BackgroundCleaning(on) => self.background_cleaning = *on,
            TargetOption::CheckpointMerge => self.checkpoint_merge = true,
            TargetOption::NoDataCopy => self.copy_on_write = false,
            TargetOption::FastCommit => self.fast_commit = true,
            TargetOption::Discard(on) => self.discard = *on,
            TargetOption::InPlace(on) => self.ipu = *on,
            TargetOption::RootDirectory => self.rootdir = true,
            TargetOption::Fuse => self.fuse = true,
            // esdfs is a wrapper in the kernel, and the time of a call does not show its cost.
            TargetOption::Esdfs => self.fuse = false,
            TargetOption::Encrypt(_) => self.encrypt = true,
            // Options of the device; or of the lab, which were refused earlier.
            TargetOption::Size(_)
            | TargetOption::State(_)
            | TargetOption::TimeScale(_)
            | TargetOption::FillTimeScale(_)
            | TargetOption::Host
            | TargetOption::DataJournal
            | TargetOption::Overlay
            | TargetOption::Bind => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_filesystem() {
        let ext4 = StackSpec::parse("ext4").unwrap();
        assert!(ext4.barrier && !ext4.discard && !ext4.fuse && !ext4.encrypt);
        assert!(StackSpec::parse("f2fs").unwrap().discard);
        assert_eq!(StackSpec::parse("raw").unwrap().kind, FilesystemKind::Raw);
    }

    #[test]
    fn options_apply_in_order() {
        let spec = StackSpec::parse("f2fs,nobarrier,nodiscard,noipu,fuse,encrypt").unwrap();
        assert!(!spec.barrier && !spec.discard && !spec.ipu && spec.fuse && spec.encrypt);
        assert!(!StackSpec::parse("ext4,fuse,esdfs").unwrap().fuse);
        assert!(StackSpec::parse("ext4,esdfs,fuse").unwrap().fuse);
    }

    #[test]
    fn a_mount_of_the_lab_is_refused() {
        let lab = |text| StackSpec::of(&MountSpec::parse(Kind::Lab, text).unwrap());
        assert!(lab("ext4,nobarrier").is_ok());
        assert!(lab("xfs").unwrap_err().to_string().contains("raw, ext4, f2fs and btrfs"));
        assert!(lab("ext4,overlay").unwrap_err().to_string().contains("lab: has it"));
    }
}
