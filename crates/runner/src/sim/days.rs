//! Days of use, simulated until further ones would change nothing.

use flashlag_schema::scenario::Days;
use flashlag_schema::{Run, RunStatus};

use super::prepare;
use crate::error::RunError;
use crate::events::Observer;
use crate::request::Request;
use crate::task::{tasks, tasks_of};

/// Simulates a scenario day by day until `enough` returns true for the run so far and its number of
/// days, then the steps after the last day. Returns the run, which is not stored, and its number of
/// days.
///
/// # Errors
/// As [`crate::run`]; also where the device cannot begin with worn blocks.
pub fn simulate_days(
    request: &Request,
    days: &Days,
    observer: &mut dyn Observer,
    enough: &mut dyn FnMut(&Run, usize) -> bool,
) -> Result<(Run, usize), RunError> {
    let unstored = Request { output: None, ..request.clone() };
    let mut work = prepare(unstored, request.target.simulated()?, days.cycles)?;
    let tasks = tasks(&request.scenario);
    let task_of = |step: usize| -> usize {
        let before = request.scenario.steps.iter().take(step);
        before.map(|step| tasks_of(&request.scenario, step).len()).sum()
    };
    let ends =
        days.begin.iter().skip(1).chain(std::iter::once(&days.end)).map(|step| task_of(*step));
    let (mut first, mut lived) = (0, 0);
    let mut status = RunStatus::Complete;
    for end in ends.take(days.begin.len()) {
        status = work.go_through(&tasks[..end], first, observer)?;
        (first, lived) = (end, lived + 1);
        work.refresh();
        if status != RunStatus::Complete || enough(&work.run, lived) {
            break;
        }
    }
    if status == RunStatus::Complete {
        status = work.go_through(&tasks, task_of(days.end).max(first), observer)?;
    }
    work.refresh();
    work.run.status = status;
    work.run.seal();
    Ok((work.run, lived))
}
