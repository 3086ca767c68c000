//! Checks device models against published measurements, fits them to runs, and forecasts with them.
//!
//! Nothing is simulated here: the caller supplies a [`Simulator`]. Nothing is printed either:
//! results are plain structs, and `flashlag-term` draws them.
//!
//! - [`check`]: a profile under the reviewers' protocols, published beside simulated, row by row.
//! - `fit`, a feature: a profile's parameters from a measured run, and which of them the run leaves open.
//! - [`nearest`]: which profile a measured run is most like.
//! - [`change`]: the figures of a device after each of several changes, with the reasons.
//! - [`effect`]: what the findings of a run cost, if the run has nothing to compare.
#![forbid(unsafe_code)]

pub mod change;
pub mod check;
mod doubts;
pub mod effect;
mod error;
#[cfg(feature = "fit")]
pub mod fit;
mod knob;
pub mod nearest;
mod parallel;

use flashlag_schema::Run;
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::{After, Scenario, Stretch};
use flashlag_spec::target::MountSpec;
use flashlag_units::Bytes;

pub use doubts::{allowed, doubts};
pub use error::{
    ChangeError, FigureError, ModelError, PredictError, ProtocolError, RunInputError,
    SimulationError,
};

/// A scenario on a device: the same values give the same run.
#[derive(Clone, Copy, Debug)]
pub struct Simulation<'a> {
    /// The device.
    pub profile: &'a Profile,
    /// The filesystem and its options.
    pub mount: &'a MountSpec,
    pub scenario: &'a Scenario,
    /// The seed of all random choices.
    pub seed: u64,
    /// Free space that a fill leaves; `None`: the simulator's default.
    pub leave: Option<Bytes>,
}

/// Runs scenarios on simulated devices, from several threads at once.
pub trait Simulator: Sync {
    /// One run.
    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError>;

    /// The maximum number of simulations at once; by default the number of cores. No result depends on
    /// it.
    fn threads(&self) -> usize {
        parallel::cores()
    }

    /// Room for files on the empty filesystem; by default the whole device.
    fn room(&self, profile: &Profile, mount: &MountSpec) -> Result<Bytes, SimulationError> {
        let _ = mount;
        Ok(profile.model()?.map.capacity.0)
    }

    /// The profile of a device of another capacity that behaves alike when equally full: as many dies, and
    /// the same shares of spare area and write cache. `None`, the default, where no such profile can be made.
    fn of_size(&self, profile: &Profile, size: Bytes) -> Option<Profile> {
        let _ = (profile, size);
        None
    }

    /// One run of a scenario with stretches of equal parts, in the order of their steps. After each part
    /// `follow` is called with the run so far, the stretch's index and its number of parts, and says
    /// what comes next. Returns the run and the number of parts of each stretch. The default
    /// simulates every part, asks nothing, and begins no stretch with scattered content.
    fn simulate_repeats(
        &self,
        simulation: &Simulation<'_>,
        stretches: &[Stretch],
        follow: &mut dyn FnMut(&Run, usize, usize) -> After,
    ) -> Result<(Run, Vec<usize>), SimulationError> {
        let _ = follow;
        let counts = stretches.iter().map(|stretch| stretch.begin.len()).collect();
        Ok((self.simulate(simulation)?, counts))
    }
}

impl<F> Simulator for F
where
    F: Fn(&Simulation<'_>) -> Result<Run, SimulationError> + Sync,
{
    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        self(simulation)
    }
}
