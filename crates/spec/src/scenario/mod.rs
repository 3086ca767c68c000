//! Scenarios: what is done to the storage, as a TOML file. The built-in ones have the same format.
//!
//! A file has `[settings]` (names that `--set` changes and that `"$name"` refers to), tests
//! (`[[io]]`, `[[save]]`, `[[card]]` and `[[replay]]`) and steps (`[[step]]`) that run them, fill, delete, trim and wait. It may
//! say what its figures must reach (`[[require]]`).

mod builtin;
mod card;
mod error;
mod fault;
mod file_save;
mod hash;
mod pace;
mod parse;
mod purposes;
mod repeats;
mod replay;
mod saves;
mod settings;
mod types;
mod validate;

#[cfg(feature = "json-schema")]
pub(crate) use parse::ScenarioFile;

pub use crate::words::{Durability, EngineKind, Pattern};
pub use builtin::{BUILTINS, Builtin, PURPOSES, builtin};
pub use card::Card;
pub use error::ScenarioError;
pub use fault::{Combination, ScenarioFault};
pub use file_save::{FileKind, FileSave, PrefsCall};
pub use hash::hash_of_text;
pub use pace::{Arrivals, SavePace, Schedule};
pub use repeats::{After, Stretch};
pub use replay::{Replay, ReplayAs, ReplayFacts};
pub use types::{
    Io, IoOperation, JournalMode, Limit, Requirement, Save, Scenario, Statement, Step, SyncCall,
    Synchronous, Test, ThreadSpans, Until,
};
pub use validate::FIRST_ROWS;
