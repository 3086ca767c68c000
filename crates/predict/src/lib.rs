//! Checks device models against published measurements, fits them to runs, and forecasts with them.
//!
//! Nothing is simulated here: the caller brings a [`Simulator`]. Nothing is printed either:
//! results are plain structs, and `flashlag-term` draws them.
//!
//! - [`check`]: a profile under the reviewers' protocols, published beside simulated, row by row.
//! - [`fit`]: a profile's parameters from a measured run, and which of them the run leaves open.
//! - [`change`]: the figures of a device after each of several changes, with the reasons.
#![forbid(unsafe_code)]

pub mod change;
pub mod check;
mod doubts;
mod error;
pub mod fit;
mod knob;

use flashlag_schema::Run;
use flashlag_schema::profile::Profile;
use flashlag_schema::scenario::{Days, Scenario};
use flashlag_schema::target::MountSpec;
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
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The seed of all random choices.
    pub seed: u64,
    /// Free space that a fill leaves; `None`: the simulator's default.
    pub leave: Option<Bytes>,
}

/// Runs scenarios on simulated devices.
pub trait Simulator {
    /// One run.
    ///
    /// # Errors
    /// The device or the scenario can't be simulated.
    fn simulate(&mut self, simulation: &Simulation<'_>) -> Result<Run, SimulationError>;

    /// One run of a scenario with `days` of use. After each day `enough` is called with the run so
    /// far and its number of days; once it returns true, the remaining days are left out and only
    /// the steps after the last day follow. Returns the run and its number of days. The default
    /// simulates every day.
    ///
    /// # Errors
    /// As [`Simulator::simulate`]; also where the device cannot begin with worn blocks.
    fn simulate_days(
        &mut self,
        simulation: &Simulation<'_>,
        days: &Days,
        enough: &mut dyn FnMut(&Run, usize) -> bool,
    ) -> Result<(Run, usize), SimulationError> {
        let _ = enough;
        if days.cycles > 0 {
            return Err(SimulationError::NoCycles);
        }
        Ok((self.simulate(simulation)?, days.begin.len()))
    }
}

impl<F> Simulator for F
where
    F: FnMut(&Simulation<'_>) -> Result<Run, SimulationError>,
{
    fn simulate(&mut self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        self(simulation)
    }
}
