//! The modelled device that stands in for the device of a run.

use std::path::Path;

use flashlag_schema::Run;
use flashlag_schema::finding::{Finding, FindingId, ProfileOf};
use flashlag_spec::profile::Profile;

use crate::Simulator;
use crate::change::{Situation, situation_of};
use crate::fit::{mount_of, nearest};

/// A built-in profile stands in for a measured device if its typical residual is at most this.
const NEAR: f64 = 0.5;

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
) -> Result<Device, String> {
    if let Some(profile) = named {
        return stands(run, profile, of_named(profile, run_name));
    }
    if run.target.profile.is_some() {
        let situation = situation_of(run, run_name, true).map_err(|error| error.to_string())?;
        return Ok(Device { situation, of: ProfileOf::Simulated });
    }
    let hidden = [FindingId::VirtualDisk, FindingId::NotOnFlash, FindingId::LoopDevice];
    if found.iter().any(|one| hidden.contains(&one.id)) {
        return Err("a disk whose flash can't be seen has no model".to_owned());
    }
    let ranked = nearest(run, run_name, profiles, simulator).map_err(|error| match error {
        crate::PredictError::Simulation { reason: crate::SimulationError::Stopped, .. } => {
            "the nearest profile was not found in time".to_owned()
        }
        error => error.to_string(),
    })?;
    let first = ranked.first().ok_or("no built-in profile could be simulated")?;
    if first.misfit.is_nan() || first.misfit > NEAR {
        return Err(format!(
            "no built-in profile is near ({} comes nearest, off by {:.0}% typically); fit one \
             (`flashlag fit {run_name} -o PROFILE.toml`) and name it with --profile",
            first.name,
            first.misfit * 100.0
        ));
    }
    let profile = profiles.get(first.index).ok_or("the nearest profile is gone")?;
    stands(run, profile, ProfileOf::Nearest)
}

/// Whether a profile was fitted to a run of that file name.
fn of_named(profile: &Profile, run_name: &str) -> ProfileOf {
    let name = |path: &str| Path::new(path).file_name().map(std::ffi::OsStr::to_owned);
    let fitted = profile.fitted_from.as_ref().and_then(|from| name(&from.run));
    if fitted.is_some() && fitted == name(run_name) { ProfileOf::Fitted } else { ProfileOf::Named }
}

fn stands(run: &Run, profile: &Profile, of: ProfileOf) -> Result<Device, String> {
    let (mount, _) = mount_of(run).map_err(|error| error.to_string())?;
    let situation =
        Situation::new(profile, &mount.to_string()).map_err(|error| error.to_string())?;
    Ok(Device { situation, of })
}
