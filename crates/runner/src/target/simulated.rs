//! `sim:PROFILE[+FS[,OPTION]...]`.

use flashlag_flash::model_of_size;
use flashlag_schema::profile::Profile;
use flashlag_schema::target::{DeviceSpec, Kind, MountSpec, TargetOption};
use flashlag_units::Bytes;

use crate::error::{RunError, VirtualError};

/// A simulated device with a filesystem on it.
#[derive(Clone, Debug, PartialEq)]
pub struct SimTarget {
    /// The target as the user named it.
    pub text: String,
    /// The profile of the device, of the size that was asked for.
    pub profile: Profile,
    /// The filesystem and the layers about it, without options of the device.
    pub mount: MountSpec,
}

impl SimTarget {
    /// A profile's device with a filesystem.
    pub fn new(profile: &Profile, mount: &MountSpec) -> SimTarget {
        SimTarget {
            text: format!("{}:{}+{mount}", Kind::Sim, profile.name),
            profile: profile.clone(),
            mount: mount.stack(),
        }
    }

    /// Parses `PROFILE[+FS[,OPTION]...]`, with or without `sim:` before it.
    ///
    /// # Errors
    /// An unknown profile, filesystem or option, or a size below what the profile's blocks need.
    pub fn parse(text: &str) -> Result<SimTarget, RunError> {
        let rest = text.strip_prefix("sim:").unwrap_or(text);
        let device = DeviceSpec::parse_as(Kind::Sim, rest);
        let device = device.map_err(|error| refused(text, error))?;
        SimTarget::of(text, &device)
    }

    /// The device, filesystem and options that a target, `text`, asks for; without a filesystem,
    /// the profile's.
    ///
    /// # Errors
    /// An unknown profile, or a size below what the profile's blocks need.
    pub(super) fn of(text: &str, device: &DeviceSpec) -> Result<SimTarget, RunError> {
        let mut profile = profile(&device.profile)?;
        let mount = match &device.mount {
            Some(mount) => mount.clone(),
            None => MountSpec::parse(Kind::Sim, &profile.filesystem)
                .map_err(|error| refused(text, error))?,
        };
        let size = mount.options.iter().rev().find_map(|option| match option {
            TargetOption::Size(size) => Some(size.value),
            _ => None,
        });
        if let Some(size) = size {
            profile = of_size(&profile, size).map_err(|error| refused(text, error))?;
        }
        Ok(SimTarget { text: text.to_owned(), profile, mount: mount.stack() })
    }
}

fn refused(target: &str, source: impl Into<VirtualError>) -> RunError {
    RunError::Simulation { target: target.to_owned(), source: Box::new(source.into()) }
}

/// The profile of a device of another size: as `flashlag device --size` makes it.
///
/// # Errors
/// A size below what the blocks need; the message has the smallest.
pub fn of_size(profile: &Profile, size: Bytes) -> Result<Profile, VirtualError> {
    let model = model_of_size(profile, Some(size))?;
    let mut sized = profile.clone();
    let mut set = |key: &str, bytes: Bytes| {
        if !sized.parameters.contains_key(key) {
            return Ok(());
        }
        sized = sized.with(key, &format!("{}B", bytes.0))?;
        Ok::<(), VirtualError>(())
    };
    set("map.capacity", model.map.capacity.0)?;
    set("map.spare", model.map.spare.0)?;
    if let Some(slc) = &model.slc {
        set("slc.static", slc.fixed.0)?;
    }
    Ok(sized)
}

/// The profile of that name, built in, or in that file.
///
/// # Errors
/// No such profile, or one that makes no device: what is wrong, by the parameter's name.
pub fn profile(name: &str) -> Result<Profile, RunError> {
    Profile::find(name).map_err(|source| RunError::Profile { name: name.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_of_another_size_keeps_its_shares_and_the_same_stack() {
        let whole = SimTarget::parse("sim:moto-x-2013+f2fs,nobarrier").unwrap();
        let half = SimTarget::parse("sim:moto-x-2013+f2fs,size=6000MiB,nobarrier").unwrap();
        assert_eq!(half.mount, whole.mount);
        let map = |target: &SimTarget| target.profile.model().unwrap().map;
        assert_eq!(map(&half).capacity.0, Bytes::from_mib(6000));
        assert_eq!(map(&half).spare.0.0 * 2, map(&whole).spare.0.0);
    }

    #[test]
    fn a_target_of_a_profile_and_a_mount_is_the_one_that_its_text_names() {
        for text in ["sim:nexus7-2012+ext4", "sim:moto-x-2013+f2fs,nobarrier,fuse,encrypt"] {
            let parsed = SimTarget::parse(text).unwrap();
            assert_eq!(SimTarget::new(&parsed.profile, &parsed.mount), parsed);
        }
    }

    #[test]
    fn a_cache_of_a_smaller_device_is_smaller_too() {
        let target = SimTarget::parse("sim:ufs31-phone+ext4,size=16GiB").unwrap();
        let whole = profile("ufs31-phone").unwrap().model().unwrap();
        let model = target.profile.model().unwrap();
        let cache = |slc: Option<flashlag_schema::profile::SlcModel>| slc.unwrap().fixed.0;
        assert!(cache(model.slc) < cache(whole.slc));
    }

    #[test]
    fn a_size_that_is_no_size_or_too_small_is_refused() {
        let error_of = |text| SimTarget::parse(text).unwrap_err().to_string();
        assert!(error_of("sim:nexus7-2012+ext4,size=big").contains("size=4GiB"));
        assert!(error_of("sim:nexus7-2012+ext4,size=64MiB").contains("at least"));
    }
}
