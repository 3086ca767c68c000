//! The simulated flash: NAND, mapping, garbage collection, caches, TRIM, wear and power cuts, in
//! virtual time. Deterministic: the same model, seed and commands give the same times.
#![forbid(unsafe_code)]

mod command;

pub use command::{Command, FlashError, Timing};
