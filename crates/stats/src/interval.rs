use flashlag_units::{Bytes, InOrder, Nanos};

use crate::histogram::Histogram;
use crate::waited::Waited;

/// An interval of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// End of the interval, from the start of the phase.
    pub ends: Nanos,
    /// Bytes moved in it.
    pub bytes: Bytes,
    /// Used bytes of the storage at its end, during a fill.
    pub filled: Option<Bytes>,
    /// Storage temperature at its end, in millidegrees Celsius; `None` if unknown.
    pub temperature_millicelsius: Option<i64>,
    /// Exact minimum, maximum and sum of latencies.
    pub exact: (Nanos, Nanos, Nanos),
    /// Non-empty histogram buckets: index and count.
    pub buckets: Vec<(u32, u64)>,
    /// The sum of what its operations waited for, if a model knows.
    pub waited: Option<Waited>,
}

impl Interval {
    /// Number of operations that ended in it.
    pub fn ops(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Histogram of its latencies.
    pub fn histogram(&self) -> Histogram {
        let (indices, counts): (Vec<u32>, Vec<u64>) = self.buckets.iter().copied().unzip();
        Histogram::from_parts(&indices, &counts, Some(self.exact)).unwrap_or_default()
    }

    /// The interval and the next one, joined.
    pub fn joined(&self, next: &Interval) -> Interval {
        let exact = match (self.buckets.is_empty(), next.buckets.is_empty()) {
            (true, _) => next.exact,
            (_, true) => self.exact,
            _ => (
                self.exact.0.min(next.exact.0),
                self.exact.1.max(next.exact.1),
                self.exact.2.plus(next.exact.2),
            ),
        };
        Interval {
            ends: next.ends,
            bytes: self.bytes.plus(next.bytes),
            filled: next.filled,
            temperature_millicelsius: next.temperature_millicelsius,
            exact,
            buckets: joined_buckets(&self.buckets, &next.buckets),
            waited: match (self.waited, next.waited) {
                (Some(first), Some(second)) => Some(first.plus(&second)),
                (first, second) => first.or(second),
            },
        }
    }
}

/// Joins two ascending lists of buckets, adding the counts of equal buckets.
fn joined_buckets(first: &[(u32, u64)], second: &[(u32, u64)]) -> Vec<(u32, u64)> {
    let mut all = Vec::with_capacity(first.len() + second.len());
    all.extend_from_slice(first);
    all.extend_from_slice(second);
    all.order_by_key(|(index, _)| *index);
    all.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(later.1);
        }
        same
    });
    all
}

/// A series of at most [`IntervalSeries::CAPACITY`] intervals: when it is full, neighbours are
/// joined in pairs and the width doubles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntervalSeries {
    width: Nanos,
    intervals: Vec<Interval>,
}

impl IntervalSeries {
    /// Largest number of intervals of a phase.
    pub const CAPACITY: usize = 512;

    /// An empty series of intervals of `width`.
    pub fn new(width: Nanos) -> IntervalSeries {
        IntervalSeries { width, intervals: Vec::with_capacity(IntervalSeries::CAPACITY) }
    }

    /// The present width.
    pub fn width(&self) -> Nanos {
        self.width
    }

    /// Appends an interval; a full series first joins pairs and doubles the width.
    pub fn push(&mut self, interval: Interval) {
        if self.intervals.len() >= IntervalSeries::CAPACITY {
            let pairs = self.intervals.chunks(2);
            let joined = pairs.map(|pair| match pair {
                [first, second] => first.joined(second),
                other => other[0].clone(),
            });
            self.intervals = joined.collect();
            self.intervals.reserve(IntervalSeries::CAPACITY);
            self.width = Nanos(self.width.0.saturating_mul(2));
        }
        self.intervals.push(interval);
    }

    /// All intervals, in order.
    pub fn as_slice(&self) -> &[Interval] {
        &self.intervals
    }
}
