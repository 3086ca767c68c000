//! Reasons why a task can't be done.

use flashlag_device::DeviceError;
use flashlag_engine::guard::GuardError;

use super::outcome::Outcome;
use crate::error::RunError;

/// A reason why a task can't be done, by what follows from it.
#[derive(Debug, thiserror::Error)]
pub enum Hindrance {
    /// The task is skipped and the run goes on: a budget that is used up.
    #[error("{0}")]
    Skip(String),
    #[error("{0}")]
    Failure(String),
    #[error(transparent)]
    Guard(#[from] GuardError),
}

impl From<DeviceError> for Hindrance {
    fn from(error: DeviceError) -> Hindrance {
        Hindrance::Failure(error.to_string())
    }
}

impl Hindrance {
    /// The outcome of a task that was hindered before its phase began.
    pub(super) fn outcome(self) -> Result<Outcome, RunError> {
        match self {
            Hindrance::Skip(reason) => Ok(Outcome::Skipped(reason)),
            Hindrance::Failure(error) => Ok(Outcome::Failed(None, error)),
            Hindrance::Guard(error) => Err(RunError::Guard(error)),
        }
    }
}
