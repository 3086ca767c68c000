//! The outcome for files to be added to a store.

use std::path::PathBuf;

use crate::standing::Standing;

/// The outcome for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// The file as it was given.
    pub from: PathBuf,
    /// Whether it was added.
    pub outcome: Outcome,
}

/// The outcome of adding a file.
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
    /// The store already has a file with the same contents.
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
