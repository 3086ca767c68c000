//! Names for changes of throughput, from levels and other evidence.

use std::ops::Range;

use super::{ChangePoint, ChangePointKind, Workload, level_of, segment};
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
