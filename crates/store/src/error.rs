//! Why a store can't do what was requested.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

/// Why a store can't do what was requested.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error("cannot {operation} {}: {error}", path.display())]
    Io { operation: &'static str, path: PathBuf, error: io::Error },
    #[error("the index {} cannot be used: {error}. {}", path.display(), advice(error))]
    Sqlite { path: PathBuf, error: rusqlite::Error },
    #[error("the query cannot be done: {0}. Its tables are runs and phases; see docs/store.md")]
    Query(String),
    #[error("PostgreSQL cannot {operation}: {reason}")]
    Postgres { operation: &'static str, reason: String },
    /// A store in PostgreSQL for a program that was built without.
    #[error(
        "this flashlag was built without PostgreSQL: build it with `--features postgres`, or use a \
         folder as the store"
    )]
    NoPostgres,
}

/// What to try after an error of the index.
fn advice(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "Its folder must be one that you may read and write"
        }
        Some(ErrorCode::DiskFull) => "Make room on its disk and try again",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "Another flashlag is using it: try again"
        }
        _ => "It can be removed: it is made again from the run files",
    }
}

/// An error of a file.
pub(crate) fn io_error<'a>(
    operation: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |error| StoreError::Io { operation, path: path.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn only_an_index_that_is_broken_is_advised_to_be_removed() {
        let said = |code| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            StoreError::Sqlite { path: "store/index".into(), error }.to_string()
        };
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB] {
            assert!(said(code).ends_with("It can be removed: it is made again from the run files"));
        }
        assert!(said(ffi::SQLITE_CANTOPEN).ends_with("must be one that you may read and write"));
        assert!(said(ffi::SQLITE_READONLY).ends_with("must be one that you may read and write"));
        assert!(said(ffi::SQLITE_FULL).ends_with("Make room on its disk and try again"));
        assert!(said(ffi::SQLITE_BUSY).ends_with("Another flashlag is using it: try again"));
    }
}
