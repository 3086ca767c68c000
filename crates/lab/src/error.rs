use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

use flashlag_spec::target::TargetError;
use thiserror::Error;

use crate::protocol::{PORT, Report, SETUP};
use crate::spec::Filesystem;

/// An error of a crate that the lab does not know: the served device, the saves.
type Cause = Box<dyn StdError + Send + Sync>;

/// Why the lab can't go on, and what to try.
#[derive(Debug, Error)]
pub enum LabError {
    /// An unknown filesystem or option.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A program is not installed.
    #[error(
        "the lab needs {program}, which is not on this machine (on Debian: apt install {package})"
    )]
    Missing {
        /// The program's name.
        program: String,
        /// The package that has the program.
        package: String,
    },
    /// There is no kernel to boot.
    #[error("there is no kernel for the lab in {}: scripts/lab-packages fetches one (Debian's, into that folder only), or set FLASHLAG_LAB to a folder with vmlinux and lib/modules/VERSION", folder.display())]
    NoKernel {
        /// The folder that was searched.
        folder: PathBuf,
    },
    /// The kernel has no such module.
    #[error(
        "the kernel {version} has no {what} (no module {module}): take another kernel (FLASHLAG_LAB_SERIES with scripts/lab-packages)"
    )]
    NoModule {
        /// The kernel.
        version: String,
        /// The feature that needs the module.
        what: String,
        /// The module.
        module: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The operation.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A program of the host failed.
    #[error("{program} failed: {reason}")]
    Program {
        /// The program's name.
        program: String,
        /// The program's own message.
        reason: String,
    },
    /// The guest did not come up, or went away.
    #[error("the guest {what}; the console's last lines:\n{console}")]
    Guest {
        /// The event, as the rest of a sentence.
        what: String,
        /// The last lines of its console.
        console: String,
    },
    /// A filesystem or a layer can't be mounted.
    #[error("cannot mount {device} as {kind} at {} ({options}): {source}", at.display())]
    Mount {
        /// The disk, the directory, or the kind again.
        device: String,
        /// The kernel's name of the filesystem.
        kind: String,
        /// The mount point.
        at: PathBuf,
        /// The mount options.
        options: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A mount can't be removed.
    #[error("cannot unmount {}: {source}", at.display())]
    Unmount {
        /// The mount point.
        at: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A filesystem that the host's own kernel is not used for.
    #[error(
        "the host's kernel is for ext4, btrfs and xfs: leave out `host`, and a guest mounts {0}"
    )]
    HostFilesystem(Filesystem),
    /// Encryption on the host's own kernel.
    #[error("encryption is a guest's: leave out `host`, or `encrypt`")]
    HostEncryption,
    /// Mounting on the host without being root.
    #[error(
        "`host` mounts a filesystem, which needs root: run it as root, or leave out `host` for a \
         guest, which needs none"
    )]
    NotRoot,
    /// The host's kernel has no such driver.
    #[error("the host's kernel has no {0}: leave out `host`, and a guest has it")]
    NoDriver(String),
    /// A limit on the time to boot that is no number of seconds, or out of range.
    #[error("{variable}={value}: write how many seconds a guest may take to boot, such as {usual}")]
    Patience {
        /// The environment variable.
        variable: &'static str,
        /// The variable's value.
        value: String,
        /// The default, in seconds.
        usual: u64,
    },
    /// Power cuts on a target that they are not for.
    #[error("power cuts are tried without {0}: leave it out")]
    CutsWithout(&'static str),
    /// The virtual device, or the server of it, failed.
    #[error("the virtual device failed: {0}")]
    Device(#[source] Cause),
    /// The folder of a lab can't be made.
    #[error(transparent)]
    Folder(Cause),
    /// A recording of the device's requests that lacks some of them.
    #[error("the recording is not whole ({answer}): make fewer saves")]
    Recording {
        /// What the device answered.
        answer: String,
    },
    /// The virtual device listens elsewhere than on a socket.
    #[error("the virtual device listens on {0}, not on a socket")]
    NoSocket(String),
    /// A guest without the device that crash images are loaded into.
    #[error("the guest has no second device to load an image into")]
    NoSecondDevice,
    /// No save ended before the device was stopped.
    #[error("no save was acknowledged: make more saves")]
    NoSave,
    /// The description of the guest's mounts and modules can't be written or read.
    #[error("{SETUP}: {0}")]
    Setup(#[from] serde_json::Error),
    /// The guest has no port to the host.
    #[error("there is no port named {PORT}")]
    NoPort,
    /// The guest has no disk with this serial number.
    #[error("no disk has the serial number {0}")]
    NoDisk(String),
    /// A save in the guest failed.
    #[error("cannot save: {0}")]
    Save(#[source] Cause),
    /// A failure that the guest reported.
    #[error("in the guest: {0}")]
    Reported(String),
    /// A report of the guest out of turn.
    #[error("the guest reported {report} while it {activity}")]
    OutOfTurn {
        /// The report.
        report: String,
        /// What the guest was to do, as the rest of a sentence.
        activity: &'static str,
    },
    /// The user stopped it.
    #[error("stopped")]
    Stopped,
}

impl LabError {
    /// The error of a report that ends what the guest does: `Failed`, or any other out of turn.
    /// `activity` is the rest of a sentence: `saved`.
    pub fn of_report(report: Report, activity: &'static str) -> LabError {
        match report {
            Report::Failed { error } => LabError::Reported(error),
            other => LabError::OutOfTurn { report: format!("{other:?}"), activity },
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
