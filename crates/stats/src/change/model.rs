use flashlag_units::{Bytes, Nanos};

use super::segment;
use crate::interval::Interval;

/// What a phase did, which decides the names of its changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Reads: a drop can't be an exhausted write cache.
    Reads,
    /// Block writes.
    Writes,
    /// Saves or anything else.
    Other,
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangePointKind {
    /// Write throughput fell by at least 30 % from a stable first level, for good: the write cache
    /// is used up.
    CacheExhausted,
    /// Throughput fell while the storage was hot, or recovered when it cooled.
    Throttled,
    /// Stalls at a regular distance.
    PeriodicStalls,
    /// Throughput fell, or latency rose, for another reason.
    Slower,
    /// Throughput rose, or latency fell.
    Faster,
}

/// A change point.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePoint {
    pub kind: ChangePointKind,
    /// Time since the start of the phase: the end of the last interval of the old level, or the
    /// first of the periodic stalls.
    pub at: Nanos,
    /// Bytes moved before it.
    pub written: Bytes,
    /// Median bytes per second before and after; `None` unless throughput changed.
    pub throughput: Option<(f64, f64)>,
    /// Median latency before and after; `None` unless latency changed.
    pub latency: Option<(Nanos, Nanos)>,
    /// Period of periodic stalls.
    pub period: Option<Nanos>,
    /// Number of periodic stalls.
    pub stalls: u64,
    /// Storage temperature before and at the change, in millidegrees Celsius; `None` if unknown.
    pub temperature_millicelsius: Option<(i64, i64)>,
    /// When throughput returned to 85 % of its old level, if it ever did.
    pub recovered_at: Option<Nanos>,
}

/// The typical value of a level.
pub(super) fn level_of(values: &[f64], level: &std::ops::Range<usize>) -> f64 {
    segment::median(&values[level.clone()])
}

impl ChangePoint {
    /// A change just before the interval at `index`, still without details.
    pub(super) fn before(series: &[Interval], index: usize) -> ChangePoint {
        let earlier = &series[..index.min(series.len())];
        ChangePoint {
            kind: ChangePointKind::Slower,
            at: earlier.last().map_or(Nanos::ZERO, |interval| interval.ends),
            written: earlier.iter().fold(Bytes::ZERO, |sum, interval| sum.plus(interval.bytes)),
            throughput: None,
            latency: None,
            period: None,
            stalls: 0,
            temperature_millicelsius: None,
            recovered_at: None,
        }
    }
}
