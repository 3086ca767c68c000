use flashlag_stats::live::Live;
use flashlag_stats::{Histogram, Percentile};
use flashlag_units::{Bytes, Nanos};

/// Watches a fill and tells each tenth of the storage as it is passed, with percentiles of what
/// happened since the tenth before.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// The tenth that was passed last; `None` before the first reading.
    passed: Option<u64>,
    seen: Vec<u64>,
}

/// A stretch of a fill.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    /// Where it began and ended, in percent of the storage.
    pub(super) percent: (u64, u64),
    /// Operations in it.
    pub(super) ops: u64,
    pub(super) median: Option<Nanos>,
    pub(super) p99: Option<Nanos>,
    /// The longest, within 0.8 %.
    pub(super) longest: Option<Nanos>,
}

impl Levels {
    /// `filled` of `size` is in use. Tells the stretch where a tenth was passed, or where it is
    /// the `last` and something happened in it.
    pub(super) fn observe(
        &mut self,
        live: &Live,
        filled: Bytes,
        size: Bytes,
        last: bool,
    ) -> Option<Level> {
        if size == Bytes::ZERO || filled == Bytes::ZERO {
            return None;
        }
        let percent = u64::try_from(u128::from(filled.0) * 100 / u128::from(size.0)).ok()?.min(100);
        let tenth = percent / 10;
        let Some(passed) = self.passed else {
            // What came before the first reading belongs to the stretch that ends next.
            self.passed = Some(tenth);
            return None;
        };
        if tenth <= passed && !last {
            return None;
        }
        let now = live.buckets();
        let stretch = self.stretch(&now);
        let from = passed * 10;
        let to = if last { percent } else { tenth * 10 };
        (self.passed, self.seen) = (Some(tenth), now);
        let histogram = stretch.filter(|histogram| histogram.count() > 0)?;
        Some(Level {
            percent: (from, to),
            ops: histogram.count(),
            median: histogram.percentile(Percentile::P50),
            p99: histogram.percentile(Percentile::P99),
            longest: histogram.max(),
        })
    }

    fn stretch(&self, now: &[u64]) -> Option<Histogram> {
        let before = self.seen.iter().copied().chain(std::iter::repeat(0));
        let changed =
            (0u32..).zip(now.iter().zip(before).map(|(now, was)| now.saturating_sub(was)));
        let (indices, counts): (Vec<u32>, Vec<u64>) =
            changed.filter(|(_, count)| *count > 0).unzip();
        Histogram::from_parts(&indices, &counts, None).ok()
    }
}
