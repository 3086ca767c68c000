use flashlag_schema::profile::Profile;
use flashlag_schema::{Run, State};

use super::figures::{figures, misfit, residuals};
use super::rerun::{filesystem_of, only_new, scenario_of};
use crate::{PredictError, RunInputError, Simulation, Simulator};

/// How near a profile is to a run as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// The profile's place among those given.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// How far it is off, typically: 0.5 is by half.
    pub misfit: f64,
}

/// Ranks profiles by how near their new-state figures are to a run's: the first is where a fit
/// should start. Profiles that can't be simulated are left out.
///
/// # Errors
/// Where the run has no figures of the new state, or its scenario can't be read again.
pub fn nearest(
    run: &Run,
    run_name: &str,
    profiles: &[Profile],
    simulator: &mut dyn Simulator,
) -> Result<Vec<Nearest>, PredictError> {
    let refuse = |reason| PredictError::Run { run: run_name.to_owned(), reason };
    let scenario = only_new(scenario_of(run).map_err(refuse)?);
    let figures: Vec<_> = figures(run, &|phase| phase.ops)
        .into_iter()
        .filter(|figure| figure.state == State::New)
        .collect();
    if figures.is_empty() {
        return Err(refuse(RunInputError::NoNewStorage));
    }
    let (filesystem, _) = filesystem_of(run);
    let mut ranked = Vec::new();
    for (index, profile) in profiles.iter().enumerate() {
        let simulation = Simulation {
            profile,
            filesystem: &filesystem,
            scenario: &scenario,
            seed: run.scenario.seed,
            leave: None,
        };
        if let Ok(simulated) = simulator.simulate(&simulation) {
            let misfit = misfit(&residuals(&figures, &simulated));
            ranked.push(Nearest { index, name: profile.name.clone(), misfit });
        }
    }
    ranked.sort_by(|one, other| one.misfit.total_cmp(&other.misfit));
    Ok(ranked)
}
