//! Simulates a run again, with its scenario and its filesystem.

use flashlag_schema::Run;
use flashlag_spec::State;
use flashlag_spec::scenario::{Scenario, Step};
use flashlag_spec::target::{Cipher, FilesystemKind, Kind, MountSpec, TargetOption};

use crate::{ModelError, RunInputError};

/// The scenario of a run with its settings.
pub(crate) fn scenario_of(run: &Run) -> Result<Scenario, RunInputError> {
    let record = &run.scenario;
    let settings: Vec<(String, String)> =
        record.settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let name = || record.name.clone();
    Scenario::parse(&record.text, &settings)
        .map_err(|source| RunInputError::Scenario { name: name(), source: Box::new(source) })
}

/// Filesystem and options of a run in a simulation's notation, and a note on what is not modelled.
pub(crate) fn mount_of(run: &Run) -> Result<(MountSpec, Option<String>), RunInputError> {
    if let Some(profile) = &run.target.profile {
        let mount = MountSpec::parse(Kind::Sim, &profile.filesystem).map_err(ModelError::from)?;
        return Ok((mount, None));
    }
    let environment = &run.environment;
    let seen = environment.filesystem.kind.value().map(String::as_str);
    let (filesystem, note) = match seen {
        Some("ext4") => (FilesystemKind::Ext4, None),
        Some("f2fs") => (FilesystemKind::F2fs, None),
        Some("btrfs") => (FilesystemKind::Btrfs, None),
        other => {
            let other = other.unwrap_or("an unknown filesystem");
            (FilesystemKind::Ext4, Some(format!("{other} is not modelled: ext4 is used instead.")))
        }
    };
    let mut mount = MountSpec { filesystem, options: Vec::new() };
    let options = environment.filesystem.options.value().map_or(&[][..], Vec::as_slice);
    let has = |wanted: &[&str]| options.iter().any(|one| wanted.contains(&one.as_str()));
    if has(&["nobarrier", "barrier=0"]) {
        mount.options.push(TargetOption::Barrier(false));
    }
    let is_btrfs = filesystem == FilesystemKind::Btrfs;
    if is_btrfs && has(&["nodatacow"]) {
        mount.options.push(TargetOption::NoDataCopy);
    }
    if (filesystem == FilesystemKind::Ext4 || is_btrfs) && has(&["discard"]) {
        mount.options.push(TargetOption::Discard(true));
    }
    if filesystem == FilesystemKind::F2fs && has(&["nodiscard"]) {
        mount.options.push(TargetOption::Discard(false));
    }
    if environment.filesystem.layers.iter().any(|layer| layer.starts_with("fuse")) {
        mount.options.push(TargetOption::Fuse);
    }
    let encrypted = environment.encryption.value();
    if encrypted.is_some_and(|encryption| !encryption.kind.starts_with("none")) {
        mount.options.push(TargetOption::Encrypt(Cipher::AesXts));
    }
    Ok((mount, note))
}

/// The leading steps of a scenario, which measure new storage.
pub(crate) fn only_new(mut scenario: Scenario) -> Scenario {
    let is_new = |step: &Step| matches!(step, Step::Measure { state: State::New, .. });
    let end = scenario.steps.iter().position(|step| !is_new(step));
    scenario.steps.truncate(end.unwrap_or(scenario.steps.len()));
    scenario
}
