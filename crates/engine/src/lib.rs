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
pub mod card;
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

pub use drive::{
    EndReason, Job, JobOutcome, Limits, Sides, ThreadsWatch, Verification, Watch, drive,
    drive_threads,
};
pub use files::FileSet;

// What a page in a browser does without.
#[cfg(not(target_family = "wasm"))]
pub use {
    aligned::AlignedBuffer,
    any::AnyDevice,
    background::Background,
    calibrate::calibrate,
    fill::{
        FillOutcome, FillSpec, FreeSpace, TrimError, fill, free_space, leave_default,
        leave_default_unfilled, trim,
    },
    guard::{GuardError, Workspace},
    heartbeat::{Excuses, Heartbeat},
    meter::ThreadWaitMeter,
    open::{OpenDevice, OpenOptions, open},
    presence::Presence,
    psync::PsyncDevice,
    uring::UringDevice,
};
