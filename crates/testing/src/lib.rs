//! What tests share, and no product: a dev-dependency only.
//!
//! - [`small_run`] is the smallest run with every kind of figure; [`disturbed`] replaces values in
//!   sample runs.
//!
//! A unit test inside a crate can't pass the crate's own types to this one: cargo builds that crate
//! twice, once with and once without its tests. Such a test belongs into the crate's `tests` folder.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod disturbed;
mod small;

pub use disturbed::{Change, changes, disturbed, hostile};
pub use small::{phase, recorded, run as small_run};
