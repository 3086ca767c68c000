//! Writes a table in formats of other programs.

mod csv;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
mod text;

use thiserror::Error;

use crate::table::Table;

/// A form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Columns for a terminal.
    Text,
    /// CSV as in RFC 4180, with line feeds.
    Csv,
    /// A list of objects.
    Json,
    /// Apache Parquet.
    Parquet,
}

/// Why a table can't be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The program was built without.
    #[error(
        "this flashlag was built without Parquet: build it with `--features parquet`, or use CSV"
    )]
    NoParquet,
    #[error("the Parquet file cannot be made: {0}")]
    Parquet(String),
}

impl TableFormat {
    /// The table in this format; text is formatted for `width` columns.
    pub fn write(self, table: &Table, width: usize) -> Result<Vec<u8>, WriteError> {
        match self {
            TableFormat::Text => Ok(text::text(table, width).into_bytes()),
            TableFormat::Csv => Ok(csv::csv(table).into_bytes()),
            TableFormat::Json => Ok(json::json(table).into_bytes()),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => parquet::parquet(table).map_err(WriteError::Parquet),
            #[cfg(not(feature = "parquet"))]
            TableFormat::Parquet => Err(WriteError::NoParquet),
        }
    }

    /// Whether this program was built with it.
    pub fn is_built(self) -> bool {
        self != TableFormat::Parquet || cfg!(feature = "parquet")
    }
}
