//! The scenarios that come with flashlag. They are files like a user's own.

/// A scenario that comes with flashlag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// The name on the command line.
    pub name: &'static str,
    /// The text of the file.
    pub text: &'static str,
}

/// Every built-in scenario, the default first.
pub const BUILTINS: &[Builtin] = &[
    Builtin { name: "quick", text: include_str!("../../../scenarios/quick.toml") },
    Builtin { name: "fill", text: include_str!("../../../scenarios/fill.toml") },
    Builtin { name: "lifecycle", text: include_str!("../../../scenarios/lifecycle.toml") },
    Builtin { name: "sqlite", text: include_str!("../../../scenarios/sqlite.toml") },
    Builtin { name: "prefs", text: include_str!("../../../scenarios/prefs.toml") },
    Builtin { name: "soak", text: include_str!("../../../scenarios/soak.toml") },
    Builtin { name: "wake", text: include_str!("../../../scenarios/wake.toml") },
    Builtin { name: "disk", text: include_str!("../../../scenarios/disk.toml") },
    Builtin { name: "micro", text: include_str!("../../../scenarios/micro.toml") },
    Builtin { name: "write", text: include_str!("../../../scenarios/write.toml") },
    Builtin { name: "app", text: include_str!("../../../scenarios/app.toml") },
];

macro_rules! purposes {
    ($($name:literal)*) => {
        &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../../../requirements/", $name, ".toml")),
        }),*]
    };
}

/// The scenarios of `flashlag run --for`: each asks whether a storage is good enough for one purpose.
pub const PURPOSES: &[Builtin] = purposes! {
    "etcd" "k3s" "postgres" "sqlite-app" "home-assistant" "android" "media-class" "sd-a1" "sd-a2" "video-30mbit"
};

/// The built-in scenario of that name.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().chain(PURPOSES).find(|builtin| builtin.name == name)
}
