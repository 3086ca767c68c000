use std::io;

use super::detect::InputFormat;
use super::table::TableError;
use crate::stored::StoredError;

/// Why a file can't be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("the file can't be read: {0}")]
    Read(io::Error),
    #[error("the file is empty")]
    Empty,
    /// The beginning of the file fits no format.
    #[error(
        "the file's beginning is of no known format: there are {}; name one with --from-format",
        InputFormat::names()
    )]
    Unknown,
    /// The file has a known format, and no event of storage in it.
    #[error(
        "read as {}, the file contains no storage events{}: name another format with --from-format",
        format.name(),
        damage(*damaged)
    )]
    Nothing { format: InputFormat, damaged: u64 },
    /// A table whose columns are not known, or not those that were named.
    #[error(transparent)]
    Table(#[from] TableError),
    #[error(transparent)]
    Stored(#[from] StoredError),
}

fn damage(lines: u64) -> String {
    match lines {
        0 => String::new(),
        1 => ", and 1 line that can't be read".to_owned(),
        lines => format!(", and {lines} lines that can't be read"),
    }
}
