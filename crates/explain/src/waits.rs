//! Where the wait goes: on the CPU, waiting for a CPU, blocked on storage.

use flashlag_schema::Run;
use flashlag_units::Nanos;

use crate::doubt::Failure;

/// The section: one full bar for each group.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitSection {
    /// The result: `Storage is to blame: it holds 92% of a typical wait and 99% of the longest`.
    pub heading: String,
    /// What waited: `SQLite saves, rollback journal`.
    pub what: String,
    /// The groups: typical, slow, slowest; by stage.
    pub groups: Vec<WaitGroup>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitGroup {
    /// `Typical`, `Slow`, `Slowest 1%`.
    pub label: &'static str,
    /// `p45–p55`.
    pub range: &'static str,
    /// The stage: `New`, `Filled, run 3`.
    pub stage: String,
    /// Index of its phase in the run.
    pub phase: usize,
    /// Operations in that range of percentiles.
    pub n: u64,
    /// Operations whose split was sampled, in the latency classes that the range touches.
    pub sampled: u64,
    /// Their mean wait.
    pub mean: Nanos,
    /// Executing.
    pub on_cpu: WaitPart,
    /// Able to run, but no CPU was free.
    pub waiting_for_cpu: WaitPart,
    /// Asleep until storage answered.
    pub blocked: WaitPart,
    /// Failed checks that cover it.
    pub failures: Vec<Failure>,
}

/// A part of a bar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WaitPart {
    /// Of the mean wait.
    pub time: Nanos,
    /// The same as a share, 0 to 1; the three add up to 1.
    pub share: f64,
}

/// The section of a run; `None` where no split was sampled.
pub fn waits(run: &Run) -> Option<WaitSection> {
    let _ = run;
    None
}
