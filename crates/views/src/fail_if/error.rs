use flashlag_units::{ParseUnitError, count};
use thiserror::Error;

/// The metrics, as listed in errors.
pub const METRICS: &str = "p50, p90, p99, p999, max, mean (times), over_60hz, over_90hz, \
    over_120hz, over_100ms, over_700ms, over_5s (shares), ops_per_sec, bytes_per_sec";

/// An invalid or undecidable threshold: exit status 2, never a silent pass.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ThresholdError {
    /// Not `PHASE.METRIC>VALUE`.
    #[error("{given}: {fault}")]
    Malformed {
        /// The threshold as it was given.
        given: String,
        fault: ThresholdFault,
    },
    /// The run has no such phase.
    #[error("{given}: this run has no phase `{phase}`; it has {allowed}{meant}")]
    NoPhase {
        /// The threshold as it was given.
        given: String,
        /// The name of the phase.
        phase: String,
        /// A name of similar spelling, if there is one.
        meant: String,
        /// The existing names.
        allowed: String,
    },
    /// A phase has too few values for that figure, or its histogram can't be read.
    #[error("{given}: {phase} has no {metric}: {reason}")]
    Absent {
        /// The threshold as it was given.
        given: String,
        /// The phase's label.
        phase: String,
        /// The metric's name.
        metric: String,
        reason: NoFigure,
    },
}

/// What is wrong with the text of a threshold, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ThresholdFault {
    #[error("write PHASE.METRIC>VALUE, such as rand_write_4k.p99>20ms")]
    NoComparison,
    #[error("write > or <, without =")]
    Equals,
    #[error("`{0}` has no metric: write PHASE.METRIC, with one of {METRICS}")]
    NoMetric(String),
    #[error("`{name}` is no metric; there are {METRICS}{meant}")]
    Metric { name: String, meant: String },
    #[error("no phase: write PHASE.METRIC>VALUE")]
    NoPhase,
    #[error("`{name}` is no state; there are new, filled, deleted, trimmed, idle{meant}")]
    State { name: String, meant: String },
    #[error("`{0}` is no run: write a number from 1")]
    Run(String),
    #[error("`{0}` is not a number of operations a second")]
    Ops(String),
    #[error("`{0}` is not a share: write 1% or 0.01")]
    Share(String),
    #[error(transparent)]
    Quantity(#[from] ParseUnitError),
}

/// Why a phase does not have a figure, and what to try.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoFigure {
    #[error("it has no operations")]
    Empty,
    #[error("its histogram can't be read (see flashlag verify)")]
    Unreadable,
    #[error(
        "n = {}, and it needs {} (measure longer, or use a lower percentile or max)",
        count(*n),
        count(*needed)
    )]
    Few { n: u64, needed: u64 },
}

impl ThresholdError {
    /// Why it can't be decided, without the threshold itself.
    pub(crate) fn reason(&self) -> String {
        match self {
            ThresholdError::Malformed { fault, .. } => fault.to_string(),
            ThresholdError::NoPhase { .. } => "it was not measured".to_owned(),
            ThresholdError::Absent { reason, .. } => reason.to_string(),
        }
    }
}
