//! Apache Parquet, written column by column and uncompressed: without Arrow, whose crates are
//! larger than the tables.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::{Type, TypePtr};

use crate::table::{Kind, Table, Value};

/// The table as a Parquet file: every column may be null.
pub fn parquet(table: &Table) -> Result<Vec<u8>, ParquetError> {
    let columns = table.columns.iter().map(|column| field(&column.name, column.kind));
    let fields = columns.collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("table").with_fields(fields).build()?);
    let properties = Arc::new(WriterProperties::builder().build());
    let mut bytes = Vec::new();
    // Of the type that a sweep's table is written to: the library is compiled anew for each.
    let to: Box<dyn Write + Send + '_> = Box::new(&mut bytes);
    let mut writer = SerializedFileWriter::new(to, schema, properties)?;
    let mut group = writer.next_row_group()?;
    for (at, column) in table.columns.iter().enumerate() {
        let cells: Vec<&Value> = table.rows.iter().filter_map(|row| row.get(at)).collect();
        write_column(&mut group, column.kind, &cells)?;
    }
    group.close()?;
    writer.close()?;
    Ok(bytes)
}

fn field(name: &str, kind: Kind) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Integer => (Physical::INT64, None),
        Kind::Real => (Physical::DOUBLE, None),
        Kind::Boolean => (Physical::BOOLEAN, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let field = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    Ok(Arc::new(field.build()?))
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    kind: Kind,
    cells: &[&Value],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    match kind {
        Kind::Integer => put::<Int64Type>(&mut column, cells, integer)?,
        Kind::Real => put::<DoubleType>(&mut column, cells, real)?,
        Kind::Boolean => put::<BoolType>(&mut column, cells, boolean)?,
        Kind::Text => put::<ByteArrayType>(&mut column, cells, text)?,
    }
    column.close()
}

/// The values of one type, and for each row whether it has one.
fn put<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    cells: &[&Value],
    value_of: fn(&Value) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let found: Vec<Option<T::T>> = cells.iter().map(|cell| value_of(cell)).collect();
    let levels: Vec<i16> = found.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = found.into_iter().flatten().collect();
    column.typed::<T>().write_batch(&values, Some(&levels), None).map(drop)
}

fn integer(value: &Value) -> Option<i64> {
    if let Value::Integer(value) = value { Some(*value) } else { None }
}

fn boolean(value: &Value) -> Option<bool> {
    if let Value::Boolean(value) = value { Some(*value) } else { None }
}

/// A column of numbers may contain whole ones.
fn real(value: &Value) -> Option<f64> {
    match value {
        Value::Real(value) => Some(*value),
        Value::Integer(value) => Some(*value as f64),
        _ => None,
    }
}

/// A computed column may have values of several types: they are written as text.
fn text(value: &Value) -> Option<ByteArray> {
    (*value != Value::Null).then(|| ByteArray::from(value.plain().as_bytes()))
}
