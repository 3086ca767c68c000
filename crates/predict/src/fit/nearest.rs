use flashlag_schema::profile::Profile;
use flashlag_schema::{Run, State};

use super::figures::{figures, misfit, residuals};
use super::rerun::{mount_of, only_new, scenario_of};
use crate::{PredictError, RunInputError, Simulation, Simulator};

/// The misfit of an unchanged profile to a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// Index of the profile among those given.
    pub index: usize,
    /// The profile's name.
    pub name: String,
    /// The typical residual as a share: 0.5 is off by half.
    pub misfit: f64,
}

/// Profiles by their misfit to a run's figures of new storage; a fit should start with the first.
/// Profiles that can't be simulated are left out.
///
/// # Errors
/// The run has no figures of new storage, or its scenario can't be parsed.
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
    let (mount, _) = mount_of(run).map_err(refuse)?;
    let mut ranked = Vec::new();
    for (index, profile) in profiles.iter().enumerate() {
        let simulation = Simulation {
            profile,
            mount: &mount,
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
