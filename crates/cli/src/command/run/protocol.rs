//! `lifecycle --set protocol=…`: the steps by which reviewers measured a device, instead of the
//! scenario's own.

use anyhow::{Context, Result, bail};
use flashlag_runner::sim;
use flashlag_schema::profile::{Profile, ProfileCheck};
use flashlag_schema::target::TargetSpec;
use flashlag_units::Bytes;

use crate::args::RunArgs;
use crate::simulator::scenario_text;

/// The scenario that has the setting.
const SCENARIO: &str = "lifecycle";
const SETTING: &str = "protocol";
/// The scenario's own steps.
const OWN: &str = "own";
/// The steps of the profile's reviewers.
const PUBLISHED: &str = "published";

/// The arguments with the scenario, settings, filesystem and free space of the requested protocol;
/// `None` if no protocol was requested.
///
/// # Errors
/// An unknown protocol; `published` without a profile that has published rows.
pub fn applied(args: &RunArgs) -> Result<Option<RunArgs>> {
    let (asked, more): (Vec<_>, Vec<_>) =
        args.set.iter().cloned().partition(|(key, _)| args.scenario == SCENARIO && key == SETTING);
    let Some((_, wanted)) = asked.last().filter(|(_, wanted)| wanted != OWN) else {
        return Ok(None);
    };
    let profile = profile_of(&args.on)?;
    let check = match (wanted.as_str(), &profile) {
        (PUBLISHED, None) => bail!(
            "--set {SETTING}={PUBLISHED} repeats what the reviewers of a profile did, and {} has no profile: \
             add --on sim:PROFILE (`flashlag profiles` lists them), or name a protocol ({})",
            args.on,
            names()
        ),
        (PUBLISHED, Some(profile)) => Some(published(profile)?.clone()),
        (name, profile) => {
            let checks = profile.iter().flat_map(|profile| &profile.checks);
            checks.into_iter().find(|check| check.scenario == name).cloned()
        }
    };
    let name = check.as_ref().map_or(wanted.as_str(), |check| &check.scenario);
    if scenario_text(name).is_none() {
        bail!("no protocol is named `{name}`: there are {OWN}, {PUBLISHED}, {}", names());
    }
    let mut args = RunArgs { scenario: name.to_owned(), set: more, ..args.clone() };
    if let Some(check) = check {
        follow(&mut args, &check)?;
    }
    Ok(Some(args))
}

/// The profile of a simulated or virtual device.
fn profile_of(on: &str) -> Result<Option<Profile>> {
    // A protocol brings a filesystem where the target names none, so the profile's name is enough.
    match TargetSpec::parse(on)? {
        TargetSpec::Directory(_) | TargetSpec::Phone(_) => Ok(None),
        TargetSpec::Device(device) => Ok(Some(sim::profile(&device.profile)?)),
    }
}

/// The check of absolute figures, rather than of changes from one target to another.
fn published(profile: &Profile) -> Result<&ProfileCheck> {
    let figures =
        profile.checks.iter().find(|check| check.against.is_none() && check.model.is_empty());
    figures.or_else(|| profile.checks.first()).with_context(|| {
        format!(
            "no reviewer measured {}: its profile has no [[check]]. Name a protocol ({}), or leave \
             {SETTING} out",
            profile.name,
            names()
        )
    })
}

/// Takes settings, free space and filesystem from the check unless the command line sets them.
fn follow(args: &mut RunArgs, check: &ProfileCheck) -> Result<()> {
    for (key, value) in &check.settings {
        if !args.set.iter().any(|(known, _)| known == key) {
            args.set.push((key.clone(), value.clone()));
        }
    }
    if let (None, Some(leave)) = (args.leave, &check.leave) {
        let leave: Bytes = leave.parse().with_context(|| format!("leave = {leave}"))?;
        args.leave = Some(leave);
    }
    if let Some(filesystem) = check.filesystem.as_ref().filter(|_| !args.on.contains('+')) {
        args.on = format!("{}+{filesystem}", args.on);
    }
    Ok(())
}

fn names() -> String {
    sim::protocol_names().collect::<Vec<_>>().join(", ")
}
