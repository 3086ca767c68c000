use std::path::PathBuf;

use flashlag_android::PhoneError;

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The mounts are not readable.
    #[error("the mounts of this machine can't be read: {0}")]
    Mounts(String),
    /// A path that does not exist, or may not be looked at.
    #[error("{path} can't be looked at: {source}")]
    NoPath {
        /// The path.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A path that is on no device.
    #[error("{path} is on {kind}, which is memory or the kernel's own: name a path on a disk")]
    NotStorage {
        /// The path.
        path: PathBuf,
        /// The filesystem.
        kind: String,
    },
    /// A source that can't be used here.
    #[error("{source_name} can't be used: {reason}")]
    Unusable {
        /// The source.
        source_name: &'static str,
        /// Why, and what to do about it.
        reason: String,
    },
    /// No source of events can be used here.
    #[error("{reasons}")]
    None {
        /// Why each can't, a line each.
        reasons: String,
    },
    /// No phone can be used.
    #[error(transparent)]
    Phone(#[from] PhoneError),
    /// A source that failed while it recorded.
    #[error("{source_name} failed while recording: {reason}")]
    Failed {
        /// The source.
        source_name: &'static str,
        /// Why.
        reason: String,
    },
}
