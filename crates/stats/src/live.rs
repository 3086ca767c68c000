//! Live progress of a measuring thread: a few atomics that another thread reads and prints. The
//! measuring thread never formats and never locks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use flashlag_units::{Bytes, Nanos};

use crate::histogram::{BUCKETS, Histogram};
use crate::percentile::Percentile;

/// Number of latest intervals kept for a sparkline.
pub const SPARKLINE: usize = 32;

/// Progress of the present phase. All accesses are relaxed: each value is right, but two of them
/// may be an interval apart.
#[derive(Debug)]
pub struct Live {
    ops: AtomicU64,
    bytes: AtomicU64,
    elapsed: AtomicU64,
    median: AtomicU64,
    p99: AtomicU64,
    longest: AtomicU64,
    filled: AtomicU64,
    written: AtomicU64,
    intervals: AtomicU64,
    recent: [AtomicU64; SPARKLINE],
    recent_from: [AtomicU64; SPARKLINE],
    /// The phase's histogram up to the last interval. A reader can separate parts of the phase
    /// (such as fill levels) by subtracting an earlier reading.
    buckets: Box<[AtomicU64]>,
}

impl Default for Live {
    fn default() -> Self {
        Live {
            ops: AtomicU64::default(),
            bytes: AtomicU64::default(),
            elapsed: AtomicU64::default(),
            median: AtomicU64::default(),
            p99: AtomicU64::default(),
            longest: AtomicU64::default(),
            filled: AtomicU64::default(),
            written: AtomicU64::default(),
            intervals: AtomicU64::default(),
            recent: Default::default(),
            recent_from: Default::default(),
            buckets: (0..BUCKETS).map(|_| AtomicU64::default()).collect(),
        }
    }
}

/// A reading of [`Live`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Operations done in the phase.
    pub ops: u64,
    /// Bytes moved in the phase.
    pub bytes: Bytes,
    /// Time since the start of the phase, as of the last interval.
    pub elapsed: Nanos,
    /// Median so far; zero if there are too few values, as in the run file.
    pub median: Nanos,
    /// 99th percentile so far, by the same rule.
    pub p99: Nanos,
    /// Longest wait so far.
    pub longest: Nanos,
    /// Used bytes of the storage during a fill; otherwise zero.
    pub filled: Bytes,
    /// Bytes written in the phase, if that is known to be more than it moved.
    pub written: Bytes,
    /// Number of intervals that have ended.
    pub intervals: u64,
    /// Longest wait of each of the latest intervals, oldest first; zero for those still to come.
    pub recent: [Nanos; SPARKLINE],
    /// Start of each of them.
    pub recent_from: [Nanos; SPARKLINE],
}

impl Live {
    /// Resets everything for the next phase.
    pub fn reset(&self) {
        let fields = [
            &self.ops,
            &self.bytes,
            &self.elapsed,
            &self.median,
            &self.p99,
            &self.longest,
            &self.filled,
            &self.written,
            &self.intervals,
        ];
        let all =
            fields.into_iter().chain(&self.recent).chain(&self.recent_from).chain(&self.buckets);
        all.for_each(|field| field.store(0, Relaxed));
    }

    /// Sets the bytes written so far, if database files were written more than the operations
    /// moved.
    pub fn set_written(&self, written: Bytes) {
        self.written.store(written.0, Relaxed);
    }

    /// Publishes an interval: called by the recorder, with all latencies and with the response
    /// times, which on a schedule count from the intended start.
    pub(crate) fn publish(
        &self,
        total: &Histogram,
        felt: &Histogram,
        interval_max: Nanos,
        elapsed: Nanos,
        bytes: Bytes,
        filled: Option<Bytes>,
    ) {
        self.ops.store(total.count(), Relaxed);
        self.bytes.store(bytes.0, Relaxed);
        let from = self.elapsed.swap(elapsed.0, Relaxed);
        self.median.store(felt.percentile(Percentile::P50).unwrap_or_default().0, Relaxed);
        self.p99.store(felt.percentile(Percentile::P99).unwrap_or_default().0, Relaxed);
        self.longest.store(felt.max().unwrap_or_default().0, Relaxed);
        self.filled.store(filled.unwrap_or_default().0, Relaxed);
        let slot = self.intervals.load(Relaxed) as usize % SPARKLINE;
        self.recent[slot].store(interval_max.0, Relaxed);
        self.recent_from[slot].store(from, Relaxed);
        for (index, count) in total.occupied() {
            if let Some(bucket) = self.buckets.get(index as usize) {
                bucket.store(count, Relaxed);
            }
        }
        self.intervals.fetch_add(1, Relaxed);
    }

    /// Publishes the sum of the threads of a test, each of which has a [`Live`] of its own.
    pub fn gather(&self, parts: &[Arc<Live>]) {
        let (mut counts, mut bytes) = (vec![0u64; BUCKETS], Bytes::ZERO);
        let (mut elapsed, mut longest, mut recent) = (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO);
        for part in parts {
            let shown = part.snapshot();
            bytes = bytes.plus(shown.bytes);
            elapsed = elapsed.max(shown.elapsed);
            longest = longest.max(shown.longest);
            let latest = shown.recent.iter().rev().find(|wait| **wait > Nanos::ZERO);
            recent = recent.max(latest.copied().unwrap_or_default());
            for (sum, count) in counts.iter_mut().zip(part.buckets()) {
                *sum += count;
            }
        }
        // There is something new only if an interval has ended since the last call.
        if elapsed.0 <= self.elapsed.load(Relaxed) {
            return;
        }
        let occupied = (0u32..).zip(&counts).filter(|(_, count)| **count > 0);
        let (indices, counts): (Vec<u32>, Vec<u64>) = occupied.map(|(i, n)| (i, *n)).unzip();
        if let Ok(total) = Histogram::from_parts(&indices, &counts, None) {
            self.publish(&total, &total, recent, elapsed, bytes, None);
            // The histogram only knows the bucket.
            self.longest.store(longest.0, Relaxed);
        }
    }

    /// Shows the progress of another process: all latencies so far, the longest wait of the latest
    /// interval, the time and the bytes. Does nothing if no time has passed since the last call.
    pub fn imitate(
        &self,
        total: &Histogram,
        recent: Nanos,
        elapsed: Nanos,
        bytes: Bytes,
        filled: Option<Bytes>,
    ) {
        if elapsed.0 > self.elapsed.load(Relaxed) {
            self.publish(total, total, recent, elapsed, bytes, filled);
        }
    }

    /// Bucket counts of the phase so far, by bucket index.
    pub fn buckets(&self) -> Vec<u64> {
        self.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect()
    }

    /// A reading of all values.
    pub fn snapshot(&self) -> Snapshot {
        let intervals = self.intervals.load(Relaxed);
        let in_order = |ring: &[AtomicU64; SPARKLINE]| {
            std::array::from_fn(|offset| {
                let index = (intervals as usize + offset) % SPARKLINE;
                Nanos(ring[index].load(Relaxed))
            })
        };
        Snapshot {
            ops: self.ops.load(Relaxed),
            bytes: Bytes(self.bytes.load(Relaxed)),
            elapsed: Nanos(self.elapsed.load(Relaxed)),
            median: Nanos(self.median.load(Relaxed)),
            p99: Nanos(self.p99.load(Relaxed)),
            longest: Nanos(self.longest.load(Relaxed)),
            filled: Bytes(self.filled.load(Relaxed)),
            written: Bytes(self.written.load(Relaxed)),
            intervals,
            recent: in_order(&self.recent),
            recent_from: in_order(&self.recent_from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn histogram(waits: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        waits.iter().for_each(|ms| histogram.record(MS(*ms)));
        histogram
    }

    /// Publishes an interval that ends at `elapsed` and whose longest wait is `longest`.
    fn publish(live: &Live, total: &Histogram, longest: u64, elapsed: u64) {
        live.publish(total, total, MS(longest), MS(elapsed), Bytes(77), Some(Bytes(5)));
    }

    #[test]
    fn a_snapshot_has_what_was_published_last() {
        let live = Live::default();
        let (total, felt) = (histogram(&[1; 50]), histogram(&[3; 2000]));
        live.publish(&total, &felt, MS(2), MS(10), Bytes(77), Some(Bytes(5)));
        live.set_written(Bytes(99));
        let shown = live.snapshot();
        assert_eq!((shown.ops, shown.bytes, shown.elapsed), (50, Bytes(77), MS(10)));
        assert_eq!((shown.filled, shown.written, shown.intervals), (Bytes(5), Bytes(99), 1));
        // Percentiles and the longest wait are those that a user feels.
        assert_eq!(Some(shown.median), felt.percentile(Percentile::P50));
        assert_eq!(Some(shown.p99), felt.percentile(Percentile::P99));
        assert_eq!(shown.longest, MS(3));
        assert_eq!(live.buckets().iter().sum::<u64>(), 50);
        live.reset();
        assert_eq!(live.snapshot(), Snapshot::default());
        assert!(live.buckets().iter().all(|count| *count == 0));
    }

    #[test]
    fn the_latest_32_intervals_are_kept_in_order_with_their_starts() {
        let live = Live::default();
        let total = histogram(&[1]);
        for number in 1..=40u64 {
            publish(&live, &total, number, number * 10);
        }
        let shown = live.snapshot();
        assert_eq!(shown.intervals, 40);
        let longest: Vec<u64> = shown.recent.iter().map(|wait| wait.0 / 1_000_000).collect();
        assert_eq!(longest, (9..=40).collect::<Vec<u64>>());
        let from: Vec<u64> = shown.recent_from.iter().map(|from| from.0 / 10_000_000).collect();
        assert_eq!(from, (8..=39).collect::<Vec<u64>>(), "each began where the last one ended");
    }

    #[test]
    fn threads_are_gathered_by_sum_and_maximum_and_only_when_an_interval_has_ended() {
        let parts = [Arc::new(Live::default()), Arc::new(Live::default())];
        let whole = Live::default();
        whole.gather(&parts);
        assert_eq!(whole.snapshot().intervals, 0, "nothing has ended yet");
        publish(&parts[0], &histogram(&[1, 9]), 9, 10);
        publish(&parts[1], &histogram(&[4]), 4, 20);
        whole.gather(&parts);
        let shown = whole.snapshot();
        assert_eq!((shown.ops, shown.bytes, shown.elapsed), (3, Bytes(2 * 77), MS(20)));
        assert_eq!(shown.longest, MS(9), "exact, not the bucket's middle");
        assert_eq!(shown.recent[SPARKLINE - 1], MS(9));
        whole.gather(&parts);
        assert_eq!(whole.snapshot().intervals, 1, "nothing new");
    }
}
