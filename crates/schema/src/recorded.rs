//! Converts the records of the measuring loop into their stored form, in one place, so that every
//! world stores them alike.

use flashlag_stats::{Histogram, Interval, Percentile, Stall, Wait, WaitSplit, WaitTable, Waited};
use flashlag_units::Nanos;

use crate::histogram::{LatencySummary, StoredHistogram};
use crate::phase::{GrowthPart, IntervalRecord, WaitRecord};
use crate::stall::{CauseBasis, StallCause, StallRecord, Time, WaitPart};

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
    /// The non-empty classes of a table.
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
            waited: interval.waited.map(|waited| WaitPart::all(&waited)).unwrap_or_default(),
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
        let waited = stall.waited.map(|waited| WaitPart::all(&waited)).unwrap_or_default();
        let cause = StallCause::known(&waited, time.as_ref());
        let cause_basis =
            if waited.is_empty() { CauseBasis::Measured } else { CauseBasis::Modelled };
        StallRecord {
            t_ns: stall.at,
            ns: stall.length,
            cause,
            cause_basis,
            time,
            waited,
            around: None,
        }
    }
}

impl WaitPart {
    /// The non-empty parts of a time.
    pub fn all(waited: &Waited) -> Vec<WaitPart> {
        let parts = waited.parts();
        parts.map(|(cause, ns)| WaitPart { cause: StallCause::from(cause), ns }).collect()
    }
}

impl From<Wait> for StallCause {
    fn from(wait: Wait) -> StallCause {
        match wait {
            Wait::Storage => StallCause::Storage,
            Wait::Executing => StallCause::Executing,
            Wait::Cpu => StallCause::Cpu,
            Wait::FilesystemCommit => StallCause::FilesystemCommit,
            Wait::Checkpoint => StallCause::Checkpoint,
            Wait::Cleaning => StallCause::Cleaning,
            Wait::Discard => StallCause::Discard,
            Wait::OtherIo => StallCause::OtherIo,
            Wait::GarbageCollection => StallCause::GarbageCollection,
            Wait::WearLevelling => StallCause::WearLevelling,
            Wait::WriteCacheFull => StallCause::WriteCacheFull,
            Wait::WakeUp => StallCause::WakeUp,
            Wait::Throttling => StallCause::Throttling,
            Wait::DevicePeriod => StallCause::DevicePeriod,
        }
    }
}

impl StallCause {
    /// The cause of a stall: the largest of its parts (of equal ones the first); without parts,
    /// what the scheduler's statistics say.
    pub fn known(waited: &[WaitPart], time: Option<&Time>) -> StallCause {
        let largest = waited.iter().rev().max_by_key(|part| part.ns);
        let by_time = || time.map_or(StallCause::Unknown, StallCause::of);
        largest.map_or_else(by_time, |part| part.cause)
    }

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
