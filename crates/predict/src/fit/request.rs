use flashlag_schema::Run;
use flashlag_spec::profile::Profile;
use flashlag_spec::target::MountSpec;

use super::stage::FitStage;
use crate::{PredictError, SimulationError};

/// The options of a fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitOptions {
    /// Seed of the simulations and of the starts; `None`: the run's seed.
    pub seed: Option<u64>,
    /// Number of starting points: the unchanged profile, and random ones.
    pub starts: usize,
    /// Maximum number of simulations.
    pub simulations: usize,
    /// The parameters that may move; empty: all with a range.
    pub only: Vec<String>,
    /// The stages that are left out, to measure what each is worth.
    pub without: Vec<FitStage>,
}

impl Default for FitOptions {
    fn default() -> Self {
        FitOptions {
            seed: None,
            starts: 3,
            simulations: 3000,
            only: Vec::new(),
            without: Vec::new(),
        }
    }
}

/// The inputs of a fit.
#[derive(Clone, Copy, Debug)]
pub struct FitRequest<'a> {
    /// The measured run.
    pub run: &'a Run,
    /// The run's name, for the sources in the new profile.
    pub run_name: &'a str,
    /// The starting profile. Its ranges bound the search; a parameter without a range stays.
    pub start: &'a Profile,
    /// The new profile's name.
    pub name: &'a str,
    /// Filesystem and options of the run; `None`: those in the run file.
    pub mount: Option<&'a MountSpec>,
    /// Whether to fit although there are [`crate::doubts`]; the profile then lists them.
    pub force: bool,
}

pub(super) fn stopped(start: &Profile) -> PredictError {
    let what = format!("profiles made from {}", start.name);
    PredictError::Simulation { what, reason: SimulationError::Stopped }
}
