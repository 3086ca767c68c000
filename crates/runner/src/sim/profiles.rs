//! The protocols that come with flashlag: scenarios by which the profiles' devices were measured.
//! They are files like a user's own.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../profiles/protocols/", $name, ".toml")))),*]
    };
}

const PROTOCOLS: &[(&str, &str)] = files![
    "andebench",
    "androbench",
    "fio-durable-4k",
    "moto-x-2013",
    "nexus7-2012",
    "nexus7-2012-torture",
    "raspberry-pi-4",
    "service-times",
];

/// The scenario by which a profile's device was measured.
pub fn builtin_protocol(name: &str) -> Option<&'static str> {
    PROTOCOLS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
