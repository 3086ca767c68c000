use std::path::PathBuf;

use flashlag_android::PhoneError;

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    #[error("the mounts of this machine can't be read: {0}")]
    Mounts(flashlag_inspect::Reason),
    #[error("{path} can't be examined: {source}")]
    NoPath { path: PathBuf, source: std::io::Error },
    #[error("{path} is on {kind}, which is memory or the kernel's own: name a path on a disk")]
    NotStorage { path: PathBuf, kind: String },
    #[error("{source_name} can't be used: {reason}")]
    Unusable { source_name: &'static str, reason: String },
    #[error("{reasons}")]
    None { reasons: String },
    #[error(transparent)]
    Phone(#[from] PhoneError),
    #[error("{source_name} failed while recording: {reason}")]
    Failed { source_name: &'static str, reason: String },
}
