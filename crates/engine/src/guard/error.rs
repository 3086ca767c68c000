use std::path::{Path, PathBuf};

use flashlag_device::advice_for_errno;
use rustix::io::Errno;
use thiserror::Error;

/// A failed operation on flashlag's own files: which, where, why, and what to try.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{operation} {}: {reason} ({advice})", path.display())]
pub struct GuardError {
    /// `create directory`, `remove`, `lock`, …
    pub operation: &'static str,
    pub path: PathBuf,
    pub errno: Option<i32>,
    pub reason: String,
    pub advice: String,
}

impl GuardError {
    pub(crate) fn os(operation: &'static str, path: &Path, errno: Errno) -> GuardError {
        GuardError {
            operation,
            path: path.to_owned(),
            errno: Some(errno.raw_os_error()),
            reason: reason(errno),
            advice: advice(errno).to_owned(),
        }
    }

    pub(crate) fn other(
        operation: &'static str,
        path: &Path,
        reason: impl Into<String>,
        advice: &str,
    ) -> GuardError {
        GuardError {
            operation,
            path: path.to_owned(),
            errno: None,
            reason: reason.into(),
            advice: advice.to_owned(),
        }
    }

    /// Whether it failed with this errno.
    pub(crate) fn is(&self, errno: Errno) -> bool {
        self.errno == Some(errno.raw_os_error())
    }
}

/// The operating system's message, without its number.
pub(crate) fn reason(errno: Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn advice(errno: Errno) -> &'static str {
    match errno {
        Errno::NOENT => "the directory does not exist, or was removed meanwhile",
        Errno::NOTDIR => "give a directory",
        Errno::LOOP => "it is a symbolic link, which is never followed here",
        Errno::BUSY => "something is mounted on it: unmount that, then `flashlag clean` again",
        Errno::PERM => "another user owns it, or it was made immutable (lsattr, chattr -i)",
        _ => advice_for_errno(errno),
    }
}
