//! The rows of a point.

use flashlag_schema::{Phase, StoredHistogram};
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// The result of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The free space that its fill leaves, if it fills.
    pub leave: Option<Bytes>,
    /// One row for each phase, for each skipped test, and for an error.
    pub rows: Vec<Row>,
}

/// The outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It was measured.
    Done,
    /// The test has no meaning there; `error` says why.
    Skipped,
    /// The test, or the whole point, failed; `error` says why.
    Failed,
}

impl Outcome {
    /// The word in the table.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Skipped => "skipped",
            Outcome::Failed => "failed",
        }
    }
}

/// One row of the table, without the columns of its point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Whether it was measured, skipped or failed.
    pub outcome: Outcome,
    /// The name of the phase or of the skipped step; empty if the whole point failed.
    pub phase: String,
    /// The state that the device is in: `new`, `filled`.
    pub state: String,
    /// The repetition within that state, from 1.
    pub run: u32,
    /// Why it was skipped or failed.
    pub error: Option<String>,
    /// The figures, if it was measured.
    pub figures: Option<Figures>,
}

/// The figures of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Operations.
    pub ops: u64,
    /// Bytes that they moved.
    pub bytes: Bytes,
    /// Duration.
    pub elapsed: Nanos,
    /// Operations a second.
    pub ops_per_sec: f64,
    /// Bytes a second.
    pub bytes_per_sec: f64,
    /// Median, 90 %, 99 %, 99.9 % and mean.
    pub percentiles: [Option<Nanos>; 5],
    /// Bytes written at the block device.
    pub block_bytes: Option<Bytes>,
    /// Bytes that the flash programmed.
    pub device_bytes: Option<Bytes>,
    /// Flushes at the block device.
    pub flushes: Option<u64>,
    /// The latencies.
    pub histogram: StoredHistogram,
}

impl Row {
    /// The row of a phase.
    pub(crate) fn of_phase(phase: Phase) -> Row {
        let latency = &phase.latency_ns;
        let percentiles = [latency.p50, latency.p90, latency.p99, latency.p999, latency.mean];
        Row {
            outcome: Outcome::Done,
            phase: phase.name,
            state: phase.state.name().to_owned(),
            run: phase.run,
            error: None,
            figures: Some(Figures {
                ops: phase.ops,
                bytes: phase.bytes,
                elapsed: phase.elapsed_ns,
                ops_per_sec: phase.ops_per_sec,
                bytes_per_sec: phase.bytes_per_sec,
                percentiles,
                block_bytes: phase.ledger.block_bytes.value().copied(),
                device_bytes: phase.ledger.device_bytes.value().copied(),
                flushes: phase.ledger.flushes.value().copied(),
                histogram: phase.histogram,
            }),
        }
    }

    /// The row of a test that was skipped.
    pub(crate) fn skipped(step: String, state: &str, reason: String) -> Row {
        Row {
            outcome: Outcome::Skipped,
            phase: step,
            state: state.to_owned(),
            run: 1,
            error: Some(reason),
            figures: None,
        }
    }

    /// The row of an error.
    pub(crate) fn failed(error: String) -> Row {
        Row {
            outcome: Outcome::Failed,
            phase: String::new(),
            state: String::new(),
            run: 1,
            error: Some(error),
            figures: None,
        }
    }
}
