use std::ffi::OsString;
use std::path::{Path, PathBuf};

use flashlag_flash::Flash;
use flashlag_spec::profile::Model;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{ServeError, plain};
use crate::record::LATEST;

/// Format of stored states. Change it whenever a field of the flash changes.
pub(super) const FORMAT: &str = "flashlag.flash/1";
const SMALL: Bytes = Bytes::from_mib(16);
pub(super) const ADVICE: &str = "remove this file and the one that ends in .log to begin with a flash \
                                 that holds the data and is otherwise new";
/// Most characters of a name from a file that a message prints.
const SHOWN: usize = 40;

/// The device and version of a stored flash: its first line, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) schema: String,
    pub(super) profile: String,
    /// SHA-256 of the profile's parameters.
    pub(super) model: String,
    /// SHA-256 of a small new flash, stored. It differs if another program version makes or stores
    /// flashes differently.
    pub(super) form: String,
    pub(super) size_bytes: Bytes,
    pub(super) seed: u64,
    /// The device's time when the state was stored.
    pub(super) now: Nanos,
    /// SHA-256 of the state itself, repeated in the first line of its log.
    pub(super) state: String,
    /// SHA-256 of the previous state: a log that starts with it was about to be replaced.
    pub(super) before: String,
}

/// SHA-256 in hexadecimal digits.
pub(super) fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of the smallest flash of a model, which is quick to make.
fn form(model: &Model) -> String {
    let mut small = model.clone();
    small.map.capacity.0 = SMALL;
    while small.map.capacity.0 < model.map.capacity.0 {
        if let Ok(flash) = Flash::new(&small, 0) {
            return sum(&postcard::to_allocvec(&flash).unwrap_or_default());
        }
        small.map.capacity.0 = small.map.capacity.0.plus(small.map.capacity.0);
    }
    String::new()
}

impl Header {
    pub(super) fn new(profile: &str, model: &Model, seed: u64) -> Result<Header, ServeError> {
        let parameters = serde_json::to_vec(model).map_err(|error| ServeError::Profile {
            name: profile.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Header {
            schema: FORMAT.to_owned(),
            profile: profile.to_owned(),
            model: sum(&parameters),
            form: form(model),
            size_bytes: model.map.capacity.0,
            seed,
            now: Nanos::ZERO,
            state: String::new(),
            before: String::new(),
        })
    }

    /// The device of the state.
    pub(super) fn wanted(&self) -> ExpectedDevice<'_> {
        ExpectedDevice { profile: &self.profile, size: self.size_bytes, seed: self.seed }
    }

    /// Whether its time is a valid device time.
    pub(super) fn has_a_time(&self) -> bool {
        self.now <= LATEST
    }

    /// Checks that it is of the device that the settings ask for.
    pub(super) fn check(&self, path: &Path, wanted: &ExpectedDevice<'_>) -> Result<(), ServeError> {
        let differs = |what: &str, is: &str, wanted: &str, advice: String| {
            Err(ServeError::File {
                operation: "use",
                path: path.to_owned(),
                reason: format!("it is of {what} {is}, not {wanted}"),
                advice: format!("{advice}, or choose another --store").into(),
            })
        };
        if self.profile != wanted.profile {
            let (is, wanted) = (shown(&self.profile), shown(wanted.profile));
            return differs("profile", &is, &wanted, "serve that profile".to_owned());
        }
        if self.size_bytes != wanted.size {
            let (is, wanted) = (self.size_bytes.0, wanted.size.0);
            let advice = format!("give --size {is}B");
            return differs("size", &is.to_string(), &wanted.to_string(), advice);
        }
        if self.seed != wanted.seed {
            let (is, wanted) = (self.seed.to_string(), wanted.seed.to_string());
            return differs("seed", &is, &wanted, format!("give --seed {is}"));
        }
        Ok(())
    }

    /// Checks that this program, with this profile, would make and store the flash in the same way.
    pub(super) fn check_form(&self, path: &Path, wanted: &Header) -> Result<(), ServeError> {
        let differs = |reason: &str| {
            Err(ServeError::File {
                operation: "use",
                path: path.to_owned(),
                reason: reason.to_owned(),
                advice: ADVICE.into(),
            })
        };
        if self.model != wanted.model {
            return differs("it is of other parameters than the profile's");
        }
        if self.form != wanted.form {
            return differs("it is of a version that stores flashes in another way");
        }
        Ok(())
    }
}

/// The device that the settings ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedDevice<'a> {
    pub(super) profile: &'a str,
    pub(super) size: Bytes,
    pub(super) seed: u64,
}

/// A name from a file, for a message.
fn shown(name: &str) -> String {
    plain(&name.chars().take(SHOWN).collect::<String>())
}

/// A path with another extension.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}
