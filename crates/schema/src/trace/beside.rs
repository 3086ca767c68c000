//! A trace beside a run that was made at the same time.

use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::stall::StallCause;

/// What happened in a trace while a run measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceRun {
    /// The run's tests of which the trace shows any time, in order.
    pub tests: Vec<TraceRunTest>,
    /// Late frames in none of them.
    pub elsewhere: u64,
}

/// One of the run's tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceRunTest {
    /// Its label in the run: `filled 2: rand_write_4k`.
    pub test: String,
    /// When it begins in the trace, and how long the trace shows it.
    pub t_ns: Nanos,
    pub lasted_ns: Nanos,
    /// Frames that ended in it and were late.
    pub late: u64,
    /// Those that waits for storage of the threads that draw made late.
    pub by_storage: u64,
    /// Late frames during which an operation of the run itself stalled.
    pub at_stalls: u64,
    /// For saves: all of the run's, and those longer than a frame at 60 Hz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saves: Option<TraceRunSaves>,
}

/// Saves of a run's test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceRunSaves {
    pub saves: u64,
    /// Longer than a frame at 60 Hz.
    pub late: u64,
}

/// What a run did while a frame was late.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceDuring {
    /// The label of its test.
    pub test: String,
    /// The longest stall of its own operations at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<TraceRunStall>,
}

/// A stall of a run's operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceRunStall {
    pub took_ns: Nanos,
    pub cause: StallCause,
}
