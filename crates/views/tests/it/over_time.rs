//! A phase over time: medians of stretches that hold enough operations.
#![allow(clippy::unwrap_used)]

use flashlag_schema::{
    Change, ChangeKind, IntervalRecord, Phase, Run, StallRecord, StoredHistogram,
};
use flashlag_spec::{Operation, State};
use flashlag_stats::{Histogram, Percentile};
use flashlag_testing::{bare_run, closed_loop_phase, sample};
use flashlag_units::{Bytes, Nanos};
use flashlag_views::headline;
use flashlag_views::page::{
    Block, SeriesMedian, numbered_in_words, phase_series, run_page, series_rule,
};

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

/// The phases that the section on stalls draws.
fn drawn(run: &Run) -> Vec<String> {
    let page = run_page(run, &[]);
    let stalls = page.sections.into_iter().find(|section| section.id == "stalls").unwrap();
    let charts = stalls.blocks.into_iter().find_map(|block| match block {
        Block::Stalls(charts, _) => Some(charts),
        _ => None,
    });
    charts.unwrap().into_iter().map(|series| series.title).collect()
}

#[test]
fn beside_a_phase_that_stalled_only_those_with_changes_are_drawn_and_without_any_the_longest_wait()
{
    let mut both = run(vec![interval(1, 30, 5), interval(2, 30, 6)]);
    let mut other = run(vec![interval(1, 30, 7), interval(2, 30, 8)]).phases.remove(0);
    other.name = "save_wal".to_owned();
    both.phases.push(other);
    let [first, second] = [0, 1].map(|index| phase_series(&both, index).unwrap().title);
    assert_ne!(first, second);
    assert_eq!(drawn(&both), [second.as_str()], "the longest wait");
    both.phases[0].stalls =
        vec![StallRecord { ns: Nanos::from_millis(6), ..StallRecord::default() }];
    assert_eq!(drawn(&both), [first.as_str()], "the stall");
    both.phases[1].changes = sample::soak().phases[0].changes.clone();
    assert_eq!(drawn(&both), [first, second], "the stall and the changes");
}

#[test]
fn a_numbered_change_says_when_and_from_what_rate_to_what() {
    let soak = sample::soak();
    let change = soak.phases[0].changes[0].clone();
    let (from, to) = change.bytes_per_sec.unwrap();
    let said = numbered_in_words(&soak, 0);
    assert_eq!(said.len(), 1, "steadiness has no number: {said:?}");
    assert!(said[0].starts_with("1: "), "{said:?}");
    let rates = format!(", {:.0} to {:.1} MB/s.", from / 1e6, to / 1e6);
    assert!(said[0].ends_with(&rates), "{said:?}, not {rates}");
    let mut unknown = soak.clone();
    unknown.phases[0].changes[0].bytes_per_sec = None;
    let said = numbered_in_words(&unknown, 0);
    assert!(!said[0].contains("MB/s"), "{said:?}");
}

/// By how much they tell of a device; each two are tried in both orders.
#[test]
fn of_two_changes_the_headline_is_about_the_graver() {
    let soak = sample::soak();
    let base = soak.phases[0].changes[0].clone();
    let kinds = [
        ChangeKind::CacheExhausted,
        ChangeKind::Throttled,
        ChangeKind::PeriodicStalls,
        ChangeKind::Slower,
        ChangeKind::Faster,
        ChangeKind::NotSteady,
        ChangeKind::SteadyState,
    ];
    let said = |kinds: &[ChangeKind]| {
        let mut run = soak.clone();
        let change = |kind: &ChangeKind| Change {
            kind: *kind,
            period_ns: Some(Nanos::from_secs(10)),
            ..base.clone()
        };
        run.phases[0].changes = kinds.iter().map(change).collect();
        headline(&run).sentence
    };
    for (at, graver) in kinds.iter().enumerate() {
        let alone = said(&[*graver]);
        for milder in &kinds[at + 1..] {
            assert_ne!(said(&[*milder]), alone);
            assert_eq!(said(&[*milder, *graver]), alone, "{graver:?} before {milder:?}");
            assert_eq!(said(&[*graver, *milder]), alone, "{graver:?} before {milder:?}");
        }
    }
}
