//! Saves, measured.

use std::ops::ControlFlow;

use flashlag_device::ThreadWaitMeter;
use flashlag_engine::{Heartbeat, Presence};
use flashlag_inspect::Counters;
use flashlag_schema::scenario::{Durability, EngineKind, JournalMode, Save, Synchronous};
use flashlag_schema::{Operation, State};
use flashlag_sqlite::{PreparedSaves, SaveJob, SaveWatch, Saved, most_to_prepare};
use flashlag_stats::Recorder;
use flashlag_units::{Bytes, Nanos};

use crate::changes::changes_of;
use crate::error::RunError;
use crate::execute::Outcome;
use crate::files::{Opened, databases};
use crate::ledger::{Direction, ledger};
use crate::measure::{INTERVAL, STALL_OVER, failed_before, label};
use crate::phase::{PhaseHead, PhaseTail, phase};
use crate::prepare::Prepared;
use crate::request::{Event, Observer};

/// SQLite's page, as `flashlag-sqlite` sets it.
const PAGE: Bytes = Bytes(4096);

impl Prepared {
    pub(crate) fn measure_save(
        &mut self,
        save: &Save,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RunError> {
        let head = save_head(save, state, run, self.now());
        let label = label(&head);
        let directory = self.files.saves()?;
        let background = match self.start_background(save.background.as_deref()) {
            Ok(background) => background,
            Err(error) => return failed_before(error),
        };
        let job = SaveJob {
            save,
            directory: &directory.path,
            seed: self.task_seed(&label),
            interval: INTERVAL,
            stall_over: STALL_OVER,
        };
        observer.event(Event::Preparing("making the databases"));
        let (prepared, databases) = match self.make_databases(&job, &directory) {
            Ok(made) => made,
            Err(outcome) => {
                self.end_background(background);
                return Ok(outcome);
            }
        };
        let head = PhaseHead { began: self.now(), ..head };
        let live = self.announce(background.as_ref(), observer);
        observer.event(Event::PhaseStarted {
            label: &label,
            expected: save.time.map(|time| time.0),
            limit: None,
            live: &live,
        });
        let counted = observer.device_count();
        let before = self.probe.counters();
        let mut after = (before.clone(), None);
        let (probe, heartbeat) = (&self.probe, self.heartbeat.as_ref());
        let mut warmth = |recorder: &mut Recorder| {
            if let Some(millicelsius) = heartbeat.and_then(Heartbeat::temperature) {
                recorder.set_temperature(millicelsius);
            }
            ControlFlow::Continue(())
        };
        let saved = prepared.run(SaveWatch {
            stop: &self.request.stop,
            live: Some(live),
            on_interval: Some(&mut warmth),
            budget: self.budget.clone(),
            on_end: Some(&mut || after = (probe.counters(), observer.device_count())),
            meter: ThreadWaitMeter::open().ok(),
        });
        let (after, counted_after) = after;
        let beside = self.end_background(background);
        let present = databases.check();
        drop(databases);
        let outcome = match saved {
            Ok(saved) => self.save_outcome(head, saved, beside, (before, after)),
            Err(error) => Outcome::Failed(None, error.to_string()),
        };
        let outcome = outcome.unless_gone(present).with_device((counted, counted_after));
        if !matches!(outcome, Outcome::Failed(..)) {
            self.files.clear_saves()?;
        }
        Ok(outcome)
    }

    /// Makes the databases of `job` with their first rows, where the budget allows for it, and
    /// notes which files they are; else what comes of the test.
    fn make_databases<'a>(
        &self,
        job: &SaveJob<'a>,
        directory: &Opened,
    ) -> Result<(PreparedSaves<'a>, Presence), Outcome> {
        let failed = |error: &dyn std::fmt::Display| Outcome::Failed(None, error.to_string());
        let most = most_to_prepare(job.save);
        self.allow(most, "making the databases").map_err(Outcome::Skipped)?;
        let prepared = PreparedSaves::prepare_opened(job, &directory.directory, &self.request.stop)
            .map_err(|error| failed(&error))?;
        self.settle(most, prepared.written().value().copied().unwrap_or(most));
        let files = databases(&directory.path).map_err(|error| failed(&error))?;
        Ok((prepared, files))
    }

    fn save_outcome(
        &mut self,
        head: PhaseHead,
        mut saved: Saved,
        beside: Option<String>,
        (before, after): (Counters, Counters),
    ) -> Outcome {
        self.note_downgrades(&saved.downgrades);
        let stopped = self.stops().map(|stops| {
            saved.recorded.take_stops(&stops);
            saved.recorded.stopped(&stops)
        });
        // What came while it waited for its schedule is in no wait of a save.
        let in_saves = if head.closed_loop { stopped } else { saved.recorded.stopped_in_stalls() };
        let mut ledger = ledger(&after.since(&before), Direction::Write, saved.app_bytes);
        // The process's own counter has the background's bytes in it; SQLite's thread knows its own.
        ledger.syscall_bytes = saved.page_bytes;
        let written = [&ledger.syscall_bytes, &saved.prepared_bytes, &saved.closed_bytes];
        let written = written.map(flashlag_schema::Reading::value);
        let written = written
            .into_iter()
            .flatten()
            .fold(saved.top_ups.page_bytes, |sum, bytes| sum.plus(*bytes));
        self.wrote(written);
        if saved.out_of_budget {
            saved.notes.push(self.ended_by_budget());
        }
        let changes = changes_of(&saved.recorded, Operation::Save, false);
        let tail = PhaseTail {
            time: saved.time.map(|split| split.with_stopped(in_saves.unwrap_or_default())),
            final_flush: None,
            stopped,
            ledger,
            growth: Some((saved.grew, saved.in_place)),
            cut_short: saved.cut_short,
            notes: saved.notes.into_iter().chain(beside).collect(),
        };
        let head = PhaseHead { span: saved.database_bytes, ..head };
        let mut measured = Box::new(phase(head, &saved.recorded, tail));
        measured.changes = changes;
        self.evidence.phases.push(Some((before, after)));
        match saved.error {
            Some(error) => Outcome::Failed(Some(measured), error.to_string()),
            None => Outcome::Measured(measured),
        }
    }
}

/// What is known before it runs.
pub(crate) fn save_head(save: &Save, state: State, run: u32, began: Nanos) -> PhaseHead {
    PhaseHead {
        name: save.name.clone(),
        state,
        run,
        operation: Operation::Save,
        block: PAGE,
        span: Bytes::ZERO,
        queue_depth: 1,
        threads: 1,
        mixed: None,
        durable: durable(save),
        direct: false,
        engine: EngineKind::Sqlite,
        closed_loop: save.arrivals.per_second.is_none(),
        background: save.background.clone(),
        began,
        stall_over: STALL_OVER,
    }
}

/// How SQLite makes a commit durable in this mode, if it does.
fn durable(save: &Save) -> Durability {
    match (save.journal, save.synchronous) {
        // In WAL mode with NORMAL a commit is only written; a checkpoint makes it durable.
        (JournalMode::Wal, Synchronous::Normal) => Durability::None,
        _ => flashlag_sqlite::sync_call(),
    }
}
