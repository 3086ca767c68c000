//! Many run files as one table: a row per run, and a row per test of a run, with typed columns
//! named as in the run file.
//!
//! [`read_folder`] turns a folder of run files into one [`Entry`] each: it reads, verifies and judges
//! each, and finds copies of one measurement. [`tables`] makes the two tables. A [`Store`] keeps a
//! folder, or a PostgreSQL database, with an index of the same tables for SQL.
//!
//! A row never contains what `flashlag share` would remove: texts are taken from the shared form.
#![forbid(unsafe_code)]

#[cfg(feature = "parquet")]
mod columns;
mod copies;
mod entry;
mod error;
mod files;
mod fill;
mod folder;
mod gate;
mod outcome;
#[cfg(feature = "parquet")]
mod place;
mod read;
mod rows;
mod sql;
mod sqlite;
mod standing;
mod store;
mod table;
mod write;

#[cfg(feature = "postgres")]
mod postgres;

#[cfg(feature = "parquet")]
pub use columns::{Cell, ColumnError, Columns, READER, Visit, answer, be_a_reader};
pub use copies::find_copies;
pub use entry::{Entry, Measured, phases_table, results_table, runs_table};
pub use error::StoreError;
pub use files::run_files;
pub use fill::{UNKNOWN, fill_class};
pub use gate::{MOST_TAKEN, Refusal, refusals};
pub use outcome::{Added, Outcome};
#[cfg(feature = "parquet")]
pub use place::{Among, FEWEST, OVERLOADED, Placed, PlacedFigure, PlacedTest, Rank, place};
pub use read::{MOST_BYTES, read_file, read_files, read_folder};
pub use rows::{ColumnOf, PHASES, PhaseRow, RUNS, RunFacts, RunRow};
pub use sql::{Selection, selected};
pub use standing::Standing;
pub use store::{FolderStore, Store};
pub use table::{Column, Kind, Table, Value};
pub use write::{TableFormat, WriteError};
