//! The profiles and protocols that come with flashlag. They are files like a user's own.

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../profiles/", $folder, $name, ".toml")))),*]
    };
}

/// Name and file of each, oldest device first.
const PROFILES: &[(&str, &str)] = files!["":
    "nexus7-2012", "moto-x-2013", "moto-x-2013-sandisk", "moto-x-2013-toshiba", "nexus5-2013",
    "nexus6-2014", "pixel-2016", "moto-z-2016", "ufs21-phone", "ufs31-phone", "sd-a1", "sd-c10",
    "zero",
];

/// The scenarios by which the profiles' devices were measured.
const PROTOCOLS: &[(&str, &str)] = files!["protocols/":
    "andebench", "androbench", "fio-durable-4k", "moto-x-2013", "nexus7-2012",
    "nexus7-2012-torture", "raspberry-pi-4", "service-times",
];

/// The names of all profiles.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|(name, _)| *name)
}

/// The file of a profile.
pub fn builtin_profile(name: &str) -> Option<&'static str> {
    find(PROFILES, name)
}

/// The scenario by which a profile's device was measured.
pub fn builtin_protocol(name: &str) -> Option<&'static str> {
    find(PROTOCOLS, name)
}

fn find(files: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    files.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
