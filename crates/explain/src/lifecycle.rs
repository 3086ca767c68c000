//! The reviewers' table: New, filled 1..N, deleted 1..N, trimmed, idle × tests.

use flashlag_schema::{Run, State};
use flashlag_units::Nanos;

use crate::doubt::Failure;

/// The table.
#[derive(Clone, Debug, PartialEq)]
pub struct Lifecycle {
    /// The result, as a heading: `Random writes fall to 17% of new …`.
    pub heading: String,
    /// The tests, in the order of the run.
    pub columns: Vec<LifecycleColumn>,
    /// The stages, in order; those that were skipped too.
    pub rows: Vec<LifecycleRow>,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifecycleColumn {
    /// Its name in the run file.
    pub test: String,
    /// `4K rand write`.
    pub title: String,
    /// Whether each operation was made durable.
    pub durable: bool,
}

/// A stage.
#[derive(Clone, Debug, PartialEq)]
pub struct LifecycleRow {
    /// `Filled, run 2`.
    pub label: String,
    /// The state.
    pub state: State,
    /// The repetition, from 1.
    pub run: u32,
    /// One for each column; `None` where that test was not run in this stage.
    pub cells: Vec<Option<LifecycleCell>>,
    /// Why this stage was not run, and what to try.
    pub skipped: Option<String>,
    /// Failed checks that cover any cell of it.
    pub failures: Vec<Failure>,
}

/// One test in one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct LifecycleCell {
    /// Index of its phase in the run.
    pub phase: usize,
    /// Bytes a second; see [`crate::format::mb_per_s`].
    pub bytes_per_sec: f64,
    /// Operations a second.
    pub ops_per_sec: f64,
    /// How many operations.
    pub n: u64,
    /// Median latency.
    pub p50: Option<Nanos>,
    /// 99 %.
    pub p99: Option<Nanos>,
    /// Throughput as a share of New; `None` in the New row or where New was not measured.
    pub share_of_new: Option<f64>,
    /// Whether it ended before its time.
    pub cut_short: bool,
    /// Failed checks that cover it.
    pub failures: Vec<Failure>,
}

/// The table of a run; `None` where it has but one stage and skipped none.
pub fn lifecycle(run: &Run) -> Option<Lifecycle> {
    let _ = run;
    None
}
