//! What tests share; a dev-dependency, in no product.
//!
//! - [`sample`] draws whole runs; [`small_run`] is the smallest run with every kind of figure;
//!   [`bare_run`] and [`closed_loop_phase`] contain only what a test gives them; [`disturbed`]
//!   replaces values in sample runs, [`planted`] puts private ones into them.
//! - [`between_marks`] compares a part of a document with what the code makes.
//! - [`PLAIN`] is the profile of a plain flash device, [`model`] its model with changed parameters.
//! - [`conformance`] is what every device must pass; [`FaultDevice`] is a device with faults.
//!
//! A unit test inside a crate can't pass the crate's own types to this one: cargo builds that crate
//! twice, once with and once without its tests. Such a test belongs in the crate's `tests` folder.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

pub mod conformance;
mod disturbed;
mod document;
mod fault;
mod model;
mod planted;
pub mod sample;
mod small;

pub use disturbed::{Change, changes, disturbed, hostile};
pub use document::{between_marks, documents_are_renewed};
pub use fault::{FaultDevice, Faults};
pub use model::{PLAIN, model};
pub use planted::{PRIVATE_WORDS, planted};
pub use small::{bare_run, closed_loop_phase, phase, recorded, run as small_run};
