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
mod children;
mod family;
mod identifiability;
mod lacks;
mod left_out;
mod outcome;
mod pace;
mod policies;
mod request;
mod rows;
mod schedule;
mod search;
mod size;
mod solve;
mod stage;
mod start;
mod structure;

use flashlag_schema::Run;

use crate::{PredictError, Simulator, doubts};

pub use identifiability::{ConfoundedGroup, Identifiability};
pub use left_out::{LeftOut, LeftOutRow, left_out};
pub use outcome::{Fit, FitParameter, Residual};
use request::stopped;
pub use request::{FitOptions, FitRequest};
pub use rows::{Tuning, tune};
pub use stage::FitStage;

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
