//! The grammar of targets: `DIR`, `KIND:PROFILE[+FS[,OPTION]...]`, or `adb:[SERIAL][:PATH]`.
//!
//! ```text
//! sim:nexus5-2013+f2fs,nobarrier,size=4GiB
//! ^^^ ^^^^^^^^^^^ ^^^^ ^^^^^^^^^ ^^^^^^^^^
//! kind  profile   FS     option    option with a value
//! ```
//!
//! All kinds share one list of options ([`OPTIONS`]): each row says for which kinds and filesystems
//! an option has a meaning, and `docs/target-reference.md` is generated from the list. Options
//! apply in the order in which they are written, each once, except for the layers of `lab:`.
//!
//! A parsed target prints as it was written, without spaces, and parses to the same target again.

mod error;
mod filesystem;
mod kind;
mod mount;
mod option;
mod parse;
mod phone;
mod table;
mod value;

use std::fmt;
use std::path::{Path, PathBuf};

pub use error::TargetError;
pub use filesystem::FilesystemKind;
pub use kind::{Kind, PHONE_KIND};
pub use mount::MountSpec;
pub use option::{Cipher, FsyncMode, TargetOption};
pub use phone::{PHONE_DIRECTORY, PhoneChoice, PhoneSpec};
pub use table::{OPTIONS, OptionRow, options_as_markdown};
pub use value::{Age, Literal, TimeScale, ValueError};

/// A target as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetSpec {
    /// A directory on the user's own storage.
    Directory(PathBuf),
    /// A virtual device.
    Device(DeviceSpec),
    /// A phone on a cable.
    Phone(PhoneSpec),
}

impl TargetSpec {
    /// Parses a target. An existing path is a directory whatever its name. Fails on an unknown
    /// kind, filesystem or option, an option that does not apply, or an invalid value.
    pub fn parse(text: &str) -> Result<TargetSpec, TargetError> {
        if Path::new(text).exists() {
            return Ok(TargetSpec::Directory(text.into()));
        }
        if let Some((PHONE_KIND, rest)) = text.split_once(':') {
            return PhoneSpec::parse(rest).map(TargetSpec::Phone);
        }
        let device = DeviceSpec::parse(text)?;
        Ok(device.map_or_else(|| TargetSpec::Directory(text.into()), TargetSpec::Device))
    }
}

/// A virtual device: kind, profile and what is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSpec {
    pub kind: Kind,
    /// The profile's name, or its file, which may not exist.
    pub profile: String,
    /// The filesystem and the options; the profile's own by default.
    pub mount: Option<MountSpec>,
}

impl DeviceSpec {
    /// Parses `KIND:PROFILE[+FS[,OPTION]...]`. `None` for the path of a directory: a text without a
    /// word before a colon. Fails as [`TargetSpec::parse`] does.
    pub fn parse(text: &str) -> Result<Option<DeviceSpec>, TargetError> {
        let Some((word, rest)) = text.split_once(':') else { return Ok(None) };
        if let Some(kind) = Kind::named_by(text) {
            return DeviceSpec::parse_as(kind, rest).map(Some);
        }
        match word {
            PHONE_KIND => Err(TargetError::NoProfile),
            _ if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Ok(None)
            }
            _ => Err(TargetError::Kind(word.to_owned())),
        }
    }

    /// Parses the text after the colon. Fails as [`TargetSpec::parse`] does.
    pub fn parse_as(kind: Kind, rest: &str) -> Result<DeviceSpec, TargetError> {
        let (profile, mount) = match rest.split_once('+') {
            Some((profile, mount)) => (profile, Some(MountSpec::parse(kind, mount)?)),
            None => (rest, None),
        };
        mount.iter().try_for_each(|mount| mount.check_each_once(kind))?;
        Ok(DeviceSpec { kind, profile: profile.to_owned(), mount })
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.profile)?;
        match &self.mount {
            Some(mount) => write!(f, "+{mount}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
