//! Reasons why a task can't be done.

#[cfg(not(target_family = "wasm"))]
use flashlag_android::SystemError;
use flashlag_device::DeviceError;
#[cfg(not(target_family = "wasm"))]
use flashlag_engine::fill::TrimError;
#[cfg(not(target_family = "wasm"))]
use flashlag_engine::guard::GuardError;
#[cfg(not(target_family = "wasm"))]
use flashlag_sqlite::SqliteError;

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
    /// An operation on the storage failed: the run ends, and says why.
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[cfg(not(target_family = "wasm"))]
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
    #[cfg(not(target_family = "wasm"))]
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[cfg(not(target_family = "wasm"))]
    #[error(transparent)]
    Trim(TrimError),
    #[cfg(not(target_family = "wasm"))]
    /// Neither FITRIM nor Android's own command trims.
    #[error("{kernel}; {android}")]
    TrimByAndroid { kernel: TrimError, android: Box<SystemError> },
}

impl Hindrance {
    /// The outcome of a task that was hindered before its phase began.
    pub(super) fn outcome(self) -> Result<Outcome, RunError> {
        match self {
            Hindrance::Skip(reason) => Ok(Outcome::Skipped(reason)),
            #[cfg(not(target_family = "wasm"))]
            Hindrance::Guard(error) => Err(RunError::Guard(error)),
            error => Ok(Outcome::Failed(None, error.to_string())),
        }
    }
}
