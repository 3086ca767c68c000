//! The simulated flash in real time: a block device that anything can use.
//!
//! [`Served`] takes requests from many threads at once and lets each wait for as long as the model
//! says, for the queue as it is. What it stores is right always, and consistent with the flash: a
//! power cut leaves what the model says, no more and no less.
//!
//! The nbdkit plugin is a thin layer over it. [`Launch`] starts nbdkit with that plugin, and
//! [`Control`] talks to what was started: statistics, power cuts, faults, recordings.
#![forbid(unsafe_code)]

mod control;
mod crash;
mod data;
mod device;
mod error;
mod launch;
mod record;
mod settings;
mod store;

pub use control::{
    Answer, Command, Control, ControlServer, CutMoment, CutReport, Fault, FaultKind, FaultOp,
};
pub use crash::CrashImage;
pub use device::{Refusal, Served};
pub use error::{CommandError, ServeError, ValueError};
pub use launch::{Launch, Listen, OwnDirectory, Running, percent_encoded};
pub use record::{Head, Record, RecordKind, Recording};
pub use settings::{Age, Settings, TimeScale};
