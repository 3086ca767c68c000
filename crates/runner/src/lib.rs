//! Scenario × target → run: the only crate that knows every kind of target.
//!
//! [`prepare`] examines the target, cleans up after dead runs and adds up what the run will cost;
//! [`Prepared::run`] does the scenario's tasks one after the other and stores the run after each.
//! The recipes of tests, saves and fills are in `work`, written once over the trait `World`;
//! `real`, `sim` and `lab` are what the recipes work on.
#![forbid(unsafe_code)]
// In a page there are simulations alone: what only other targets use is dead there.
#![cfg_attr(target_family = "wasm", allow(dead_code))]

#[cfg(not(target_family = "wasm"))]
pub mod android;
mod error;
mod estimate;
mod events;
#[cfg(not(target_family = "wasm"))]
mod fits;
#[cfg(all(feature = "lab", not(target_family = "wasm")))]
pub mod lab;
#[cfg(not(target_family = "wasm"))]
mod output;
#[cfg(not(target_family = "wasm"))]
mod prepared;
#[cfg(not(target_family = "wasm"))]
mod real;
mod record;
#[cfg(not(target_family = "wasm"))]
mod remote;
#[cfg(not(target_family = "wasm"))]
mod replays;
mod request;
mod role;
pub mod sim;
mod target;
mod task;
mod wear;
mod work;

#[cfg(not(target_family = "wasm"))]
pub use error::{DirectoryFault, OutputFault, ResumeFault};
pub use error::{Fits, RunError, VirtualError};
pub use estimate::Estimate;
pub use events::{Event, Observer};
#[cfg(not(target_family = "wasm"))]
pub use flashlag_engine::guard::{Cleanup, GuardError, clean, clean_of_all_machines};
pub use flashlag_spec::scenario::{BUILTINS, Builtin, PURPOSES, builtin};
#[cfg(not(target_family = "wasm"))]
pub use output::{Destination, OutputKind, RunFile, is_same_file};
#[cfg(not(target_family = "wasm"))]
pub use prepared::{Prepared, prepare, run};
#[cfg(not(target_family = "wasm"))]
pub use real::{Cost, is_on_storage};
#[cfg(not(target_family = "wasm"))]
pub use record::stamp;
pub use record::{REVIEWERS_LEAVE, program, set_commit};
pub use request::{Replays, Request};
#[cfg(all(feature = "lab", not(target_family = "wasm")))]
pub use target::LabTarget;
pub use target::{SimTarget, Target, profile};
pub use task::measured;
pub use wear::{RATED_OVERWRITES, life_share};
