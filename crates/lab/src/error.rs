use std::path::PathBuf;

use flashlag_schema::target::TargetError;
use thiserror::Error;

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
        /// Its name.
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
    #[error("cannot {action} {}: {reason}", path.display())]
    File {
        /// The operation.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// A program of the host failed.
    #[error("{program} failed: {reason}")]
    Program {
        /// Its name.
        program: String,
        /// Its message.
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
    #[error("cannot mount {device} as {kind} at {} ({options}): {reason}", at.display())]
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
        reason: std::io::Error,
    },
    /// A mount can't be removed.
    #[error("cannot unmount {}: {reason}", at.display())]
    Unmount {
        /// The mount point.
        at: PathBuf,
        /// The system's reason.
        reason: std::io::Error,
    },
    /// Something can't be done: what, why, and what to try.
    #[error("{0}")]
    Plain(String),
    /// A failure that the guest reports.
    #[error("in the guest: {0}")]
    Said(String),
    /// The user stopped it.
    #[error("stopped")]
    Stopped,
}

impl LabError {
    /// For `map_err` after an operation on a file.
    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> LabError {
        let path = path.into();
        move |error| LabError::File { action, path, reason: error.to_string() }
    }
}
