//! Real I/O: psync and io_uring devices, the measuring loop, fill and clean-up guard, calibration of itself.
// Allowed only if a system call has no safe wrapper: in modules whose heads say so.
#![deny(unsafe_code)]

#[cfg(not(target_family = "wasm"))]
mod aligned;
#[cfg(not(target_family = "wasm"))]
mod any;
#[cfg(not(target_family = "wasm"))]
pub mod background;
#[cfg(not(target_family = "wasm"))]
pub mod calibrate;
#[cfg(not(target_family = "wasm"))]
mod direct;
pub mod drive;
mod files;
#[cfg(not(target_family = "wasm"))]
pub mod fill;
#[cfg(not(target_family = "wasm"))]
pub mod guard;
#[cfg(not(target_family = "wasm"))]
pub mod heartbeat;
#[cfg(not(target_family = "wasm"))]
mod lay_out;
#[cfg(not(target_family = "wasm"))]
mod meter;
mod one;
#[cfg(not(target_family = "wasm"))]
mod open;
#[cfg(not(target_family = "wasm"))]
mod presence;
#[cfg(not(target_family = "wasm"))]
mod psync;
pub mod replay;
#[cfg(not(target_family = "wasm"))]
mod table;
#[cfg(not(target_family = "wasm"))]
#[allow(unsafe_code)]
mod uring;

#[cfg(not(target_family = "wasm"))]
pub use any::AnyDevice;
#[cfg(not(target_family = "wasm"))]
pub use background::Background;
pub use drive::{
    EndReason, Job, JobOutcome, Limits, Sides, ThreadsWatch, Verification, Watch, drive,
    drive_threads,
};
pub use files::FileSet;
#[cfg(not(target_family = "wasm"))]
pub use meter::ThreadWaitMeter;
#[cfg(not(target_family = "wasm"))]
pub use open::{OpenDevice, OpenOptions, open};
#[cfg(not(target_family = "wasm"))]
pub use presence::Presence;
#[cfg(not(target_family = "wasm"))]
pub use psync::PsyncDevice;
#[cfg(not(target_family = "wasm"))]
pub use uring::UringDevice;

#[cfg(not(target_family = "wasm"))]
pub use calibrate::calibrate;
#[cfg(not(target_family = "wasm"))]
pub use fill::{
    FillOutcome, FillSpec, FreeSpace, TrimError, fill, free_space, leave_default, trim,
};
#[cfg(not(target_family = "wasm"))]
pub use guard::{GuardError, Workspace};
#[cfg(not(target_family = "wasm"))]
pub use heartbeat::Heartbeat;
