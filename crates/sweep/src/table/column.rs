//! The columns: name, type, meaning, and where the value comes from.

use std::fmt::Write;
use std::sync::Arc;

use flashlag_units::{Bytes, Nanos};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::Type;

use crate::point::Point;
use crate::row::{Figures, Row};

/// A row together with its point.
#[derive(Debug)]
pub(super) struct Record<'a> {
    /// Index of the point in the grid.
    pub index: u64,
    pub id: &'a str,
    pub command: &'a str,
    /// The filesystem; if the point has none, the profile's.
    pub filesystem: &'a str,
    pub point: &'a Point,
    pub row: &'a Row,
}

/// The value of one row in one column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Text(String),
    Whole(u64),
    Number(f64),
    List(Vec<u64>),
    Absent,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Whole,
    Number,
    List,
}

/// A column.
pub(super) struct Column {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether a row may lack a value.
    pub optional: bool,
    /// The meaning, for docs/sweeps.md.
    #[cfg_attr(not(test), allow(dead_code, reason = "the document is compared with it"))]
    pub about: &'static str,
    pub cell: fn(&Record<'_>) -> Cell,
}

const fn given(
    name: &'static str,
    kind: Kind,
    about: &'static str,
    cell: fn(&Record<'_>) -> Cell,
) -> Column {
    Column { name, kind, optional: false, about, cell }
}

const fn maybe(
    name: &'static str,
    kind: Kind,
    about: &'static str,
    cell: fn(&Record<'_>) -> Cell,
) -> Column {
    Column { name, kind, optional: true, about, cell }
}

/// Every column, in order.
pub(super) const COLUMNS: [Column; 37] = [
    given("point", Kind::Text, "The point's id: the same in every grid that has it.", |r| {
        Cell::Text(r.id.to_owned())
    }),
    given("index", Kind::Whole, "Place of the point in the grid, from 0.", |r| {
        Cell::Whole(r.index)
    }),
    given("scenario", Kind::Text, "The scenario.", |r| Cell::Text(r.point.scenario.clone())),
    given("profile", Kind::Text, "The device's profile.", |r| Cell::Text(r.point.profile.clone())),
    given(
        "filesystem",
        Kind::Text,
        "The filesystem; the profile's where the grid has none.",
        |r| Cell::Text(r.filesystem.to_owned()),
    ),
    given("options", Kind::Text, "Options of the mount, between commas.", |r| {
        Cell::Text(r.point.options.clone())
    }),
    maybe("size", Kind::Text, "The device's capacity; none for the profile's.", |r| {
        text(&r.point.size)
    }),
    given("age", Kind::Text, "The device's state at the start: `new`, `full`, `aged:12mo`.", |r| {
        let age = if r.point.age.is_empty() { "new" } else { &r.point.age };
        Cell::Text(age.to_owned())
    }),
    given(
        "full",
        Kind::Number,
        "Share of the room for files in use before the tests, 0 to 1.",
        |r| Cell::Number(f64::from(r.point.full) / 1e6),
    ),
    given("settings", Kind::Text, "Settings of the scenario, as JSON.", |r| json(&r.point.set)),
    given("parameters", Kind::Text, "Changed parameters of the profile, as JSON.", |r| {
        json(&r.point.parameters)
    }),
    given("seed", Kind::Whole, "The seed.", |r| Cell::Whole(r.point.seed)),
    given("outcome", Kind::Text, "`done`, `skipped` or `failed`.", |r| {
        Cell::Text(r.row.outcome.word().to_owned())
    }),
    maybe("phase", Kind::Text, "The test; none where the whole point failed.", |r| {
        text(&r.row.phase)
    }),
    maybe("state", Kind::Text, "The state of the device: `new`, `filled`.", |r| text(&r.row.state)),
    given("run", Kind::Whole, "The repetition within that state, from 1.", |r| {
        Cell::Whole(u64::from(r.row.run))
    }),
    maybe("ops", Kind::Whole, "Operations.", |r| whole(r, |f| Some(f.ops))),
    maybe("bytes", Kind::Whole, "Bytes that they moved.", |r| whole(r, |f| Some(f.bytes.0))),
    maybe("elapsed_ns", Kind::Whole, "Duration of the phase.", |r| whole(r, |f| Some(f.elapsed.0))),
    maybe("ops_per_sec", Kind::Number, "Operations a second.", |r| number(r, |f| f.ops_per_sec)),
    maybe("bytes_per_sec", Kind::Number, "Bytes a second.", |r| number(r, |f| f.bytes_per_sec)),
    maybe("p50_ns", Kind::Whole, "Median latency; none with fewer than ten values beyond.", |r| {
        nanos(r, |f| f.percentiles[0])
    }),
    maybe("p90_ns", Kind::Whole, "90 % of the latencies are at most this.", |r| {
        nanos(r, |f| f.percentiles[1])
    }),
    maybe("p99_ns", Kind::Whole, "99 %.", |r| nanos(r, |f| f.percentiles[2])),
    maybe("p999_ns", Kind::Whole, "99.9 %.", |r| nanos(r, |f| f.percentiles[3])),
    maybe("mean_ns", Kind::Whole, "The mean, rounded down.", |r| nanos(r, |f| f.percentiles[4])),
    maybe("block_bytes", Kind::Whole, "Bytes at the block device, written or read.", |r| {
        size(r, |f| f.block_bytes)
    }),
    maybe("device_bytes", Kind::Whole, "Bytes that the flash programmed.", |r| {
        size(r, |f| f.device_bytes)
    }),
    maybe("flushes", Kind::Whole, "Flushes at the block device.", |r| whole(r, |f| f.flushes)),
    maybe("bucket", Kind::List, "The histogram: indices of its buckets, fio's, ascending.", |r| {
        list(r, |f| f.histogram.index.iter().map(|index| u64::from(*index)).collect())
    }),
    maybe("count", Kind::List, "The histogram: number of latencies in each bucket.", |r| {
        list(r, |f| f.histogram.count.clone())
    }),
    maybe("min_ns", Kind::Whole, "The shortest latency, exact.", |r| {
        nanos(r, |f| Some(f.histogram.min_ns))
    }),
    maybe("max_ns", Kind::Whole, "The longest latency, exact.", |r| {
        nanos(r, |f| Some(f.histogram.max_ns))
    }),
    maybe("sum_ns", Kind::Whole, "All latencies together.", |r| {
        nanos(r, |f| Some(f.histogram.sum_ns))
    }),
    maybe("error", Kind::Text, "Why it was skipped or failed.", |r| {
        r.row.error.clone().map_or(Cell::Absent, Cell::Text)
    }),
    given("command", Kind::Text, "The command that repeats the point.", |r| {
        Cell::Text(r.command.to_owned())
    }),
    given("flashlag", Kind::Text, "The version that measured it.", |_| {
        Cell::Text(crate::chunk::Version::own().number())
    }),
];

fn text(value: &str) -> Cell {
    if value.is_empty() { Cell::Absent } else { Cell::Text(value.to_owned()) }
}

/// Pairs as a JSON object, in their order.
fn json(pairs: &[(String, String)]) -> Cell {
    let mut text = "{".to_owned();
    for (index, (key, value)) in pairs.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        let [key, value] = [key, value].map(|word| serde_json::Value::String(word.clone()));
        // Writing to a `String` can't fail.
        let _ = write!(text, "{comma}{key}: {value}");
    }
    Cell::Text(text + "}")
}

fn whole(record: &Record<'_>, of: fn(&Figures) -> Option<u64>) -> Cell {
    record.row.figures.as_ref().and_then(of).map_or(Cell::Absent, Cell::Whole)
}

fn nanos(record: &Record<'_>, of: fn(&Figures) -> Option<Nanos>) -> Cell {
    let value = record.row.figures.as_ref().and_then(of);
    value.map_or(Cell::Absent, |time| Cell::Whole(time.0))
}

fn size(record: &Record<'_>, of: fn(&Figures) -> Option<Bytes>) -> Cell {
    let value = record.row.figures.as_ref().and_then(of);
    value.map_or(Cell::Absent, |size| Cell::Whole(size.0))
}

fn number(record: &Record<'_>, of: fn(&Figures) -> f64) -> Cell {
    record.row.figures.as_ref().map(of).map_or(Cell::Absent, Cell::Number)
}

fn list(record: &Record<'_>, of: fn(&Figures) -> Vec<u64>) -> Cell {
    record.row.figures.as_ref().map(of).map_or(Cell::Absent, Cell::List)
}

/// The columns as Parquet has them.
pub(super) fn schema() -> Result<Type, ParquetError> {
    let fields = COLUMNS.iter().map(|column| field(column).map(Arc::new));
    Type::group_type_builder("sweep").with_fields(fields.collect::<Result<_, _>>()?).build()
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let need = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    match column.kind {
        Kind::Text => Type::primitive_type_builder(column.name, Physical::BYTE_ARRAY)
            .with_repetition(need)
            .with_converted_type(ConvertedType::UTF8)
            .build(),
        Kind::Whole => unsigned(column.name, need),
        Kind::Number => Type::primitive_type_builder(column.name, Physical::DOUBLE)
            .with_repetition(need)
            .build(),
        Kind::List => {
            let element = Arc::new(unsigned("element", Repetition::REQUIRED)?);
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![element])
                .build()?;
            Type::group_type_builder(column.name)
                .with_repetition(need)
                .with_logical_type(Some(LogicalType::List))
                .with_converted_type(ConvertedType::LIST)
                .with_fields(vec![Arc::new(list)])
                .build()
        }
    }
}

/// A column of whole numbers that are not negative.
fn unsigned(name: &str, need: Repetition) -> Result<Type, ParquetError> {
    Type::primitive_type_builder(name, Physical::INT64)
        .with_repetition(need)
        .with_logical_type(Some(LogicalType::integer(64, false)))
        .with_converted_type(ConvertedType::UINT_64)
        .build()
}
