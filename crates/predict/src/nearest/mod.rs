//! Which profile is nearest to a measured run: the run's scenario simulated on each, and how far the
//! figures are off.

mod bands;
mod figures;
mod rerun;

use flashlag_schema::Run;
use flashlag_spec::State;
use flashlag_spec::profile::Profile;
use flashlag_units::InOrder;

use crate::{PredictError, RunInputError, Simulation, SimulationError, Simulator, parallel};

#[cfg(feature = "fit")]
pub(crate) use figures::FAR;
pub use figures::Figure;
pub(crate) use figures::{figures, misfit, residuals};
pub(crate) use rerun::{mount_of, only_new, scenario_of};

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
/// Profiles that can't be simulated are left out, and zoned ones: no run says that its storage has zones.
///
/// # Errors
/// The run has no figures of new storage, its scenario can't be parsed, or the simulations were stopped.
pub fn nearest(
    run: &Run,
    run_name: &str,
    profiles: &[Profile],
    simulator: &dyn Simulator,
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
    let simulated = parallel::map(simulator.threads(), profiles, |profile| {
        if profile.is_zoned() {
            return Err(SimulationError::refused("it is zoned"));
        }
        simulator.simulate(&Simulation {
            profile,
            mount: &mount,
            scenario: &scenario,
            seed: run.scenario.seed,
            leave: None,
        })
    });
    let mut ranked = Vec::new();
    for (index, (profile, simulated)) in profiles.iter().zip(simulated).enumerate() {
        let name = profile.name.clone();
        match simulated {
            Ok(run) => {
                let misfit = misfit(&residuals(&figures, &run));
                ranked.push(Nearest { index, name, misfit });
            }
            Err(reason @ SimulationError::Stopped) => {
                return Err(PredictError::Simulation { what: name, reason });
            }
            Err(_) => {}
        }
    }
    ranked.order_by(|one, other| one.misfit.total_cmp(&other.misfit));
    Ok(ranked)
}
