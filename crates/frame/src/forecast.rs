use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use flashlag_predict::change::{Figures, Forecast, Sweep, TestFigures};

use crate::column::{Column, real, table, text};

/// One test of one situation.
struct Row<'a> {
    /// The change, or the fill level.
    change: String,
    filesystem: &'a str,
    full: Option<f64>,
    test: &'a TestFigures,
}

fn rows<'a>(
    change: &str,
    filesystem: &'a str,
    full: Option<f64>,
    figures: &'a Figures,
) -> impl Iterator<Item = Row<'a>> {
    let row = move |test| Row { change: change.to_owned(), filesystem, full, test };
    figures.tests.iter().map(row).collect::<Vec<_>>().into_iter()
}

/// A row for each test before the first change (`as it is`) and after each change.
pub fn forecast(forecast: &Forecast) -> Result<RecordBatch, ArrowError> {
    let before = rows("as it is", &forecast.filesystem, None, &forecast.before);
    let after = forecast
        .steps
        .iter()
        .flat_map(|stage| rows(&stage.change, &stage.filesystem, None, &stage.after));
    let rows: Vec<Row<'_>> = before.chain(after).collect();
    let mut columns =
        vec![text("change", "The last change: each is on top of those before", |row: &Row<'_>| {
            Some(row.change.clone())
        })];
    columns.extend(figures());
    table(columns, &rows)
}

/// A row for each test at each fill level.
pub fn sweep(sweep: &Sweep) -> Result<RecordBatch, ArrowError> {
    let rows = sweep
        .levels
        .iter()
        .flat_map(|level| rows("", &sweep.filesystem, Some(level.full), &level.figures));
    let rows: Vec<Row<'_>> = rows.collect();
    let mut columns =
        vec![real("full", "Share of the filesystem's room that is in use", |row: &Row<'_>| {
            row.full
        })];
    columns.extend(figures());
    table(columns, &rows)
}

fn figures<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        text("filesystem", "Filesystem and options", |row| Some(row.filesystem.to_owned())),
        text("name", "Name of the test", |row| Some(row.test.name.clone())),
        real("p50_ns", "Median latency", |row| row.test.p50_ns),
        real("p99_ns", "99 % latency", |row| row.test.p99_ns),
        real("ops_per_sec", "Operations a second", |row| Some(row.test.per_second)),
        real("bytes_per_sec", "Bytes a second", |row| Some(row.test.bytes_per_second)),
        real("flushes", "Flushes of an operation", |row| row.test.flushes),
        real("requests", "Requests to the device for an operation", |row| row.test.requests),
        real("request_bytes", "Bytes sent to the device for an operation", |row| {
            row.test.request_bytes
        }),
        real("amplification", "Bytes programmed for each byte sent to the device", |row| {
            row.test.amplification
        }),
    ]
}
