//! Models of what sits above the flash: filesystems, FUSE, encryption, page cache. Virtual time.
//!
//! ```text
//! calls (create, write, fsync, …)        Stack: names, page cache, CPU time, FUSE
//!   └─ plans of block requests           fs: raw, ext4, F2FS decide what is written where
//!        └─ processes, step by step      Scheduler: waits, background work, encryption
//!             └─ device::Device          the simulated flash, or any other
//! ```
//!
//! A filesystem never touches the device. It answers a call with a [`plan::Plan`]: groups of block
//! requests, each group begun when the one before it is done. The scheduler carries plans out, that
//! of the caller and those of the kernel's threads and of background writers side by side, so that
//! they queue at the device as they would on a phone.
//!
//! What is modelled of each filesystem, and what is left out, is said in [`fs`]'s modules; how many
//! writes, bytes and flushes a commit takes is tested against counts from real kernels.
#![forbid(unsafe_code)]

mod background;
mod cache;
mod contents;
mod fs;
mod ledger;
mod plan;
mod ranges;
mod scheduler;
mod spec;
mod stack;
mod stack_file;

pub use background::{BackgroundJob, BackgroundTotal};
pub use fs::FileId;
pub use ledger::Ledger;
pub use spec::{FilesystemKind, SpecError, StackSpec};
pub use stack::Stack;
pub use stack_file::StackFile;
