use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use flashlag_schema::{IntervalRecord, Phase, Run};

use crate::column::{Column, Signed, real, table, text, whole};

/// One interval of one phase.
struct Row<'a> {
    phase: &'a Phase,
    interval: &'a IntervalRecord,
}

/// A row for each interval of each phase: the course over time.
///
/// # Errors
/// None is known.
pub fn intervals(run: &Run) -> Result<RecordBatch, ArrowError> {
    let rows = run
        .phases
        .iter()
        .flat_map(|phase| phase.intervals.iter().map(move |interval| Row { phase, interval }));
    let rows: Vec<Row<'_>> = rows.collect();
    table(columns(), &rows)
}

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        text("phase", "Unique in a run: state, repetition and test", |row| Some(row.phase.label())),
        text("name", "Name of the test in the scenario", |row| Some(row.phase.name.clone())),
        text("state", "Where the device was in its life", |row| {
            Some(row.phase.state.name().to_owned())
        }),
        whole("run", "Repetition within that state, from 1", |row| Some(row.phase.run.signed())),
        whole("t_ns", "End of the interval, from the start of the phase", |row| {
            Some(row.interval.t_ns.signed())
        }),
        whole("ops", "Operations that ended in it", |row| Some(row.interval.ops.signed())),
        whole("bytes", "Bytes they moved", |row| Some(row.interval.bytes.signed())),
        whole("p50_ns", "Median latency", |row| row.interval.p50.map(Signed::signed)),
        whole("p90_ns", "90 % latency", |row| row.interval.p90.map(Signed::signed)),
        whole("p99_ns", "99 % latency", |row| row.interval.p99.map(Signed::signed)),
        whole("max_ns", "Longest latency", |row| Some(row.interval.max.signed())),
        whole("filled_bytes", "Storage in use at its end, of a fill", |row| {
            row.interval.filled_bytes.map(Signed::signed)
        }),
        real("temperature_celsius", "Temperature of the storage at its end", |row| {
            row.interval.temperature_millicelsius.map(|degrees| degrees as f64 / 1000.0)
        }),
    ]
}
