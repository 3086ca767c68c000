//! Columns of Parquet files that the library wrote, in each way that flashlag and other programs choose.
#![cfg(feature = "parquet")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use crate::common::columns;
use flashlag_store::{Cell, ColumnError};
use parquet::basic::{Compression, Repetition, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

/// A row of the table that is written, each cell of which may be null.
type Row = (Option<i64>, Option<f64>, Option<bool>, Option<String>);

/// Rows with runs of equal cells, of nulls, and of many different ones.
fn rows(count: usize, is_optional: bool) -> Vec<Row> {
    let mut state = 0x1234_5678_9abc_def1_u64;
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut row = |at: usize| {
        let different = if (at / 100).is_multiple_of(2) { 3 } else { 1 << 30 };
        let mut present =
            |one_in: u64| !is_optional || (at / 64).is_multiple_of(3) || draw(one_in) != 0;
        let present = [present(2), present(9), present(3), present(4)];
        let number = draw(different) as i64;
        (
            present[0].then_some(if at.is_multiple_of(2) { number } else { -number }),
            present[1].then_some(number as f64 / 7.0),
            present[2].then_some((at / 50).is_multiple_of(3) || number % 2 == 0),
            present[3].then(|| "µ".repeat(number as usize % 5) + &number.to_string()),
        )
    };
    (0..count).map(&mut row).collect()
}

fn put<T: DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    is_optional: bool,
    cells: Vec<Option<T::T>>,
) {
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    let mut column = group.next_column().unwrap().unwrap();
    let levels = is_optional.then_some(levels.as_slice());
    column.typed::<T>().write_batch(&values, levels, None).unwrap();
    column.close().unwrap();
}

fn write(path: &Path, groups: &[Vec<Row>], is_optional: bool, properties: WriterProperties) {
    let repetition = if is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let field = |name, physical| {
        let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        Arc::new(builder.build().unwrap())
    };
    let fields = vec![
        field("whole", Physical::INT64),
        field("real", Physical::DOUBLE),
        field("is", Physical::BOOLEAN),
        field("text", Physical::BYTE_ARRAY),
    ];
    let schema = Arc::new(Type::group_type_builder("t").with_fields(fields).build().unwrap());
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    for rows in groups {
        let mut group = writer.next_row_group().unwrap();
        put::<Int64Type, _>(&mut group, is_optional, rows.iter().map(|it| it.0).collect());
        put::<DoubleType, _>(&mut group, is_optional, rows.iter().map(|it| it.1).collect());
        put::<BoolType, _>(&mut group, is_optional, rows.iter().map(|it| it.2).collect());
        let texts =
            rows.iter().map(|it| it.3.as_ref().map(|text| ByteArray::from(text.as_bytes())));
        put::<ByteArrayType, _>(&mut group, is_optional, texts.collect());
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// A column as it is read.
fn column<T>(
    path: &Path,
    name: &'static str,
    of: fn(Cell<'_>) -> T,
) -> Result<Vec<T>, ColumnError> {
    let mut cells = Vec::new();
    let count = columns(path)?.each(name, &mut |row, cell| {
        assert_eq!(row, cells.len());
        cells.push(of(cell));
    })?;
    assert_eq!(count, cells.len());
    Ok(cells)
}

fn read(path: &Path) -> Result<Vec<Row>, ColumnError> {
    let whole =
        column(path, "whole", |cell| if let Cell::Integer(it) = cell { Some(it) } else { None })?;
    let real =
        column(path, "real", |cell| if let Cell::Real(it) = cell { Some(it) } else { None })?;
    let is = column(path, "is", |cell| if let Cell::Boolean(it) = cell { Some(it) } else { None })?;
    let text = column(path, "text", |cell| match cell {
        Cell::Text(text) => Some(text.to_owned()),
        _ => None,
    })?;
    let all = whole.into_iter().zip(real).zip(is).zip(text);
    Ok(all.map(|(((whole, real), is), text)| (whole, real, is, text)).collect())
}

#[test]
fn what_the_library_writes_is_read_cell_by_cell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let builder = WriterProperties::builder;
    let ways: [fn(WriterPropertiesBuilder) -> WriterPropertiesBuilder; 6] = [
        |it| it,
        |it| it.set_dictionary_enabled(false),
        |it| it.set_data_page_row_count_limit(7).set_write_batch_size(3),
        |it| it.set_dictionary_page_size_limit(200).set_write_batch_size(50),
        |it| it.set_writer_version(WriterVersion::PARQUET_2_0),
        |it| it.set_compression(Compression::SNAPPY),
    ];
    for (way, set) in ways.into_iter().enumerate() {
        for is_optional in [true, false] {
            for sizes in [&[0][..], &[1], &[8, 9], &[1000, 0, 333], &[30_000]] {
                let groups: Vec<Vec<Row>> =
                    sizes.iter().map(|size| rows(*size, is_optional)).collect();
                write(&path, &groups, is_optional, set(builder()).build());
                let read = read(&path).unwrap_or_else(|error| panic!("{way} {sizes:?}: {error}"));
                assert!(read == groups.concat(), "{way}, {is_optional}, {sizes:?}");
            }
        }
    }
}

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(name)
}

/// What other programs wrote of the same rows, compressed as they do by default.
#[test]
fn what_other_programs_write_is_read_or_refused_with_how_to_write_it() {
    let row = |at: usize| {
        let whole = at as i64;
        (
            (!at.is_multiple_of(5)).then_some(whole * whole - 1000),
            (!at.is_multiple_of(7)).then_some(whole as f64 / 7.0),
            (!at.is_multiple_of(3)).then_some(at.is_multiple_of(2)),
            (!at.is_multiple_of(11)).then(|| "µ".repeat(at % 4) + &(at % 20).to_string()),
        )
    };
    let rows: Vec<Row> = (0..300).map(row).collect();
    for name in ["pandas-3.1.1.parquet", "duckdb-2.0.1.parquet", "polars-2.1.0-snappy.parquet"] {
        assert_eq!(read(&fixture(name)).unwrap(), rows, "{name}");
    }
    let said = read(&fixture("polars-2.1.0-zstd.parquet")).unwrap_err().to_string();
    assert!(said.contains("cannot read the column `whole` of "), "{said}");
    let how = "it is compressed with ZSTD: write it with compression='snappy', or with none";
    assert!(said.contains(how), "{said}");
}

#[test]
fn what_is_never_compared_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let one = |text: &str| {
        let row = (Some(1), Some(1.0), Some(true), Some(text.to_owned()));
        write(&path, &[vec![row]], true, WriterProperties::new());
        read(&path).map(|rows| rows.len()).map_err(|error| error.to_string())
    };
    assert_eq!(one(&"x".repeat(16 << 10)), Ok(1));
    let long = one(&"x".repeat((16 << 10) + 1)).unwrap_err();
    assert!(long.contains("`text` of ") && long.contains("a text of more than 16 KiB"), "{long}");
    let deltas = WriterProperties::builder().set_writer_version(WriterVersion::PARQUET_2_0);
    let deltas = deltas.set_dictionary_enabled(false).build();
    write(&path, &[rows(500, true)], true, deltas);
    let deltas = read(&path).unwrap_err().to_string();
    assert!(deltas.contains("it is stored in another way: Encoding DELTA_BINARY"), "{deltas}");
    let missing = column(&path, "none", |_| ()).unwrap_err().to_string();
    assert!(missing.contains("has no column `none`"), "{missing}");
    let field = Type::primitive_type_builder("small", Physical::INT32);
    let field = Arc::new(field.with_repetition(Repetition::REQUIRED).build().unwrap());
    let schema = Type::group_type_builder("t").with_fields(vec![field]).build().unwrap();
    let file = std::fs::File::create(&path).unwrap();
    let properties = Arc::new(WriterProperties::new());
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    put::<Int32Type, _>(&mut group, false, vec![Some(1)]);
    group.close().unwrap();
    writer.close().unwrap();
    let other = column(&path, "small", |_| ()).unwrap_err().to_string();
    assert!(other.contains("it has a type that flashlag does not write"), "{other}");
}
