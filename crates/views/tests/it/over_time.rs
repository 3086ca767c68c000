//! A phase over time: medians of stretches that hold enough operations.
#![allow(clippy::unwrap_used)]

use flashlag_schema::{IntervalRecord, Phase, Run, StoredHistogram};
use flashlag_spec::{Operation, State};
use flashlag_stats::{Histogram, Percentile};
use flashlag_testing::{bare_run, closed_loop_phase};
use flashlag_units::{Bytes, Nanos};
use flashlag_views::page::{SeriesMedian, phase_series, series_rule};

/// An interval that ends at that second, with `ops` waits of `ms`.
fn interval(ends: u64, ops: u64, ms: u64) -> IntervalRecord {
    let mut waits = Histogram::new();
    (0..ops).for_each(|_| waits.record(Nanos::from_millis(ms)));
    IntervalRecord {
        t_ns: Nanos::from_secs(ends),
        filled_bytes: None,
        ops,
        bytes: Bytes::ZERO,
        p50: waits.percentile(Percentile::P50),
        p90: None,
        p99: None,
        max: waits.max().unwrap_or_default(),
        temperature_millicelsius: None,
        histogram: StoredHistogram::from(&waits),
        waited: Vec::new(),
    }
}

fn run(intervals: Vec<IntervalRecord>) -> Run {
    let mut waits = Histogram::new();
    for interval in &intervals {
        waits.merge(&interval.histogram.restore().unwrap());
    }
    let phase = closed_loop_phase("save_delete", State::New, Operation::Save, &waits);
    bare_run(vec![Phase { intervals, ..phase }])
}

fn medians(run: &Run) -> Vec<SeriesMedian> {
    phase_series(run, 0).unwrap().medians
}

/// Seconds, seconds and milliseconds.
fn stretch(from: u64, ends: u64, median: u64) -> SeriesMedian {
    let mut one = Histogram::new();
    one.record(Nanos::from_millis(median));
    let (from, ends) = (Nanos::from_secs(from), Nanos::from_secs(ends));
    SeriesMedian { from, ends, median: one.quantile(Percentile::P50).unwrap() }
}

#[test]
fn sparse_intervals_are_joined_until_they_hold_a_median() {
    // Four operations a second: a median takes five seconds, and the last two belong to the second.
    let slow = (1..=5).map(|second| interval(second, 4, 24));
    let slower = (6..=12).map(|second| interval(second, 4, 36));
    let run = run(slow.chain(slower).collect());
    let found = medians(&run);
    let near = |a: Nanos, b: Nanos| a.0.abs_diff(b.0) * 100 <= b.0 * 2;
    assert_eq!(found.len(), 2, "{found:?}");
    for (found, wanted) in found.iter().zip([stretch(0, 5, 24), stretch(5, 12, 36)]) {
        assert_eq!((found.from, found.ends), (wanted.from, wanted.ends));
        assert!(near(found.median, wanted.median), "{found:?}");
    }
    let series = phase_series(&run, 0).unwrap();
    assert!(series_rule([&series]).starts_with("Line: the median of each stretch of at least 20"));
}

#[test]
fn one_crowded_interval_does_not_speak_for_the_time_before_it() {
    let mut sparse: Vec<_> = (1..=8).map(|second| interval(second, 3, 30)).collect();
    sparse.push(interval(9, 24, 9));
    let found = medians(&run(sparse));
    let first = found.first().unwrap();
    assert_eq!(first.from, Nanos::ZERO);
    assert!(first.median > Nanos::from_millis(25), "{found:?}");
    assert_eq!(found.last().unwrap().ends, Nanos::from_secs(9));
}

#[test]
fn too_few_operations_for_a_median_have_no_line_and_no_legend_that_names_one() {
    let few = run((1..=6).map(|second| interval(second, 3, 30)).collect());
    let series = phase_series(&few, 0).unwrap();
    assert_eq!((series.medians.len(), series.points.len()), (0, 6));
    assert!(series_rule([&series]).starts_with("No line:"), "{}", series_rule([&series]));
    let enough = run((1..=7).map(|second| interval(second, 3, 30)).collect());
    let other = phase_series(&enough, 0).unwrap();
    assert_eq!(other.medians.len(), 1);
    let both = series_rule([&series, &other]);
    assert!(both.contains("a test with fewer has none"), "{both}");
}

#[test]
fn a_stretch_whose_histogram_cannot_be_read_is_a_gap() {
    let mut intervals: Vec<_> = (1..=3).map(|second| interval(second, 20, 10)).collect();
    intervals[1].p50 = None;
    intervals[1].histogram.index.clear();
    let mut run = run((1..=3).map(|second| interval(second, 20, 10)).collect());
    run.phases[0].intervals = intervals;
    let found = medians(&run);
    let spans: Vec<(Nanos, Nanos)> = found.iter().map(|one| (one.from, one.ends)).collect();
    let second = Nanos::from_secs;
    assert_eq!(spans, [(Nanos::ZERO, second(1)), (second(2), second(3))]);
}
