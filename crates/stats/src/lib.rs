//! Numbers about latencies, and nothing that touches a device: the histogram, the recorder that
//! fills it on the hot path, interval series, stalls and the split of waits; and what can be
//! concluded from them: steady state, changes over time, differences between runs.
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
mod wait;

pub use histogram::{BUCKETS, GROUPING_POWER, Histogram, HistogramError};
pub use interval::{Interval, IntervalSeries};
pub use merge::merge_threads;
pub use percentile::{Percentile, supports};
pub use recorder::{OpTimes, Recorded, Recorder, RecorderConfig};
pub use stall::{Stall, StallList};
pub use stop::{Stop, stopped_within};
pub use wait::{WaitClass, WaitSplit, WaitTable};
