//! The settings of a device, also as words on nbdkit's command line.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use flashlag_units::{Bytes, Nanos};

use crate::error::{ServeError, ValueError};

/// The settings of a device to serve.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// A profile's name, or its file.
    pub profile: String,
    /// The capacity; the profile's by default.
    pub size: Option<Bytes>,
    /// The state to begin in; new by default, or the state in its store.
    pub age: Option<Age>,
    /// The seed of every random choice.
    pub seed: u64,
    /// The file that keeps its data, and the state of its flash beside it; `None`: in memory.
    pub store: Option<PathBuf>,
    /// A folder for data that is too large for memory: an unnamed file there, gone with the device.
    pub scratch: Option<PathBuf>,
    /// An image to load at offset 0.
    pub image: Option<PathBuf>,
    /// The pace of its time.
    pub time_scale: TimeScale,
    /// The control socket, for statistics, faults and power cuts.
    pub control: Option<PathBuf>,
    /// A socket of the starting program: the device reports there that it is ready, and ends when
    /// the connection does.
    pub notify: Option<PathBuf>,
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
            time_scale: TimeScale::default(),
            control: None,
            notify: None,
        }
    }
}

/// The state of a device before it is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Age {
    /// Nothing: it is new.
    #[default]
    New,
    /// Every page was written once, from the beginning on.
    Full,
    /// Used for so long, [`Age::DAILY`] a day at random addresses, and full.
    Aged(Nanos),
}

impl Age {
    /// What a day of use writes.
    pub const DAILY: Bytes = Bytes::from_mb(20_000);
}

impl FromStr for Age {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Age, ValueError> {
        match text {
            "new" => Ok(Age::New),
            "full" => Ok(Age::Full),
            _ => {
                let age = text.strip_prefix("aged:").ok_or(ValueError::Age)?;
                Ok(Age::Aged(age.parse()?))
            }
        }
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Age::New => f.write_str("new"),
            Age::Full => f.write_str("full"),
            Age::Aged(age) => write!(f, "aged:{}ns", age.0),
        }
    }
}

/// The pace of a device's time: a multiple of real time, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeScale(u64);

const ONE: u64 = 1_000_000;

impl Default for TimeScale {
    fn default() -> TimeScale {
        TimeScale(ONE)
    }
}

impl TimeScale {
    /// A pace of `times` real time.
    ///
    /// # Errors
    /// A pace at which no time can be kept.
    pub fn of(times: f64) -> Result<TimeScale, ValueError> {
        if !(0.001..=1_000_000.0).contains(&times) {
            return Err(ValueError::Pace(times.to_string()));
        }
        Ok(TimeScale((times * ONE as f64).round() as u64))
    }

    /// The device's time in a span of real time.
    pub fn device(self, real: Nanos) -> Nanos {
        scale(real, self.0, ONE)
    }

    /// The real time of a span of the device's time, rounded up.
    pub fn real(self, device: Nanos) -> Nanos {
        scale(device.plus(Nanos(self.0 / ONE)), ONE, self.0)
    }

    /// As a number.
    pub fn factor(self) -> f64 {
        self.0 as f64 / ONE as f64
    }
}

fn scale(time: Nanos, times: u64, over: u64) -> Nanos {
    if times == over {
        return time;
    }
    let scaled = u128::from(time.0) * u128::from(times) / u128::from(over);
    Nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}

impl FromStr for TimeScale {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<TimeScale, ValueError> {
        TimeScale::of(text.parse().map_err(|_| ValueError::NoNumber)?)
    }
}

impl fmt::Display for TimeScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.factor())
    }
}

impl Settings {
    /// A device of a profile, and otherwise as usual: new, in memory, in real time.
    pub fn of(profile: &str) -> Settings {
        Settings { profile: profile.to_owned(), ..Settings::default() }
    }

    /// Sets one setting, written as on nbdkit's command line.
    ///
    /// # Errors
    /// An unknown key, or a value that it can't have.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ServeError> {
        let wrong = |reason: String| ServeError::setting(key, value, reason);
        let typed = |error: ValueError| ServeError::setting(key, value, error);
        let path = || Some(PathBuf::from(value));
        match key {
            "profile" => self.profile = value.to_owned(),
            "size" => self.size = Some(value.parse().map_err(|e| wrong(format!("{e}")))?),
            "state" => self.age = Some(value.parse().map_err(typed)?),
            "seed" => self.seed = value.parse().map_err(|_| wrong("no whole number".into()))?,
            "time_scale" => self.time_scale = value.parse().map_err(typed)?,
            "store" => self.store = path(),
            "scratch" => self.scratch = path(),
            "image" => self.image = path(),
            "control" => self.control = path(),
            "notify" => self.notify = path(),
            _ => {
                return Err(wrong(
                    "there is no such setting; there are profile, size, state, seed, store, \
                     scratch, image, time_scale, control and notify"
                        .to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// The settings as words, which [`Settings::set`] reads.
    pub fn arguments(&self) -> Vec<String> {
        let mut words = vec![format!("profile={}", self.profile)];
        words.extend(self.size.map(|size| format!("size={}B", size.0)));
        words.extend(self.age.map(|age| format!("state={age}")));
        words.push(format!("seed={}", self.seed));
        words.push(format!("time_scale={}", self.time_scale));
        let paths = [
            ("store", &self.store),
            ("scratch", &self.scratch),
            ("image", &self.image),
            ("control", &self.control),
            ("notify", &self.notify),
        ];
        for (key, path) in paths {
            words.extend(path.as_deref().map(|path: &Path| format!("{key}={}", path.display())));
        }
        words
    }
}
