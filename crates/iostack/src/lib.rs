//! The storage software above the flash, modelled in virtual time: filesystems, page cache, FUSE,
//! encryption.
//!
//! ```text
//! calls (create, write, fsync, …)        Stack: names, page cache, CPU time, FUSE
//!   └─ plans of block requests           fs: raw, ext4, F2FS, Btrfs decide what is written where
//!        └─ processes, step by step      Scheduler: waits, background work, encryption
//!             └─ device::Device          the simulated flash, or any other
//! ```
//!
//! A filesystem never uses the device. It answers a call with a plan: groups of block requests,
//! each sent after the previous group has completed. The scheduler carries out the plans of the
//! caller, of the kernel's threads and of background jobs concurrently, so that they queue at the
//! device as on a phone.
//!
//! The modules of `fs` document what is modelled of each filesystem. Tests compare writes, bytes
//! and flushes per commit with counts of real kernels.
#![forbid(unsafe_code)]

mod background;
mod cache;
mod chance;
mod completing;
mod contents;
mod cpu;
mod crypt;
mod driver;
mod elevator;
mod file_row;
mod fs;
mod governor;
mod host_queue;
mod ledger;
mod plan;
mod ranges;
mod request_waits;
mod scheduler;
mod spec;
mod stack;
mod stack_calls;
mod stack_file;
mod zone_order;

pub use background::{BackgroundJob, BackgroundTotal};
pub use file_row::FileRow;
pub use fs::FileId;
pub use ledger::{Counted, Ledger};
pub use spec::{FilesystemKind, StackSpec};
pub use stack::{Stack, room};
pub use stack_calls::StackCalls;
pub use stack_file::StackFile;
