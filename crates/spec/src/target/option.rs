use std::fmt;

use flashlag_units::Bytes;
use serde::{Deserialize, Serialize};

use super::value::{Age, Literal, TimeScale};

/// The cipher of a device that is encrypted below the filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cipher {
    /// AES in XTS mode, with a key of 256 bits.
    AesXts,
    /// Adiantum, for processors without instructions for AES.
    Adiantum,
}

/// The flushes of an F2FS fsync (`fsync_mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FsyncMode {
    /// One flush after the file's blocks: the kernel's default.
    #[default]
    Posix,
    /// Blocks in their order, and a checkpoint for a new file in a directory that a file left.
    Strict,
    /// None: only checkpoints and atomic writes flush.
    NoBarrier,
}

impl fmt::Display for FsyncMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FsyncMode::Posix => "posix",
            FsyncMode::Strict => "strict",
            FsyncMode::NoBarrier => "nobarrier",
        })
    }
}

/// An option of a target. The table [`OPTIONS`](super::OPTIONS) has the meaning of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetOption {
    /// `barrier`, `nobarrier`: whether a sync flushes the device.
    Barrier(bool),
    /// `fsync_mode=MODE`: what an F2FS fsync flushes.
    FsyncMode(FsyncMode),
    /// `atomic`: SQLite commits by F2FS's atomic writes.
    AtomicWrites,
    /// `inmem`: pages of an atomic write wait in memory, as before Linux 5.19.
    AtomicInMemory,
    /// `background_gc=on`, `background_gc=off`: whether F2FS cleans while it is idle.
    BackgroundCleaning(bool),
    /// `checkpoint_merge`: concurrent callers that need a checkpoint of F2FS share one.
    CheckpointMerge,
    /// `nodatacow`: Btrfs writes data in place, without checksums.
    NoDataCopy,
    /// `discard`, `nodiscard`: whether freed space is discarded at once.
    Discard(bool),
    /// `ipu`, `noipu`: whether F2FS writes in place in an fsync of a few pages.
    InPlace(bool),
    /// `rootdir`: files are in the root directory.
    RootDirectory,
    FastCommit,
    DataJournal,
    /// `fuse`: a FUSE daemon that passes every call on.
    Fuse,
    /// `esdfs`: a wrapper in the kernel.
    Esdfs,
    /// `overlay`: an overlay over an empty directory.
    Overlay,
    /// `bind`: a bind mount.
    Bind,
    /// `encrypt`, `encrypt=adiantum`.
    Encrypt(Cipher),
    /// `host`: the host's own kernel mounts the filesystem.
    Host,
    /// `size=SIZE`: the capacity of the device.
    Size(Literal<Bytes>),
    /// `state=STATE`: the device's state at the start.
    State(Literal<Age>),
    /// `time-scale=N`: the pace of the device's time.
    TimeScale(Literal<TimeScale>),
    /// `fill-time-scale=N`: the pace while a fill goes on.
    FillTimeScale(Literal<TimeScale>),
}

impl TargetOption {
    /// Whether the option concerns the device, or the kernel that mounts it, and not the filesystem
    /// or the layers above it.
    pub fn is_of_device(&self) -> bool {
        match self {
            TargetOption::Host
            | TargetOption::Size(_)
            | TargetOption::State(_)
            | TargetOption::TimeScale(_)
            | TargetOption::FillTimeScale(_) => true,
            TargetOption::Barrier(_)
            | TargetOption::FsyncMode(_)
            | TargetOption::AtomicWrites
            | TargetOption::BackgroundCleaning(_)
            | TargetOption::CheckpointMerge
            | TargetOption::NoDataCopy
            | TargetOption::Discard(_)
            | TargetOption::InPlace(_)
            | TargetOption::AtomicInMemory
            | TargetOption::RootDirectory
            | TargetOption::FastCommit
            | TargetOption::DataJournal
            | TargetOption::Fuse
            | TargetOption::Esdfs
            | TargetOption::Overlay
            | TargetOption::Bind
            | TargetOption::Encrypt(_) => false,
        }
    }
}

impl fmt::Display for TargetOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TargetOption::Barrier(true) => "barrier",
            TargetOption::Barrier(false) => "nobarrier",
            TargetOption::FsyncMode(mode) => return write!(f, "fsync_mode={mode}"),
            TargetOption::AtomicWrites => "atomic",
            TargetOption::AtomicInMemory => "inmem",
            TargetOption::BackgroundCleaning(true) => "background_gc=on",
            TargetOption::BackgroundCleaning(false) => "background_gc=off",
            TargetOption::CheckpointMerge => "checkpoint_merge",
            TargetOption::NoDataCopy => "nodatacow",
            TargetOption::Discard(true) => "discard",
            TargetOption::Discard(false) => "nodiscard",
            TargetOption::InPlace(true) => "ipu",
            TargetOption::InPlace(false) => "noipu",
            TargetOption::RootDirectory => "rootdir",
            TargetOption::FastCommit => "fast_commit",
            TargetOption::DataJournal => "data=journal",
            TargetOption::Fuse => "fuse",
            TargetOption::Esdfs => "esdfs",
            TargetOption::Overlay => "overlay",
            TargetOption::Bind => "bind",
            TargetOption::Encrypt(Cipher::AesXts) => "encrypt",
            TargetOption::Encrypt(Cipher::Adiantum) => "encrypt=adiantum",
            TargetOption::Host => "host",
            TargetOption::Size(size) => return write!(f, "size={size}"),
            TargetOption::State(age) => return write!(f, "state={age}"),
            TargetOption::TimeScale(times) => return write!(f, "time-scale={times}"),
            TargetOption::FillTimeScale(times) => return write!(f, "fill-time-scale={times}"),
        })
    }
}
