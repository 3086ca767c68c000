//! What `flashlag predict` says of a choice: the device as it was sold, and then step by step as it was chosen.

use flashlag_predict::change::{self, PredictOptions, Situation, parse};
use flashlag_predict::{Simulation, SimulationError, Simulator};
use flashlag_runner::{Request, SimTarget, Target, profile, sim};
use flashlag_schema::{Run, RunStatus};
use flashlag_spec::profile::Profile;
use flashlag_spec::published::checked;
use flashlag_spec::scenario::{After, Stretch};
use flashlag_spec::target::MountSpec;
use flashlag_term::{Style, predict};
use flashlag_units::Bytes;
use serde::Serialize;

use crate::answer::Nobody;
use crate::question::{Question, QuestionError, filesystem_of, has_barriers};

/// What the page shows of a forecast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Forecast {
    /// The command that prints it, with saves through SQLite beside it.
    pub command: String,
    /// As the program prints it, in 80 columns.
    pub forecast: String,
}

impl Forecast {
    /// Simulates the device as it was sold, and with each change that was chosen.
    ///
    /// # Errors
    /// Nothing was changed, the device is to be old, or it can't be simulated so.
    pub fn of(question: &Question) -> Result<Forecast, QuestionError> {
        let sold = profile(&question.device)?;
        let changes = changes(question, &sold);
        if changes.is_empty() {
            return Err(QuestionError::NoChange);
        }
        if question.months > 0 {
            return Err(QuestionError::Ages { months: question.months });
        }
        let target = question.as_sold(&sold).target(&sold)?;
        let start = Situation::new(&target.profile, &target.mount.to_string())?;
        let parsed = parse(&changes)?;
        let options =
            PredictOptions { causes: false, rollback: true, saves: false, ..Default::default() };
        let mut forecast = change::predict(&start, &parsed, checked(), &Simulations, &options)?;
        // What comes after saves is known of a new device alone.
        let known: Vec<String> =
            forecast.after().tests.iter().map(|test| test.name.clone()).collect();
        forecast.before.tests.retain(|test| known.contains(&test.name));
        Ok(Forecast {
            // Quietly: without the devices between and the plausible ones, which take as long again.
            command: format!("flashlag predict -q {} --change {changes}", target.text),
            forecast: predict::forecast(&forecast, Style::PLAIN),
        })
    }
}

/// What was chosen otherwise than the device was sold, in the words of `--change`.
fn changes(question: &Question, sold: &Profile) -> String {
    let own = &sold.filesystem;
    let mut changes = Vec::new();
    if filesystem_of(own) != question.filesystem {
        changes.push(format!("fs={}", question.filesystem));
    }
    match (has_barriers(own), question.barriers) {
        (true, false) => changes.push("nobarrier=on".to_owned()),
        (false, true) => changes.push("nobarrier=off".to_owned()),
        _ => {}
    }
    if question.full > 0 {
        changes.push(format!("full={}%", question.full));
    }
    changes.join(",")
}

/// Simulations one after the other: a page has one thread.
struct Simulations;

impl Simulations {
    fn run(
        simulation: &Simulation<'_>,
        stretches: &[Stretch],
        follow: &mut dyn FnMut(&Run, usize, usize) -> After,
    ) -> Result<(Run, Vec<usize>), SimulationError> {
        let Simulation { profile, mount, scenario, seed, leave } = *simulation;
        let target = Target::Simulated(SimTarget::new(profile, mount));
        let request =
            Request { leave, waits: false, ..Request::new(scenario.clone(), target, seed) };
        let done = sim::simulate_repeats(&request, stretches, &mut Nobody, follow);
        let (run, counts) = done.map_err(SimulationError::refused)?;
        match &run.status {
            RunStatus::Failed { error, .. } => Err(SimulationError::refused(error)),
            _ => Ok((run, counts)),
        }
    }
}

impl Simulator for Simulations {
    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        Ok(Simulations::run(simulation, &[], &mut |_, _, _| After::Next)?.0)
    }

    fn threads(&self) -> usize {
        1
    }

    fn room(&self, profile: &Profile, mount: &MountSpec) -> Result<Bytes, SimulationError> {
        sim::room(profile, mount).map_err(SimulationError::refused)
    }

    fn of_size(&self, profile: &Profile, size: Bytes) -> Option<Profile> {
        sim::of_size(profile, size).ok()
    }

    fn simulate_repeats(
        &self,
        simulation: &Simulation<'_>,
        stretches: &[Stretch],
        follow: &mut dyn FnMut(&Run, usize, usize) -> After,
    ) -> Result<(Run, Vec<usize>), SimulationError> {
        Simulations::run(simulation, stretches, follow)
    }
}
