//! The starting profile at the capacity of the measured device.

use flashlag_schema::{Run, TargetKind};
use flashlag_spec::profile::Profile;

use crate::{RunInputError, knob};

/// Superblocks that the spare area must hold: two are open at a time, and as many are collected.
const SPARE_BLOCKS: f64 = 4.0;

/// The profile with the capacity of the measured device, a proportional spare area and static write
/// cache, and blocks small enough for that spare area.
pub(super) fn sized(start: &Profile, run: &Run) -> Result<Profile, RunInputError> {
    let measured = match run.target.kind {
        TargetKind::Simulated => run.environment.device.size_bytes.value(),
        _ => run.environment.filesystem.total_bytes.value(),
    };
    let present = start.parameters.get("map.capacity").and_then(|capacity| capacity.number());
    let (Some(measured), Some(present)) = (measured, present) else {
        return Ok(start.clone());
    };
    let factor = measured.0 as f64 / present;
    if !(1e-4..=1e4).contains(&factor) {
        let (measured, profile) = (*measured, start.name.clone());
        return Err(RunInputError::Capacity { measured, profile });
    }
    if (factor - 1.0).abs() < 0.01 {
        return Ok(start.clone());
    }
    let mut profile = knob::set(start, "map.capacity", measured.0 as f64)?;
    if let Some(capacity) = profile.parameters.get_mut("map.capacity") {
        capacity.range = None;
        capacity.source = "the size of the storage that was measured".to_owned();
    }
    for key in ["map.spare", "slc.static"] {
        profile = scaled(profile, key, factor)?;
    }
    with_smaller_blocks(profile)
}

/// A profile with a parameter and its range multiplied by a factor, if the parameter is there.
fn scaled(profile: Profile, key: &str, factor: f64) -> Result<Profile, RunInputError> {
    let Some(before) = profile.parameters.get(key).cloned() else { return Ok(profile) };
    let Some(number) = before.number() else { return Ok(profile) };
    let mut profile = knob::set(&profile, key, number * factor)?;
    if let (Some(parameter), Some((low, high))) = (profile.parameters.get_mut(key), before.bounds())
    {
        let [low, high] = [low, high].map(|bound| {
            let spelled = knob::spelled(parameter, bound * factor);
            // A count stays a number.
            spelled.parse().map_or(toml::Value::String(spelled), toml::Value::Integer)
        });
        parameter.range = Some([low, high]);
    }
    Ok(profile)
}

/// A small device of large blocks would have less spare area than the blocks that are open: fewer dies
/// at once and fewer pages make them smaller, as on small devices.
fn with_smaller_blocks(mut profile: Profile) -> Result<Profile, RunInputError> {
    const FEWER: [&str; 3] = ["nand.dies_per_channel", "nand.channels", "nand.pages_per_block"];
    let number = |profile: &Profile, key: &str| {
        profile.parameters.get(key).and_then(|parameter| parameter.number())
    };
    loop {
        let superblock: f64 = ["nand.page", "nand.planes"]
            .iter()
            .chain(&FEWER)
            .filter_map(|key| number(&profile, key))
            .product();
        let spare = number(&profile, "map.spare").unwrap_or(f64::INFINITY);
        // A map of log blocks needs one more than these.
        let logs = number(&profile, "map.log_blocks").map_or(0.0, |logs| logs + 2.0);
        if spare >= SPARE_BLOCKS.max(logs) * superblock {
            return Ok(profile);
        }
        let halves = |key: &&&str| {
            let half = number(&profile, key).filter(|number| number % 2.0 == 0.0);
            half.is_some_and(|_| scaled(profile.clone(), key, 0.5).is_ok())
        };
        let Some(key) = FEWER.iter().find(halves) else { return Ok(profile) };
        profile = scaled(profile, key, 0.5)?;
    }
}
