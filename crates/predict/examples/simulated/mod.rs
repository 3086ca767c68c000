//! Simulated runs without a progress line, for the examples.

use flashlag_predict::{Simulation, SimulationError, Simulator};
use flashlag_runner::{Event, Observer, Request, SimTarget, Target, sim};
use flashlag_schema::{Run, RunStatus};
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::{After, Stretch};
use flashlag_spec::target::MountSpec;
use flashlag_units::Bytes;

/// The simulator of the examples: that many simulations at once.
pub struct Simulated {
    pub threads: usize,
}

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

fn request(simulation: &Simulation<'_>) -> Request {
    let Simulation { profile, mount, scenario, seed, leave } = *simulation;
    let target = Target::Simulated(SimTarget::new(profile, mount));
    Request { leave, waits: false, ..Request::new(scenario.clone(), target, seed) }
}

/// The run if it is complete.
fn ended(run: Run) -> Result<Run, SimulationError> {
    match &run.status {
        RunStatus::Failed { error, .. } => Err(SimulationError::refused(error)),
        _ => Ok(run),
    }
}

impl Simulator for Simulated {
    fn threads(&self) -> usize {
        self.threads
    }

    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        ended(sim::measure(request(simulation), &mut Silent).map_err(SimulationError::refused)?)
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
        let done = sim::simulate_repeats(&request(simulation), stretches, &mut Silent, follow);
        let (run, counts) = done.map_err(SimulationError::refused)?;
        Ok((ended(run)?, counts))
    }
}
