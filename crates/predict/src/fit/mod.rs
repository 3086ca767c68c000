//! A profile's parameters from a measured run: the run's scenario is simulated over and over with
//! other values of what the starting profile gives a range for, until its figures come out.
//!
//! What is made small is the sum of squared logarithms of simulated over measured p50, p99, rate
//! and means over bands of ranks, of every phase that both have; what is far off counts less and
//! less, and so does what few operations make. New storage comes first, simulated alone, which tells
//! times and units; then how the device collects, from the best of some that are drawn, step by step
//! and switch by switch, each with the times that go with it; then all of it. A weak pull towards the
//! starting values keeps parameters that the run does not tell where they were.

mod axis;
mod bands;
mod figures;
mod identifiability;
mod lacks;
mod nearest;
mod outcome;
mod policies;
mod rerun;
mod rows;
mod schedule;
mod search;
mod solve;
mod start;
mod structure;

use flashlag_schema::Run;
use flashlag_schema::profile::Profile;

use crate::{PredictError, Simulator, doubts};

pub use figures::{Figure, Residual};
pub use identifiability::{Confounded, Identifiability};
pub use nearest::{Nearest, nearest};
pub use outcome::{Fit, FitParameter};
pub use rerun::filesystem_of;
pub use rows::{Tuned, tune};

/// How a fit is sought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitOptions {
    /// What simulations and the choice of starts follow from; the run's own seed where absent.
    pub seed: Option<u64>,
    /// From how many places the search starts: the profile as it is, and others drawn at random.
    pub starts: usize,
    /// The most simulations.
    pub simulations: usize,
    /// The parameters that may move; all that have a range where there are none.
    pub only: Vec<String>,
}

impl Default for FitOptions {
    fn default() -> Self {
        FitOptions { seed: None, starts: 3, simulations: 3000, only: Vec::new() }
    }
}

/// What is fitted.
#[derive(Clone, Copy, Debug)]
pub struct FitRequest<'a> {
    /// The measured run.
    pub run: &'a Run,
    /// What it is called, for the sources of the new profile.
    pub run_name: &'a str,
    /// Where the search starts: its ranges bound the search, and what has none stays.
    pub start: &'a Profile,
    /// The new profile's name.
    pub name: &'a str,
    /// Filesystem and options that were below the run; read off the run where absent.
    pub filesystem: Option<&'a str>,
    /// Whether it is fitted although [`crate::doubts`] speak against it; the profile then says so.
    pub force: bool,
}

/// Fits a profile to a run.
///
/// # Errors
/// Where the run is not to be relied on ([`crate::doubts`]) and nobody forced it, has nothing to fit
/// to, its scenario can't be read again, or the starting profile
/// can't be simulated.
pub fn fit(
    request: &FitRequest<'_>,
    simulator: &mut dyn Simulator,
    options: &FitOptions,
) -> Result<Fit, PredictError> {
    let doubts = doubts::allowed(request.run, request.run_name, request.force)?;
    let mut prepared = start::prepare(request)?;
    axis::hold_others(&prepared.profile, options, &mut prepared.held)?;
    let seed = options.seed.unwrap_or(prepared.seed);
    let mut objective = start::OfRun { prepared: &prepared, simulator, seed };
    let mut search = search::Search::new(&mut objective, &prepared.profile, seed, options)?;
    let before = search.plain(&prepared.profile);
    let found = search.run(&prepared.profile, &prepared.held, options);
    let simulations = search.runs();
    Ok(outcome::outcome(request, &prepared, doubts, simulations, &before, found))
}
