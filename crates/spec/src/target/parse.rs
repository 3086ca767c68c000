//! Parses the options of a target, and says which one does not apply.

use super::error::TargetError;
use super::filesystem::FilesystemKind;
use super::kind::Kind;
use super::option::TargetOption;
use super::table::{OPTIONS, OptionRow, row_of};

/// The filesystem of that name, of a kind of target.
pub(super) fn filesystem(kind: Kind, name: &str) -> Result<FilesystemKind, TargetError> {
    let found = FilesystemKind::of(kind).iter().find(|filesystem| filesystem.name() == name);
    found.copied().ok_or_else(|| TargetError::Filesystem { kind, name: name.to_owned() })
}

impl TargetOption {
    /// The option with this word, for any kind and filesystem; `None` if there is none, or its
    /// value is invalid.
    pub fn from_word(word: &str) -> Option<TargetOption> {
        let (row, value) = row_of(word)?;
        (row.read)(value).ok()
    }
}

/// Parses one option.
pub(super) fn option(
    kind: Kind,
    filesystem: FilesystemKind,
    word: &str,
) -> Result<TargetOption, TargetError> {
    let (row, value) = row_of(word).ok_or_else(|| unknown(kind, word))?;
    applies(row, kind, filesystem)?;
    (row.read)(value).map_err(|source| TargetError::Value { word: word.to_owned(), source })
}

/// The error for a word that is no option: one without its value, or an unknown one.
fn unknown(kind: Kind, word: &str) -> TargetError {
    let rows = OPTIONS.iter().filter(|row| !row.filesystems(kind).is_empty());
    let usages: Vec<String> = rows.map(OptionRow::usage).filter(|one| lacks(word, one)).collect();
    let word = word.to_owned();
    if usages.is_empty() {
        TargetError::Option { kind, word }
    } else {
        TargetError::NoValue { word, usages: usages.join(" or ") }
    }
}

/// Whether a word is an option without its value: `size` of `size=SIZE`.
fn lacks(word: &str, usage: &str) -> bool {
    usage.strip_prefix(word).is_some_and(|rest| rest.starts_with('='))
}

/// Checks that an option applies there.
pub(super) fn check(
    kind: Kind,
    filesystem: FilesystemKind,
    option: &TargetOption,
) -> Result<(), TargetError> {
    let word = option.to_string();
    row_of(&word).map_or(Ok(()), |(row, _)| applies(row, kind, filesystem))
}

fn applies(row: &OptionRow, kind: Kind, filesystem: FilesystemKind) -> Result<(), TargetError> {
    let option = row.usage();
    match row.filesystems(kind) {
        [] => Err(TargetError::NotOfKind { option, kind, of: row.filesystems(kind.other()) }),
        of if of.contains(&filesystem) => Ok(()),
        of => Err(TargetError::NotOfFilesystem { option, kind, filesystem, of }),
    }
}
