//! `sim:PROFILE[+FS[,OPTION]...]`.

use flashlag_iostack::StackSpec;
use flashlag_schema::profile::{Profile, ProfileError};

use crate::error::RunError;

/// A simulated device with a filesystem on it.
#[derive(Clone, Debug, PartialEq)]
pub struct SimTarget {
    /// As it was typed.
    pub text: String,
    /// The device.
    pub profile: Profile,
    /// Filesystem and options: `ext4,nobarrier`.
    pub filesystem: String,
}

impl SimTarget {
    /// Reads what follows `sim:`: a profile's name, or a profile's file, then `+` and the
    /// filesystem with its options; without it, what the profile says.
    ///
    /// # Errors
    /// No such profile, or one that makes no device.
    pub fn parse(text: &str) -> Result<SimTarget, RunError> {
        let rest = text.strip_prefix("sim:").unwrap_or(text);
        let (name, filesystem) = match rest.split_once('+') {
            Some((name, filesystem)) => (name, Some(filesystem)),
            None => (rest, None),
        };
        let profile = profile(name)?;
        let filesystem = filesystem.unwrap_or(&profile.filesystem).to_owned();
        StackSpec::parse(&filesystem).map_err(|error| RunError::Simulation {
            target: text.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(SimTarget { text: text.to_owned(), profile, filesystem })
    }
}

/// The profile of that name, built in, or in that file.
///
/// # Errors
/// No such profile, or one that makes no device: what is wrong, by the parameter's name.
pub fn profile(name: &str) -> Result<Profile, RunError> {
    let refuse = |error: ProfileError| RunError::Profile {
        name: name.to_owned(),
        reason: error.to_string(),
    };
    Profile::find(name).map_err(refuse)
}
