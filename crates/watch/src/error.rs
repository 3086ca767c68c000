use std::path::PathBuf;

use flashlag_device::DeviceError;
use flashlag_engine::GuardError;
use flashlag_units::Bytes;
use thiserror::Error;

use crate::book::BookError;

/// Why nothing can be watched.
#[derive(Debug, Error)]
pub enum WatchError {
    #[error("{} can't be watched: {reason}", directory.display())]
    NoDisk { directory: PathBuf, reason: String },
    #[error(
        "{} has {free} free, and probes leave {left}: make room, or watch without --probe",
        directory.display()
    )]
    NoRoom { directory: PathBuf, free: Bytes, left: Bytes },
    #[error("a thread can't be started: {0}")]
    Thread(std::io::Error),
    #[error(transparent)]
    Book(#[from] BookError),
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error(transparent)]
    Device(#[from] DeviceError),
}
