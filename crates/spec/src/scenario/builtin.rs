//! The scenarios that come with flashlag. They are files like a user's own.

use crate::packed::{PackedText, packed};

/// A scenario that comes with flashlag.
#[derive(Debug)]
pub struct Builtin {
    /// The name on the command line.
    pub name: &'static str,
    file: PackedText,
}

impl Builtin {
    /// The text of the file.
    pub fn text(&self) -> &str {
        self.file.text()
    }
}

macro_rules! files {
    ($folder:literal: $($name:literal)*) => {
        [$(Builtin { name: $name, file: packed!($folder, $name, ".toml") }),*]
    };
}

/// Every scenario, the default first.
pub static BUILTINS: [Builtin; 12] = files! {
    "scenarios/":
    "quick" "fill" "lifecycle" "sqlite" "prefs" "card" "soak" "wake" "disk" "micro" "write" "app"
};

/// The scenarios of `flashlag run --for`: whether a storage is good enough for one purpose.
pub static PURPOSES: [Builtin; 11] = files! {
    "requirements/":
    "etcd" "k3s" "postgres" "sqlite-app" "home-assistant" "android" "android-full" "media-class" "sd-a1"
    "sd-a2" "video-30mbit"
};

/// The scenario of that name.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().chain(&PURPOSES).find(|builtin| builtin.name == name)
}
