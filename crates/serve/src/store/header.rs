use std::path::Path;

use flashlag_flash::Flash;
use flashlag_schema::profile::Model;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::ServeError;

/// The form of stored states. Another number whenever a field of the flash changes.
pub(super) const FORMAT: &str = "flashlag.flash/1";
const SMALL: Bytes = Bytes::from_mib(16);
pub(super) const ADVICE: &str = "remove this file and the one that ends in .log to begin with a flash that holds the data and \
     is otherwise new";

/// Whose state it is: the first line of a stored flash, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) schema: String,
    pub(super) profile: String,
    /// What the profile's parameters come to.
    pub(super) model: String,
    /// What a small new flash of them comes to: a program that stores flashes in another way, or
    /// makes others, is told by it.
    pub(super) form: String,
    pub(super) size_bytes: Bytes,
    pub(super) seed: u64,
    /// The device's time.
    pub(super) now: Nanos,
    /// What the state itself comes to: its log says the same.
    pub(super) state: String,
    /// The state before it: a log that says this was about to be begun again.
    pub(super) before: String,
}

/// What bytes come to.
pub(super) fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the smallest flash of a model comes to that can be tried quickly.
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

    /// Whether it is of the device that is asked for.
    pub(super) fn check(&self, path: &Path, wanted: &Header) -> Result<(), ServeError> {
        let differs = |what: &str, is: &dyn std::fmt::Display, wanted: &dyn std::fmt::Display| {
            Err(ServeError::File {
                operation: "use",
                path: path.to_owned(),
                reason: format!("it is of {what} {is}, not {wanted}"),
                advice: "serve that device, or choose another --store",
            })
        };
        if self.profile != wanted.profile {
            return differs("profile", &self.profile, &wanted.profile);
        }
        if self.size_bytes != wanted.size_bytes {
            return differs("size", &self.size_bytes.0, &wanted.size_bytes.0);
        }
        if self.seed != wanted.seed {
            return differs("seed", &self.seed, &wanted.seed);
        }
        if self.model != wanted.model {
            return differs(
                "parameters",
                &&self.model[..12.min(self.model.len())],
                &"the profile's",
            );
        }
        if self.form != wanted.form {
            return differs("version", &"that stores flashes in another way", &"this one");
        }
        Ok(())
    }
}
