//! The outcome of power cuts during saves.

use serde::Serialize;

/// The outcome of a series of power cuts, as `flashlag cuts --json` prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cuts {
    /// The target as the user named it.
    pub target: String,
    /// Cuts that were tried.
    pub cuts: u64,
    /// Saves that were made, without a cut.
    pub saves: u64,
    /// Saves acknowledged before each cut, summed.
    pub acknowledged: u64,
    /// Cuts after which an acknowledged save was missing.
    pub with_loss: u64,
    /// Acknowledged saves that were missing, summed.
    pub lost: u64,
    /// Acknowledged saves missing after the worst cut.
    pub most_lost: u64,
    /// Cuts after which the database was damaged, or gone.
    pub damaged: u64,
    /// Cuts after which a file that was saved without a database was gone or empty.
    pub empty: u64,
    /// Cuts after which the filesystem could not be mounted.
    pub unmountable: u64,
    /// Descriptions of the first failures.
    pub failures: Vec<String>,
}
