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
mod parts;
mod requests;
#[cfg(test)]
mod tests;
#[cfg(not(target_family = "wasm"))]
mod threads;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_device::Budget;
use flashlag_spec::replay::{ReplayKind, ReplayStream};
use flashlag_spec::scenario::Replay;
use flashlag_stats::live::Live;
use flashlag_stats::{Histogram, PhaseRecord, WaitSplit};
use flashlag_units::{Bytes, Nanos};

use crate::drive::EndReason;

pub use calls::drive_calls;
#[cfg(not(target_family = "wasm"))]
pub use files::{FileCalls, ReplayFiles};
pub use requests::drive_requests;
#[cfg(not(target_family = "wasm"))]
pub use threads::drive_call_threads;

/// A replay to be done.
#[derive(Clone, Copy, Debug)]
pub struct ReplayJob<'a> {
    /// The operations.
    pub stream: &'a ReplayStream,
    /// The scenario's test: pace, speed, depth.
    pub replay: &'a Replay,
    /// The seed of the payload.
    pub seed: u64,
    /// Width of an interval of the series, at first.
    pub interval: Nanos,
    /// A wait longer than this is a stall.
    pub stall_over: Nanos,
}

/// The watch over a replay.
#[derive(Debug)]
pub struct ReplayWatch<'a, M> {
    /// Raised to end the replay.
    pub stop: &'a AtomicBool,
    /// Where progress is shown.
    pub live: Option<Arc<Live>>,
    /// The bytes that may be written.
    pub budget: Option<Budget>,
    /// The meter of this thread's time.
    pub meter: M,
}

/// One kind of operations of a replay.
#[derive(Clone, Debug)]
pub struct ReplayPart {
    pub kind: ReplayKind,
    pub recorded: PhaseRecord,
    /// What the same operations took when the trace was recorded; empty if the trace does not say.
    pub traced: Histogram,
}

/// The outcome of a replay, with everything that was recorded before its end.
#[derive(Clone, Debug)]
pub struct ReplayOutcome {
    /// The kinds that had an operation, in the order of [`ReplayKind::ALL`].
    pub parts: Vec<ReplayPart>,
    /// Time from the first operation's intended start to the end of the last one.
    pub elapsed: Nanos,
    /// The split of the threads' time, without their waits for the schedule; `None` without a
    /// meter.
    pub time: Option<WaitSplit>,
    pub written: Bytes,
    pub read: Bytes,
    /// Operations that were not begun.
    pub left: u64,
    /// Why it ended.
    pub ended: EndReason,
    /// Whether it ended because the next operation would have exceeded the budget.
    pub out_of_budget: bool,
}
