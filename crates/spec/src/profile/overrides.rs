//! The changes that a check makes to its profile's parameters.

use std::collections::BTreeMap;

use super::Parameter;
use super::document::Profile;
use super::error::{CheckFault, ProfileError};

/// Source of a parameter that only a check has.
const SOURCE: &str = "a check's `model`";

impl Profile {
    /// The same device with the parameters of a check's `model` instead of its own. A parameter
    /// that the profile does not have is added.
    pub fn overridden(&self, by: &BTreeMap<String, toml::Value>) -> Result<Profile, ProfileError> {
        let mut changed = self.clone();
        for (key, value) in by {
            let source = SOURCE.to_owned();
            let added = Parameter { value: value.clone(), source, range: None, fitted: Vec::new() };
            let parameter = changed.parameters.entry(key.clone()).or_insert(added);
            parameter.value = value.clone();
        }
        changed.model()?;
        Ok(changed)
    }
}

/// Checks that each check's `model` is a valid device, and that its bounds are percentages.
pub(super) fn check_overrides(profile: &Profile) -> Result<(), ProfileError> {
    for check in &profile.checks {
        let wrong =
            |key, fault| Err(ProfileError::Check { key, device: check.device.clone(), fault });
        if let Err(error) = profile.overridden(&check.model) {
            return wrong("check.model", CheckFault::Model(Box::new(error)));
        }
        for (metric, percent) in &check.bars {
            if !(*percent > 0.0 && *percent <= 100.0) {
                let (metric, percent) = (metric.clone(), percent.to_string());
                return wrong("check.bars", CheckFault::Bar { metric, percent });
            }
        }
    }
    Ok(())
}
