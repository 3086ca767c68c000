//! The modelled device that stands in for the device of a run.

use std::path::Path;

use flashlag_schema::Run;
use flashlag_schema::finding::{Finding, FindingId, ProfileOf};
use flashlag_spec::profile::Profile;

use crate::change::{Situation, situation_of};
use crate::nearest::{mount_of, nearest};
use crate::{ModelError, PredictError, RunInputError, SimulationError, Simulator};

/// A built-in profile stands in for a measured device if its typical residual is at most this.
const NEAR: f64 = 0.5;

/// Why no modelled device stands for the device of a run.
#[derive(Debug, thiserror::Error)]
pub enum NoDevice {
    #[error("a disk whose flash can't be seen has no model")]
    Hidden,
    #[error("the nearest profile was not found in time")]
    Late,
    #[error("no built-in profile could be simulated")]
    NoProfile,
    #[error(
        "no built-in profile is near ({profile} comes nearest, off by {:.0}% typically); fit one \
         (`flashlag fit {run} -o PROFILE.toml`) and name it with --profile",
        misfit * 100.0
    )]
    Far { profile: String, misfit: f64, run: String },
    #[error(transparent)]
    Predict(#[from] PredictError),
    #[error(transparent)]
    Run(#[from] RunInputError),
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// A modelled device, and how it came to stand for the one of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// The device with the run's filesystem.
    pub situation: Situation,
    /// How it came to be chosen.
    pub of: ProfileOf,
}

/// The device of the profile that is named; without one that of a simulated run, or for a measured
/// run the nearest of the built-in ones.
pub fn device_of(
    run: &Run,
    run_name: &str,
    found: &[Finding],
    named: Option<&Profile>,
    profiles: &[Profile],
    simulator: &dyn Simulator,
) -> Result<Device, NoDevice> {
    if let Some(profile) = named {
        return stands(run, profile, of_named(profile, run_name));
    }
    if run.target.profile.is_some() {
        let situation = situation_of(run, run_name, true)?;
        return Ok(Device { situation, of: ProfileOf::Simulated });
    }
    let hidden = [FindingId::VirtualDisk, FindingId::NotOnFlash, FindingId::LoopDevice];
    if found.iter().any(|one| hidden.contains(&one.id)) {
        return Err(NoDevice::Hidden);
    }
    let ranked = nearest(run, run_name, profiles, simulator).map_err(|error| match error {
        PredictError::Simulation { reason: SimulationError::Stopped, .. } => NoDevice::Late,
        error => NoDevice::Predict(error),
    })?;
    let first = ranked.first().ok_or(NoDevice::NoProfile)?;
    if first.misfit.is_nan() || first.misfit > NEAR {
        return Err(NoDevice::Far {
            profile: first.name.clone(),
            misfit: first.misfit,
            run: run_name.to_owned(),
        });
    }
    let profile = profiles.get(first.index).ok_or(NoDevice::NoProfile)?;
    stands(run, profile, ProfileOf::Nearest)
}

/// Whether a profile was fitted to a run of that file name.
fn of_named(profile: &Profile, run_name: &str) -> ProfileOf {
    let name = |path: &str| Path::new(path).file_name().map(std::ffi::OsStr::to_owned);
    let fitted = profile.fitted_from.as_ref().and_then(|from| name(&from.run));
    if fitted.is_some() && fitted == name(run_name) { ProfileOf::Fitted } else { ProfileOf::Named }
}

fn stands(run: &Run, profile: &Profile, of: ProfileOf) -> Result<Device, NoDevice> {
    let (mount, _) = mount_of(run)?;
    let situation = Situation::new(profile, &mount.to_string())?;
    Ok(Device { situation, of })
}
