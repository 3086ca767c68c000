use flashlag_stats::HistogramError;
use thiserror::Error;

/// An error of reading a fio file as a run.
#[derive(Debug, Error)]
pub enum FioFileError {
    /// The file has no JSON.
    #[error("not fio's JSON: {0}; write it with `fio --output-format=json+ --output=FILE`")]
    Json(#[from] serde_json::Error),
    /// JSON of another program.
    #[error("no `fio version` in it: not fio's JSON output")]
    NotFio,
    /// A version with another format.
    #[error("written by `{found}`: its format is not known; use fio 2.14 or newer")]
    Version {
        /// The version in the file.
        found: String,
    },
    /// A job without bins.
    #[error("job `{job}` has no distribution of its {direction}s: {why}")]
    NoBins {
        /// The name of the job.
        job: String,
        /// `read` or `write`.
        direction: &'static str,
        /// The reason, with the option of fio that mends it.
        why: String,
    },
    /// A bin whose name or count is not a number.
    #[error("bin `{key}` of job `{job}` is not a number of nanoseconds with a count")]
    Bin {
        /// The name of the job.
        job: String,
        /// The name of the bin.
        key: String,
    },
    /// Bins that make no histogram.
    #[error("the bins of job `{job}` are no histogram: {source}")]
    Histogram {
        /// The name of the job.
        job: String,
        /// The reason.
        source: HistogramError,
    },
    /// No job read or wrote anything.
    #[error("no job in it has read or written anything{why}")]
    Nothing {
        /// What fio reports about them, after a colon; may be empty.
        why: String,
    },
}

/// An error of writing a run as fio's output.
#[derive(Debug, Error)]
pub enum FioExportError {
    /// The run has no phases.
    #[error("the run has no phases: there is nothing to write")]
    NoPhases,
    /// Nothing was measured but replays of traces.
    #[error(
        "the run is the replay of a trace, whose operations no option of fio describes: write it as \
         .csv, .md or .html"
    )]
    OnlyReplays,
    /// The histogram of a phase is invalid.
    #[error("the histogram of phase `{phase}` is none: {source}; see `flashlag verify`")]
    Histogram {
        /// The label of the phase.
        phase: String,
        /// The reason.
        source: HistogramError,
    },
    /// The JSON could not be written.
    #[error("cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}
