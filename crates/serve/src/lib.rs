//! The simulated flash in real time: a block device for any program.
//!
//! [`ServedDevice`] takes requests from many threads and delays each for as long as the model and
//! the queue require. Its data always matches the flash: a power cut leaves exactly what the model
//! says.
//!
//! The nbdkit plugin is a thin layer over it. [`Launch`] starts nbdkit with that plugin, and
//! [`Control`] is the client of its control socket: statistics, power cuts, faults, recordings.
#![forbid(unsafe_code)]

mod control;
mod crash;
mod data;
mod device;
mod error;
mod launch;
mod listen;
mod record;
mod relay;
mod settings;
mod store;

pub use control::{
    Answer, Command, Control, ControlServer, CutMoment, CutReport, Fault, FaultKind, FaultOp, Loses,
};
pub use crash::CrashImage;
pub use device::{Refusal, ServedDevice};
pub use error::{AddressError, CommandError, ServeError};
pub use flashlag_spec::target::{Age, TimeScale};
pub use launch::{Launch, OwnDirectory, Running};
pub use listen::{Listen, percent_encoded};
pub use record::{Head, Record, RecordKind, Recording};
pub use relay::{Relay, Relaying};
pub use settings::Settings;
