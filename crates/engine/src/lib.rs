//! Real I/O: psync and io_uring devices, the measuring loop, fill and clean-up guard, calibration of itself.
// Allowed only where a system call has no safe wrapper: in modules that say so at their head.
#![deny(unsafe_code)]

pub mod fill;
pub mod guard;

pub use fill::{FreeSpace, TrimError, free_space, leave_default, trim};
pub use guard::{GuardError, Workspace};
