//! Lengths of time as a histogram with its figures.

use flashlag_schema::{LatencySummary, StoredHistogram};
use flashlag_stats::Histogram;
use flashlag_units::Nanos;

/// Statistics and histogram of some durations; nothing if there are none.
pub(super) fn summary(lengths: &[Nanos]) -> (Option<LatencySummary>, Option<StoredHistogram>) {
    if lengths.is_empty() {
        return (None, None);
    }
    let mut histogram = Histogram::new();
    lengths.iter().for_each(|length| histogram.record(*length));
    (Some(LatencySummary::from(&histogram)), Some(StoredHistogram::from(&histogram)))
}

/// All lengths together.
pub(super) fn total(lengths: &[Nanos]) -> Nanos {
    lengths.iter().fold(Nanos::ZERO, |sum, length| sum.plus(*length))
}
