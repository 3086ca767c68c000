use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use flashlag_views::{CompareRow, CompareSide, Comparison, Ratio, RatioKind};

use crate::column::{Column, Signed, flag, real, table, text, whole};

/// One test of one side.
struct Row<'a> {
    comparison: &'a Comparison,
    test: &'a CompareRow,
    /// Index of the side.
    of: usize,
    side: &'a CompareSide,
}

impl Row<'_> {
    /// The ratio of a figure to that of the first side that has it.
    fn ratio(&self, kind: RatioKind) -> Option<&Ratio> {
        self.test.ratios.iter().find(|ratio| ratio.kind == kind && ratio.of == self.of)
    }
}

/// A row for each test and side, with its figures and their ratios to those of the first side, each with
/// its 95 % interval.
pub fn comparison(comparison: &Comparison) -> Result<RecordBatch, ArrowError> {
    let mut rows = Vec::new();
    for test in &comparison.rows {
        let sides = test.sides.iter().enumerate();
        rows.extend(
            sides.filter_map(|(of, side)| {
                side.as_ref().map(|side| Row { comparison, test, of, side })
            }),
        );
    }
    table(columns(), &rows)
}

macro_rules! ratio_columns {
    ($columns:ident, $figure:literal, $kind:expr) => {
        $columns.push(real(
            concat!($figure, "_ratio"),
            concat!("Ratio of the ", $figure, " to the first side's"),
            |row| row.ratio($kind).map(|ratio| ratio.ratio),
        ));
        $columns.push(real(
            concat!($figure, "_low"),
            concat!("Lower end of the 95 % interval of ", $figure, "_ratio"),
            |row| row.ratio($kind).and_then(|ratio| ratio.interval).map(|(low, _)| low),
        ));
        $columns.push(real(
            concat!($figure, "_high"),
            concat!("Upper end of the 95 % interval of ", $figure, "_ratio"),
            |row| row.ratio($kind).and_then(|ratio| ratio.interval).map(|(_, high)| high),
        ));
        $columns.push(flag(
            concat!($figure, "_differs"),
            concat!("Whether a difference of the ", $figure, " is shown"),
            |row| row.ratio($kind).map(|ratio| ratio.differs),
        ));
    };
}

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    let mut columns: Vec<Column<Row<'a>>> = vec![
        text("phase", "State, repetition and test", |row| Some(row.test.label.clone())),
        text("name", "Name of the test in the scenario", |row| Some(row.test.test.clone())),
        text("state", "Where the device was in its life", |row| {
            Some(row.test.state.name().to_owned())
        }),
        whole("run", "Repetition within that state, from 1", |row| Some(row.test.run.signed())),
        text("side", "Name of the side", |row| {
            row.comparison.subjects.get(row.of).map(|subject| subject.name.clone())
        }),
        whole("runs", "Runs of the side", |row| Some((row.side.runs as u64).signed())),
        whole("n", "Number of values", |row| Some(row.side.figures.n.signed())),
        whole("p50_ns", "Median latency", |row| row.side.figures.p50.map(Signed::signed)),
        whole("p90_ns", "90 % latency", |row| row.side.figures.p90.map(Signed::signed)),
        whole("p99_ns", "99 % latency", |row| row.side.figures.p99.map(Signed::signed)),
        whole("p999_ns", "99.9 % latency", |row| row.side.figures.p999.map(Signed::signed)),
        whole("max_ns", "Longest latency", |row| row.side.figures.max.map(Signed::signed)),
        real("ops_per_sec", "Operations a second, mean of the runs", |row| {
            Some(row.side.ops_per_sec)
        }),
        real("bytes_per_sec", "Bytes a second, mean of the runs", |row| {
            Some(row.side.bytes_per_sec)
        }),
    ];
    ratio_columns!(columns, "p50", RatioKind::P50);
    ratio_columns!(columns, "p99", RatioKind::P99);
    ratio_columns!(columns, "rate", RatioKind::Throughput);
    columns
}
