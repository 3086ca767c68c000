//! Scenarios: what is done to the storage, as a TOML file. The built-in ones have the same format.
//!
//! A file has `[settings]` (names that `--set` changes and that `"$name"` refers to), tests
//! (`[[io]]`, `[[save]]` and `[[replay]]`) and steps (`[[step]]`) that run them, fill, delete, trim and wait. It may
//! say what its figures must reach (`[[require]]`).

mod error;
mod fault;
mod hash;
mod parse;
mod repeats;
mod replay;
mod settings;
mod types;
mod validate;

#[cfg(feature = "json-schema")]
pub(crate) use parse::ScenarioFile;

pub use crate::words::{Durability, EngineKind, Pattern};
pub use error::ScenarioError;
pub use fault::{Combination, ScenarioFault};
pub use hash::hash_of_text;
pub use repeats::{After, Stretch};
pub use replay::{Replay, ReplayAs, ReplayFacts};
pub use types::{
    Arrivals, Io, IoOperation, JournalMode, Requirement, Save, Scenario, Schedule, Statement, Step,
    SyncCall, Synchronous, Test, ThreadSpans, Until,
};
pub use validate::FIRST_ROWS;
