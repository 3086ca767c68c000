//! What a measuring thread shows of itself while it runs: a few atomics that another thread reads
//! and prints. The measuring thread never formats and never locks.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use flashlag_units::{Bytes, Nanos};

use crate::histogram::Histogram;
use crate::percentile::Percentile;

/// How many of the latest intervals are kept for a sparkline.
pub const SPARKLINE: usize = 32;

/// Progress of the present phase. All values are relaxed: each is right, together they may be
/// an interval apart.
#[derive(Debug, Default)]
pub struct Live {
    ops: AtomicU64,
    bytes: AtomicU64,
    elapsed: AtomicU64,
    median: AtomicU64,
    p99: AtomicU64,
    longest: AtomicU64,
    filled: AtomicU64,
    intervals: AtomicU64,
    recent: [AtomicU64; SPARKLINE],
}

/// A reading of [`Live`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Operations done in this phase.
    pub ops: u64,
    /// Bytes moved in this phase.
    pub bytes: Bytes,
    /// Time since the phase began, as the measuring thread last knew it.
    pub elapsed: Nanos,
    /// Median so far.
    pub median: Nanos,
    /// p99 so far (shown, not stored: it may rest on few samples).
    pub p99: Nanos,
    /// The longest wait so far.
    pub longest: Nanos,
    /// Bytes in use on the storage, for a fill; zero otherwise.
    pub filled: Bytes,
    /// How many intervals have ended.
    pub intervals: u64,
    /// The longest wait of each of the latest intervals, oldest first; zero where none yet.
    pub recent: [Nanos; SPARKLINE],
}

impl Live {
    /// Forgets the last phase.
    pub fn reset(&self) {
        let fields = [
            &self.ops,
            &self.bytes,
            &self.elapsed,
            &self.median,
            &self.p99,
            &self.longest,
            &self.filled,
            &self.intervals,
        ];
        fields.into_iter().chain(&self.recent).for_each(|field| field.store(0, Relaxed));
    }

    /// Called by the recorder at the end of every interval.
    pub(crate) fn publish(
        &self,
        total: &Histogram,
        interval_max: Nanos,
        elapsed: Nanos,
        bytes: Bytes,
        filled: Option<Bytes>,
    ) {
        self.ops.store(total.count(), Relaxed);
        self.bytes.store(bytes.0, Relaxed);
        self.elapsed.store(elapsed.0, Relaxed);
        self.median.store(total.quantile(Percentile::P50).unwrap_or_default().0, Relaxed);
        self.p99.store(total.quantile(Percentile::P99).unwrap_or_default().0, Relaxed);
        self.longest.store(total.max().unwrap_or_default().0, Relaxed);
        self.filled.store(filled.unwrap_or_default().0, Relaxed);
        let slot = self.intervals.load(Relaxed) as usize % SPARKLINE;
        self.recent[slot].store(interval_max.0, Relaxed);
        self.intervals.fetch_add(1, Relaxed);
    }

    /// Reads everything.
    pub fn snapshot(&self) -> Snapshot {
        let intervals = self.intervals.load(Relaxed);
        let mut recent = [Nanos::ZERO; SPARKLINE];
        for (offset, slot) in recent.iter_mut().enumerate() {
            let index = (intervals as usize + offset) % SPARKLINE;
            *slot = Nanos(self.recent[index].load(Relaxed));
        }
        Snapshot {
            ops: self.ops.load(Relaxed),
            bytes: Bytes(self.bytes.load(Relaxed)),
            elapsed: Nanos(self.elapsed.load(Relaxed)),
            median: Nanos(self.median.load(Relaxed)),
            p99: Nanos(self.p99.load(Relaxed)),
            longest: Nanos(self.longest.load(Relaxed)),
            filled: Bytes(self.filled.load(Relaxed)),
            intervals,
            recent,
        }
    }
}
