use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use flashlag_schema::{IntervalRecord, Phase, Run};

use crate::column::{Column, Signed, real, table, whole};
use crate::named::{OfPhase, named};

/// One interval of one phase.
struct Row<'a> {
    phase: &'a Phase,
    interval: &'a IntervalRecord,
}

impl OfPhase for Row<'_> {
    fn phase(&self) -> &Phase {
        self.phase
    }
}

/// A row for each interval of each phase: the course over time.
pub fn intervals(run: &Run) -> Result<RecordBatch, ArrowError> {
    let rows = run
        .phases
        .iter()
        .flat_map(|phase| phase.intervals.iter().map(move |interval| Row { phase, interval }));
    let rows: Vec<Row<'_>> = rows.collect();
    table(columns(), &rows)
}

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    named(vec![
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
    ])
}
