//! The scenarios that come with flashlag. They are files like a user's own.

use crate::packed::{PackedFolder, packed};

/// A scenario that comes with flashlag.
#[derive(Debug)]
pub struct Builtin {
    /// The name on the command line.
    pub name: &'static str,
    folder: &'static PackedFolder,
}

impl Builtin {
    /// The text of the file.
    pub fn text(&self) -> &str {
        self.folder.text(self.name).unwrap_or_default()
    }
}

static SCENARIOS: PackedFolder = PackedFolder(packed!("scenarios"));
static REQUIREMENTS: PackedFolder = PackedFolder(packed!("requirements"));

macro_rules! files {
    ($folder:ident: $($name:literal)*) => {
        [$(Builtin { name: $name, folder: &$folder }),*]
    };
}

/// Every scenario, the default first.
pub static BUILTINS: [Builtin; 12] = files! {
    SCENARIOS:
    "quick" "fill" "lifecycle" "sqlite" "prefs" "card" "soak" "wake" "disk" "micro" "write" "app"
};

/// The scenarios of `flashlag run --for`: whether a storage is good enough for one purpose.
pub static PURPOSES: [Builtin; 11] = files! {
    REQUIREMENTS:
    "etcd" "k3s" "postgres" "sqlite-app" "home-assistant" "android" "android-full" "media-class" "sd-a1"
    "sd-a2" "video-30mbit"
};

/// The scenario of that name.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().chain(&PURPOSES).find(|builtin| builtin.name == name)
}
