//! The changes that a check makes to its profile's parameters.

use std::collections::BTreeMap;

use super::error::ProfileError;
use super::{Parameter, Profile, ProfileCheck};

/// Source of a parameter that only a check has.
const SOURCE: &str = "a check's `model`";

impl Profile {
    /// The same device with the parameters of a check's `model` in place of its own. A parameter that
    /// the profile lacks is added.
    ///
    /// # Errors
    /// As [`Profile::model`].
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

/// Checks that each check's `model` makes a device, and that its bars are percentages.
pub(super) fn check_overrides(profile: &Profile) -> Result<(), ProfileError> {
    let wrong = |check: &ProfileCheck, key: &str, why: String| {
        Err(ProfileError::meaning(key, &format!("check of {}: {why}", check.device)))
    };
    for check in &profile.checks {
        if let Err(error) = profile.overridden(&check.model) {
            return wrong(check, "check.model", error.to_string());
        }
        for (metric, percent) in &check.bars {
            if !(*percent > 0.0 && *percent <= 100.0) {
                let why = format!("{metric}: {percent} % is not between 0 and 100");
                return wrong(check, "check.bars", why);
            }
        }
    }
    Ok(())
}
