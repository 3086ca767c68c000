//! Doing the tasks, one after the other, and storing the run after each.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use flashlag_lab::protocol::DeviceCount;
use flashlag_schema::{Operation, Phase, Run, RunStatus, Skipped, State};
use flashlag_units::{Bytes, Nanos};

use crate::error::RunError;
use crate::finish;
use crate::ledger::{self, Direction};
use crate::prepare::Prepared;
use crate::request::{Event, Observer};
use crate::task::{Task, reached, tasks};

/// What one task came to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was measured.
    Measured(Box<Phase>),
    /// A mixed test was measured, its reads and its writes; and the error that ended it, if one did.
    Both(Box<[Phase; 2]>, Option<String>),
    /// It was done; there is nothing to store.
    Done,
    /// It could not be done here, and why; the run goes on.
    Skipped(String),
    /// It began, then failed: what it saw until then, and the error: on what, where, why, and what
    /// to try. The run ends.
    Failed(Option<Box<Phase>>, String),
}

impl Outcome {
    /// What was measured of one test, and the error that ended it, if one did.
    pub(crate) fn of(measured: Vec<Phase>, error: Option<String>) -> Outcome {
        match <[Phase; 2]>::try_from(measured) {
            Ok(both) => Outcome::Both(Box::new(both), error),
            Err(one) => match (one.into_iter().next().map(Box::new), error) {
                (phase, Some(error)) => Outcome::Failed(phase, error),
                (Some(phase), None) => Outcome::Measured(phase),
                (None, None) => Outcome::Done,
            },
        }
    }

    /// The same, with something more that the reader of its phase must know.
    pub(crate) fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Outcome {
        match &mut self {
            Outcome::Measured(phase) | Outcome::Failed(Some(phase), _) => phase.notes.extend(notes),
            Outcome::Both(phases, _) => phases[1].notes.extend(notes),
            Outcome::Done | Outcome::Skipped(_) | Outcome::Failed(None, _) => {}
        }
        self
    }

    /// The same, with what the device counted before and after.
    pub(crate) fn with_device(
        mut self,
        counts: (Option<DeviceCount>, Option<DeviceCount>),
    ) -> Outcome {
        let (Some(before), Some(after)) = counts else { return self };
        let phases: &mut [Phase] = match &mut self {
            Outcome::Measured(phase) | Outcome::Failed(Some(phase), _) => {
                std::slice::from_mut(&mut **phase)
            }
            Outcome::Both(phases, _) => &mut phases[..],
            Outcome::Done | Outcome::Skipped(_) | Outcome::Failed(None, _) => &mut [],
        };
        for phase in phases {
            let reads =
                matches!(phase.operation, Operation::SequentialRead | Operation::RandomRead);
            let direction = if reads { Direction::Read } else { Direction::Write };
            ledger::take_device(&mut phase.ledger, direction, before, after);
        }
        self
    }
}

/// Does every task that is left. Returns the run however it ended; its status says how.
///
/// # Errors
/// Only where the run file can't be written or our own files can't be made or removed.
pub fn execute(mut prepared: Prepared, observer: &mut dyn Observer) -> Result<Run, RunError> {
    let scenario = prepared.request.scenario.clone();
    let tasks = tasks(&scenario);
    if let Some(error) = prepared.fill_again(&tasks, observer)? {
        prepared.run.status = RunStatus::Failed { next_step: prepared.first_task as u32, error };
        return finish::conclude(prepared, observer);
    }
    let first = prepared.first_task;
    prepared.run.status = go_through(&mut prepared, &tasks, first, observer)?;
    finish::conclude(prepared, observer)
}

/// A run under way, on real storage or in virtual time: what the loop over its tasks asks of it.
pub(crate) trait Underway {
    /// The run.
    fn run(&mut self) -> &mut Run;

    /// Whether the user wants it to end.
    fn stopped(&self) -> bool;

    /// Whether the free space was trimmed.
    fn trimmed(&self) -> bool;

    /// What it has written up to now.
    fn written(&self) -> Bytes;

    /// Does a task.
    ///
    /// # Errors
    /// Only where our own files can't be made or removed.
    fn perform(
        &mut self,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RunError>;

    /// Brings what follows from the phases up to date, and stores the run.
    ///
    /// # Errors
    /// Where the run file can't be written.
    fn save(&mut self) -> Result<(), RunError>;
}

/// Does the tasks from the `first` on, and saves the run after each; says how it ended.
///
/// # Errors
/// As the tasks themselves and saving.
pub(crate) fn go_through(
    underway: &mut impl Underway,
    tasks: &[Task<'_>],
    first: usize,
    observer: &mut dyn Observer,
) -> Result<RunStatus, RunError> {
    for (index, task) in tasks.iter().enumerate().skip(first) {
        let next_step = index as u32;
        if underway.stopped() {
            return Ok(RunStatus::Interrupted { next_step });
        }
        underway.run().status = RunStatus::Running { next_step };
        let outcome = match reached(tasks, index, underway.trimmed()) {
            Ok(()) => underway.perform(task, observer)?,
            Err(reason) => Outcome::Skipped(reason),
        };
        observer.event(Event::Wrote(underway.written()));
        if let Some(error) = keep(underway.run(), task, outcome, observer) {
            return Ok(RunStatus::Failed { next_step, error });
        }
        let cut_short = underway.run().phases.last().is_some_and(|phase| phase.cut_short);
        if underway.stopped() && cut_short {
            return Ok(RunStatus::Interrupted { next_step });
        }
        underway.run().status = RunStatus::Running { next_step: next_step + 1 };
        underway.save()?;
    }
    Ok(RunStatus::Complete)
}

/// Stores what a task came to; an error ends the run.
fn keep(
    run: &mut Run,
    task: &Task<'_>,
    outcome: Outcome,
    observer: &mut dyn Observer,
) -> Option<String> {
    match outcome {
        Outcome::Measured(phase) => {
            observer.event(Event::PhaseFinished(&phase));
            run.phases.push(*phase);
        }
        Outcome::Both(phases, error) => {
            for phase in *phases {
                observer.event(Event::PhaseFinished(&phase));
                run.phases.push(phase);
            }
            return error;
        }
        Outcome::Done => {}
        Outcome::Skipped(reason) => {
            let state = match task {
                Task::Measure { state, .. } => *state,
                Task::Trim => State::Trimmed,
                _ => run.phases.last().map(|phase| phase.state).unwrap_or_default(),
            };
            // Each test of a state is skipped for the same reason.
            let said = |one: &Skipped| one.state == state && one.reason == reason;
            if !run.skipped.iter().any(said) {
                let what = match task {
                    Task::Measure { .. } => format!("{} tests", state.name()),
                    _ => task.label(),
                };
                observer.event(Event::Note(&format!("{what} skipped: {reason}")));
            }
            run.skipped.push(Skipped { step: task.label(), state, reason });
        }
        Outcome::Failed(phase, error) => {
            if let Some(phase) = phase {
                observer.event(Event::PhaseFinished(&phase));
                run.phases.push(*phase);
            }
            return Some(error);
        }
    }
    None
}

impl Underway for Prepared {
    fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    fn stopped(&self) -> bool {
        self.request.stop.load(Ordering::Relaxed)
    }

    fn trimmed(&self) -> bool {
        self.trimmed
    }

    fn written(&self) -> Bytes {
        self.run.wear.written_bytes
    }

    fn perform(
        &mut self,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RunError> {
        match task {
            Task::Measure { test, state, run } => self.measure(test, *state, *run, observer),
            Task::Fill { test, directory } => self.fill(test, *directory, observer),
            Task::Delete => self.delete_fills(observer),
            Task::Trim => Ok(self.trim(observer)),
            Task::Idle(time) => Ok(self.idle(*time, observer)),
        }
    }

    fn save(&mut self) -> Result<(), RunError> {
        finish::refresh(self);
        self.request.output.store(&mut self.run)
    }
}

impl Prepared {
    /// A run that goes on where the storage was full finds it empty, for the files of the process
    /// before it are gone: fills it again, unmeasured. Returns the error where that failed.
    fn fill_again(
        &mut self,
        tasks: &[Task<'_>],
        observer: &mut dyn Observer,
    ) -> Result<Option<String>, RunError> {
        let done = tasks.get(..self.first_task).unwrap_or_default();
        let latest =
            done.iter().rev().find(|task| matches!(task, Task::Fill { .. } | Task::Delete));
        let Some(Task::Fill { test, directory }) = latest else { return Ok(None) };
        observer.event(Event::Note("filling the storage again, to go on where the run ended"));
        let outcome = self.fill(test, *directory, observer)?;
        self.evidence.phases.truncate(self.run.phases.len());
        Ok(match outcome {
            Outcome::Failed(_, error) => Some(error),
            _ => None,
        })
    }

    /// Waits, and looks up now and then whether it should still.
    fn idle(&mut self, time: Nanos, observer: &mut dyn Observer) -> Outcome {
        observer.event(Event::Preparing(&format!("idle for {time}")));
        let until = self.now().plus(time);
        while self.now() < until && !self.stopped() {
            let left = until.since(self.now());
            std::thread::sleep(left.min(Nanos::from_millis(200)).into());
        }
        if self.now() < until {
            return Outcome::Skipped("stopped before the idle wait was over".to_owned());
        }
        Outcome::Done
    }

    /// The seed of one task: the same run seed, another stream for each task.
    pub(crate) fn task_seed(&self, label: &str) -> u64 {
        task_seed(self.request.seed, label)
    }

    /// Counts bytes that this run handed to the filesystem.
    pub(crate) fn wrote(&mut self, bytes: Bytes) {
        self.run.wear.written_bytes = self.run.wear.written_bytes.plus(bytes);
    }

    /// Progress of the phase under way, cleared.
    pub(crate) fn fresh_live(&self) -> Arc<flashlag_stats::live::Live> {
        self.live.reset();
        Arc::clone(&self.live)
    }
}

/// The seed of one task of a run.
pub(crate) fn task_seed(seed: u64, label: &str) -> u64 {
    // FNV-1a: a fixed function of the label, so that a task keeps its stream when others change.
    let hash = label.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
