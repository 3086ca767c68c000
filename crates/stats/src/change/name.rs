//! Names for changes of throughput, from levels and other evidence.

use std::ops::Range;

use super::model::{ChangePoint, ChangePointKind, Workload, level_of};
use super::segment;
use crate::interval::Interval;
use flashlag_units::Nanos;

/// An exhausted cache costs at least this share of the throughput.
const CACHE_DROP: f64 = 0.30;
/// Largest spread of the level before it (median deviation over median, × 1.4826).
const STABLE_SPREAD: f64 = 0.25;
/// Throughput is back when it reaches this share of the old level.
const RECOVERED: f64 = 0.85;
/// Temperature from which storage counts as hot …
const HOT_MILLICELSIUS: i64 = 50_000;
/// … if it has warmed by this much since the phase began.
const WARMED_MILLICELSIUS: i64 = 5_000;
/// Temperature drop after which storage counts as cooled.
const COOLED_MILLICELSIUS: i64 = 3_000;

/// One change for each border between two levels.
pub(super) fn throughput_changes(
    series: &[Interval],
    rates: &[f64],
    levels: &[Range<usize>],
    workload: Workload,
) -> Vec<ChangePoint> {
    let medians: Vec<f64> = levels.iter().map(|level| level_of(rates, level)).collect();
    let mut found = Vec::new();
    for number in 1..levels.len() {
        let (before, after) = (medians[number - 1], medians[number]);
        let start = levels[number].start;
        let later = levels.iter().zip(&medians).skip(number + 1);
        let back = later.into_iter().find(|(_, rate)| **rate >= before * RECOVERED);
        let back = back.map(|(level, _)| level.start);
        let recovered = back.filter(|_| after < before);
        let temperature = temperatures(series, start);
        let first_level = (number == 1).then_some(&levels[0]);
        let kind = if after > before {
            ChangePointKind::Faster
        } else if heat_explains(series, temperature, recovered) {
            ChangePointKind::Throttled
        } else if workload == Workload::Writes
            && recovered.is_none()
            && after <= before * (1.0 - CACHE_DROP)
            && first_level.is_some_and(|level| is_stable(&rates[level.clone()]))
        {
            ChangePointKind::CacheExhausted
        } else {
            ChangePointKind::Slower
        };
        found.push(ChangePoint {
            kind,
            throughput: Some((before, after)),
            temperature_millicelsius: temperature,
            recovered_at: recovered.map(|start| end_before(series, start)),
            ..ChangePoint::before(series, start)
        });
    }
    found
}

fn end_before(series: &[Interval], start: usize) -> Nanos {
    start.checked_sub(1).and_then(|last| series.get(last)).map_or(Nanos::ZERO, |last| last.ends)
}

fn is_stable(rates: &[f64]) -> bool {
    let median = segment::median(rates);
    let deviations: Vec<f64> = rates.iter().map(|rate| (rate - median).abs()).collect();
    segment::median(&deviations) * 1.4826 <= median * STABLE_SPREAD
}

/// Temperature at the start of the phase and at interval `start`.
fn temperatures(series: &[Interval], start: usize) -> Option<(i64, i64)> {
    let first = series.iter().find_map(|interval| interval.temperature_millicelsius)?;
    Some((first, series.get(start)?.temperature_millicelsius?))
}

/// Whether temperatures explain it: hot and warmed up at a drop, or cooler at a recovery.
fn heat_explains(
    series: &[Interval],
    temperature: Option<(i64, i64)>,
    recovered: Option<usize>,
) -> bool {
    let Some((first, at)) = temperature else { return false };
    let hot = at >= HOT_MILLICELSIUS && at.saturating_sub(first) >= WARMED_MILLICELSIUS;
    let cooled = recovered.and_then(|start| series.get(start)?.temperature_millicelsius);
    hot || cooled.is_some_and(|then| at.saturating_sub(then) >= COOLED_MILLICELSIUS)
}

#[cfg(test)]
mod tests {
    use flashlag_units::Bytes;

    use super::*;

    /// One interval a second of these bytes, each with a temperature in thousandths of a degree.
    fn series(bytes: &[u64], warmth: impl Fn(usize) -> Option<i64>) -> Vec<Interval> {
        let interval = |(index, bytes): (usize, &u64)| Interval {
            ends: Nanos::from_secs(index as u64 + 1),
            bytes: Bytes(*bytes),
            filled: None,
            temperature_millicelsius: warmth(index),
            waited: None,
            exact: (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO),
            buckets: Vec::new(),
        };
        bytes.iter().enumerate().map(interval).collect()
    }

    /// The changes between levels of three intervals each.
    fn changes_of(levels: &[u64], workload: Workload) -> Vec<ChangePoint> {
        let bytes: Vec<u64> = levels.iter().flat_map(|level| [*level; 3]).collect();
        let rates: Vec<f64> = bytes.iter().map(|bytes| *bytes as f64).collect();
        let ranges: Vec<Range<usize>> =
            (0..levels.len()).map(|level| 3 * level..3 * level + 3).collect();
        throughput_changes(&series(&bytes, |_| None), &rates, &ranges, workload)
    }

    fn kinds(levels: &[u64], workload: Workload) -> Vec<ChangePointKind> {
        changes_of(levels, workload).iter().map(|change| change.kind).collect()
    }

    use ChangePointKind::{CacheExhausted, Faster, Slower, Throttled};

    #[test]
    fn a_cache_is_exhausted_where_writes_first_drop_by_thirty_percent_for_good() {
        let writes = Workload::Writes;
        assert_eq!(kinds(&[1000, 700], writes), [CacheExhausted]);
        assert_eq!(kinds(&[1000, 701], writes), [Slower]);
        assert_eq!(kinds(&[1000, 700], Workload::Reads), [Slower]);
        assert_eq!(kinds(&[2000, 1000, 500], writes), [CacheExhausted, Slower], "only the first");
        assert_eq!(kinds(&[1000, 1200], writes), [Faster]);
        // Throughput returned to 85 %, so the cache can't be exhausted.
        assert_eq!(kinds(&[1000, 500, 850], writes), [Slower, Faster]);
        assert_eq!(kinds(&[1000, 500, 849], writes), [CacheExhausted, Faster]);
    }

    #[test]
    fn a_change_has_its_levels_its_moment_and_when_it_was_over() {
        let changes = changes_of(&[1000, 500, 400, 900], Workload::Writes);
        let [first, second, last] = changes.as_slice() else { panic!("{changes:?}") };
        assert_eq!((first.throughput, first.at), (Some((1000.0, 500.0)), Nanos::from_secs(3)));
        assert_eq!(first.written, Bytes(3000));
        assert_eq!(first.recovered_at, Some(Nanos::from_secs(9)), "the end of the third level");
        assert_eq!((second.throughput, second.at), (Some((500.0, 400.0)), Nanos::from_secs(6)));
        assert_eq!(second.recovered_at, Some(Nanos::from_secs(9)));
        assert_eq!((last.kind, last.recovered_at), (Faster, None));
        // A rise that follows a rise is not a recovery.
        assert_eq!(changes_of(&[500, 900, 950], Workload::Writes)[0].recovered_at, None);
    }

    #[test]
    fn a_level_is_stable_up_to_a_spread_of_a_quarter() {
        // Half of the values deviate by d of 1,000: the median deviation is d.
        let around = |deviation: f64| {
            is_stable(&[1000.0 - deviation, 1000.0, 1000.0 + deviation, 1000.0 + deviation, 1000.0])
        };
        assert!(around(0.0));
        let ends = |deviation: f64| is_stable(&[1000.0 - deviation, 1000.0, 1000.0 + deviation]);
        // 168.6 · 1.4826 = 249.97.
        assert!(ends(168.6) && !ends(168.7));
        let wild = [1000.0, 100.0, 1900.0];
        let rates = [wild, [200.0; 3]].concat();
        let bytes: Vec<u64> = rates.iter().map(|rate| *rate as u64).collect();
        let found =
            throughput_changes(&series(&bytes, |_| None), &rates, &[0..3, 3..6], Workload::Writes);
        assert_eq!(found[0].kind, Slower, "no cache was stable before");
    }

    /// The name of a change that halves the throughput at the fourth of nine intervals, if it
    /// recovers from the seventh on.
    fn kind_at(warmth: impl Fn(usize) -> Option<i64>) -> (ChangePointKind, Option<(i64, i64)>) {
        let bytes = [1000, 1000, 1000, 500, 500, 500, 1000, 1000, 1000];
        let rates = bytes.map(|bytes| bytes as f64);
        let series = series(&bytes, warmth);
        let found = throughput_changes(&series, &rates, &[0..3, 3..6, 6..9], Workload::Writes);
        (found[0].kind, found[0].temperature_millicelsius)
    }

    #[test]
    fn heat_explains_a_drop_at_fifty_degrees_that_warmed_by_five() {
        let to =
            |first: i64, at: i64| kind_at(move |index| Some(if index < 3 { first } else { at }));
        assert_eq!(to(45_000, 50_000), (Throttled, Some((45_000, 50_000))));
        assert_eq!(to(44_000, 49_999).0, Slower);
        assert_eq!(to(45_001, 50_000).0, Slower);
        assert_eq!(kind_at(|_| None), (Slower, None));
        // The temperature is known at first, but not at the change.
        assert_eq!(kind_at(|index| (index < 3).then_some(45_000)), (Slower, None));
    }

    #[test]
    fn heat_explains_a_drop_that_is_over_once_it_is_three_degrees_cooler() {
        let cooled = |to: i64| kind_at(move |index| Some(if index < 6 { 40_000 } else { to })).0;
        assert_eq!(cooled(37_000), Throttled);
        assert_eq!(cooled(37_001), Slower);
    }
}
