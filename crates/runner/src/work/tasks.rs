//! Does the tasks of a scenario, one after the other, and stores the run after each.

use flashlag_schema::{Run, RunStatus, Skipped};
use flashlag_spec::State;
use flashlag_units::Nanos;

use super::{Hindrance, Outcome, Work, World};
use crate::error::RunError;
use crate::events::{Event, Observer};
use crate::task::{Task, reached};

impl<W: World> Work<W> {
    /// Does the tasks from `first` on, and stores the run after each. Returns how the run ended.
    /// Fails only if the run file can't be written or flashlag's own files can't be created or
    /// removed.
    pub fn go_through(
        &mut self,
        tasks: &[Task<'_>],
        first: usize,
        observer: &mut dyn Observer,
    ) -> Result<RunStatus, RunError> {
        for (index, task) in tasks.iter().enumerate().skip(first) {
            let next_step = index as u32;
            if self.stopped() {
                return Ok(RunStatus::Interrupted { next_step });
            }
            self.run.status = RunStatus::Running { next_step };
            let measures = matches!(task, Task::Measure { .. } | Task::Fill { .. });
            if measures && let Some(error) = self.look_at_conditions(observer) {
                return Ok(RunStatus::Failed { next_step, error });
            }
            let outcome = match reached(tasks, index, self.trimmed) {
                Ok(()) => self.perform(task, observer)?,
                Err(reason) => Outcome::Skipped(reason.to_owned()),
            };
            observer.event(Event::Wrote(self.run.wear.written_bytes));
            let paused = matches!(outcome, Outcome::Paused);
            if let Some(error) = keep(&mut self.run, task, outcome, observer) {
                return Ok(RunStatus::Failed { next_step, error });
            }
            if paused {
                return Ok(RunStatus::Interrupted { next_step });
            }
            let cut_short = self.run.phases.last().is_some_and(|phase| phase.cut_short);
            if self.stopped() && cut_short {
                return Ok(RunStatus::Interrupted { next_step });
            }
            self.run.status = RunStatus::Running { next_step: next_step + 1 };
            self.save()?;
        }
        self.note_conditions();
        Ok(RunStatus::Complete)
    }

    fn perform(
        &mut self,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RunError> {
        let outcome = match task {
            Task::Measure { test, state, run } => self.measure(test, *state, *run, observer),
            Task::Fill { test, directory } => self.fill(test, *directory, observer),
            Task::Delete => self.delete_fills(observer),
            Task::Trim => Ok(self.trim(observer)),
            Task::Idle(time) => Ok(self.idle(*time, observer)),
        };
        outcome.or_else(Hindrance::outcome)
    }

    /// Fills the storage again, unmeasured: a continued run finds the storage empty, since the
    /// files of the earlier process are gone. Returns the error if that failed.
    pub fn fill_again(
        &mut self,
        done: &[Task<'_>],
        observer: &mut dyn Observer,
    ) -> Result<Option<String>, RunError> {
        let latest =
            done.iter().rev().find(|task| matches!(task, Task::Fill { .. } | Task::Delete));
        let Some(fill @ Task::Fill { .. }) = latest else { return Ok(None) };
        observer.event(Event::Note("filling the storage again, to go on where the run ended"));
        let outcome = self.perform(fill, observer)?;
        self.evidence.phases.truncate(self.run.phases.len());
        Ok(match outcome {
            Outcome::Failed(_, error) => Some(error),
            _ => None,
        })
    }

    fn idle(&mut self, time: Nanos, observer: &mut dyn Observer) -> Outcome {
        observer.event(Event::Preparing(&format!("idle for {time}")));
        let until = self.world.now().plus(time);
        self.world.idle(time, &self.controls.stop);
        if self.world.now() < until {
            return Outcome::Skipped("stopped before the idle wait was over".to_owned());
        }
        Outcome::Done
    }
}

/// What the user is to do before a card is read back.
const TAKE_OUT: &str = "everything is written: unmount the card, take it out and put it in again, then go on with \
     --resume, which reads it back";

/// Stores the outcome of a task; an error ends the run.
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
        Outcome::Several(phases, error) => {
            for phase in phases {
                observer.event(Event::PhaseFinished(&phase));
                run.phases.push(phase);
            }
            return error;
        }
        Outcome::Paused => observer.event(Event::Note(TAKE_OUT)),
        Outcome::Done => {}
        Outcome::Skipped(reason) => {
            let state = match task {
                Task::Measure { state, .. } => *state,
                Task::Trim => State::Trimmed,
                _ => run.phases.last().map(|phase| phase.state).unwrap_or_default(),
            };
            // Every test of a state is skipped for the same reason, which is reported once.
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
