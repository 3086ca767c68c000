//! What became of files that were to be added to a store.

use std::path::PathBuf;

use crate::standing::Standing;

/// What became of one file that was to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// The file as it was given.
    pub from: PathBuf,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the store now, under this name.
    New {
        /// Its name in the store.
        name: String,
        /// Whether it counts.
        standing: Standing,
        /// Why not.
        reason: Option<String>,
    },
    /// A file with the same contents was there.
    Known {
        /// Its name in the store.
        name: String,
    },
    /// It was not added.
    Refused {
        /// Why not.
        reason: String,
    },
}
