use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

use flashlag_spec::target::TargetError;
use flashlag_units::Bytes;
use thiserror::Error;

use crate::protocol::{PORT, Report, SETUP};
use crate::spec::Filesystem;

/// An error of a crate that the lab does not know: the served device, the saves.
type Cause = Box<dyn StdError + Send + Sync>;

/// Why the lab can't go on, and what to try.
#[derive(Debug, Error)]
pub enum LabError {
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A program is not installed.
    #[error(
        "the lab needs {program}, which is not on this machine (on Debian: apt install {package})"
    )]
    Missing { program: String, package: String },
    #[error("there is no kernel for the lab in {}: scripts/lab-packages fetches one (Debian's, into that folder only), or set FLASHLAG_LAB to a folder with vmlinux and lib/modules/VERSION", folder.display())]
    NoKernel { folder: PathBuf },
    /// The kernel has no such module.
    #[error(
        "the kernel {version} has no {what} (no module {module}): take another kernel (FLASHLAG_LAB_SERIES with scripts/lab-packages)"
    )]
    NoModule { version: String, what: String, module: String },
    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{program} failed: {reason}")]
    Program { program: String, reason: String },
    #[error("the guest {what}; the console's last lines:\n{console}")]
    Guest { what: String, console: String },
    #[error("cannot mount {device} as {kind} at {} ({options}): {source}", at.display())]
    Mount { device: String, kind: String, at: PathBuf, options: String, source: io::Error },
    #[error("cannot unmount {}: {source}", at.display())]
    Unmount { at: PathBuf, source: io::Error },
    /// The filesystem is not supported with the host's own kernel.
    #[error(
        "the host's kernel is for ext4, btrfs and xfs: leave out `host`, and a guest mounts {0}"
    )]
    HostFilesystem(Filesystem),
    #[error("encryption is a guest's: leave out `host`, or `encrypt`")]
    HostEncryption,
    /// Mounting on the host without being root.
    #[error(
        "`host` mounts a filesystem, which needs root: run it as root, or leave out `host` for a \
         guest, which needs none"
    )]
    NotRoot,
    #[error(
        "the host's kernel has no {0}: leave out `host`, so that a guest's kernel, which has it, is used"
    )]
    NoDriver(String),
    /// A filesystem whose driver or whose owner repairs it, not a machine by itself.
    #[error("{0} has no repair that a machine runs by itself before it mounts a drive")]
    NoRepair(Filesystem),
    /// A boot timeout that is not a number of seconds, or out of range.
    #[error("{variable}={value}: write how many seconds a guest may take to boot, such as {usual}")]
    Patience {
        variable: &'static str,
        value: String,
        /// The default, in seconds.
        usual: u64,
    },
    /// What a zoned device can't have in a guest.
    #[error("the device is zoned, and {0}")]
    Zoned(&'static str),
    #[error("F2FS's metadata takes {needed} here, and the device's conventional zones have {size}")]
    FewConventional { needed: Bytes, size: Bytes },
    #[error("power cuts are tried without {0}: leave it out")]
    CutsWithout(&'static str),
    #[error("the virtual device failed: {0}")]
    Device(#[source] Cause),
    #[error(transparent)]
    Folder(Cause),
    /// A recording of the device's requests that lacks some of them.
    #[error(
        "the recording of the device's requests is not whole: its file would have had more than \
         {0}; make fewer saves"
    )]
    Recording(Bytes),
    #[error("the virtual device listens on {0}, not on a socket")]
    NoSocket(String),
    /// A guest without the device that crash images are loaded into.
    #[error("the guest has no second device to load an image into")]
    NoSecondDevice,
    #[error("no save was acknowledged: make more saves")]
    NoSave,
    /// The description of the guest's mounts and modules can't be written or read.
    #[error("{SETUP}: {0}")]
    Setup(#[from] serde_json::Error),
    #[error("there is no port named {PORT}")]
    NoPort,
    #[error("no disk has the serial number {0}")]
    NoDisk(String),
    #[error("cannot save: {0}")]
    Save(#[source] Cause),
    #[error("in the guest: {0}")]
    Reported(String),
    #[error("the guest reported `{report}` while it {activity}")]
    OutOfTurn { report: &'static str, activity: &'static str },
    #[error("stopped")]
    Stopped,
}

impl LabError {
    /// The error for a report that ends the guest's activity: `Failed`, or one that is unexpected
    /// then. `activity` completes a sentence: `saved`.
    pub fn of_report(report: Report, activity: &'static str) -> LabError {
        match report {
            Report::Failed { error } => LabError::Reported(error),
            other => LabError::OutOfTurn { report: other.name(), activity },
        }
    }

    /// For `map_err` after an operation on a file.
    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> LabError {
        let path = path.into();
        move |source| LabError::File { action, path, source }
    }
}
