//! The settings of a device, also as words on nbdkit's command line.

use std::path::{Path, PathBuf};

use flashlag_spec::target::{Age, TimeScale, ValueError};
use flashlag_units::Bytes;

use crate::error::ServeError;
use crate::listen::Listen;

/// The settings of a device to serve.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// A profile's name, or its file.
    pub profile: String,
    /// The capacity; the profile's by default.
    pub size: Option<Bytes>,
    /// The state to start in; by default new, or the state in the store.
    pub age: Option<Age>,
    /// The seed of every random choice.
    pub seed: u64,
    /// File for the device's data; the flash state is stored beside it. `None`: both are in memory.
    pub store: Option<PathBuf>,
    /// Folder for data that does not fit into memory: an unnamed file there, gone with the device.
    pub scratch: Option<PathBuf>,
    /// An image to load at offset 0.
    pub image: Option<PathBuf>,
    /// Whether its client makes the zones of a zoned device, each at a multiple of a power of two.
    pub zoned: bool,
    /// The pace of its time.
    pub time_scale: TimeScale,
    /// Path of the control socket, for statistics, faults and power cuts.
    pub control: Option<PathBuf>,
    /// A socket of the program that started this one: the device reports there that it is ready,
    /// and exits when the connection closes.
    pub notify: Option<PathBuf>,
    /// Address of a relay, for versions of nbdkit that end when a client dies. It passes messages
    /// on to `relay_to`.
    pub relay: Option<Listen>,
    /// nbdkit's own socket, behind the relay.
    pub relay_to: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            profile: String::new(),
            size: None,
            age: None,
            seed: 1,
            store: None,
            scratch: None,
            image: None,
            zoned: false,
            time_scale: TimeScale::default(),
            control: None,
            notify: None,
            relay: None,
            relay_to: None,
        }
    }
}

impl Settings {
    /// A device of a profile with defaults: new, in memory, in real time.
    pub fn of(profile: &str) -> Settings {
        Settings { profile: profile.to_owned(), ..Settings::default() }
    }

    /// Sets one setting, written as on nbdkit's command line.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ServeError> {
        let wrong = |reason: String| ServeError::setting(key, value, reason);
        let typed = |error: ValueError| ServeError::setting(key, value, error);
        let path = || Some(PathBuf::from(value));
        match key {
            "profile" => self.profile = value.to_owned(),
            "size" => self.size = Some(value.parse().map_err(|e| wrong(format!("{e}")))?),
            "state" => self.age = Some(value.parse().map_err(typed)?),
            "seed" => self.seed = value.parse().map_err(|_| wrong("no whole number".into()))?,
            "zoned" => self.zoned = value.parse().map_err(|_| wrong("true or false".into()))?,
            "time_scale" => self.time_scale = value.parse().map_err(typed)?,
            "store" => self.store = path(),
            "scratch" => self.scratch = path(),
            "image" => self.image = path(),
            "control" => self.control = path(),
            "notify" => self.notify = path(),
            "relay" => self.relay = Some(value.parse().map_err(|e| wrong(format!("{e}")))?),
            "relay_to" => self.relay_to = path(),
            _ => {
                return Err(wrong(
                    "there is no such setting; there are profile, size, state, seed, store, \
                     scratch, image, zoned, time_scale, control, notify, relay and relay_to"
                        .to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// The settings as arguments that [`Settings::set`] reads.
    pub fn arguments(&self) -> Vec<String> {
        let mut words = vec![format!("profile={}", self.profile)];
        words.extend(self.size.map(|size| format!("size={}B", size.0)));
        words.extend(self.age.map(|age| format!("state={age}")));
        words.push(format!("seed={}", self.seed));
        words.push(format!("time_scale={}", self.time_scale));
        words.extend(self.zoned.then(|| "zoned=true".to_owned()));
        words.extend(self.relay.as_ref().map(|listen| format!("relay={listen}")));
        let paths = [
            ("store", &self.store),
            ("scratch", &self.scratch),
            ("image", &self.image),
            ("control", &self.control),
            ("notify", &self.notify),
            ("relay_to", &self.relay_to),
        ];
        for (key, path) in paths {
            words.extend(path.as_deref().map(|path: &Path| format!("{key}={}", path.display())));
        }
        words
    }
}
