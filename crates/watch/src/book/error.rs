use std::path::{Path, PathBuf};

use flashlag_device::DeviceError;
use flashlag_units::Bytes;
use rustix::io::Errno;
use thiserror::Error;

use crate::book::record::VERSION;

/// Why a history can't be read or written.
#[derive(Debug, Error)]
pub enum BookError {
    #[error(
        "{} is a history of version {found}, and this flashlag reads version {VERSION}: keep it for the flashlag that wrote it, and name another file with --history",
        path.display()
    )]
    Version { path: PathBuf, found: char },
    #[error("{} is no history of flashlag: name another file with --history", path.display())]
    NotOne { path: PathBuf },
    #[error(
        "there is no history {}: `flashlag watch` makes one; name its directory or its file",
        path.display()
    )]
    Missing { path: PathBuf },
    #[error("another `flashlag watch` writes to {}: end that one, or name another file with --history", path.display())]
    Busy { path: PathBuf },
    #[error(
        "{} does not grow: {free} are free there, and flashlag leaves {left} (make room, or name a file elsewhere with --history)",
        path.display()
    )]
    Full { path: PathBuf, free: Bytes, left: Bytes },
    #[error("a record of {} is too long for its sectors", path.display())]
    TooLong { path: PathBuf },
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl BookError {
    pub(crate) fn os(operation: &'static str, path: &Path, errno: Errno) -> BookError {
        BookError::Device(DeviceError::os(operation, path.display().to_string(), None, errno))
    }
}
