//! Scenario x target -> run: the only room that knows all workers.
#![forbid(unsafe_code)]
pub mod trust;
