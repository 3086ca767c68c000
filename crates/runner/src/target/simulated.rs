//! `sim:PROFILE[+FS[,OPTION]...]`.

use flashlag_flash::model_of_size;
use flashlag_spec::profile::{Profile, ProfileError};
use flashlag_spec::target::{Age, DeviceSpec, Kind, MountSpec, TargetError, TargetOption};
use flashlag_units::Bytes;

use super::misspelt;
use crate::error::{RunError, VirtualError};

/// A simulated device with a filesystem on it.
#[derive(Clone, Debug, PartialEq)]
pub struct SimTarget {
    /// The target as the user named it.
    pub text: String,
    /// The profile of the device, with the requested size.
    pub profile: Profile,
    /// The filesystem and the layers around it, without options of the device.
    pub mount: MountSpec,
    /// The device's state at the start.
    pub age: Age,
    /// The bytes that a day of use wrote on an aged device. On a device smaller than its profile's
    /// it is proportionally less, so that the wear is the same.
    pub daily: Bytes,
}

impl SimTarget {
    /// A profile's device with a filesystem.
    pub fn new(profile: &Profile, mount: &MountSpec) -> SimTarget {
        SimTarget {
            text: format!("{}:{}+{mount}", Kind::Sim, profile.name),
            profile: profile.clone(),
            mount: mount.stack(),
            age: Age::New,
            daily: Age::DAILY,
        }
    }

    /// Parses `PROFILE[+FS[,OPTION]...]`, with or without `sim:` before it.
    ///
    /// # Errors
    /// An unknown profile, filesystem or option, or a size below what the profile's blocks need.
    pub fn parse(text: &str) -> Result<SimTarget, RunError> {
        let rest = text.strip_prefix("sim:").unwrap_or(text);
        let device = DeviceSpec::parse_as(Kind::Sim, rest);
        let device = device.map_err(|error| refused_as(Kind::Sim, text, error))?;
        SimTarget::of(text, &device)
    }

    /// The device, filesystem and options of the target `text`; without a filesystem, the
    /// profile's.
    pub(super) fn of(text: &str, device: &DeviceSpec) -> Result<SimTarget, RunError> {
        SimTarget::on(profile_of(device, text)?, text, device.mount.as_ref())
    }

    /// The target named `text`: a profile's device with what is mounted on it, by default the
    /// profile's filesystem.
    pub fn on(
        profile: Profile,
        text: &str,
        mount: Option<&MountSpec>,
    ) -> Result<SimTarget, RunError> {
        let mount = match mount {
            Some(mount) => mount.clone(),
            None => MountSpec::parse(Kind::Sim, &profile.filesystem)
                .map_err(|error| refused(text, error))?,
        };
        let mut target = SimTarget {
            text: text.to_owned(),
            profile,
            mount: mount.stack(),
            age: Age::New,
            daily: Age::DAILY,
        };
        for option in mount.options {
            match option {
                TargetOption::Size(size) => target = target.of_size(size.value)?,
                TargetOption::State(age) => target.age = age.value,
                _ => {}
            }
        }
        Ok(target)
    }

    fn of_size(mut self, size: Bytes) -> Result<SimTarget, RunError> {
        let refuse = |error| refused(&self.text, error);
        let whole = self.profile.model().map_err(|error| refuse(error.into()))?.map.capacity.0;
        self.profile = of_size(&self.profile, size).map_err(refuse)?;
        let share = u128::from(self.daily.0) * u128::from(size.0) / u128::from(whole.0.max(1));
        self.daily = Bytes(u64::try_from(share).unwrap_or(u64::MAX));
        Ok(self)
    }

    /// The same device with one parameter of its profile changed: `nand.program`, `1.5ms`.
    pub fn with_parameter(mut self, key: &str, value: &str) -> Result<SimTarget, RunError> {
        self.profile = self.profile.with(key, value).map_err(|error| refused(&self.text, error))?;
        Ok(self)
    }

    /// The options about the device, as a run records them beside its profile.
    pub(crate) fn device_options(&self) -> Vec<String> {
        match self.age {
            Age::New => Vec::new(),
            age => vec![format!("state={age}")],
        }
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
    let conventional = model.zones.as_ref().map(|zones| zones.conventional.0);
    let shrinks = profile.model()?.map.capacity.0 > size;
    // Zones have to fit beside the conventional ones after each of these steps.
    if let Some(conventional) = conventional.filter(|_| shrinks) {
        set("zones.conventional", conventional)?;
    }
    set("map.capacity", model.map.capacity.0)?;
    set("map.spare", model.map.spare.0)?;
    if let Some(conventional) = conventional.filter(|_| !shrinks) {
        set("zones.conventional", conventional)?;
    }
    if let Some(slc) = &model.slc {
        set("slc.static", slc.fixed.0)?;
    }
    Ok(sized)
}

/// The built-in profile of that name, or the profile in that file. Fails if there is none, or if it
/// is no valid device; the message names the parameter.
pub fn profile(name: &str) -> Result<Profile, RunError> {
    Profile::find(name).map_err(|source| RunError::Profile { name: name.to_owned(), source })
}

/// A refused target of a kind, whose name may be left out.
pub(super) fn refused_as(kind: Kind, text: &str, source: TargetError) -> RunError {
    let target = text.to_owned();
    let source = Box::new(misspelt_as(kind, text).unwrap_or(source).into());
    match kind {
        Kind::Sim => RunError::Simulation { target, source },
        #[cfg(target_family = "wasm")]
        Kind::Lab => RunError::NotSimulated { text: text.to_owned() },
        #[cfg(not(target_family = "wasm"))]
        Kind::Lab => RunError::Lab { target, source },
    }
}

pub(super) fn misspelt_as(kind: Kind, text: &str) -> Option<TargetError> {
    match Kind::named_by(text) {
        Some(_) => misspelt::misspelt(text),
        None => misspelt::misspelt(&format!("{kind}:{text}")),
    }
}

/// The profile of a target; a name of no profile may be a misspelt target.
pub(super) fn profile_of(device: &DeviceSpec, text: &str) -> Result<Profile, RunError> {
    profile(&device.profile).map_err(|error| {
        let unknown = matches!(&error, RunError::Profile { source: ProfileError::NoSuch(_), .. });
        match misspelt_as(device.kind, text).filter(|_| unknown) {
            Some(source) => refused_as(device.kind, text, source),
            None => error,
        }
    })
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
        let cache = |slc: Option<flashlag_spec::profile::SlcModel>| slc.unwrap().fixed.0;
        assert!(cache(model.slc) < cache(whole.slc));
    }

    #[test]
    fn a_smaller_device_is_written_less_a_day_in_proportion() {
        let whole = SimTarget::parse("sim:moto-x-2013+f2fs,state=aged:12mo").unwrap();
        let size = whole.profile.model().unwrap().map.capacity.0;
        let text = format!("sim:moto-x-2013+f2fs,state=aged:12mo,size={}B", size.0 / 4);
        let quarter = SimTarget::parse(&text).unwrap();
        assert_eq!(quarter.daily.0 * 4, whole.daily.0);
        assert_eq!(quarter.age, whole.age);
        assert_eq!(whole.device_options(), ["state=aged:31557600000000000ns"]);
    }

    #[test]
    fn a_changed_parameter_is_the_profiles_own_and_checked_as_that() {
        let plain = SimTarget::parse("sim:nexus7-2012+ext4,size=2GiB").unwrap();
        let changed = plain.clone().with_parameter("nand.program", "3ms").unwrap();
        let program = |target: &SimTarget| target.profile.model().unwrap().nand.program.0;
        assert_ne!(program(&plain), program(&changed));
        assert_eq!(program(&changed), flashlag_units::Nanos::from_millis(3));
        let error = plain.with_parameter("nand.progam", "3ms").unwrap_err().to_string();
        assert!(error.contains("did you mean `nand.program`"), "{error}");
    }

    #[test]
    fn a_size_that_is_no_size_or_too_small_is_refused() {
        let error_of = |text| SimTarget::parse(text).unwrap_err().to_string();
        assert!(error_of("sim:nexus7-2012+ext4,size=big").contains("size=4GiB"));
        assert!(error_of("sim:nexus7-2012+ext4,size=64MiB").contains("at least"));
    }
}
