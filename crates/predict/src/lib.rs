//! Holds device models against what was published, fits them to runs, and forecasts with them.
//!
//! Nothing is simulated here: whoever calls hands in a [`Simulator`]. Nothing is printed either:
//! results are plain structs, and [`text`] writes them for a terminal.
//!
//! - [`check`]: the reviewers' protocols on a profile, published beside simulated, row by row.
//! - [`fit`]: a profile's parameters from a measured run, and which of them the run can't tell.
//! - [`change`]: what a device does after a change, step by step, and why.
#![forbid(unsafe_code)]

pub mod change;
pub mod check;
mod error;
pub mod fit;
mod knob;
pub mod text;

use flashlag_schema::Run;
use flashlag_schema::profile::Profile;
use flashlag_schema::scenario::Scenario;
use flashlag_units::Bytes;

pub use error::PredictError;

/// Runs scenarios on simulated devices.
pub trait Simulator {
    /// One run. The same arguments give the same run.
    ///
    /// # Errors
    /// Why the device or the scenario can't be simulated, in words.
    fn simulate(
        &mut self,
        profile: &Profile,
        filesystem: &str,
        scenario: &Scenario,
        seed: u64,
        leave: Option<Bytes>,
    ) -> Result<Run, String>;
}

impl<F> Simulator for F
where
    F: FnMut(&Profile, &str, &Scenario, u64, Option<Bytes>) -> Result<Run, String>,
{
    fn simulate(
        &mut self,
        profile: &Profile,
        filesystem: &str,
        scenario: &Scenario,
        seed: u64,
        leave: Option<Bytes>,
    ) -> Result<Run, String> {
        self(profile, filesystem, scenario, seed, leave)
    }
}
