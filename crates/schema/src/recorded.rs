//! From what a recorder saw to what is stored: one place, so that every world stores it alike.

use flashlag_stats::{Histogram, Interval, Percentile, Stall, WaitSplit, WaitTable};
use flashlag_units::Nanos;

use crate::histogram::{LatencySummary, StoredHistogram};
use crate::phase::{GrowthPart, IntervalRecord, StallCause, StallRecord, Time, WaitRecord};

impl From<WaitSplit> for Time {
    fn from(split: WaitSplit) -> Time {
        Time {
            on_cpu_ns: split.on_cpu,
            runnable_ns: split.runnable,
            blocked_ns: split.blocked,
            stopped_ns: split.stopped,
        }
    }
}

impl WaitRecord {
    /// The classes of a table that hold something.
    pub fn all(table: &WaitTable) -> Vec<WaitRecord> {
        let records = table.occupied().map(|(power, class)| WaitRecord {
            from_ns: Nanos(1 << power),
            below_ns: Nanos(2u64.checked_shl(power).unwrap_or(u64::MAX)),
            ops: class.ops,
            time: Time::from(class.split),
        });
        records.collect()
    }
}

impl From<&Interval> for IntervalRecord {
    fn from(interval: &Interval) -> IntervalRecord {
        let histogram = interval.histogram();
        IntervalRecord {
            t_ns: interval.ends,
            filled_bytes: interval.filled,
            ops: histogram.count(),
            bytes: interval.bytes,
            p50: histogram.percentile(Percentile::P50),
            p90: histogram.percentile(Percentile::P90),
            p99: histogram.percentile(Percentile::P99),
            max: histogram.max().unwrap_or_default(),
            temperature_millicelsius: interval.temperature_millicelsius,
            histogram: StoredHistogram::from(&histogram),
        }
    }
}

impl From<&Histogram> for GrowthPart {
    fn from(histogram: &Histogram) -> GrowthPart {
        GrowthPart {
            ops: histogram.count(),
            latency_ns: LatencySummary::from(histogram),
            histogram: StoredHistogram::from(histogram),
        }
    }
}

impl From<&Stall> for StallRecord {
    fn from(stall: &Stall) -> StallRecord {
        let time = stall.split.map(Time::from);
        let cause = time.as_ref().map_or(StallCause::Unknown, StallCause::of);
        StallRecord { t_ns: stall.at, ns: stall.length, cause, time }
    }
}

impl StallCause {
    /// The part that has more than half of the wait.
    pub fn of(time: &Time) -> StallCause {
        let half = Nanos(time.total().0 / 2);
        if time.blocked_ns > half {
            StallCause::Storage
        } else if time.runnable_ns > half {
            StallCause::Cpu
        } else if time.on_cpu_ns > half {
            StallCause::Executing
        } else if time.stopped_ns > half {
            StallCause::Stopped
        } else {
            StallCause::Mixed
        }
    }
}
