use flashlag_units::{did_you_mean, nearest};
use thiserror::Error;

use super::kind::Kind;
use super::table::{OPTIONS, listed, name_of, named};
use super::{FilesystemKind, PHONE_KIND, ValueError};

/// Why a target is refused, and what is allowed instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// An unknown word before the colon.
    #[error(
        "no kind of target is called \"{0}:\"; there are a directory, sim:PROFILE[+FS], \
         lab:PROFILE+FS and adb:[SERIAL][:PATH]{near}",
        near = did_you_mean(.0, Kind::ALL.map(Kind::name).into_iter().chain([PHONE_KIND]))
    )]
    Kind(String),
    #[error("adb: is a phone, which has no profile: give sim:PROFILE or lab:PROFILE+FS")]
    NoProfile,
    /// Characters that no serial number of a phone has.
    #[error(
        "\"{0}\" is no phone's serial number: `adb devices` lists the connected phones; a path begins \
         with a slash, as in adb:SERIAL:/sdcard"
    )]
    Serial(String),
    #[error("the path on the phone contains control characters, such as a line break")]
    PhonePath,
    #[error("{wrong}; did you mean `{meant}`?")]
    Misspelt { wrong: String, meant: String },
    #[error("no profile is named: write {0}; `flashlag profiles` lists the profiles")]
    ProfileMissing(String),
    #[error("\"{0}\" names no filesystem: write lab:PROFILE+FS, e.g. lab:nexus5-2013+ext4")]
    NoFilesystem(String),
    #[error("{}", no_filesystem(*.kind, .name))]
    Filesystem { kind: Kind, name: String },
    /// An unknown option.
    #[error(
        "there is no option \"{word}\"; there are {}{}",
        listed(*.kind),
        near_option(*.kind, .word)
    )]
    Option { kind: Kind, word: String },
    #[error("option \"{word}\" needs a value: {usages}")]
    NoValue { word: String, usages: String },
    #[error("\"{first}\" and \"{second}\" are one option: leave one out")]
    Twice { first: String, second: String },
    /// An option that only the other kind of target has.
    #[error("{kind}: has no option \"{option}\"; {}: has it ({})", kind.other(), named(.of))]
    NotOfKind { option: String, kind: Kind, of: &'static [FilesystemKind] },
    /// An option that only other filesystems have.
    #[error(
        "{filesystem} has no option \"{option}\"; {} {}",
        named(.of),
        if .of.len() == 1 { "has" } else { "have" }
    )]
    NotOfFilesystem {
        option: String,
        kind: Kind,
        filesystem: FilesystemKind,
        of: &'static [FilesystemKind],
    },
    #[error("\"{word}\": {source}")]
    Value { word: String, source: ValueError },
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

/// The option that was probably meant, in its notation: `size=SIZE`.
fn near_option(kind: Kind, word: &str) -> String {
    let known = || OPTIONS.iter().filter(|row| !row.filesystems(kind).is_empty());
    let whole = nearest(word, known().map(|row| row.word));
    let name = || nearest(name_of(word), known().map(|row| name_of(row.word)));
    let meant = whole.or_else(name).and_then(|near| {
        known().find(|row| row.word == near || name_of(row.word) == near).map(|row| row.usage())
    });
    meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"))
}
