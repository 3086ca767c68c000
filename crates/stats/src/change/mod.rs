//! Change points of an interval series: level shifts of throughput or latency, and stalls at
//! regular intervals. Pure; finds nothing in noise (`tests/it/change.rs` measures the rate of false
//! findings, below 1 %).
//!
//! Levels are found by ranks (`segment`), so outliers and the shape of the noise do not matter. The
//! medians of two levels must differ by a fifth. A cause needs evidence: a drop is called
//! throttling only if temperatures support that.

mod model;
mod name;
mod period;
mod segment;

use flashlag_units::{InOrder, Nanos};

use crate::interval::Interval;
use crate::percentile::Percentile;
use crate::stall::Stall;

use model::level_of;
pub use model::{ChangePoint, ChangePointKind, Workload};
pub use period::{Period, period_of};
pub use segment::median;

/// Smallest ratio between the medians of two levels of throughput.
const THROUGHPUT_RATIO: f64 = 1.25;
/// Smallest ratio between the medians of two levels of latency.
const LATENCY_RATIO: f64 = 1.5;
/// A latency change within this many intervals of a throughput change is the same change.
const SAME_CHANGE: usize = 5;

/// All change points of a phase, in the order of time.
pub fn changes(series: &[Interval], stalls: &[Stall], workload: Workload) -> Vec<ChangePoint> {
    let rates = rates(series);
    let levels = segment::levels(&rates, THROUGHPUT_RATIO);
    let mut found = name::throughput_changes(series, &rates, &levels, workload);
    found.extend(latency_changes(series, &levels));
    found.extend(periodic_stalls(series, stalls));
    found.order_by_key(|change| change.at);
    found
}

/// The levels of any series in order: medians of neighbours differ by at least `least_ratio`. One level
/// if nothing changes, none without values.
pub fn levels(values: &[f64], least_ratio: f64) -> Vec<std::ops::Range<usize>> {
    segment::levels(values, least_ratio)
}

/// Bytes per second of each interval; operations per second if no bytes are counted.
fn rates(series: &[Interval]) -> Vec<f64> {
    let counts_bytes = series.iter().any(|interval| interval.bytes.0 > 0);
    let mut from = Nanos::ZERO;
    let rate = |interval: &Interval| {
        let length = interval.ends.saturating_since(std::mem::replace(&mut from, interval.ends));
        let moved = if counts_bytes { interval.bytes.0 } else { interval.ops() };
        flashlag_units::per_second(moved, length).unwrap_or(0.0)
    };
    series.iter().map(rate).collect()
}

/// Changes of median latency without a change of throughput, mostly in open loops.
fn latency_changes(series: &[Interval], known: &[std::ops::Range<usize>]) -> Vec<ChangePoint> {
    let median =
        |interval: &Interval| interval.histogram().quantile(Percentile::P50).unwrap_or_default();
    let medians: Vec<f64> = series.iter().map(|interval| median(interval).0 as f64).collect();
    let levels = segment::levels(&medians, LATENCY_RATIO);
    let is_new = |at: usize| known.iter().all(|level| level.start.abs_diff(at) > SAME_CHANGE);
    let pairs = levels.windows(2).filter(|pair| is_new(pair[1].start));
    let named = pairs.map(|pair| {
        let (before, after) = (level_of(&medians, &pair[0]), level_of(&medians, &pair[1]));
        let slower = after > before;
        ChangePoint {
            kind: if slower { ChangePointKind::Slower } else { ChangePointKind::Faster },
            latency: Some((Nanos(before as u64), Nanos(after as u64))),
            ..ChangePoint::before(series, pair[1].start)
        }
    });
    named.collect()
}

fn periodic_stalls(series: &[Interval], stalls: &[Stall]) -> Option<ChangePoint> {
    let period = period_of(series, stalls)?;
    let earlier = series.iter().take_while(|interval| interval.ends < period.first).count();
    Some(ChangePoint {
        kind: ChangePointKind::PeriodicStalls,
        at: period.first,
        period: Some(period.length),
        stalls: period.stalls,
        ..ChangePoint::before(series, earlier)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;
    use flashlag_units::Bytes;

    const SECOND: Nanos = Nanos::from_secs(1);

    /// One interval a second of a hundred operations of each of these milliseconds.
    fn series(latencies: &[u64], bytes: u64) -> Vec<Interval> {
        let interval = |(index, millis): (usize, &u64)| {
            let mut histogram = Histogram::new();
            (0..100).for_each(|_| histogram.record(Nanos::from_millis(*millis)));
            Interval {
                ends: Nanos(SECOND.0 * (index as u64 + 1)),
                bytes: Bytes(bytes),
                filled: None,
                temperature_millicelsius: None,
                waited: None,
                exact: (Nanos::from_millis(*millis), Nanos::from_millis(*millis), histogram.sum()),
                buckets: histogram.occupied().collect(),
            }
        };
        latencies.iter().enumerate().map(interval).collect()
    }

    #[test]
    fn a_rate_is_of_bytes_and_of_operations_where_no_bytes_are_counted() {
        assert_eq!(rates(&series(&[5, 5], 4096)), [4096.0, 4096.0]);
        assert_eq!(rates(&series(&[5, 5], 0)), [100.0, 100.0]);
        assert_eq!(rates(&[]), Vec::<f64>::new());
    }

    #[test]
    fn a_change_of_latency_is_named_unless_throughput_changed_within_five_intervals() {
        let steps = [vec![2u64; 30], vec![8; 30]].concat();
        let series = series(&steps, 4096);
        let found = |starts: &[usize]| {
            let known: Vec<_> = starts.iter().map(|start| *start..60).collect();
            latency_changes(&series, &known)
        };
        let [ref change] = found(&[0])[..] else { panic!("{:?}", found(&[0])) };
        assert_eq!((change.kind, change.at), (ChangePointKind::Slower, Nanos(30 * SECOND.0)));
        assert_eq!(change.written, Bytes(30 * 4096));
        let (before, after) = change.latency.unwrap();
        let near = |found: Nanos, millis: u64| found.0.abs_diff(millis * 1_000_000) < 80_000;
        assert!(near(before, 2) && near(after, 8), "{change:?}");
        assert_eq!(found(&[0, 36]).len(), 1);
        assert_eq!((found(&[0, 35]).len(), found(&[0, 25]).len()), (0, 0));
        assert_eq!(found(&[0, 24]).len(), 1);
    }

    #[test]
    fn latency_that_falls_is_faster() {
        let steps = [vec![8u64; 30], vec![2; 30]].concat();
        let found = latency_changes(&series(&steps, 4096), &[]);
        assert_eq!(found.iter().map(|one| one.kind).collect::<Vec<_>>(), [ChangePointKind::Faster]);
    }

    #[test]
    fn periodic_stalls_are_after_all_that_was_written_in_whole_intervals_before_the_first() {
        // A stall every two seconds from 3 s on: three whole intervals precede the first, one of
        // which ends there.
        let stall = |number: u64| Stall {
            at: Nanos(SECOND.0 * (3 + 2 * number)),
            length: Nanos::from_millis(100),
            behind: Nanos::ZERO,
            split: None,
            waited: None,
        };
        let stalls: Vec<Stall> = (0..8).map(stall).collect();
        let found = periodic_stalls(&series(&[5; 20], 4096), &stalls).unwrap();
        assert_eq!((found.at, found.period), (Nanos::from_secs(3), Some(Nanos::from_secs(2))));
        assert_eq!((found.kind, found.stalls), (ChangePointKind::PeriodicStalls, 8));
        assert_eq!(
            found.written,
            Bytes(2 * 4096),
            "the interval that ends with it is not before it"
        );
    }
}
