//! Why a store can't do what it was asked for.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a store can't do what it was asked for.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file or folder.
    #[error("cannot {operation} {}: {error}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// The index.
    #[error(
        "the index {} cannot be used: {error}. It can be removed: it is made again from the run files",
        path.display()
    )]
    Sqlite {
        /// The index.
        path: PathBuf,
        /// SQLite's reason.
        error: rusqlite::Error,
    },
    /// A query.
    #[error("the query cannot be done: {0}. Its tables are runs and phases; see docs/store.md")]
    Query(String),
    /// PostgreSQL.
    #[error("PostgreSQL cannot {operation}: {reason}")]
    Postgres {
        /// What was tried.
        operation: &'static str,
        /// The server's or the network's reason.
        reason: String,
    },
    /// A store in PostgreSQL for a program that was built without.
    #[error(
        "this flashlag was built without PostgreSQL: build it with `--features postgres`, or use a \
         folder as the store"
    )]
    NoPostgres,
}

/// An error of a file.
pub(crate) fn io_error<'a>(
    operation: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |error| StoreError::Io { operation, path: path.to_owned(), error }
}
