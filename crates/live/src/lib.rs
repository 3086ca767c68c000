//! Records what processes and the kernel do to storage, as it happens: by eBPF programs, by the
//! kernel's tracepoints as text, by counters, or on a phone.
#![forbid(unsafe_code)]

mod counters;
#[cfg(feature = "ebpf")]
mod ebpf;
mod error;
#[cfg(feature = "fanotify")]
mod fanotify;
mod phone;
mod places;
mod session;
mod source;
mod stack;
mod tally;
mod tracefs;

pub use counters::{Counted, Counters};
#[cfg(feature = "ebpf")]
pub use ebpf::Programs;
pub use error::LiveError;
pub use phone::record_phone;
pub use places::Places;
pub use session::{Cost, Session, SourceChoice};
pub use source::Disks;
pub use source::{KernelCost, Scope, Source};
pub use tally::{Tally, Writer};
