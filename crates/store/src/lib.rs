//! Many run files as one table: a row a run, and a row a test of a run, with typed columns that are
//! named as in the run file.
//!
//! [`read_folder`] makes [`Entries`] of a folder of run files: each is read, verified and judged, and
//! copies of one measurement are found. [`tables`] makes the two tables of them. A [`Store`] keeps a
//! folder, or a PostgreSQL database, with an index of the same tables for SQL.
//!
//! A row never holds what `flashlag share` would remove: texts are taken from the shared form.
#![forbid(unsafe_code)]

mod copies;
mod entry;
mod error;
mod files;
mod folder;
mod outcome;
mod query;
mod read;
mod rows;
mod sql;
mod sqlite;
mod standing;
mod store;
mod table;
mod tables;
mod write;

#[cfg(feature = "postgres")]
mod postgres;

pub use copies::find_copies;
pub use entry::{Entry, Measured};
pub use error::StoreError;
pub use files::run_files;
pub use outcome::{Added, Outcome};
pub use query::{Selection, selected};
pub use read::{MOST_BYTES, read_file, read_files, read_folder};
pub use rows::{ColumnOf, PHASES, PhaseRow, RUNS, RunFacts, RunRow};
pub use standing::Standing;
pub use store::{FolderStore, Store};
pub use table::{Column, Kind, Table, Value};
pub use tables::{phases_table, runs_table};
pub use write::{TableFormat, WriteError};

/// All entries of a folder, in the order of their files' names.
pub type Entries = Vec<Entry>;
