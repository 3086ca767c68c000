//! Real I/O: psync and io_uring devices, the measuring loop, fill and clean-up guard, calibration of itself.
#![forbid(unsafe_code)]

pub mod guard;

pub use guard::{GuardError, Workspace};
