//! `lifecycle --set protocol=…`: replaces the scenario's steps by those with which reviewers
//! measured a device.

use flashlag_runner::sim;
use flashlag_spec::profile::{Profile, ProfileCheck};
use flashlag_spec::target::TargetSpec;
use flashlag_units::Bytes;

use crate::error::CommandError;
use crate::run::RunWords;
use crate::simulations::scenario_of_check;

/// The scenario that has the setting.
const SCENARIO: &str = "lifecycle";
const SETTING: &str = "protocol";
/// The scenario's own steps.
const OWN: &str = "own";
/// The steps of the profile's reviewers.
const PUBLISHED: &str = "published";

impl RunWords {
    /// The run with the scenario, settings, filesystem and free space of the requested protocol; the same
    /// run if no protocol was requested.
    ///
    /// # Errors
    /// The protocol is unknown, or `published` is requested and the profile has no published rows.
    pub fn by_protocol(self) -> Result<RunWords, CommandError> {
        let (asked, more): (Vec<_>, Vec<_>) = self
            .set
            .iter()
            .cloned()
            .partition(|(key, _)| self.scenario == SCENARIO && key == SETTING);
        let Some((_, wanted)) = asked.last().filter(|(_, wanted)| wanted != OWN) else {
            return Ok(self);
        };
        let profile = profile_of(&self.on)?;
        let check = match (wanted.as_str(), &profile) {
            (PUBLISHED, None) => {
                return Err(CommandError::Words(format!(
                    "--set {SETTING}={PUBLISHED} repeats what the reviewers of a profile did, and {} has no \
                     profile: add --on sim:PROFILE (`flashlag profiles` lists them), or name a protocol ({})",
                    self.on,
                    names()
                )));
            }
            (PUBLISHED, Some(profile)) => Some(published(profile)?.clone()),
            (name, profile) => {
                let checks = profile.iter().flat_map(|profile| &profile.checks);
                checks.into_iter().find(|check| check.scenario == name).cloned()
            }
        };
        let name = check.as_ref().map_or(wanted.as_str(), |check| &check.scenario);
        if scenario_of_check(name).is_none() {
            return Err(CommandError::Words(format!(
                "no protocol is named `{name}`: there are {OWN}, {PUBLISHED}, {}",
                names()
            )));
        }
        let mut words = RunWords { scenario: name.to_owned(), set: more, ..self };
        if let Some(check) = check {
            follow(&mut words, &check)?;
        }
        Ok(words)
    }
}

/// The profile of a simulated or virtual device.
fn profile_of(on: &str) -> Result<Option<Profile>, CommandError> {
    // A protocol sets the filesystem if the target names none, so the profile's name is enough.
    let spec = TargetSpec::parse(on).map_err(|error| CommandError::Words(error.to_string()))?;
    match spec {
        TargetSpec::Directory(_) | TargetSpec::Phone(_) => Ok(None),
        TargetSpec::Device(device) => Ok(Some(sim::profile(&device.profile)?)),
    }
}

/// The check of absolute figures, rather than of changes from one target to another.
fn published(profile: &Profile) -> Result<&ProfileCheck, CommandError> {
    let figures =
        profile.checks.iter().find(|check| check.against.is_none() && check.model.is_empty());
    figures.or_else(|| profile.checks.first()).ok_or_else(|| {
        CommandError::Words(format!(
            "no reviewer measured {}: its profile has no [[check]]. Name a protocol ({}), or leave \
             {SETTING} out",
            profile.name,
            names()
        ))
    })
}

/// Takes settings, free space and filesystem from the check unless the words set them.
fn follow(words: &mut RunWords, check: &ProfileCheck) -> Result<(), CommandError> {
    for (key, value) in &check.settings {
        if !words.set.iter().any(|(known, _)| known == key) {
            words.set.push((key.clone(), value.clone()));
        }
    }
    if let (None, Some(leave)) = (words.leave, &check.leave) {
        let size = leave.parse::<Bytes>();
        let size =
            size.map_err(|error| CommandError::Words(format!("leave = {leave}: {error}")))?;
        words.leave = Some(size);
    }
    if let Some(filesystem) = check.filesystem.as_ref().filter(|_| !words.on.contains('+')) {
        words.on = format!("{}+{filesystem}", words.on);
    }
    Ok(())
}

fn names() -> String {
    sim::protocol_names().collect::<Vec<_>>().join(", ")
}
