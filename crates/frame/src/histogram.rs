use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use flashlag_schema::{Phase, Run, StoredHistogram};
use flashlag_stats::Histogram;

use crate::column::{Column, Signed, table, whole};
use crate::named::{OfPhase, named};

/// Which time of an operation a histogram counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistogramOf {
    /// From the submission of the operation to its completion.
    #[default]
    Latency,
    /// From the intended start of a schedule to the completion.
    Response,
    /// The part of the flush, if the flush is a separate call.
    Flush,
}

impl HistogramOf {
    /// All of them.
    pub const ALL: [HistogramOf; 3] =
        [HistogramOf::Latency, HistogramOf::Response, HistogramOf::Flush];

    /// Its name: `latency`, `response` or `flush`.
    pub fn name(self) -> &'static str {
        match self {
            HistogramOf::Latency => "latency",
            HistogramOf::Response => "response",
            HistogramOf::Flush => "flush",
        }
    }

    fn of(self, phase: &Phase) -> Option<&StoredHistogram> {
        match self {
            HistogramOf::Latency => Some(&phase.histogram),
            HistogramOf::Response => phase.response_histogram.as_ref(),
            HistogramOf::Flush => phase.flush_histogram.as_ref(),
        }
    }
}

/// One bucket of one phase.
struct Row<'a> {
    phase: &'a Phase,
    index: u32,
    count: u64,
}

impl OfPhase for Row<'_> {
    fn phase(&self) -> &Phase {
        self.phase
    }
}

/// A row for each bucket that holds values, in each phase that has such a histogram.
pub fn histograms(run: &Run, of: HistogramOf) -> Result<RecordBatch, ArrowError> {
    let mut rows = Vec::new();
    for phase in &run.phases {
        let Some(stored) = of.of(phase) else { continue };
        let buckets = stored.index.iter().zip(&stored.count);
        rows.extend(buckets.map(|(index, count)| Row { phase, index: *index, count: *count }));
    }
    table(columns(), &rows)
}

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    named(vec![
        whole("from_ns", "Smallest value of the bucket", |row| {
            Some(Histogram::bounds_of(row.index as usize).0.signed())
        }),
        whole("to_ns", "Largest value of the bucket", |row| {
            Some(Histogram::bounds_of(row.index as usize).1.signed())
        }),
        whole("count", "Number of values in it", |row| Some(row.count.signed())),
    ])
}
