//! Why it lags and what to change: only where this run measured both sides.

use flashlag_schema::Run;

use crate::figures::Figures;

/// The section, costliest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// `Three fixes, costliest first: trimming saves the most`.
    pub heading: String,
    /// The findings.
    pub causes: Vec<Finding>,
    /// Measured, and not a cause.
    pub ruled_out: Vec<RuledOut>,
    /// `Costs overlap: …`, where there is more than one.
    pub overlap: Option<String>,
}

/// Which difference a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// Rollback journal against WAL.
    Journal,
    /// A file that grows against one that does not.
    Growth,
    /// Full against new.
    Full,
    /// Full against trimmed.
    Trim,
    /// Beside another writer against alone.
    Busy,
    /// Waiting for a CPU.
    Cpu,
    /// The flush's part of a durable write.
    Flush,
}

/// One cause with its fix.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// `Rollback journal`.
    pub cause: String,
    /// `switching to WAL would cut save p50 from 24 ms to 9.1 ms`.
    pub would: String,
    /// What to do: a sentence.
    pub fix: String,
    /// A command or setting to try, where there is one: `PRAGMA journal_mode=WAL;`.
    pub try_this: Option<String>,
    /// How it was measured, with n and the interval: a sentence.
    pub evidence: String,
    /// As it is now; indices of phases are in the run's order.
    pub now: FindingSide,
    /// As it would be.
    pub fixed: FindingSide,
    /// Seconds of waiting added to 1,000 operations.
    pub cost_s_per_1000: f64,
    /// Its 95 % interval.
    pub cost_interval: Option<(f64, f64)>,
    /// What is counted: `saves` or `writes`.
    pub per: &'static str,
}

/// One of the two measured sides.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingSide {
    /// `Rollback journal, filled run 3`.
    pub label: String,
    /// Index of its phase in the run.
    pub phase: usize,
    /// Its figures.
    pub figures: Figures,
}

/// Something that was measured and shown not to matter.
#[derive(Clone, Debug, PartialEq)]
pub struct RuledOut {
    /// What it is about.
    pub kind: FindingKind,
    /// A sentence with numbers.
    pub sentence: String,
}

/// The findings of a run.
pub fn findings(run: &Run) -> Findings {
    let _ = run;
    Findings::default()
}
