//! The machine and its storage: mounts, queues, eMMC, UFS, NVMe, temperatures, CPU pressure.
//!
//! Every reader takes a [`Root`], so that a captured `/proc` and `/sys` reads like a live one. No
//! reader needs root privileges, fails, or panics on odd contents: a value that could not be read
//! is absent, with the reason. This crate does not use the `procfs` crate because one odd line must
//! cost one value, not a whole file.
// Three system calls have no safe wrapper: by_inode.rs, internals/extents.rs, nvme.rs.
#![deny(unsafe_code)]

pub mod android;
mod below;
mod block;
mod by_inode;
mod cipher;
mod clocks;
mod conditions;
mod counters;
mod disk;
mod encryption;
mod filesystem;
mod internals;
mod layers;
mod life;
mod limits;
mod mount;
mod nvme;
mod pressure;
mod probe;
mod processes;
mod quota;
mod reason;
mod requests;
mod root;
mod software;
mod thermal;
mod waiters;
mod watch;

pub use below::Below;
pub use block::is_in_memory;
pub use by_inode::path_of_inode;
pub use clocks::clocks_at;
pub use conditions::conditions;
pub use internals::{memory_pressure, reach, unwritten_memory};
pub use mount::{Mount, mount_of, mounts};
pub use probe::{Probe, environment, environment_with_names};
pub use reason::Reason;
pub use requests::{Completed, RequestWatch, Requests};
pub use root::Root;
pub use software::start_no_programs;
pub use waiters::{Waiter, waiters};
pub use watch::CounterWatch;
