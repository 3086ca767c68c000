//! The recipe of a test of saves of a file.

use flashlag_spec::scenario::{EngineKind, FileSave};
use flashlag_spec::{Operation, State};
use flashlag_sqlite::PreparedFile;
use flashlag_units::{Bytes, Nanos};

use super::phase::{PhaseHead, thinks};
use super::save::SavesTest;
use super::{Hindrance, Outcome, Work, World};
use crate::events::{Event, Observer};

impl<W: World> Work<W> {
    /// Measures saves of a file, which is made first.
    pub(super) fn measure_file_save(
        &mut self,
        save: &FileSave,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Hindrance> {
        let label = state.label(run, &save.name);
        let directory = self.world.saves_directory()?;
        let job = self.save_job(save, &directory, &label);
        observer.event(Event::Preparing("making the file"));
        let most = PreparedFile::most_to_prepare(save);
        self.allow(most, "making the file")?;
        let prepared = self.world.prepare_file(&job)?;
        self.settle(most, prepared.written().value().copied().unwrap_or(most));
        let test = SavesTest {
            label: &label,
            time: save.time.map(|time| time.0),
            background: save.background.as_deref(),
        };
        let head = |began| file_head(save, state, run, began);
        let outcome = self.run_saves(&test, None, head, |watch| prepared.run(watch), observer)?;
        if !matches!(outcome, Outcome::Failed(..)) {
            self.world.remove_file(save)?;
        }
        Ok(outcome)
    }
}

/// The facts of a phase of saves of a file before it runs.
fn file_head(save: &FileSave, state: State, run: u32, began: Nanos) -> PhaseHead {
    PhaseHead {
        name: save.name.clone(),
        state,
        run,
        operation: Operation::Save,
        block: save.written_at_once(),
        span: Bytes::ZERO,
        queue_depth: 1,
        threads: 1,
        mixed: None,
        durable: save.kind.durability(),
        direct: false,
        engine: EngineKind::Psync,
        closed_loop: save.arrivals.per_second.is_none(),
        think: thinks(save.think),
        background: save.background.clone(),
        began,
    }
}
