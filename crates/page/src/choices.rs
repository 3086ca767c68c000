//! What a reader can choose.

use flashlag_spec::profile::{Profile, builtin_profile, names};
use flashlag_spec::target::{FilesystemKind, Kind};
use serde::Serialize;

use crate::question::{OLDEST, filesystem_of, has_barriers};

/// Everything that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choices {
    pub devices: Vec<Device>,
    pub filesystems: Vec<&'static str>,
    /// The most months of use.
    pub oldest: u32,
    /// The version of the program that gives the same figures.
    pub version: &'static str,
}

/// A device of a profile, as it was sold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    pub name: &'static str,
    pub about: String,
    /// Its filesystem, without options.
    pub filesystem: String,
    /// Whether a sync flushes it.
    pub barriers: bool,
}

/// The built-in profiles, filesystems and limits.
pub fn choices() -> Choices {
    let devices = names().filter_map(|name| {
        let profile = Profile::parse(builtin_profile(name)?).ok()?;
        Some(Device {
            name,
            filesystem: filesystem_of(&profile.filesystem).to_owned(),
            barriers: has_barriers(&profile.filesystem),
            about: profile.about,
        })
    });
    Choices {
        devices: devices.collect(),
        filesystems: FilesystemKind::of(Kind::Sim).iter().map(|one| one.name()).collect(),
        oldest: OLDEST,
        version: env!("CARGO_PKG_VERSION"),
    }
}
