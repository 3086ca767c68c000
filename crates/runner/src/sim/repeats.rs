//! Repeated parts of a scenario, simulated until further repeats would change nothing.

use flashlag_flash::FlashError;
use flashlag_schema::{Run, RunStatus};
use flashlag_spec::scenario::{After, Scenario, Stretch};

use super::{Simulation, prepare};
use crate::error::RunError;
use crate::events::Observer;
use crate::request::Request;
use crate::task::{Task, tasks, tasks_of};
use crate::work::Work;

/// Called after each part with the run so far, the stretch's index and its number of parts; decides
/// what follows.
pub type Follow<'a> = &'a mut dyn FnMut(&Run, usize, usize) -> After;

/// Simulates a scenario whose stretches end when `follow` says so. Returns the run, which is not
/// stored, and the number of simulated parts of each stretch.
pub fn simulate_repeats(
    request: &Request,
    stretches: &[Stretch],
    observer: &mut dyn Observer,
    follow: Follow<'_>,
) -> Result<(Run, Vec<usize>), RunError> {
    let mut work = prepare(request.clone().unstored(), request.target.simulated()?)?;
    let tasks = tasks(&request.scenario);
    let mut passage = Passage {
        scenario: &request.scenario,
        tasks: &tasks,
        next: 0,
        status: RunStatus::Complete,
    };
    let mut counts = Vec::new();
    for (index, stretch) in stretches.iter().enumerate() {
        let mut after = |run: &Run, count: usize| follow(run, index, count);
        counts.push(passage.stretch(&mut work, stretch, observer, &mut after)?);
    }
    passage.go_to(&mut work, tasks.len(), observer)?;
    work.refresh();
    work.run.status = passage.status;
    work.run.seal();
    Ok((work.run, counts))
}

/// The path through a scenario's tasks, some of which are skipped.
struct Passage<'a> {
    scenario: &'a Scenario,
    tasks: &'a [Task<'a>],
    /// Index of the next task.
    next: usize,
    status: RunStatus,
}

impl Passage<'_> {
    /// Index of a step's first task.
    fn task_of(&self, step: usize) -> usize {
        let before = self.scenario.steps.iter().take(step);
        before.map(|step| tasks_of(self.scenario, step).len()).sum()
    }

    /// Does all tasks before `end`, unless the run has ended.
    fn go_to(
        &mut self,
        work: &mut Work<Simulation>,
        end: usize,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        if self.status == RunStatus::Complete && self.next < end {
            self.status = work.go_through(&self.tasks[..end], self.next, observer)?;
            self.next = end;
        }
        Ok(())
    }

    /// Does the parts of a stretch until one that is followed by its end, and leaves out the others.
    /// Returns the number of parts.
    fn stretch(
        &mut self,
        work: &mut Work<Simulation>,
        stretch: &Stretch,
        observer: &mut dyn Observer,
        after: &mut dyn FnMut(&Run, usize) -> After,
    ) -> Result<usize, RunError> {
        let Some(first) = stretch.begin.first() else { return Ok(0) };
        self.go_to(work, self.task_of(*first), observer)?;
        if stretch.scatter {
            scatter(work)?;
        }
        let ends = stretch.begin.iter().skip(1).chain(std::iter::once(&stretch.end));
        let mut count = 0;
        for end in ends {
            self.go_to(work, self.task_of(*end), observer)?;
            count += 1;
            // The run as `after` needs it: without findings, which take long in a run of many
            // phases.
            work.world.refresh(&mut work.run, &work.evidence);
            if self.status != RunStatus::Complete {
                break;
            }
            if let After::End { cycles } = after(&work.run, count) {
                work.world.stack.with_device_mut(|device| device.wear_out(cycles));
                break;
            }
        }
        self.next = self.next.max(self.task_of(stretch.end));
        Ok(count)
    }
}

/// Arranges the flash's content as random overwrites would have arranged it, if its map allows
/// that.
fn scatter(work: &Work<Simulation>) -> Result<(), RunError> {
    match work.world.stack.with_device_mut(flashlag_flash::FlashDevice::scatter) {
        // A map of log blocks is in its state after few writes; worn blocks have their own.
        Ok(()) | Err(FlashError::NoPast | FlashError::NotNew | FlashError::ZonedPast) => Ok(()),
        Err(error) => Err(RunError::Simulation {
            target: work.request.target.simulated()?.text.clone(),
            source: Box::new(error.into()),
        }),
    }
}
