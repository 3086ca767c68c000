//! Fits a profile's parameters to a measured run: simulates the run's scenario repeatedly with
//! other values of all parameters that have a range, until the simulated figures match.
//!
//! It minimizes the sum of squared logarithms of simulated over measured p50, p99, rate and means
//! over bands of ranks, for every phase that both have; outliers and figures of few operations
//! weigh less. The search has three stages: new storage, simulated alone, which determines times
//! and units; the garbage collection policy, with the times that belong to each; then all
//! parameters together. A weak prior keeps parameters that the run does not determine at their
//! starting values.

mod axis;
mod bands;
mod figures;
mod identifiability;
mod lacks;
mod nearest;
mod outcome;
mod pace;
mod policies;
mod rerun;
mod rows;
mod schedule;
mod search;
mod size;
mod solve;
mod stage;
mod start;
mod structure;

use flashlag_schema::Run;
use flashlag_spec::profile::Profile;
use flashlag_spec::target::MountSpec;

use crate::{PredictError, SimulationError, Simulator, doubts};

pub use figures::{Figure, Residual};
pub use identifiability::{ConfoundedGroup, Identifiability};
pub use nearest::{Nearest, nearest};
pub use outcome::{Fit, FitParameter};
pub(crate) use rerun::mount_of;
pub use rows::{Tuning, tune};
pub use stage::FitStage;

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

/// The doubts about a run that is used nevertheless: [`crate::doubts`], and that its device or its
/// fills were faster than real ones. Fails if there are doubts and `force` is not set.
pub fn allowed(run: &Run, name: &str, force: bool) -> Result<Vec<String>, PredictError> {
    doubts::decide(doubts::doubts(run).into_iter().chain(pace::doubt(run)).collect(), name, force)
}

/// Fits a profile to a run.
///
/// # Errors
/// There are [`crate::doubts`] about the run and `force` is not set, the run has no figure to fit to,
/// its scenario can't be parsed, the starting profile can't be simulated, or the user stops a simulation.
pub fn fit(
    request: &FitRequest<'_>,
    simulator: &dyn Simulator,
    options: &FitOptions,
) -> Result<Fit, PredictError> {
    let doubts = allowed(request.run, request.run_name, request.force)?;
    let mut inputs = start::inputs(request)?;
    axis::hold_others(&inputs.profile, options, &mut inputs.held)?;
    let seed = options.seed.unwrap_or(inputs.seed);
    let objective = start::RunObjective { inputs: &inputs, simulator, seed };
    let mut search = search::Search::new(&objective, &inputs.profile, seed, options)?;
    let before = search.plain(&inputs.profile);
    let found = search.run(&inputs.profile, &inputs.held, options);
    if search.is_stopped() {
        return Err(stopped(request.start));
    }
    let simulations = search.runs();
    Ok(outcome::outcome(request, &inputs, doubts, simulations, &before, found))
}

fn stopped(start: &Profile) -> PredictError {
    let what = format!("profiles made from {}", start.name);
    PredictError::Simulation { what, reason: SimulationError::Stopped }
}
