//! `sim:PROFILE[+FS[,OPTION]...]`.

use flashlag_flash::model_of_size;
use flashlag_iostack::StackSpec;
use flashlag_schema::profile::{Profile, ProfileError};
use flashlag_units::Bytes;

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
    /// filesystem with its options; without it, what the profile says. `size=` among the options is
    /// the device's.
    ///
    /// # Errors
    /// No such profile, or one that makes no device.
    pub fn parse(text: &str) -> Result<SimTarget, RunError> {
        let refuse = |reason: String| RunError::Simulation { target: text.to_owned(), reason };
        let rest = text.strip_prefix("sim:").unwrap_or(text);
        let (name, filesystem) = match rest.split_once('+') {
            Some((name, filesystem)) => (name, Some(filesystem)),
            None => (rest, None),
        };
        let mut profile = profile(name)?;
        let filesystem = filesystem.unwrap_or(&profile.filesystem);
        let (sizes, words): (Vec<&str>, Vec<&str>) =
            filesystem.split(',').map(str::trim).partition(|word| word.starts_with("size="));
        let filesystem = words.join(",");
        if let Some(size) = sizes.last().and_then(|size| size.strip_prefix("size=")) {
            let size = size.parse();
            let size = size.map_err(|_| refuse("no size: write size=4GB or size=4GiB".into()))?;
            profile = of_size(&profile, size).map_err(refuse)?;
        }
        StackSpec::parse(&filesystem).map_err(|error| refuse(error.to_string()))?;
        Ok(SimTarget { text: text.to_owned(), profile, filesystem })
    }
}

/// The profile of a device of another size: as `flashlag device --size` makes it.
///
/// # Errors
/// A size below what the blocks need; the message says the least.
pub(super) fn of_size(profile: &Profile, size: Bytes) -> Result<Profile, String> {
    let model = model_of_size(profile, Some(size)).map_err(|error| error.to_string())?;
    let mut sized = profile.clone();
    let mut set = |key: &str, bytes: Bytes| {
        if !sized.parameters.contains_key(key) {
            return Ok(());
        }
        sized = sized.with(key, &format!("{}B", bytes.0)).map_err(|error| error.to_string())?;
        Ok::<(), String>(())
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
    let refuse = |error: ProfileError| RunError::Profile {
        name: name.to_owned(),
        reason: error.to_string(),
    };
    Profile::find(name).map_err(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_of_another_size_keeps_its_shares_and_the_stack_does_not_hear_of_it() {
        let whole = SimTarget::parse("sim:moto-x-2013+f2fs,nobarrier").unwrap();
        let half = SimTarget::parse("sim:moto-x-2013+f2fs,size=6000MiB,nobarrier").unwrap();
        assert_eq!(half.filesystem, whole.filesystem);
        let map = |target: &SimTarget| target.profile.model().unwrap().map;
        assert_eq!(map(&half).capacity.0, Bytes::from_mib(6000));
        assert_eq!(map(&half).spare.0.0 * 2, map(&whole).spare.0.0);
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
    fn a_size_that_is_none_or_too_small_is_refused() {
        let told = |text| SimTarget::parse(text).unwrap_err().to_string();
        assert!(told("sim:nexus7-2012+ext4,size=big").contains("size=4GiB"));
        assert!(told("sim:nexus7-2012+ext4,size=64MiB").contains("at least"));
    }
}
