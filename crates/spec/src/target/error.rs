use flashlag_units::{did_you_mean, nearest};
use thiserror::Error;

use super::table::{OPTIONS, listed, name_of, named};
use super::{FilesystemKind, Kind, PHONE_KIND, ValueError};

/// Why a target is refused, and what is there instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// An unknown word before the colon.
    #[error(
        "there is no kind \"{0}:\" of target; there are a directory, sim:PROFILE[+FS], \
         lab:PROFILE+FS and adb:[SERIAL][:PATH]{near}",
        near = did_you_mean(.0, Kind::ALL.map(Kind::name).into_iter().chain([PHONE_KIND]))
    )]
    Kind(String),
    /// A phone where a device with a profile is needed.
    #[error("adb: is a phone, which has no profile: give sim:PROFILE or lab:PROFILE+FS")]
    NoProfile,
    /// Characters that no serial number of a phone has.
    #[error(
        "\"{0}\" is no phone's serial number: `adb devices` lists the connected phones; a path begins \
         with a slash, as in adb:SERIAL:/sdcard"
    )]
    Serial(String),
    /// Control characters in the path of a phone.
    #[error("the path on the phone contains control characters, such as a line break")]
    PhonePath,
    /// A target that is misspelt, where it is clear what was meant.
    #[error("{wrong}; did you mean `{meant}`?")]
    Misspelt {
        /// What is wrong.
        wrong: String,
        /// The target that was meant, which is taken.
        meant: String,
    },
    /// No profile, where all else is there.
    #[error("no profile is named: write {0}; `flashlag profiles` lists the profiles")]
    ProfileMissing(String),
    /// No filesystem, which the lab needs.
    #[error("\"{0}\" names no filesystem: write lab:PROFILE+FS, e.g. lab:nexus5-2013+ext4")]
    NoFilesystem(String),
    /// An unknown filesystem, or one of the other kind of target.
    #[error("{}", no_filesystem(*.kind, .name))]
    Filesystem {
        /// The kind of target.
        kind: Kind,
        /// The name as it was written.
        name: String,
    },
    /// An unknown option.
    #[error(
        "there is no option \"{word}\"; there are {}{}",
        listed(*.kind),
        near_option(*.kind, .word)
    )]
    Option {
        /// The kind of target.
        kind: Kind,
        /// The option as it was written.
        word: String,
    },
    /// An option without its value.
    #[error("option \"{word}\" needs a value: {usages}")]
    NoValue {
        /// The option as it was written.
        word: String,
        /// How it is written.
        usages: String,
    },
    /// An option twice.
    #[error("\"{first}\" and \"{second}\" are one option: leave one out")]
    Twice {
        /// The option as it is written first.
        first: String,
        /// The option as it is written later.
        second: String,
    },
    /// An option that only the other kind of target has.
    #[error("{kind}: has no option \"{option}\"; {}: has it ({})", kind.other(), named(.of))]
    NotOfKind {
        /// The option.
        option: String,
        /// The kind of target.
        kind: Kind,
        /// The filesystems of the other kind that have the option.
        of: &'static [FilesystemKind],
    },
    /// An option that only other filesystems have.
    #[error(
        "{filesystem} has no option \"{option}\"; {} {}",
        named(.of),
        if .of.len() == 1 { "has" } else { "have" }
    )]
    NotOfFilesystem {
        /// The option.
        option: String,
        /// The kind of target.
        kind: Kind,
        /// The filesystem.
        filesystem: FilesystemKind,
        /// The filesystems that have the option.
        of: &'static [FilesystemKind],
    },
    /// A value that an option can't have.
    #[error("\"{word}\": {source}")]
    Value {
        /// The option with the value, as it was written.
        word: String,
        /// What is wrong with the value.
        source: ValueError,
    },
}

fn no_filesystem(kind: Kind, name: &str) -> String {
    let known = FilesystemKind::of(kind);
    let what = match kind {
        Kind::Sim => "there is no modelled filesystem",
        Kind::Lab => "the lab has no filesystem",
    };
    let other = kind.other();
    let there = FilesystemKind::of(other).iter().any(|filesystem| filesystem.name() == name);
    let hint = if there {
        format!("; {other}: has {name}")
    } else {
        did_you_mean(name, known.iter().map(|filesystem| filesystem.name()))
    };
    format!("{what} \"{name}\"; there are {}{hint}", named(known))
}

/// The option that was meant, as it is written: `size=SIZE`.
fn near_option(kind: Kind, word: &str) -> String {
    let known = || OPTIONS.iter().filter(|row| !row.filesystems(kind).is_empty());
    let whole = nearest(word, known().map(|row| row.word));
    let name = || nearest(name_of(word), known().map(|row| name_of(row.word)));
    let meant = whole.or_else(name).and_then(|near| {
        known().find(|row| row.word == near || name_of(row.word) == near).map(|row| row.usage())
    });
    meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"))
}
