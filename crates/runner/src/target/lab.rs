//! `lab:PROFILE+FS[,OPTION]...`.

use flashlag_device::ZoneGeometry;
use flashlag_flash::zone_geometry;
use flashlag_lab::{Filesystem, LabError, LabSpec, conventional};
use flashlag_serve::Settings;
use flashlag_spec::profile::Profile;
use flashlag_spec::target::{Age, DeviceSpec, Kind, TimeScale};
use flashlag_units::Bytes;

use super::simulated::{of_size, profile_of, refused_as};
use crate::error::{RunError, VirtualError};

/// A device with a real filesystem on it, below a real kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct LabTarget {
    /// The target as the user named it.
    pub text: String,
    /// The profile of the device, with the requested size.
    pub profile: Profile,
    /// The filesystem and the layers around it.
    pub spec: LabSpec,
    /// The size of the device.
    pub size: Bytes,
    /// The device's zones, on which F2FS is made and mounted.
    pub zones: Option<ZoneGeometry>,
    /// The device's state at the start.
    pub age: Age,
    /// The pace of the device's time.
    pub pace: Pace,
}

/// The pace of a device's time, as a multiple of real time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Outside fills.
    pub usual: TimeScale,
    /// The pace during a fill.
    pub fills: TimeScale,
}

impl LabTarget {
    /// Parses `PROFILE+FS[,OPTION]...`, with or without `lab:` before it.
    ///
    /// # Errors
    /// An unknown profile, filesystem or option, a value that an option can't have, or a size below
    /// what the profile's blocks need.
    pub fn parse(text: &str) -> Result<LabTarget, RunError> {
        let rest = text.strip_prefix("lab:").unwrap_or(text);
        let device = DeviceSpec::parse_as(Kind::Lab, rest);
        LabTarget::of(text, &device.map_err(|error| refused_as(Kind::Lab, text, error))?)
    }

    /// The device, filesystem and options of the target `text`. Fails if there is no such profile,
    /// no filesystem, or the size is below what the profile's blocks need.
    pub(super) fn of(text: &str, device: &DeviceSpec) -> Result<LabTarget, RunError> {
        let spec = LabSpec::of(device).map_err(|error| refused_as(Kind::Lab, text, error))?;
        if spec.atomic && !flashlag_sqlite::has_atomic_writes() {
            return Err(refused(text, VirtualError::NoAtomicWrites));
        }
        let mut device = profile_of(device, text)?;
        if let Some(size) = spec.size {
            device = of_size(&device, size).map_err(|error| refused(text, error))?;
        }
        let model = device.model().map_err(|error| refused(text, error))?;
        let size = model.map.capacity.0;
        let zones = zone_geometry(&model);
        let age = spec.state.as_ref().map(|state| state.value).unwrap_or_default();
        if let Some(zones) = zones {
            check_zones(&zones, &spec, age).map_err(|error| refused(text, error))?;
        }
        let pace = Pace::of(&spec);
        Ok(LabTarget { text: text.to_owned(), profile: device, spec, size, zones, age, pace })
    }

    /// The settings of the served device.
    pub(crate) fn settings(&self, seed: u64) -> Settings {
        Settings {
            size: Some(self.size),
            age: Some(self.age),
            seed,
            time_scale: self.pace.usual,
            zoned: self.zones.is_some(),
            ..Settings::of(&self.spec.profile)
        }
    }

    /// Checks that the host's own kernel can mount the target, if the target says `host`.
    pub fn check_host(&self) -> Result<(), RunError> {
        if self.spec.host {
            flashlag_lab::check_host(&self.spec).map_err(|error| self.failed(error))
        } else {
            Ok(())
        }
    }

    /// An error of the lab, with the target.
    pub(crate) fn failed(&self, error: LabError) -> RunError {
        refused(&self.text, error)
    }
}

/// Refuses what can't be mounted on a zoned device.
fn check_zones(zones: &ZoneGeometry, spec: &LabSpec, age: Age) -> Result<(), LabError> {
    if let Some(reason) = not_on_zones(spec, age) {
        return Err(LabError::Zoned(reason));
    }
    let (needed, size) = (conventional(zones), zones.first);
    if size < needed { Err(LabError::FewConventional { needed, size }) } else { Ok(()) }
}

/// Why a zoned device can't be mounted so.
fn not_on_zones(spec: &LabSpec, age: Age) -> Option<&'static str> {
    if spec.filesystem != Filesystem::F2fs {
        return Some("of the filesystems only F2FS writes zones in order: +f2fs");
    }
    if !spec.discard {
        return Some("F2FS resets zones by discards: leave out nodiscard");
    }
    if spec.host {
        return Some("a guest makes its zones: leave out `host`");
    }
    if spec.encrypt.is_some() {
        return Some("dm-crypt is not laid over its zones: leave out `encrypt`");
    }
    // QEMU's NVMe up to 7.2 takes a write with FUA for any other.
    if spec.atomic {
        return Some(
            "what commits an atomic write is not durable in the guest: leave out `atomic`",
        );
    }
    (age != Age::New).then_some("its past is not modelled: leave out `state`")
}

fn refused(target: &str, source: impl Into<VirtualError>) -> RunError {
    RunError::Lab { target: target.to_owned(), source: Box::new(source.into()) }
}

impl Pace {
    /// The paces of a target: real time by default; fills have the pace of the rest unless they
    /// have their own.
    fn of(spec: &LabSpec) -> Pace {
        let usual = spec.time_scale.as_ref().map(|times| times.value).unwrap_or_default();
        let fills = spec.fill_time_scale.as_ref().map_or(usual, |times| times.value);
        Pace { usual, fills }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_as_large_as_old_and_as_fast_as_its_options_say() {
        let text = "lab:nexus5-2013+ext4,size=4GiB,state=full,time-scale=2,fill-time-scale=30";
        let target = LabTarget::parse(text).unwrap();
        assert_eq!((target.size, target.age), (Bytes::from_mib(4096), Age::Full));
        let settings = target.settings(7);
        assert_eq!((settings.size, settings.age), (Some(target.size), Some(Age::Full)));
        assert_eq!((settings.time_scale.factor(), settings.seed), (2.0, 7));
        assert_eq!(target.pace.fills.factor(), 30.0);
        let model = target.profile.model().unwrap();
        assert_eq!(model.map.capacity.0, target.size, "what is recorded is what was served");
    }

    #[test]
    fn a_filesystem_that_the_hosts_kernel_is_not_asked_to_mount_is_refused_before_anything_begins()
    {
        let check = |text: &str| LabTarget::parse(text).unwrap().check_host();
        let error = check("lab:nexus5-2013+f2fs,host").unwrap_err().to_string();
        assert!(error.contains("f2fs"), "{error}");
        assert!(check("lab:nexus5-2013+f2fs").is_ok(), "a guest mounts all of them");
    }

    #[test]
    fn fills_are_as_fast_as_the_rest_by_default() {
        let target = LabTarget::parse("lab:nexus5-2013+ext4,time-scale=3").unwrap();
        assert_eq!(target.pace.fills, target.pace.usual);
        assert_eq!(LabTarget::parse("lab:zero+ext4").unwrap().pace, Pace::default());
    }

    #[test]
    fn atomic_writes_are_taken_where_the_sqlite_that_is_built_in_has_them() {
        assert!(flashlag_sqlite::has_atomic_writes(), "the build asks for them");
        let target = LabTarget::parse("lab:pixel-2016+f2fs,atomic").unwrap();
        assert!(target.spec.atomic);
    }

    #[test]
    fn zones_are_for_f2fs_in_a_guest_on_a_new_device() {
        let zones = |text: &str| LabTarget::parse(text).unwrap().zones;
        assert!(zones("lab:zufs40-phone+f2fs,size=8GiB").is_some());
        assert_eq!(zones("lab:ufs40-phone+f2fs"), None);
        for (rest, reason) in [
            ("ext4", "only F2FS"),
            ("f2fs,nodiscard", "nodiscard"),
            ("f2fs,encrypt", "dm-crypt"),
            ("f2fs,host", "host"),
            ("f2fs,atomic", "atomic"),
            ("f2fs,state=full", "past"),
        ] {
            let text = format!("lab:zufs40-phone+{rest}");
            let error = LabTarget::parse(&text).unwrap_err().to_string();
            assert!(error.contains("is zoned") && error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_value_that_makes_no_device_is_refused() {
        let error_of = |option: &str| {
            LabTarget::parse(&format!("lab:nexus5-2013+ext4,{option}")).unwrap_err().to_string()
        };
        assert!(error_of("size=1MiB").contains("at least"));
        assert!(error_of("state=old").contains("new, full or aged:12mo"));
    }
}
