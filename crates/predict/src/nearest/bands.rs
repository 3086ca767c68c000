//! Mean latencies by bands of ranks: the fastest half, the slowest hundredth.
//!
//! Garbage collection makes histograms with two humps, between which a percentile jumps as a
//! parameter changes. The mean over a band of ranks changes smoothly, and depends on all operations
//! of the band instead of one.

use flashlag_schema::StoredHistogram;
use flashlag_stats::Histogram;

/// A band of ranks: its name, and the shares of operations at its ends.
pub(super) const BANDS: [(&str, f64, f64); 5] = [
    ("to p50", 0.0, 0.5),
    ("p50 to p90", 0.5, 0.9),
    ("p90 to p98", 0.9, 0.98),
    ("p98 to p99.7", 0.98, 0.997),
    ("from p99.7", 0.997, 1.0),
];

/// The mean of the logarithms (of nanoseconds) of the operations in a band; `None` if the
/// histogram is empty.
pub(super) fn mean_of_band(histogram: &StoredHistogram, band: usize) -> Option<f64> {
    let (_, from, to) = BANDS.get(band)?;
    let count: f64 = histogram.count.iter().map(|many| *many as f64).sum();
    let (from, to) = (from * count, to * count);
    let (mut below, mut inside, mut sum) = (0.0, 0.0, 0.0);
    for (&index, &many) in histogram.index.iter().zip(&histogram.count) {
        let above = below + many as f64;
        let part = (above.min(to) - below.max(from)).max(0.0);
        let middle = Histogram::middle_of(index as usize).0.max(1) as f64;
        inside += part;
        sum += part * middle.ln();
        below = above;
    }
    (inside > 0.0).then(|| sum / inside)
}

/// Number of operations within a band, of a total.
pub(super) fn many(ops: u64, band: usize) -> f64 {
    BANDS.get(band).map_or(0.0, |(_, from, to)| ops as f64 * (to - from))
}

#[cfg(test)]
mod tests {
    use flashlag_units::Nanos;

    use super::*;

    fn stored(slow: usize) -> StoredHistogram {
        let mut histogram = Histogram::new();
        for number in 0..1000 {
            let time = if number < slow { 100_000_000 } else { 1_000_000 };
            histogram.record(Nanos(time));
        }
        StoredHistogram::from(&histogram)
    }

    #[test]
    fn a_band_moves_evenly_where_a_percentile_leaps() {
        let band = |slow: usize| mean_of_band(&stored(slow), 3).unwrap();
        let (few, half, all) = (band(3), band(11), band(20));
        let bucket = 0.02;
        assert!((few - 1e6_f64.ln()).abs() < bucket, "{few}");
        assert!((all - 1e8_f64.ln()).abs() < bucket, "{all}");
        // Eight of its seventeen operations are slow.
        let between = few + (all - few) * 8.0 / 17.0;
        assert!((half - between).abs() < 1e-6, "{half} {between}");
    }

    #[test]
    fn an_empty_histogram_has_no_bands() {
        assert_eq!(mean_of_band(&StoredHistogram::default(), 0), None);
    }
}
