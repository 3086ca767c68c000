//! Stored histograms, read again.

use flashlag_schema::{Phase, StoredHistogram};
use flashlag_stats::Histogram;

/// The latency of a phase as users feel it, as a histogram: from the intended start if there was a
/// schedule, otherwise from the call. `None` if the stored one is invalid.
pub fn response_histogram(phase: &Phase) -> Option<Histogram> {
    restored(phase.response_histogram.as_ref().unwrap_or(&phase.histogram))
}

/// A stored histogram, if its exact values fit its buckets.
pub fn restored(stored: &StoredHistogram) -> Option<Histogram> {
    let sane = stored.index.is_empty() || stored.min_ns <= stored.max_ns;
    if sane { stored.restore().ok() } else { None }
}

/// The sum of both; only the first if counts would overflow.
pub fn merged(mut into: Histogram, other: &Histogram) -> Histogram {
    if into.count().checked_add(other.count()).is_some() {
        into.merge(other);
    }
    into
}
