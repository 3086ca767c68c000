//! Parquet files, read again by the library's own reader of records.
#![cfg(feature = "parquet")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use flashlag_store::{Column, Kind, Table, TableFormat, Value};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

#[test]
fn a_parquet_file_has_the_cells_of_the_table() {
    let column = |name: &str, kind| Column { name: name.to_owned(), kind };
    let table = Table {
        columns: vec![
            column("count", Kind::Integer),
            column("share", Kind::Real),
            column("good", Kind::Boolean),
            column("text", Kind::Text),
        ],
        rows: vec![
            vec![
                Value::Integer(-7),
                Value::Real(0.1),
                Value::Boolean(true),
                Value::Text("µ\"".into()),
            ],
            vec![Value::Null, Value::Null, Value::Null, Value::Null],
            vec![
                Value::Integer(i64::MAX),
                Value::Integer(3),
                Value::Boolean(false),
                Value::Text(String::new()),
            ],
        ],
    };
    let bytes = TableFormat::Parquet.write(&table, 0).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(file.path()).unwrap()).unwrap();
    let rows: Vec<Vec<(String, Field)>> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            row.unwrap().get_column_iter().map(|(name, it)| (name.clone(), it.clone())).collect()
        })
        .collect();
    assert_eq!(rows.len(), table.rows.len());
    for (row, wanted) in rows.iter().zip(&table.rows) {
        for (((name, cell), value), column) in row.iter().zip(wanted).zip(&table.columns) {
            assert_eq!(name, &column.name);
            let is_same = match (cell, value) {
                (Field::Null, Value::Null) => true,
                (Field::Long(cell), Value::Integer(value)) => cell == value,
                (Field::Double(cell), Value::Integer(value)) => *cell == *value as f64,
                (Field::Double(cell), Value::Real(value)) => cell == value,
                (Field::Bool(cell), Value::Boolean(value)) => cell == value,
                (Field::Str(cell), Value::Text(value)) => cell == value,
                _ => false,
            };
            assert!(is_same, "{name}: {cell:?} and {value:?}");
        }
    }
}
