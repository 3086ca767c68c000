use flashlag_units::Nanos;
use thiserror::Error;

use crate::percentile::Percentile;

/// Buckets of a power of two: 2^6 = 64, so a bucket is at most 1/64 of its value wide and its
/// middle is within 1/128 (0.78 %) of every value in it. The same bucket index as fio's
/// (`FIO_IO_U_PLAT_BITS` 6), which makes fio's `json+` bins import without loss.
pub const GROUPING_POWER: u8 = 6;
const VALUE_POWER: u8 = 64;
/// How many buckets there are: 128 single values, then 64 for each of the powers 7 to 63.
pub const BUCKETS: usize = 128 + 64 * 57;

/// A log-linear histogram of nanoseconds over all of `u64` (30 KB), with the exact smallest,
/// largest and summed value beside the buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    buckets: histogram::Histogram,
    count: u64,
    sum: u128,
    min: Nanos,
    max: Nanos,
}

/// The non-empty buckets of a histogram, in order. It is no `impl Iterator`, which each caller compiles anew: this
/// crate alone is compiled for speed in tests.
#[derive(Clone, Debug)]
pub struct Occupied<'a> {
    counts: &'a [u64],
    next: u32,
}

impl Iterator for Occupied<'_> {
    type Item = (u32, u64);

    fn next(&mut self) -> Option<(u32, u64)> {
        let empty = self.counts.iter().take_while(|count| **count == 0).count();
        let (count, rest) = self.counts.get(empty..)?.split_first()?;
        let index = self.next + empty as u32;
        (self.counts, self.next) = (rest, index + 1);
        Some((index, *count))
    }
}

/// Why stored buckets make no histogram.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HistogramError {
    #[error("{indices} bucket indices for {counts} counts")]
    Lengths { indices: usize, counts: usize },
    #[error("bucket index {index} is out of order or above {last}")]
    Index { index: u32, last: u32 },
    #[error("the counts overflow")]
    Overflow,
    #[error("smallest {min}, largest {max} and sum {sum} are not those of values in these buckets")]
    Exact { min: u64, max: u64, sum: u64 },
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram. Allocates; everything after it does not.
    pub fn new() -> Histogram {
        let buckets = histogram::Histogram::new(GROUPING_POWER, VALUE_POWER)
            .expect("6 and 64 are a valid pair of powers");
        Histogram { buckets, count: 0, sum: 0, min: Nanos::MAX, max: Nanos::ZERO }
    }

    /// Records a value.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        let index = Histogram::index_of(value);
        if let Some(bucket) = self.buckets.as_mut_slice().get_mut(index) {
            *bucket += 1;
        }
        self.count += 1;
        self.sum += u128::from(value.0);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Records a value `count` times.
    pub fn record_many(&mut self, value: Nanos, count: u64) {
        if count == 0 {
            return;
        }
        if let Some(bucket) = self.buckets.as_mut_slice().get_mut(Histogram::index_of(value)) {
            *bucket = bucket.saturating_add(count);
        }
        self.count = self.count.saturating_add(count);
        self.sum = self.sum.saturating_add(u128::from(value.0) * u128::from(count));
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The bucket of a value: the value itself below 128, then 64 buckets for each power of two.
    #[inline]
    pub const fn index_of(value: Nanos) -> usize {
        let value = value.0;
        if value < 1 << (GROUPING_POWER + 1) {
            return value as usize;
        }
        let power = 63 - value.leading_zeros();
        let shift = power - GROUPING_POWER as u32;
        ((shift as usize) << GROUPING_POWER) + (value >> shift) as usize
    }

    /// The largest bucket index: that of `u64::MAX`.
    pub const LAST: usize = Histogram::index_of(Nanos::MAX);

    /// The smallest and the largest value of a bucket. An index above [`Histogram::LAST`] stands
    /// for the last bucket.
    pub const fn bounds_of(index: usize) -> (Nanos, Nanos) {
        let width = 1usize << GROUPING_POWER;
        let index = if index > Histogram::LAST { Histogram::LAST } else { index };
        if index < 2 * width {
            return (Nanos(index as u64), Nanos(index as u64));
        }
        let shift = index / width - 1;
        let start = ((index - shift * width) as u64) << shift;
        (Nanos(start), Nanos(start + ((1u64 << shift) - 1)))
    }

    /// The middle of a bucket, which stands for every value in it: its start and half its width,
    /// as in fio, so that both print the same percentiles for the same values.
    pub const fn middle_of(index: usize) -> Nanos {
        let (start, end) = Histogram::bounds_of(index);
        Nanos(start.0 + (end.0 - start.0).div_ceil(2))
    }

    /// Number of recorded values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value, exact; `None` while empty.
    pub fn min(&self) -> Option<Nanos> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value, exact; `None` while empty.
    pub fn max(&self) -> Option<Nanos> {
        (self.count > 0).then_some(self.max)
    }

    /// The arithmetic mean, exact, rounded down; `None` while empty.
    pub fn mean(&self) -> Option<Nanos> {
        (self.count > 0).then(|| Nanos((self.sum / u128::from(self.count)) as u64))
    }

    /// The sum of all values, exact up to 584 years.
    pub fn sum(&self) -> Nanos {
        Nanos(u64::try_from(self.sum).unwrap_or(u64::MAX))
    }

    /// The middle of the bucket with the value of rank ⌈p·n⌉, limited to the smallest and largest
    /// value. `None` if fewer than ten values lie beyond the percentile.
    pub fn percentile(&self, percentile: Percentile) -> Option<Nanos> {
        if !percentile.supported_by(self.count) { None } else { self.quantile(percentile) }
    }

    /// As [`Histogram::percentile`], but for any number of values: for live display and resampling,
    /// never for a printed result.
    pub fn quantile(&self, percentile: Percentile) -> Option<Nanos> {
        let rank = percentile.rank(self.count)?;
        let mut seen = 0;
        for (index, count) in self.buckets.as_slice().iter().enumerate() {
            seen = count.saturating_add(seen);
            if seen >= rank {
                return Some(self.likely(index));
            }
        }
        self.max()
    }

    /// What a value of this bucket is taken for: the bucket's middle, limited to the smallest and largest value.
    fn likely(&self, index: usize) -> Nanos {
        // Not `clamp`, which panics if a damaged file has min above max.
        Histogram::middle_of(index).max(self.min).min(self.max)
    }

    /// Number of values in buckets whose middle, limited to the smallest and largest value, is above `limit`: none is
    /// over what the largest is not over.
    pub fn count_over(&self, limit: Nanos) -> u64 {
        let over = |&(index, _): &(u32, u64)| self.likely(index as usize) > limit;
        self.occupied().filter(over).fold(0, |sum: u64, (_, count)| sum.saturating_add(count))
    }

    /// The non-empty buckets, in order: index and count.
    pub fn occupied(&self) -> Occupied<'_> {
        // None is occupied before the smallest value's or behind the largest one's.
        let range = match self.count {
            0 => 0..0,
            _ => Histogram::index_of(self.min)..Histogram::index_of(self.max) + 1,
        };
        let next = range.start as u32;
        Occupied { counts: self.buckets.as_slice().get(range).unwrap_or_default(), next }
    }

    /// Adds every value of `other`. Associative and commutative. Counts stop at `u64::MAX`, which
    /// no measurement reaches, but a stored histogram may claim.
    pub fn merge(&mut self, other: &Histogram) {
        let pairs = self.buckets.as_mut_slice().iter_mut().zip(other.buckets.as_slice());
        for (mine, theirs) in pairs {
            *mine = mine.saturating_add(*theirs);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Removes all values; keeps the memory.
    pub fn clear(&mut self) {
        self.buckets.as_mut_slice().fill(0);
        self.count = 0;
        self.sum = 0;
        self.min = Nanos::MAX;
        self.max = Nanos::ZERO;
    }

    /// Rebuilds a histogram from stored buckets. The exact `min`, `max` and `sum` are not in the
    /// buckets: pass the stored ones, otherwise they are derived from the middles of the buckets.
    /// For an empty histogram they are ignored.
    ///
    /// # Errors
    /// Lists of different lengths, indices out of range or out of order, counts that overflow,
    /// exact figures that values in these buckets can't have.
    pub fn from_parts(
        indices: &[u32],
        counts: &[u64],
        exact: Option<(Nanos, Nanos, Nanos)>,
    ) -> Result<Histogram, HistogramError> {
        if indices.len() != counts.len() {
            return Err(HistogramError::Lengths { indices: indices.len(), counts: counts.len() });
        }
        let mut built = Histogram::new();
        let last = Histogram::LAST as u32;
        let mut before = None;
        for (&index, &count) in indices.iter().zip(counts) {
            if index > last || before.is_some_and(|before| index <= before) {
                return Err(HistogramError::Index { index, last });
            }
            before = Some(index);
            built.add_bucket(index as usize, count)?;
        }
        if let Some(exact) = exact.filter(|_| built.count > 0) {
            built.set_exact(exact)?;
        }
        Ok(built)
    }

    /// Accepts exact figures if values in these buckets can have them.
    fn set_exact(&mut self, exact: (Nanos, Nanos, Nanos)) -> Result<(), HistogramError> {
        let (min, max, sum) = exact;
        let (mut lowest, mut highest) = (0u128, 0u128);
        for (index, count) in self.occupied() {
            let (start, end) = Histogram::bounds_of(index as usize);
            lowest = lowest.saturating_add(u128::from(start.0) * u128::from(count));
            highest = highest.saturating_add(u128::from(end.0) * u128::from(count));
        }
        // The stored sum has 64 bits and saturates.
        let sums = lowest.min(u128::from(u64::MAX))..=highest;
        let fits = Histogram::index_of(min) == Histogram::index_of(self.min)
            && Histogram::index_of(max) == Histogram::index_of(self.max)
            && min <= max
            && sums.contains(&u128::from(sum.0));
        if !fits {
            return Err(HistogramError::Exact { min: min.0, max: max.0, sum: sum.0 });
        }
        (self.min, self.max, self.sum) = (min, max, u128::from(sum.0));
        Ok(())
    }

    fn add_bucket(&mut self, index: usize, count: u64) -> Result<(), HistogramError> {
        if count == 0 {
            return Ok(());
        }
        let middle = Histogram::middle_of(index);
        self.count = self.count.checked_add(count).ok_or(HistogramError::Overflow)?;
        self.buckets.as_mut_slice()[index] += count;
        self.sum = self.sum.saturating_add(u128::from(middle.0) * u128::from(count));
        self.min = self.min.min(middle);
        self.max = self.max.max(middle);
        Ok(())
    }
}
