//! Real I/O: psync and io_uring devices, the measuring loop, fill and clean-up guard, calibration of itself.
// Allowed only if a system call has no safe wrapper: in modules whose heads say so.
#![deny(unsafe_code)]

mod aligned;
mod any;
pub mod background;
pub mod calibrate;
mod direct;
pub mod drive;
mod files;
pub mod fill;
pub mod guard;
pub mod heartbeat;
mod lay_out;
mod meter;
mod open;
mod presence;
mod psync;
pub mod replay;
mod table;
#[allow(unsafe_code)]
mod uring;

pub use any::AnyDevice;
pub use background::Background;
pub use drive::{
    EndReason, Job, JobOutcome, Limits, Sides, ThreadsWatch, Verification, Watch, drive,
    drive_threads,
};
pub use files::FileSet;
pub use meter::ThreadWaitMeter;
pub use open::{OpenDevice, OpenOptions, open};
pub use presence::Presence;
pub use psync::PsyncDevice;
pub use uring::UringDevice;

pub use calibrate::calibrate;
pub use fill::{
    FillOutcome, FillSpec, FreeSpace, TrimError, fill, free_space, leave_default, trim,
};
pub use guard::{GuardError, Workspace};
pub use heartbeat::Heartbeat;
