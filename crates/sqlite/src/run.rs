//! Running prepared saves.

use flashlag_device::WaitMeter;

use crate::error::SqliteError;
use crate::job::{SaveWatch, SavesOutcome};
use crate::phase;
use crate::prepare::PreparedSaves;

impl PreparedSaves<'_> {
    /// Saves until a limit, an error or the stop flag of `watch`; then closes the databases, which
    /// is in no figure. Closing checkpoints and removes a write-ahead log.
    ///
    /// # Errors
    /// No save could begin. A save that fails is in [`SavesOutcome::error`], with everything that was
    /// recorded before.
    pub fn run<M: WaitMeter>(self, watch: SaveWatch<'_, M>) -> Result<SavesOutcome, SqliteError> {
        phase::run(self, watch)
    }
}
