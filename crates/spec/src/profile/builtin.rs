//! The profiles that come with flashlag; the format is that of a user's own files.

use crate::packed::{PackedFolder, packed};

static FILES: PackedFolder = PackedFolder(packed!("profiles"));

/// The name of each, oldest device first.
static PROFILES: [&str; 22] = [
    "nexus7-2012",
    "moto-x-2013",
    "moto-x-2013-sandisk",
    "moto-x-2013-toshiba",
    "nexus5-2013",
    "nexus6-2014",
    "pixel-2016",
    "moto-z-2016",
    "pixel3-2018",
    "pixel4-2019",
    "emmc51-phone",
    "pixel6-2021",
    "ufs40-phone",
    "ufs21-phone",
    "ufs31-phone",
    "sd-a1",
    "sd-a1-extreme",
    "sd-a1-ultra",
    "sd-a2",
    "sd-c10",
    "zufs40-phone",
    "zero",
];

/// The names of all profiles.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROFILES.into_iter()
}

/// The file of a profile.
pub fn builtin_profile(name: &str) -> Option<&'static str> {
    FILES.text(name)
}
