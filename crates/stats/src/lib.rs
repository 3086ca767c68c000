//! Statistics of latencies, without any device: the histogram, the recorder that fills it on the
//! hot path, interval series, stalls and wait splits; and conclusions from them: steady state,
//! change points, comparisons of runs.
#![forbid(unsafe_code)]

pub mod bootstrap;
pub mod change;
mod histogram;
mod interval;
pub mod live;
mod merge;
mod percentile;
mod recorder;
mod stall;
pub mod steady;
mod stop;
mod student;
mod wait;
mod waited;

pub use histogram::{BUCKETS, GROUPING_POWER, Histogram, HistogramError, Occupied};
pub use interval::{Interval, IntervalSeries};
pub use merge::merge_threads;
pub use percentile::{MEDIAN_LEAP, Percentile, supports};
pub use recorder::{OpTimes, PhaseRecord, Recorder, RecorderConfig};
pub use stall::{Stall, StallList, Stalls};
pub use stop::{Stop, stopped_within};
pub use student::student_95;
pub use wait::{WaitClass, WaitSplit, WaitTable};
pub use waited::{Wait, Waited};
