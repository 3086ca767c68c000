//! What this machine runs on: mounts, queues, eMMC, UFS, NVMe, thermal, CPU pressure.
//!
//! Every reader takes a [`Root`], so that a captured `/proc` and `/sys` reads as a live one does.
//! Nothing needs root privileges, nothing fails and nothing panics on odd contents: a value that
//! could not be read is absent with its reason. The readers are this crate's own rather than the
//! `procfs` crate's because one odd line must cost one value, not a whole file.
#![forbid(unsafe_code)]

mod block;
mod counters;
mod delta;
mod disk;
mod encryption;
mod filesystem;
mod life;
mod mount;
mod pressure;
mod probe;
mod processes;
mod root;
mod software;
mod thermal;

pub use counters::{Counters, CpuTimes, DiskCounters, SelfIo};
pub use delta::CounterDelta;
pub use probe::{Probe, environment};
pub use processes::{Neighbour, Processes};
pub use root::Root;
pub use thermal::Throttle;
