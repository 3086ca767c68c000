//! The counts of a finished sweep.

use std::path::PathBuf;

/// A finished sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The table.
    pub output: PathBuf,
    pub points: u64,
    pub rows: u64,
    /// Rows of what failed.
    pub failed: u64,
    /// Rows of what was skipped.
    pub skipped: u64,
    /// The error of the first row that has failed.
    pub first_error: Option<String>,
}
