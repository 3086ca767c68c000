//! Replays traces: system calls by [`drive_calls`] on any [`flashlag_device::CallDevice`], block
//! requests by [`drive_requests`] on any [`flashlag_device::Device`].
//!
//! # Order and time
//!
//! Operations of one thread begin in order, each after the previous one has ended; block requests
//! begin in the order of their times. If the replay is paced, an operation begins at its time in
//! the trace, or as soon as possible if its thread is late: nothing is left out. Its response
//! counts from the intended start. Flat out, nothing waits for a time; as many block requests are
//! then in flight as on the machine of the trace.
//!
//! # Records
//!
//! Each kind of operation has a record of its own ([`flashlag_spec::replay::ReplayKind`]). So
//! have recognised transactions: from the start of their first operation to the end of their last
//! one, including the app's own time in between.

mod calls;
#[cfg(not(target_family = "wasm"))]
mod files;
mod job;
mod parts;
mod requests;
#[cfg(test)]
mod tests;
#[cfg(not(target_family = "wasm"))]
mod threads;

pub use calls::drive_calls;
#[cfg(not(target_family = "wasm"))]
pub use files::{FileCalls, ReplayFiles};
pub use job::{ReplayJob, ReplayOutcome, ReplayPart, ReplayWatch};
pub use requests::drive_requests;
#[cfg(not(target_family = "wasm"))]
pub use threads::drive_call_threads;
