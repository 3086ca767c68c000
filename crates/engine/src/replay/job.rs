//! What a replay is asked to do, and what comes of it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_device::Budget;
use flashlag_spec::replay::{ReplayKind, ReplayStream};
use flashlag_spec::scenario::Replay;
use flashlag_stats::live::Live;
use flashlag_stats::{Histogram, PhaseRecord, WaitSplit};
use flashlag_units::{Bytes, Nanos};

use crate::drive::EndReason;

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
