//! How much figures vary: from seed to seed, and between the ranks next to a percentile.

use flashlag_schema::StoredHistogram;
use flashlag_stats::Percentile;

/// The ranks around p99: p99 would lie there if rare slow operations came twice or half as often.
pub(super) const AROUND_P99: [Percentile; 2] = [Percentile(9800), Percentile(9950)];

/// The lowest and the highest of several values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

impl Range {
    /// The range of values; `None` without any.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<Range> {
        values.fold(None, |range: Option<Range>, value| {
            let range = range.unwrap_or(Range { low: value, high: value });
            Some(Range { low: range.low.min(value), high: range.high.max(value) })
        })
    }

    /// The range of ranges; `None` if one is missing.
    pub(super) fn of_ranges(ranges: impl Iterator<Item = Option<Range>>) -> Option<Range> {
        let all: Option<Vec<Range>> = ranges.collect();
        Range::of(all?.into_iter().flat_map(|range| [range.low, range.high]))
    }
}

/// How far the figures of one test differ from seed to seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeedSpread {
    pub seeds: usize,
    /// Operations a second.
    pub per_second: Range,
    pub bytes_per_second: Range,
}

/// The latencies at two ranks; `None` if too few operations are slower.
pub(super) fn latency_range(histogram: &StoredHistogram, ranks: [Percentile; 2]) -> Option<Range> {
    let histogram = histogram.restore().ok()?;
    let [low, high] = ranks.map(|percentile| histogram.percentile(percentile));
    Some(Range { low: low?.0 as f64, high: high?.0 as f64 })
}

#[cfg(test)]
mod tests {
    use flashlag_stats::Histogram;
    use flashlag_units::Nanos;

    use super::*;

    /// 10,000 operations of 1 ms, of which some take 100 ms.
    fn with_slow(slow: usize) -> Option<Range> {
        let mut histogram = Histogram::new();
        for operation in 0..10_000 {
            histogram.record(Nanos::from_millis(if operation < slow { 100 } else { 1 }));
        }
        latency_range(&StoredHistogram::from(&histogram), AROUND_P99)
    }

    fn leaps(slow: usize) -> bool {
        let range = with_slow(slow).unwrap();
        range.high > 2.0 * range.low
    }

    #[test]
    fn ranks_around_p99_are_apart_where_half_to_two_in_a_hundred_are_slow() {
        assert!(!leaps(0) && !leaps(50), "half of one in a hundred");
        assert!(leaps(51) && leaps(100) && leaps(200));
        assert!(!leaps(201) && !leaps(5000), "p99 is slow whether there are half as many or not");
    }

    #[test]
    fn too_few_operations_have_no_ranks_around_p99() {
        let mut histogram = Histogram::new();
        (0..1999).for_each(|_| histogram.record(Nanos(5)));
        let range =
            |histogram: &Histogram| latency_range(&StoredHistogram::from(histogram), AROUND_P99);
        assert_eq!(range(&histogram), None, "9 beyond 99.5 %");
        histogram.record(Nanos(5));
        assert!(range(&histogram).is_some());
    }
}
