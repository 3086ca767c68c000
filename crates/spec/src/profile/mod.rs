//! A profile: the parameters of one device model, each with its source.
//!
//! As a file it is TOML: a head, then one table a section (`[nand]`, `[host]`, `[map]`, …) in which
//! every parameter has the source of its value:
//!
//! ```toml
//! [nand]
//! read = { value = "50us", source = "JESD84-B451 class part, datasheet" }
//! program = { value = "1.3ms", range = ["0.8ms", "2ms"], fitted = ["new/rand_write_4k"], source = "MLC datasheets" }
//! ```

mod builtin;
mod document;
mod error;
mod fitted_from;
mod front;
mod model;
mod overrides;
mod parameter;
mod protocol;
mod stack;
mod storage;
mod validate;
mod validate_zones;

use std::path::Path;

use serde::Deserialize;

pub use builtin::{builtin_profile, names};
pub use error::{CheckFault, ParameterFault, ProfileError};
pub use fitted_from::{FittedFrom, bad_fit};
pub use front::{
    BufferModel, HostModel, HousekeepingModel, RestLevel, SlcFull, SlcModel, SlcSpace, TrimKind,
    TrimModel,
};
pub use model::{
    CellKind, EraseTime, GcModel, GcPolicy, MapKind, MapModel, Model, NandModel, WearModel,
    ZonesModel,
};
pub use parameter::Parameter;
pub use protocol::{builtin_protocol, protocol_names};
pub use stack::{ElevatorKind, EncryptionModel, GovernorKind, PreemptionModel, StackModel};
pub use storage::StorageKind;

use crate::target::{Kind, MountSpec};
pub use document::{Profile, ProfileCheck};

/// A profile's head; the parameters follow in sections, each as
/// `read = { value = "50us", source = "…" }`.
#[derive(Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileHead {
    /// The profile's name, as in `sim:NAME`.
    name: String,
    /// The device, in a line.
    about: String,
    /// What kind of storage it models.
    #[serde(default)]
    kind: Option<StorageKind>,
    /// The software that ran on the device when it was measured.
    os: String,
    /// The default filesystem of `sim:NAME`, with options: `ext4`, `f2fs,nobarrier`.
    filesystem: String,
    /// Assumptions of the model without a source.
    #[serde(default)]
    assumptions: Vec<String>,
    /// The run that the profile was fitted to, if any.
    #[serde(default)]
    fitted_from: Option<FittedFrom>,
    /// Protocols whose published rows it is checked against.
    #[serde(default)]
    check: Vec<ProfileCheck>,
}

/// Checks that the filesystems of the profile and its checks can be simulated.
fn check_mounts(head: &ProfileHead) -> Result<(), ProfileError> {
    let own = std::iter::once(("filesystem", Some(&head.filesystem)));
    let checks = head.check.iter().flat_map(|check| {
        [("check.filesystem", check.filesystem.as_ref()), ("check.against", check.against.as_ref())]
    });
    own.chain(checks).filter_map(|(key, mount)| Some((key, mount?))).try_for_each(|(key, mount)| {
        let parsed = MountSpec::parse(Kind::Sim, mount);
        parsed.map(drop).map_err(|error| ProfileError::Mount { key, source: Box::new(error) })
    })
}

const HEAD_KEYS: [&str; 8] =
    ["name", "about", "kind", "os", "filesystem", "assumptions", "fitted_from", "check"];

impl Profile {
    /// Parses a profile and checks that it is a valid model.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let table: toml::Table = text.parse().map_err(|error| ProfileError::syntax(text, error))?;
        let (head, sections): (toml::Table, toml::Table) =
            table.into_iter().partition(|(key, _)| HEAD_KEYS.contains(&key.as_str()));
        let head: ProfileHead =
            head.try_into().map_err(|error| ProfileError::Head(Box::new(error)))?;
        let lines = [
            ("name", &head.name),
            ("about", &head.about),
            ("os", &head.os),
            ("filesystem", &head.filesystem),
        ];
        if let Some((key, _)) =
            lines.into_iter().find(|(_, text)| !text.chars().all(flashlag_units::is_printable))
        {
            return Err(ProfileError::Fault { key, fault: ParameterFault::NoLine });
        }
        check_mounts(&head)?;
        let profile = Profile {
            name: head.name,
            about: head.about,
            kind: head.kind,
            os: head.os,
            filesystem: head.filesystem,
            assumptions: head.assumptions,
            fitted_from: head.fitted_from,
            checks: head.check,
            parameters: parameter::read_all(sections)?,
        };
        profile.model()?;
        overrides::check_overrides(&profile)?;
        Ok(profile)
    }

    /// The built-in profile of that name, or the profile in that file. Fails if there is none, or
    /// if it is no valid device; the message names the parameter.
    pub fn find(name: &str) -> Result<Profile, ProfileError> {
        let text = match builtin_profile(name) {
            Some(text) => text.to_owned(),
            None if name.ends_with(".toml") || Path::new(name).is_file() => {
                std::fs::read_to_string(name).map_err(|error| ProfileError::file(&error))?
            }
            None => return Err(ProfileError::NoSuch(name.to_owned())),
        };
        Profile::parse(&text)
    }

    /// The model with these parameters. Fails if a parameter is unknown, missing, of the wrong
    /// type, or contradicts others; the message names it.
    pub fn model(&self) -> Result<Model, ProfileError> {
        let mut sections = toml::Table::new();
        for (key, parameter) in &self.parameters {
            let (path, name) = key.rsplit_once('.').unwrap_or(("", key));
            let mut table = &mut sections;
            for part in path.split('.') {
                let inner =
                    table.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::new()));
                let toml::Value::Table(inner) = inner else {
                    return Err(ProfileError::NoSection(key.clone()));
                };
                table = inner;
            }
            table.insert(name.to_owned(), parameter.value.clone());
        }
        let model: Model =
            sections.try_into().map_err(|error| ProfileError::Model(Box::new(error)))?;
        validate::validate(&model)?;
        Ok(model)
    }

    /// Whether the device leaves the map to the host.
    pub fn is_zoned(&self) -> bool {
        self.parameters.contains_key("zones.size")
    }

    /// The same profile with one parameter changed, or added if the profile leaves it out:
    /// `nand.program`, `1.5ms`. Fails as [`Profile::model`] does, and if no profile has such a
    /// parameter.
    pub fn with(&self, key: &str, value: &str) -> Result<Profile, ProfileError> {
        let mut changed = self.clone();
        match changed.parameters.get_mut(key) {
            Some(parameter) => parameter.set(key, value)?,
            None => drop(changed.parameters.insert(key.to_owned(), Parameter::added(value))),
        }
        match changed.model() {
            Err(ProfileError::Model(error)) if error.message().starts_with("unknown field") => {
                let mut known: Vec<String> = self.parameters.keys().cloned().collect();
                // The reader quotes the unknown name, then every allowed one of that section.
                let mut quoted = error.message().split('`').skip(1).step_by(2);
                if let Some((section, name)) = key.rsplit_once('.')
                    && quoted.next() == Some(name)
                {
                    known.extend(quoted.map(|name| format!("{section}.{name}")));
                }
                Err(ProfileError::Unknown { key: key.to_owned(), known })
            }
            model => model.map(|_| changed),
        }
    }

    /// The file again.
    pub fn to_toml(&self) -> String {
        write::write_all(self)
    }
}

#[cfg(test)]
mod tests;
mod write;
