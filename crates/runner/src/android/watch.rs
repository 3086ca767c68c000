//! `flashlag watch adb:`: a watch that goes on alone on a phone.

pub use flashlag_android::protocol::Watcher;
use flashlag_android::protocol::{WatchOrder, Watched};
use flashlag_android::{Identity, PhoneError, WatchOnPhone, program_for, the_phone};
use flashlag_spec::target::PhoneSpec;

use super::order::this_program;
use super::phone::about;

/// A phone that is watched, or will be.
pub struct PhoneWatch {
    on: WatchOnPhone,
    identity: Identity,
    directory: String,
    /// Its serial number.
    pub serial: String,
    /// Model, serial number and Android's version.
    pub about: String,
}

impl PhoneWatch {
    /// Finds the one phone that a target means.
    ///
    /// # Errors
    /// There is no such phone, or several.
    pub fn find(spec: &PhoneSpec) -> Result<PhoneWatch, PhoneError> {
        let (phone, way) = the_phone(&spec.choice)?;
        let on = WatchOnPhone::new(way);
        let identity = on.place().identity()?;
        let about = about(&phone, &identity);
        let directory = spec.directory().to_owned();
        Ok(PhoneWatch { on, identity, directory, serial: phone.serial, about })
    }

    /// Begins a watch with these options of `flashlag watch`; a history that an earlier one left on
    /// the phone goes on. Returns what the watch says of itself.
    ///
    /// # Errors
    /// The phone is watched already, or can't be.
    pub fn begin(&self, options: Vec<String>) -> Result<Watched, PhoneError> {
        if self.on.state()?.is_some_and(|state| state.watcher.is_some()) {
            return Err(PhoneError::Watched { serial: self.serial.clone() });
        }
        let program = program_for(self.identity.abi)?;
        let directory = self.directory.clone();
        self.on.begin(&program, &WatchOrder { program: this_program(), directory, options })
    }

    /// Fetches the history's file, after the watch's end if `ends`, and the state the watch was in before.
    ///
    /// # Errors
    /// There is no watch on the phone, or it can't be reached.
    pub fn fetch(&self, ends: bool) -> Result<(Vec<u8>, Watched), PhoneError> {
        let Some(state) = self.on.state()? else {
            return Err(PhoneError::NoWatch { serial: self.serial.clone() });
        };
        if ends {
            self.on.end()?;
        }
        Ok((self.on.history()?, state))
    }

    /// Removes everything of an ended watch from the phone, its history too.
    ///
    /// # Errors
    /// The phone can't be reached, or something is left.
    pub fn remove(&self) -> Result<(), PhoneError> {
        // Only a killed one leaves its probes' file.
        self.on.place().sweep(&self.directory)?;
        self.on.place().remove().map(drop)
    }
}
