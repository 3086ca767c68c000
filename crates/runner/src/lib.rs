//! Scenario × target → run: the only crate that knows every kind of target.
//!
//! [`prepare`] examines the target, cleans up after dead runs and adds up what the run will cost;
//! [`Prepared::run`] does the scenario's tasks one after the other and stores the run after each.
//! The recipes of tests, saves and fills are in `work`, written once over the trait `World`;
//! `real`, `sim` and `lab` are what the recipes work on.
#![forbid(unsafe_code)]

pub mod android;
mod builtin;
mod error;
mod estimate;
mod events;
mod fits;
pub mod lab;
mod output;
mod prepared;
mod real;
mod record;
mod remote;
mod replays;
mod request;
mod role;
pub mod sim;
mod target;
mod task;
mod wear;
mod work;

pub use builtin::{BUILTINS, Builtin, PURPOSES, builtin};
pub use error::{DirectoryFault, Fits, OutputFault, ResumeFault, RunError, VirtualError};
pub use estimate::Estimate;
pub use events::{Event, Observer};
pub use flashlag_engine::guard::{Cleanup, GuardError, clean, clean_of_all_machines};
pub use output::{Destination, OutputKind, RunFile, is_same_file};
pub use prepared::{Prepared, prepare, run};
pub use real::Cost;
pub use record::{REVIEWERS_LEAVE, program, set_commit, stamp};
pub use request::{Replays, Request};
pub use target::{LabTarget, SimTarget, Target, profile};
pub use task::measured;
pub use wear::{RATED_OVERWRITES, life_share};
