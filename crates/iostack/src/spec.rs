//! Mount specifications: filesystem and options, as in `ext4,nobarrier,fuse`.

use std::fmt;

use flashlag_units::did_you_mean;
use thiserror::Error;

/// A modelled filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesystemKind {
    /// No filesystem: files are ranges of the device.
    Raw,
    /// ext4 with an ordered journal.
    Ext4,
    /// F2FS.
    F2fs,
}

/// A mount specification: filesystem and options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackSpec {
    /// The filesystem.
    pub kind: FilesystemKind,
    /// Whether a sync flushes the device (`nobarrier` turns it off).
    pub barrier: bool,
    /// Whether freed space is discarded at once; the default on F2FS.
    pub discard: bool,
    /// Whether an F2FS fsync of a few pages writes in place, as since Linux 3.17 (`noipu`: before).
    pub ipu: bool,
    /// Whether F2FS's files are in the root directory, which has a block for names (`rootdir`). By
    /// default they are in an app's own directory, whose few names are in its inode.
    pub rootdir: bool,
    /// Whether calls go through a FUSE daemon.
    pub fuse: bool,
    /// Whether the device is encrypted below the filesystem.
    pub encrypt: bool,
}

/// Known words and their effects, for messages.
const OPTIONS: &str =
    "barrier, nobarrier, discard, nodiscard, ipu, noipu, rootdir, fuse, esdfs, encrypt";

/// An unknown word of a specification.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// An unknown filesystem.
    #[error("there is no modelled filesystem \"{0}\"; there are raw, ext4 and f2fs{near}",
        near = did_you_mean(.0, ["raw", "ext4", "f2fs"]))]
    Filesystem(String),
    /// An unknown option.
    #[error("there is no option \"{0}\"; there are {OPTIONS}{near}",
        near = did_you_mean(.0, OPTIONS.split(", ")))]
    Option(String),
    /// An option of another filesystem.
    #[error("\"{option}\" is an option of {of}, not of {filesystem}")]
    NotOfThis {
        /// The option.
        option: String,
        /// The filesystem that has the option.
        of: &'static str,
        /// The filesystem that was specified.
        filesystem: FilesystemKind,
    },
}

impl fmt::Display for FilesystemKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            FilesystemKind::Raw => "raw",
            FilesystemKind::Ext4 => "ext4",
            FilesystemKind::F2fs => "f2fs",
        })
    }
}

impl StackSpec {
    /// Parses `FS[,OPTION]...`.
    ///
    /// # Errors
    /// If a word is unknown, or an option is of another filesystem.
    pub fn parse(text: &str) -> Result<StackSpec, SpecError> {
        let mut words = text.split(',').map(str::trim);
        let kind = match words.next().unwrap_or_default() {
            "raw" => FilesystemKind::Raw,
            "ext4" => FilesystemKind::Ext4,
            "f2fs" => FilesystemKind::F2fs,
            other => return Err(SpecError::Filesystem(other.to_owned())),
        };
        let mut spec = StackSpec {
            kind,
            barrier: true,
            discard: kind == FilesystemKind::F2fs,
            ipu: true,
            rootdir: false,
            fuse: false,
            encrypt: false,
        };
        for word in words {
            let only_f2fs = matches!(word, "ipu" | "noipu" | "rootdir");
            if only_f2fs && kind != FilesystemKind::F2fs {
                let option = word.to_owned();
                return Err(SpecError::NotOfThis { option, of: "f2fs", filesystem: kind });
            }
            match word {
                "barrier" => spec.barrier = true,
                "nobarrier" => spec.barrier = false,
                "discard" => spec.discard = true,
                "nodiscard" => spec.discard = false,
                "ipu" => spec.ipu = true,
                "noipu" => spec.ipu = false,
                "rootdir" => spec.rootdir = true,
                "fuse" => spec.fuse = true,
                // A wrapper in the kernel, whose cost is not measurable from a call's time.
                "esdfs" => spec.fuse = false,
                "encrypt" => spec.encrypt = true,
                other => return Err(SpecError::Option(other.to_owned())),
            }
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_filesystem() {
        let ext4 = StackSpec::parse("ext4").unwrap();
        assert!(ext4.barrier && !ext4.discard && !ext4.fuse && !ext4.encrypt);
        assert!(StackSpec::parse("f2fs").unwrap().discard);
    }

    #[test]
    fn options_apply_in_order() {
        let spec = StackSpec::parse("f2fs,nobarrier,nodiscard,noipu,fuse,encrypt").unwrap();
        assert!(!spec.barrier && !spec.discard && !spec.ipu && spec.fuse && spec.encrypt);
        assert!(!StackSpec::parse("ext4,fuse,esdfs").unwrap().fuse);
    }

    #[test]
    fn what_is_not_known_is_refused_with_what_is() {
        let error_of = |text| StackSpec::parse(text).unwrap_err().to_string();
        assert!(error_of("ext3").contains("raw, ext4 and f2fs"));
        assert!(error_of("ext4,fast").contains("nobarrier"));
        assert!(error_of("ext4,noipu").contains("option of f2fs"));
        assert!(StackSpec::parse("").is_err());
    }
}
