//! Writes a table in formats of other programs.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;
mod text;

use flashlag_units::IntoOrder;
use serde_json::{Map, Value as Json};
use thiserror::Error;

use crate::table::{Table, Value};

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
    /// The program was built without this format.
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
            TableFormat::Json => Ok(json(table).into_bytes()),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                parquet::parquet(table).map_err(|error| WriteError::Parquet(error.to_string()))
            }
            #[cfg(not(feature = "parquet"))]
            TableFormat::Parquet => Err(WriteError::NoParquet),
        }
    }

    /// Whether this program was built with it.
    pub fn is_built(self) -> bool {
        self != TableFormat::Parquet || cfg!(feature = "parquet")
    }
}

/// The table as a list of objects, one per line; null values are omitted.
fn json(table: &Table) -> String {
    let rows: Vec<String> = table.rows.iter().map(|row| object(table, row).to_string()).collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}

fn object(table: &Table, row: &[Value]) -> Json {
    let cells = table.columns.iter().zip(row);
    let known = cells.filter(|(_, value)| **value != Value::Null);
    let cells = known.map(|(column, value)| (column.name.clone(), json_of(value)));
    Json::Object(cells.into_filled::<Map<_, _>>())
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(value) => (*value).into(),
        Value::Real(value) => (*value).into(),
        Value::Boolean(value) => (*value).into(),
        Value::Text(text) => text.clone().into(),
    }
}
