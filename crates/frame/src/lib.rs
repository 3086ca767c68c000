//! Runs, comparisons and forecasts as Arrow tables, for Python and for Parquet.
//!
//! A column is named after the field of the run file that it holds; the name of any other column
//! ends in its unit (`latency_p99_ns`, `bytes_per_sec`). Whole numbers are signed 64-bit integers,
//! so that their differences are right. An unknown value is null. Each column's meaning is in its
//! metadata, under `about`.
#![forbid(unsafe_code)]

mod column;
mod comparison;
mod forecast;
mod histogram;
mod intervals;
mod named;
mod phases;

pub use arrow_array::RecordBatch;
pub use arrow_schema::ArrowError;
pub use comparison::comparison;
pub use forecast::{forecast, sweep};
pub use histogram::{HistogramOf, histograms};
pub use intervals::intervals;
pub use phases::phases;
