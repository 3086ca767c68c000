//! Holds device models against what was published, fits them to runs, and forecasts with them.
//!
//! Nothing is simulated here: the caller brings a [`Simulator`]. Nothing is printed either:
//! results are plain structs, and `flashlag-term` draws them.
//!
//! - [`check`]: the reviewers' protocols on a profile, published beside simulated, row by row.
//! - [`fit`]: a profile's parameters from a measured run, and which of them the run can't tell.
//! - [`change`]: what a device does after a change, step by step, and why.
#![forbid(unsafe_code)]

pub mod change;
pub mod check;
mod doubts;
mod error;
pub mod fit;
mod knob;

use flashlag_schema::Run;
use flashlag_schema::profile::Profile;
use flashlag_schema::scenario::Scenario;
use flashlag_units::Bytes;

pub use doubts::{allowed, doubts};
pub use error::{FigureError, ModelError, PredictError, SimulationError};

/// Runs scenarios on simulated devices.
pub trait Simulator {
    /// One run. The same arguments give the same run.
    ///
    /// # Errors
    /// Why the device or the scenario can't be simulated.
    fn simulate(
        &mut self,
        profile: &Profile,
        filesystem: &str,
        scenario: &Scenario,
        seed: u64,
        leave: Option<Bytes>,
    ) -> Result<Run, SimulationError>;

    /// One run of days that are alike: `enough` is asked after each of them, with how many there
    /// were, and where it is, only what follows the last day is still done. Returns the run, and
    /// how many days it has. The default simulates every day.
    ///
    /// # Errors
    /// As [`Simulator::simulate`]; and where the device can't have cycles behind it.
    fn simulate_days(
        &mut self,
        profile: &Profile,
        filesystem: &str,
        life: &Life<'_>,
        seed: u64,
        leave: Option<Bytes>,
        enough: &mut dyn FnMut(&Run, usize) -> bool,
    ) -> Result<(Run, usize), SimulationError> {
        let _ = enough;
        if life.cycles > 0 {
            return Err(SimulationError::NoCycles);
        }
        let run = self.simulate(profile, filesystem, life.scenario, seed, leave)?;
        Ok((run, life.begin.len()))
    }
}

/// A scenario of days that are alike.
#[derive(Clone, Copy, Debug)]
pub struct Life<'a> {
    /// All of it.
    pub scenario: &'a Scenario,
    /// The step that each day begins with, in order.
    pub begin: &'a [usize],
    /// The step that follows the last day.
    pub end: usize,
    /// Program/erase cycles that each block has done before all that.
    pub cycles: u32,
}

impl<F> Simulator for F
where
    F: FnMut(&Profile, &str, &Scenario, u64, Option<Bytes>) -> Result<Run, SimulationError>,
{
    fn simulate(
        &mut self,
        profile: &Profile,
        filesystem: &str,
        scenario: &Scenario,
        seed: u64,
        leave: Option<Bytes>,
    ) -> Result<Run, SimulationError> {
        self(profile, filesystem, scenario, seed, leave)
    }
}
