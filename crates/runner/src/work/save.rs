//! The recipe of a test of saves of SQLite, and the parts that all tests of saves share.

use std::ops::ControlFlow;
use std::path::Path;

use flashlag_schema::Phase;
use flashlag_spec::scenario::{Durability, EngineKind, JournalMode, Save, Synchronous};
use flashlag_spec::{Operation, Reading, State};
use flashlag_sqlite::{
    PreparedSaves, SaveJob, SaveWatch, SavesOutcome, SqliteError, most_to_prepare,
};
use flashlag_stats::Recorder;
use flashlag_units::{Bytes, Nanos};

use super::changes::changes_of;
use super::phase::{PhaseHead, PhaseTail, phase, thinks, without_stops};
use super::world::Edge;
use super::{Hindrance, INTERVAL, Outcome, STALL_OVER, Work, World};
use crate::events::{Event, Observer};
use crate::work::Direction;

/// SQLite's page, as `flashlag-sqlite` sets it.
const PAGE: Bytes = Bytes(4096);

/// A test of saves, whatever makes them.
pub(super) struct SavesTest<'a> {
    pub(super) label: &'a str,
    pub(super) time: Option<Nanos>,
    pub(super) background: Option<&'a str>,
}

impl<W: World> Work<W> {
    /// Measures saves of SQLite. The databases are made first; the background begins after that, so
    /// that the first save meets a writer that has just begun, however long the databases took.
    pub(super) fn measure_save(
        &mut self,
        save: &Save,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Hindrance> {
        self.world.check_saves(save)?;
        let label = state.label(run, &save.name);
        let directory = self.world.saves_directory()?;
        let job = self.save_job(save, &directory, &label);
        observer.event(Event::Preparing("making the databases"));
        let (prepared, databases) = self.make_databases(&job)?;
        let test = SavesTest {
            label: &label,
            time: save.time.map(|time| time.0),
            background: save.background.as_deref(),
        };
        let head = |began| save_head(save, state, run, began);
        let run = |watch: SaveWatch<'_, W::Meter>| prepared.run(watch);
        let outcome = self.run_saves(&test, Some(&databases), head, run, observer)?;
        if !matches!(outcome, Outcome::Failed(..)) {
            self.world.remove_saves(databases, &job)?;
        }
        Ok(outcome)
    }

    /// The job of a test of saves, whatever makes them.
    pub(super) fn save_job<'a, T>(
        &self,
        save: &'a T,
        directory: &'a Path,
        label: &str,
    ) -> SaveJob<'a, T> {
        let seed = self.task_seed(label);
        SaveJob { save, directory, seed, interval: INTERVAL, stall_over: STALL_OVER }
    }

    /// Runs prepared saves, with their background.
    pub(super) fn run_saves(
        &mut self,
        test: &SavesTest<'_>,
        databases: Option<&W::Databases>,
        head: impl FnOnce(Nanos) -> PhaseHead,
        run: impl FnOnce(SaveWatch<'_, W::Meter>) -> Result<SavesOutcome, SqliteError>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Hindrance> {
        let beside = self.start_background(test.background)?;
        let head = head(self.world.now());
        let live = self.announce(beside.as_ref(), observer);
        self.world.phase_begins(test.label);
        observer.event(Event::PhaseStarted {
            label: test.label,
            expected: test.time,
            limit: None,
            live: &live,
        });
        let before = self.world.counters(Edge::Begin);
        let mut after = before.clone();
        let world = &self.world;
        let mut warmth = |recorder: &mut Recorder| {
            if let Some(millicelsius) = world.temperature() {
                recorder.set_temperature(millicelsius);
            }
            ControlFlow::Continue(())
        };
        let saved = run(SaveWatch {
            stop: &self.controls.stop,
            live: Some(live),
            on_interval: Some(&mut warmth),
            budget: self.controls.budget.clone(),
            on_end: Some(&mut || after = world.counters(Edge::End)),
            meter: world.meter(),
        });
        let beside = self.end_background(beside);
        let present = databases.map_or(Ok(()), |made| self.world.check_databases(made));
        let outcome = match saved {
            Ok(saved) => self.save_outcome(head, saved, beside, (before, after)),
            Err(error) => Outcome::Failed(None, error.to_string()),
        };
        Ok(outcome.unless_gone(present))
    }

    /// Makes the databases of `job` with their first rows, where the budget allows for it.
    fn make_databases<'a>(
        &mut self,
        job: &SaveJob<'a>,
    ) -> Result<(PreparedSaves<'a>, W::Databases), Hindrance> {
        let most = most_to_prepare(job.save);
        self.allow(most, "making the databases")?;
        let (prepared, databases) = self.world.prepare_saves(job, &self.controls.stop)?;
        self.settle(most, prepared.written().value().copied().unwrap_or(most));
        let Some(reason) = prepared.lacks() else { return Ok((prepared, databases)) };
        drop(prepared);
        self.world.check_databases(&databases)?;
        self.world.remove_saves(databases, job)?;
        Err(Hindrance::Skip(format!("{}: {reason}", job.save.name)))
    }

    fn save_outcome(
        &mut self,
        head: PhaseHead,
        mut saved: SavesOutcome,
        beside: Option<String>,
        (before, after): (W::Counters, W::Counters),
    ) -> Outcome {
        self.note_downgrades(&saved.downgrades);
        self.wrote(written(&saved));
        let stopped = self.world.stops().map(|stops| {
            saved.recorded.take_stops(&stops);
            saved.recorded.stopped(&stops)
        });
        // A stop in a think time, or while a save waits for its schedule, delays no save.
        let always_saves = head.closed_loop && head.think.is_none();
        let in_saves = if always_saves { stopped } else { saved.recorded.stopped_in_stalls() };
        let mut ledger = self.world.ledger((&before, &after), Direction::Write, saved.app_bytes);
        // The counter of the process includes the background's bytes; that of SQLite's thread does
        // not.
        ledger.syscall_bytes = saved.page_bytes;
        if saved.out_of_budget {
            saved.notes.push(self.ended_by_budget());
        }
        saved.notes.extend(beside);
        saved.notes.extend(self.world.phase_note());
        let changes = changes_of(&saved.recorded, Operation::Save, None);
        // A file that is rewritten at one size never grows.
        let grows = head.engine == EngineKind::Sqlite;
        let tail = PhaseTail {
            time: without_stops(saved.time, in_saves),
            in_real_time: self.world.in_real_time(),
            clocks: self.world.clocks(saved.recorded.began),
            thought: saved.thought,
            final_flush: None,
            stopped,
            ledger,
            growth: grows.then_some((saved.grew, saved.in_place)),
            looks: self.world.looks(),
            slow: self.world.slow(&before, &after),
            cut_short: saved.cut_short,
            notes: saved.notes,
        };
        let head = PhaseHead { span: saved.database_bytes, ..head };
        let whole = Phase { changes, ..phase(head, &saved.recorded, tail) };
        let measured = Box::new(self.with_causes(whole));
        self.evidence.phases.push(Some((before, after)));
        match saved.error {
            Some(error) => Outcome::Failed(Some(measured), error.to_string()),
            None => Outcome::Measured(measured),
        }
    }
}

/// Everything that was written for a test, from the first row to the closed databases.
fn written(saved: &SavesOutcome) -> Bytes {
    let parts = [&saved.page_bytes, &saved.prepared_bytes, &saved.closed_bytes];
    let parts = parts.into_iter().filter_map(Reading::value);
    parts.fold(saved.top_ups.page_bytes, |sum, bytes| sum.plus(*bytes))
}

/// The facts of a phase of saves before it runs.
fn save_head(save: &Save, state: State, run: u32, began: Nanos) -> PhaseHead {
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
        think: thinks(save.think),
        background: save.background.clone(),
        began,
    }
}

/// How SQLite makes a commit durable in this mode, if it does.
fn durable(save: &Save) -> Durability {
    match (save.journal, save.synchronous) {
        // In WAL mode with NORMAL a commit is only written; a checkpoint makes it durable.
        (JournalMode::Wal, Synchronous::Normal) => Durability::None,
        _ => save.sync_call.durability(),
    }
}
