use flashlag_predict::fit::{Fit, FitOptions, FitRequest, allowed, fit as fit_run};
use flashlag_predict::nearest::nearest;
use flashlag_runner::sim;
use flashlag_schema::Run;
use flashlag_spec::profile::Profile;
use flashlag_spec::target::{Kind, MountSpec};

use crate::error::CommandError;
use crate::simulations::Simulations;

/// A request for a fit, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitWords {
    /// The new profile's name.
    pub name: String,
    /// The starting profile; `None`: the built-in one with the nearest figures.
    pub from: Option<String>,
    /// Filesystem and options of the run; `None`: those in the run file.
    pub fs: Option<String>,
    /// The parameters that may move; empty: all with a range.
    pub only: Vec<String>,
    /// Maximum number of simulations.
    pub simulations: usize,
    /// Number of starting points of the search.
    pub starts: usize,
    /// Whether to fit although there are doubts about the run.
    pub force: bool,
}

/// Makes the simulator of a name, with the number of simulations if it is known.
type MakesSimulations<'a> = dyn Fn(&str, Option<usize>) -> Result<Simulations, CommandError> + 'a;

/// Makes a profile from a measured run. `simulations` makes the simulator for a name and, if known,
/// a number of simulations; `begins_with` is called with the nearest profile, if none was named.
/// Fails for a run that can't be fitted to, an unknown profile or filesystem, or if the user stops
/// it.
pub fn fit(
    run: &Run,
    run_name: &str,
    words: &FitWords,
    simulations: &MakesSimulations<'_>,
    begins_with: &mut dyn FnMut(&str),
) -> Result<Fit, CommandError> {
    allowed(run, run_name, words.force)?;
    let start = match &words.from {
        Some(name) => sim::profile(name)?,
        None => {
            let found = nearest_profile(run, run_name, simulations)?;
            begins_with(&found.name);
            found
        }
    };
    let mount = words.fs.as_deref().map(|text| MountSpec::parse(Kind::Sim, text)).transpose();
    let mount = mount.map_err(|source| CommandError::Filesystem { option: "--fs", source })?;
    let request = FitRequest {
        run,
        run_name,
        start: &start,
        name: &words.name,
        mount: mount.as_ref(),
        force: words.force,
    };
    let options = FitOptions {
        only: words.only.clone(),
        simulations: words.simulations,
        starts: words.starts,
        ..FitOptions::default()
    };
    let simulations = simulations(&start.name, None)?;
    let fitted = fit_run(&request, &simulations, &options)?;
    simulations.clear();
    Ok(fitted)
}

/// The built-in profile with the figures of new storage nearest to the run's.
fn nearest_profile(
    run: &Run,
    run_name: &str,
    simulations: &MakesSimulations<'_>,
) -> Result<Profile, CommandError> {
    let all: Vec<Profile> = sim::profile_names().map(sim::profile).collect::<Result<_, _>>()?;
    let simulations = simulations("nearest profile", Some(all.len()))?;
    let ranked = nearest(run, run_name, &all, &simulations)?;
    simulations.clear();
    let first = ranked.first().and_then(|first| all.get(first.index));
    first.cloned().ok_or_else(|| {
        CommandError::Impossible("no built-in profile can be simulated for this run".to_owned())
    })
}
