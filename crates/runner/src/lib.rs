//! Scenario x target -> run: the only room that knows all workers.
//!
//! [`prepare`] looks at the target, cleans up after dead runs and adds up what the run will cost;
//! [`execute`] does the scenario's tasks one after the other and stores the run after each.
#![forbid(unsafe_code)]

mod builtin;
mod changes;
mod error;
mod estimate;
mod execute;
mod files;
mod fills;
mod finish;
mod fits;
mod halves;
pub mod lab;
mod ledger;
mod measure;
mod output;
mod phase;
mod prepare;
mod record;
mod request;
mod saves;
pub mod sim;
mod task;

mod wear;

pub use builtin::{BUILTINS, Builtin, builtin};
pub use error::{Fits, RunError};
pub use estimate::Estimate;
pub use execute::execute;
pub use flashlag_engine::guard::{Cleaned, GuardError, clean, clean_of_all_machines};
pub use output::{Destination, OutputKind, RunFile, is_same_file};
pub use prepare::{Prepared, prepare};
pub use record::{program, stamp};
pub use request::{Event, Observer, Request};
pub use task::measured;
pub use wear::{RATED_OVERWRITES, life_share};
