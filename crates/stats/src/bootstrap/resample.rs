//! Resampling of one run: by ranks, by blocks of intervals, or not at all.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::beta::beta;
use super::model::{Figure, Sample, spread_of_few, student_over_normal};
use crate::histogram::Histogram;
use crate::interval::Interval;
use crate::percentile::Percentile;
use flashlag_units::Nanos;

/// Fewest intervals that show how much a run varies.
const INTERVALS_MIN: usize = 10;
/// Intervals beyond this number are first joined in pairs.
const INTERVALS_MAX: usize = 256;

/// A run prepared for resampling. Figures are natural logarithms.
pub(super) struct Resampler {
    method: Method,
    /// The figure as a resample computes it.
    pub(super) center: f64,
    /// The figure as printed.
    pub(super) printed: f64,
    /// Smallest and largest latency, or throughput of an interval.
    seen: (f64, f64),
}

enum Method {
    /// Draws the rank of the quantile.
    Rank { values: Values, percentile: Percentile },
    /// Draws blocks of intervals; the quantile is that of their sum.
    QuantileBlocks { values: Values, share: f64, blocks: Blocks },
    /// Draws blocks of intervals; the throughput is their bytes over their time.
    ThroughputBlocks { blocks: Blocks },
    /// No resampling: nothing shows how much the run varies.
    Fixed,
}

impl Resampler {
    /// `None` where the sample does not support the figure.
    pub(super) fn of(sample: &Sample, figure: Figure) -> Option<Resampler> {
        let intervals = joined(&sample.intervals);
        match figure {
            Figure::Percentile(percentile) => Resampler::quantile(sample, &intervals, percentile),
            Figure::Throughput => Resampler::throughput(sample, &intervals),
        }
    }

    fn quantile(s: &Sample, intervals: &[Interval], percentile: Percentile) -> Option<Resampler> {
        let printed = log(s.histogram.percentile(percentile)?.0 as f64);
        let values = Values::of(&s.histogram);
        let share = f64::from(percentile.0.min(10_000)) / 10_000.0;
        let center = log(values.quantile(&values.counts, share));
        let method = if intervals.len() < INTERVALS_MIN {
            Method::Rank { values, percentile }
        } else {
            let rows = intervals.iter().map(|interval| values.row(interval)).collect();
            let over = printed.exp();
            let above = |interval: &Interval| {
                let above =
                    |bucket: &&(u32, u64)| Histogram::middle_of(bucket.0 as usize).0 as f64 > over;
                let count: u64 = interval.buckets.iter().filter(above).map(|b| b.1).sum();
                count as f64 / interval.ops().max(1) as f64
            };
            let influence: Vec<f64> = intervals.iter().map(above).collect();
            Method::QuantileBlocks { values, share, blocks: Blocks::of(rows, &influence) }
        };
        let values = Values::of(&s.histogram);
        let seen = (log(values.min), log(values.max.max(values.min)));
        Some(Resampler { method, center, printed, seen })
    }

    fn throughput(sample: &Sample, intervals: &[Interval]) -> Option<Resampler> {
        let whole = flashlag_units::per_second(sample.bytes.0, sample.elapsed);
        let printed = log(whole.filter(|rate| *rate > 0.0)?);
        if intervals.len() < INTERVALS_MIN {
            let seen = (f64::NEG_INFINITY, f64::INFINITY);
            return Some(Resampler { method: Method::Fixed, center: printed, printed, seen });
        }
        let mut from = Nanos::ZERO;
        let row = |interval: &Interval| {
            let length =
                interval.ends.saturating_since(std::mem::replace(&mut from, interval.ends));
            vec![interval.bytes.0, length.0]
        };
        let rows: Vec<Vec<u64>> = intervals.iter().map(row).collect();
        let rates: Vec<f64> = rows.iter().map(|row| rate(row[0], row[1])).collect();
        let total = |column: usize| rows.iter().map(|row| row[column] as f64).sum::<f64>();
        let center = log(total(0) / total(1).max(1.0) * PER_SECOND);
        let logs = || rates.iter().map(|rate| log(*rate));
        let seen = (logs().fold(center, f64::min), logs().fold(center, f64::max));
        let method = Method::ThroughputBlocks { blocks: Blocks::of(rows, &rates) };
        Some(Resampler { method, center, printed, seen })
    }

    /// Whether resamples can differ from the figure.
    pub(super) fn varies(&self) -> bool {
        !matches!(self.method, Method::Fixed)
    }

    /// Bounds of the measured values.
    pub(super) fn seen(&self) -> (f64, f64) {
        self.seen
    }

    /// Bounds of the figure of any resample: those of any block.
    pub(super) fn hull(&self) -> (f64, f64) {
        let over = |blocks: &Blocks, figure: &dyn Fn(&[u64]) -> f64| {
            blocks
                .each()
                .map(|block| figure(&block))
                .fold((self.center, self.center), |(low, high): (f64, f64), figure| {
                    (low.min(figure), high.max(figure))
                })
        };
        match &self.method {
            Method::Fixed | Method::Rank { .. } => self.seen,
            Method::QuantileBlocks { values, share, blocks } => {
                over(blocks, &|block| log(values.quantile(block, *share)))
            }
            Method::ThroughputBlocks { blocks } => {
                over(blocks, &|block| log(rate(block[0], block[1])))
            }
        }
    }

    /// The figure of one random resample.
    pub(super) fn resample(&self, random: &mut Pcg64Mcg) -> f64 {
        match &self.method {
            Method::Fixed => self.center,
            Method::Rank { values, percentile } => {
                let count = values.counts.iter().sum();
                let Some(rank) = percentile.rank(count) else { return self.center };
                let share = beta(rank as f64, (count - rank + 1) as f64, random);
                log(values.quantile(&values.counts, share))
            }
            Method::QuantileBlocks { values, share, blocks } => {
                let drawn = log(values.quantile(&blocks.draw(random), *share));
                self.center + (drawn - self.center) * blocks.scale
            }
            Method::ThroughputBlocks { blocks } => {
                let drawn = blocks.draw(random);
                let drawn = log(rate(drawn[0], drawn[1]));
                self.center + (drawn - self.center) * blocks.scale
            }
        }
    }
}

/// Nanoseconds in a second.
const PER_SECOND: f64 = 1e9;

/// Bytes per second, as a run without intervals has it: the two are compared.
fn rate(bytes: u64, nanos: u64) -> f64 {
    bytes as f64 / nanos.max(1) as f64 * PER_SECOND
}

fn log(value: f64) -> f64 {
    value.max(f64::MIN_POSITIVE).ln()
}

fn joined(intervals: &[Interval]) -> Vec<Interval> {
    let mut joined = intervals.to_vec();
    while joined.len() > INTERVALS_MAX {
        let pair = |pair: &[Interval]| match pair {
            [first, second] => first.joined(second),
            rest => rest[0].clone(),
        };
        joined = joined.chunks(2).map(pair).collect();
    }
    joined
}

/// The occupied buckets of a run.
struct Values {
    indices: Vec<u32>,
    counts: Vec<u64>,
    min: f64,
    max: f64,
}

impl Values {
    fn of(histogram: &Histogram) -> Values {
        let (indices, counts) = histogram.occupied().unzip();
        let bound = |value: Option<Nanos>| value.unwrap_or_default().0 as f64;
        Values { indices, counts, min: bound(histogram.min()), max: bound(histogram.max()) }
    }

    /// Counts of an interval by the run's buckets.
    fn row(&self, interval: &Interval) -> Vec<u64> {
        let mut row = vec![0; self.indices.len()];
        for (index, count) in &interval.buckets {
            if let Ok(at) = self.indices.binary_search(index) {
                row[at] = *count;
            }
        }
        row
    }

    /// The value at `share` of `counts`, with values spread evenly over their buckets: whole
    /// buckets would make two equal samples near a bucket's edge look different.
    fn quantile(&self, counts: &[u64], share: f64) -> f64 {
        let total: u64 = counts.iter().sum();
        let wanted = share * total as f64;
        let mut below = 0.0;
        for (index, count) in self.indices.iter().zip(counts) {
            let count = *count as f64;
            if count > 0.0 && below + count >= wanted {
                let (start, end) = Histogram::bounds_of(*index as usize);
                let width = (end.0 - start.0) as f64 + 1.0;
                let value = start.0 as f64 + width * ((wanted - below) / count).clamp(0.0, 1.0);
                return value.clamp(self.min, self.max.max(self.min));
            }
            below += count;
        }
        self.max
    }
}

/// Sums over any block of consecutive intervals, from prefix sums.
struct Blocks {
    /// `sums[i]` is the sum of the first `i` rows of the series repeated twice.
    sums: Vec<Vec<u64>>,
    intervals: usize,
    length: usize,
    /// Factor that scales deviations up: see the docs of the parent module.
    scale: f64,
}

impl Blocks {
    fn of(rows: Vec<Vec<u64>>, influence: &[f64]) -> Blocks {
        let intervals = rows.len();
        let mut sum = vec![0u64; rows.first().map_or(0, Vec::len)];
        let mut sums = vec![sum.clone()];
        for row in rows.iter().chain(&rows) {
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum = sum.saturating_add(*value));
            sums.push(sum.clone());
        }
        let alike = neighbour_correlation(influence);
        let length = block_length(alike, intervals);
        let missed = 2.0 * alike / ((1.0 - alike * alike) * length as f64);
        let blocks = intervals / length;
        let scale = (1.0 / (1.0 - missed.min(0.6))).sqrt()
            * spread_of_few(blocks)
            * student_over_normal(blocks.saturating_sub(1));
        Blocks { sums, intervals, length, scale }
    }

    /// Every full block, and the shorter block that ends a resample.
    fn each(&self) -> impl Iterator<Item = Vec<u64>> {
        let last = self.intervals % self.length;
        let lengths = [self.length, last].into_iter().filter(|length| *length > 0);
        lengths
            .flat_map(move |length| (0..self.intervals).map(move |start| self.sum(start, length)))
    }

    fn sum(&self, start: usize, length: usize) -> Vec<u64> {
        let (from, to) = (&self.sums[start], &self.sums[start + length]);
        to.iter().zip(from).map(|(to, from)| to - from).collect()
    }

    /// As many intervals as the run has, in blocks that start anywhere and wrap around.
    fn draw(&self, random: &mut Pcg64Mcg) -> Vec<u64> {
        let mut total = vec![0u64; self.sums[0].len()];
        let mut left = self.intervals;
        while left > 0 {
            let length = self.length.min(left);
            let start = random.random_range(0..self.intervals);
            let (from, to) = (&self.sums[start], &self.sums[start + length]);
            for ((total, to), from) in total.iter_mut().zip(to).zip(from) {
                *total = total.saturating_add(to - from);
            }
            left -= length;
        }
        total
    }
}

/// Correlation of neighbours, limited to 0..0.95: a negative one would only shorten blocks. 0 for equal
/// values.
fn neighbour_correlation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let pairs = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean));
    // The mean of equal values is off by the rounding of their sum, and every value then lies on the
    // same side of it.
    let rounding = count * (count * f64::EPSILON * mean).powi(2);
    if square > rounding { (pairs.sum::<f64>() / square).clamp(0.0, 0.95) } else { 0.0 }
}

/// Carlstein's block length for an AR(1) series; at most a fifth of the series.
fn block_length(alike: f64, intervals: usize) -> usize {
    let tied = (6f64.sqrt() * alike / (1.0 - alike * alike)).powf(2.0 / 3.0);
    let length = (tied * (intervals as f64).cbrt()).ceil() as usize;
    length.clamp(1, (intervals / 5).max(1))
}

#[cfg(test)]
mod tests;
