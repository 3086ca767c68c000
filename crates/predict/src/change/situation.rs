use flashlag_spec::profile::{FittedFrom, Parameter, Profile};
use flashlag_spec::target::{Kind, MountSpec};
use flashlag_units::Bytes;

use super::mount;
use super::parse::Change;
use super::plan::Plan;
use crate::ModelError;

/// A device, its filesystem and its use.
#[derive(Clone, Debug, PartialEq)]
pub struct Situation {
    /// The device.
    pub profile: Profile,
    /// The filesystem and its options.
    pub mount: MountSpec,
    /// The use of the device.
    pub plan: Plan,
}

impl Situation {
    /// A new, empty device with a filesystem.
    pub fn new(profile: &Profile, filesystem: &str) -> Result<Situation, ModelError> {
        let mount = MountSpec::parse(Kind::Sim, filesystem)?;
        Ok(Situation { profile: profile.clone(), mount, plan: Plan::default() })
    }

    /// The warnings of a fitted profile.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.profile.fitted_from.as_ref().map(FittedFrom::warnings).unwrap_or_default()
    }

    /// The capacity that its host sees.
    pub(super) fn capacity(&self) -> Result<Bytes, ModelError> {
        Ok(self.profile.model()?.map.capacity.0)
    }

    /// The situation after one change.
    ///
    /// # Errors
    /// The changed device is invalid; the error names the parameter.
    pub fn with(&self, change: &Change) -> Result<Situation, ModelError> {
        let mut next = self.clone();
        let states = matches!(
            change,
            Change::Full(_)
                | Change::Age(_)
                | Change::IdleMaintenance(_)
                | Change::Untrimmed(_)
                | Change::Worn(_)
        );
        if states && self.profile.is_zoned() {
            return Err(ModelError::Zoned { profile: self.profile.name.clone() });
        }
        match change {
            Change::Filesystem(kind) => next.mount = mount::on(&self.mount, *kind),
            Change::Journal(mode) => next.plan.journal = *mode,
            Change::Synchronous(mode) => next.plan.synchronous = *mode,
            Change::Full(level) => next.plan.full = Some(*level),
            Change::Option(option, on) => next.mount = mount::with(&self.mount, option, *on),
            Change::Discard(on) => next.mount = mount::discarding(&self.mount, *on),
            Change::Spare(size) => next.profile = self.parameter("map.spare", &bytes(*size))?,
            Change::Buffer(size) => next.profile = self.buffer(*size)?,
            Change::Age(age) => next.plan.age = *age,
            Change::IdleMaintenance(on) => next.plan.idle_maintenance = *on,
            Change::Untrimmed(on) => next.plan.untrimmed = *on,
            Change::Worn(share) => next.plan.worn = *share,
            Change::Parameter(key, value) => next.profile = self.parameter(key, value)?,
        }
        Ok(next)
    }

    fn parameter(&self, key: &str, value: &str) -> Result<Profile, ModelError> {
        Ok(self.profile.with(key, value)?)
    }

    fn buffer(&self, size: Option<Bytes>) -> Result<Profile, ModelError> {
        let mut profile = self.profile.clone();
        let Some(size) = size else {
            profile.parameters.retain(|key, _| !key.starts_with("buffer."));
            return Ok(profile);
        };
        if profile.parameters.contains_key("buffer.size") {
            return self.parameter("buffer.size", &bytes(size));
        }
        // A write buffer is volatile, as in all phones.
        for (key, value) in [("buffer.size", bytes(size).as_str()), ("buffer.volatile", "true")] {
            profile.parameters.insert(key.to_owned(), Parameter::added(value));
        }
        profile.model()?;
        Ok(profile)
    }
}

fn bytes(size: Bytes) -> String {
    format!("{}B", size.0)
}
