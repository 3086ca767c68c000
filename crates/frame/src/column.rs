use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use flashlag_units::{Bytes, Nanos};

/// Key of a column's meaning in its metadata.
const ABOUT: &str = "about";

/// A column of a table whose rows are made from `R`.
pub(crate) struct Column<R> {
    name: &'static str,
    about: &'static str,
    read: Read<R>,
}

/// How a column's value is read from a row.
enum Read<R> {
    Text(fn(&R) -> Option<String>),
    Whole(fn(&R) -> Option<i64>),
    Real(fn(&R) -> Option<f64>),
    Flag(fn(&R) -> Option<bool>),
}

/// A column of text.
pub(crate) fn text<R>(
    name: &'static str,
    about: &'static str,
    read: fn(&R) -> Option<String>,
) -> Column<R> {
    Column { name, about, read: Read::Text(read) }
}

/// A column of whole numbers.
pub(crate) fn whole<R>(
    name: &'static str,
    about: &'static str,
    read: fn(&R) -> Option<i64>,
) -> Column<R> {
    Column { name, about, read: Read::Whole(read) }
}

/// A column of real numbers.
pub(crate) fn real<R>(
    name: &'static str,
    about: &'static str,
    read: fn(&R) -> Option<f64>,
) -> Column<R> {
    Column { name, about, read: Read::Real(read) }
}

/// A column of booleans.
pub(crate) fn flag<R>(
    name: &'static str,
    about: &'static str,
    read: fn(&R) -> Option<bool>,
) -> Column<R> {
    Column { name, about, read: Read::Flag(read) }
}

/// A count; one beyond 64 signed bits becomes the largest.
pub(crate) trait Signed {
    /// The number.
    fn signed(self) -> i64;
}

impl Signed for u64 {
    fn signed(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MAX)
    }
}

impl Signed for u32 {
    fn signed(self) -> i64 {
        i64::from(self)
    }
}

impl Signed for Nanos {
    fn signed(self) -> i64 {
        self.0.signed()
    }
}

impl Signed for Bytes {
    fn signed(self) -> i64 {
        self.0.signed()
    }
}

/// The table of these rows.
pub(crate) fn table<R>(columns: Vec<Column<R>>, rows: &[R]) -> Result<RecordBatch, ArrowError> {
    let fields = columns.iter().map(|column| {
        let kind = match column.read {
            Read::Text(_) => DataType::Utf8,
            Read::Whole(_) => DataType::Int64,
            Read::Real(_) => DataType::Float64,
            Read::Flag(_) => DataType::Boolean,
        };
        let about = HashMap::from([(ABOUT.to_owned(), column.about.to_owned())]);
        Field::new(column.name, kind, true).with_metadata(about)
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let arrays = columns.iter().map(|column| -> ArrayRef {
        match column.read {
            Read::Text(read) => Arc::new(rows.iter().map(read).collect::<StringArray>()),
            Read::Whole(read) => Arc::new(rows.iter().map(read).collect::<Int64Array>()),
            Read::Real(read) => Arc::new(rows.iter().map(read).collect::<Float64Array>()),
            Read::Flag(read) => Arc::new(rows.iter().map(read).collect::<BooleanArray>()),
        }
    });
    let arrays = arrays.collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema, arrays, &options)
}
