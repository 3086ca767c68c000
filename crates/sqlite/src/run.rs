//! Running prepared saves.

use std::rc::Rc;

use flashlag_device::WaitMeter;

use crate::bound::most_to_close;
use crate::error::SqliteError;
use crate::job::{SaveWatch, SavesOutcome};
use crate::phase::{self, Terms};
use crate::prepare::PreparedSaves;
use crate::storage::{Place, written_since};
use crate::transactions::{Transactions, prepared_statements, refused};
use crate::writes::bytes_of;

impl PreparedSaves<'_> {
    /// Saves until a limit, an error or the stop flag of `watch`; then closes the databases, which
    /// is in no figure. Closing checkpoints and removes a write-ahead log.
    ///
    /// # Errors
    /// No save could begin. A save that fails is in [`SavesOutcome::error`], with everything that was
    /// recorded before.
    pub fn run<M: WaitMeter>(self, watch: SaveWatch<'_, M>) -> Result<SavesOutcome, SqliteError> {
        let PreparedSaves { job, storage, databases, rows, content, sizes, written, .. } = self;
        let save = job.save;
        let statements = prepared_statements(save, &databases)?;
        let (place, budget) = (Rc::clone(&storage) as Rc<dyn Place>, watch.budget.clone());
        let saver = Transactions {
            save,
            databases: &databases,
            statements,
            rows,
            content,
            sizes,
            storage: Rc::clone(&storage),
        };
        // The bytes that closing will write are reserved from the start.
        let to_close = most_to_close(save);
        let keeps_back = budget.as_ref().is_none_or(|budget| budget.take(to_close));
        let terms = Terms { may_begin: keeps_back, ..Terms::of(&job, save.pace()) };
        let mut saved = phase::run(saver, place, terms, watch)?;
        let (before, refused_writes) = (storage.written(), storage.refused_atomic_writes());
        drop(databases);
        saved.closed_bytes = bytes_of(&written_since(storage.as_ref(), &before));
        if let Some(budget) = budget.filter(|_| keeps_back) {
            budget.settle(to_close, saved.closed_bytes.value().copied().unwrap_or(to_close));
        }
        saved.prepared_bytes = written;
        saved.downgrades = self.downgrades;
        saved.downgrades.extend(refused(save, refused_writes));
        saved.notes.extend(self.notes);
        Ok(saved)
    }
}
