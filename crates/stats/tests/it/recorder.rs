//! The recorder, the interval series and the stall list keep every operation, however long it runs.
use flashlag_stats::{
    Histogram, Interval, IntervalSeries, OpTimes, PhaseRecord, Recorder, RecorderConfig, Stall,
    StallList, WaitSplit, WaitTable, merge_threads,
};
use flashlag_units::{Bytes, Nanos};
use proptest::prelude::*;

fn recorded(latencies: &[u64], interval: u64, stall_over: u64) -> PhaseRecord {
    let mut recorder = Recorder::new(RecorderConfig {
        start: Nanos(1_000),
        interval: Nanos(interval),
        stall_over: Nanos(stall_over),
        live: None,
    });
    let mut now = Nanos(1_000);
    for latency in latencies {
        let ended = now.plus(Nanos(*latency));
        let op = OpTimes {
            intended: Some(now),
            started: now,
            flush_from: Some(now.plus(Nanos(latency / 2))),
            ended,
            bytes: Bytes(4096),
        };
        if recorder.record(op) {
            recorder.record_stall(op, None);
        }
        now = ended;
    }
    recorder.finish(now)
}

fn interval(ends: u64, values: &[u64]) -> Interval {
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.record(Nanos(*value)));
    Interval {
        ends: Nanos(ends),
        bytes: Bytes(values.len() as u64),
        filled: None,
        temperature_millicelsius: None,
        waited: None,
        exact: (
            histogram.min().unwrap_or_default(),
            histogram.max().unwrap_or_default(),
            histogram.sum(),
        ),
        buckets: histogram.occupied().collect(),
    }
}

fn sum_of(intervals: &[Interval]) -> Histogram {
    intervals.iter().fold(Histogram::new(), |mut sum, interval| {
        sum.merge(&interval.histogram());
        sum
    })
}

#[test]
fn an_empty_interval_joined_to_another_changes_nothing_but_its_end() {
    let (empty, full) = (interval(1, &[]), interval(2, &[70, 900]));
    assert_eq!(empty.joined(&full).histogram(), full.histogram());
    assert_eq!(full.joined(&empty).histogram(), full.histogram());
    assert_eq!(empty.joined(&interval(2, &[])).histogram(), Histogram::new());
}

#[test]
fn a_series_is_bounded_and_keeps_its_totals_through_every_doubling() {
    let mut series = IntervalSeries::new(Nanos(10));
    let mut all = Histogram::new();
    for number in 1..=5_000u64 {
        let value = number * 37 % 1_013;
        all.record(Nanos(value));
        series.push(interval(number * 10, &[value]));
        assert!(series.as_slice().len() <= IntervalSeries::CAPACITY);
    }
    assert_eq!(sum_of(series.as_slice()), all);
    assert!(series.as_slice().is_sorted_by_key(|interval| interval.ends));
    assert_eq!(series.as_slice().last().unwrap().ends, Nanos(50_000));
    // 5,000 intervals fit when their width has doubled four times.
    assert!(series.width() >= Nanos(10 << 4), "{}", series.width());
}

#[test]
fn an_operation_that_spans_intervals_is_counted_once() {
    let recorded = recorded(&[5, 1_000, 5], 10, u64::MAX);
    assert_eq!(recorded.latency.count(), 3);
    assert_eq!(sum_of(&recorded.intervals), recorded.latency);
}

#[test]
fn a_latency_counts_from_the_start_a_response_from_the_intended_one_and_a_flush_from_its_own() {
    let start = Nanos(1_000);
    let config =
        RecorderConfig { start, interval: Nanos(1_000), stall_over: Nanos(1_000), live: None };
    let mut recorder = Recorder::new(config);
    // Wanted 200 after the start of the phase, 500 late, written 900 later, durable 300 after that.
    let op = OpTimes {
        intended: Some(Nanos(1_200)),
        started: Nanos(1_700),
        flush_from: Some(Nanos(2_600)),
        ended: Nanos(2_900),
        bytes: Bytes(4096),
    };
    assert!(recorder.record(op), "1,200 is longer than the limit of 1,000");
    recorder.record_stall(op, None);
    let recorded = recorder.finish(Nanos(2_900));
    let only = |histogram: &Histogram| {
        assert_eq!((histogram.count(), histogram.min()), (1, histogram.max()));
        histogram.max().unwrap()
    };
    assert_eq!(only(&recorded.latency), Nanos(1_200));
    assert_eq!(only(&recorded.response), Nanos(1_700));
    assert_eq!(only(&recorded.flush), Nanos(300));
    assert_eq!((recorded.stalls[0].at, recorded.stalls[0].length), (Nanos(700), Nanos(1_200)));
}

#[test]
fn a_closed_loop_has_no_responses_and_a_write_without_a_flush_no_flush_part() {
    let config = RecorderConfig {
        start: Nanos::ZERO,
        interval: Nanos(1_000),
        stall_over: Nanos(1_000),
        live: None,
    };
    let mut recorder = Recorder::new(config);
    let (started, ended) = (Nanos(10), Nanos(30));
    recorder.record(OpTimes { intended: None, started, flush_from: None, ended, bytes: Bytes(1) });
    let recorded = recorder.finish(Nanos(30));
    assert_eq!((recorded.response.count(), recorded.flush.count()), (0, 0));
    assert_eq!(recorded.latency.max(), Some(Nanos(20)));
}

#[test]
fn a_stall_and_the_phase_say_how_far_their_clock_was_behind_the_machines() {
    let (start, interval, stall_over) = (Nanos::ZERO, Nanos(1_000), Nanos(10));
    let mut recorder = Recorder::new(RecorderConfig { start, interval, stall_over, live: None });
    let (started, ended) = (Nanos(10), Nanos(30));
    let op = OpTimes { intended: None, started, flush_from: None, ended, bytes: Bytes(1) };
    recorder.record_stall(op, None);
    recorder.set_behind(Nanos(77));
    recorder.record_stall(op, None);
    let recorded = recorder.finish(Nanos(30));
    assert_eq!(recorded.behind, Nanos(77));
    let behind: Vec<Nanos> = recorded.stalls.iter().map(|stall| stall.behind).collect();
    assert_eq!(behind, [Nanos::ZERO, Nanos(77)]);
}

#[test]
fn the_series_of_threads_that_are_joined_is_bounded_and_keeps_every_operation() {
    let parts = [7, 10, 13].map(|latency| recorded(&vec![latency; 5_000], 10, u64::MAX));
    let parts: Vec<&PhaseRecord> = parts.iter().collect();
    let joined = merge_threads(&parts, Nanos(10), &[]);
    assert!(joined.intervals.len() <= IntervalSeries::CAPACITY, "{}", joined.intervals.len());
    assert_eq!(sum_of(&joined.intervals), joined.latency);
    assert_eq!(joined.latency.count(), 15_000);
    assert_eq!(joined.elapsed, Nanos(13 * 5_000));
}

#[test]
fn the_longest_stalls_are_kept_and_all_are_counted() {
    let mut list = StallList::default();
    for number in 0..3_000u64 {
        let length = Nanos(number * 7_919 % 3_000 + 1);
        list.push(Stall {
            at: Nanos(number),
            length,
            behind: Nanos::ZERO,
            split: None,
            waited: None,
        });
    }
    let kept = list.in_order();
    assert_eq!(list.seen(), 3_000);
    assert_eq!(kept.len(), 1_000);
    assert!(kept.iter().all(|stall| stall.length > Nanos(2_000)));
    assert!(kept.is_sorted_by_key(|stall| stall.at));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn a_recorder_loses_nothing(
        latencies in prop::collection::vec(1u64..5_000, 0..4_000),
        width in 1u64..20_000,
        stall_over in 1u64..5_000,
    ) {
        let recorded = recorded(&latencies, width, stall_over);
        let mut expected = Histogram::new();
        latencies.iter().for_each(|latency| expected.record(Nanos(*latency)));
        prop_assert_eq!(&recorded.latency, &expected);
        prop_assert_eq!(&recorded.response, &expected);
        prop_assert_eq!(recorded.flush.count(), expected.count());
        prop_assert_eq!(&sum_of(&recorded.intervals), &expected);
        prop_assert_eq!(recorded.elapsed, Nanos(latencies.iter().sum()));
        prop_assert_eq!(recorded.bytes, Bytes(4096 * latencies.len() as u64));
        let bytes: u64 = recorded.intervals.iter().map(|interval| interval.bytes.0).sum();
        prop_assert_eq!(bytes, recorded.bytes.0);
        let stalls = latencies.iter().filter(|latency| **latency > stall_over).count();
        prop_assert_eq!(recorded.stalls_seen, stalls as u64);
    }
}

#[test]
fn waits_of_threads_are_summed_class_by_class() {
    let table = |latencies: &[u64]| {
        let mut table = WaitTable::default();
        for latency in latencies {
            let split = WaitSplit::of(Nanos(*latency), Nanos(2), Nanos(1));
            table.record(Nanos(*latency), split);
        }
        table
    };
    let mut joined = table(&[10, 100, 12]);
    joined.merge(&table(&[9, 14, 1000]));
    assert_eq!(joined, table(&[9, 10, 12, 14, 100, 1000]));
    let classes: Vec<(u32, u64)> =
        joined.occupied().map(|(power, class)| (power, class.ops)).collect();
    assert_eq!(classes, [(3, 4), (6, 1), (9, 1)], "8 to 15, 64 to 127, 512 to 1023");
}

/// A recorder of intervals of a microsecond, from the second on.
fn recorder() -> Recorder {
    Recorder::new(RecorderConfig {
        start: Nanos(1_000_000),
        interval: Nanos(1_000),
        stall_over: Nanos(700),
        live: None,
    })
}

/// An operation that began that long after the second and took `latency`.
fn op(began: u64, latency: u64) -> OpTimes {
    let started = Nanos(1_000_000 + began);
    let ended = started.plus(Nanos(latency));
    OpTimes { intended: None, started, flush_from: None, ended, bytes: Bytes(10) }
}

#[test]
fn an_interval_has_the_temperature_and_the_fill_level_that_were_last_set_in_it() {
    let mut recorder = recorder();
    recorder.record(op(0, 1_000));
    recorder.set_temperature(40_000);
    recorder.set_filled(Bytes(7));
    recorder.set_temperature(41_000);
    recorder.record(op(1_000, 1_000));
    recorder.set_filled(Bytes(9));
    recorder.record(op(2_000, 1_000));
    let recorded = recorder.finish(Nanos(1_003_000));
    let levels: Vec<_> = recorded
        .intervals
        .iter()
        .map(|one| (one.temperature_millicelsius, one.filled.map(|bytes| bytes.0)))
        .collect();
    assert_eq!(levels, [(None, None), (Some(41_000), Some(7)), (Some(41_000), Some(9))]);
}

#[test]
fn operations_and_bytes_are_counted_within_an_interval_and_beyond_it() {
    let mut recorder = recorder();
    assert_eq!((recorder.ops(), recorder.bytes()), (0, Bytes(0)));
    for number in 0..5 {
        recorder.record(op(number * 300, 300));
        assert_eq!((recorder.ops(), recorder.bytes().0), (number + 1, 10 * (number + 1)));
    }
    assert_eq!(recorder.intervals().len(), 1, "the first has ended with its fourth operation");
    assert!(recorder.live().is_none());
    assert_eq!(recorder.stall_over(), Nanos(700));
}

#[test]
fn a_wait_is_a_stall_beyond_the_limit_and_not_at_it() {
    let mut recorder = recorder();
    assert!(!recorder.record(op(0, 700)) && recorder.record(op(0, 701)));
}

#[test]
fn slots_that_passed_without_an_operation_add_up() {
    let mut recorder = recorder();
    [3, 4].into_iter().for_each(|slots| recorder.miss_slots(slots));
    assert_eq!(recorder.finish(Nanos::from_secs(1)).missed_slots, 7);
}

#[test]
fn a_phase_that_begins_later_has_its_times_from_there() {
    let mut recorder = recorder();
    recorder.begin_at(Nanos(1_000_500));
    assert!(recorder.record(op(500, 999)));
    recorder.record_stall(op(500, 999), None);
    assert_eq!(recorder.intervals().len(), 0, "an interval from there on");
    recorder.record(op(1_500, 1));
    let recorded = recorder.finish(Nanos(1_002_500));
    assert_eq!((recorded.began, recorded.elapsed), (Nanos(1_000_500), Nanos(2_000)));
    assert_eq!(recorded.stalls[0].at, Nanos(0));
    assert_eq!(recorded.intervals[0].ends, Nanos(1_001));
}

#[test]
fn aligned_intervals_end_on_the_lines_of_the_grid_and_others_a_width_after_the_last() {
    // The first ends 0.2 widths late: the next line is at 2 widths, or a width later at 2.2.
    let ends = |mut recorder: Recorder| {
        for (began, latency) in [(0, 1_200), (1_200, 799), (1_999, 1), (2_000, 199), (2_199, 1)] {
            recorder.record(op(began, latency));
        }
        recorder.intervals().iter().map(|one| one.ends.0).collect::<Vec<_>>()
    };
    assert_eq!(ends(recorder().aligned()), [1_200, 2_000]);
    assert_eq!(ends(recorder()), [1_200, 2_200]);
}

#[test]
fn a_fill_ends_its_intervals_by_level_too() {
    let mut recorder = recorder();
    recorder.end_intervals_every(Bytes(100));
    // 20 operations of 10 ns, each of which fills 10 bytes more: far less than an interval of time.
    for number in 0..20 {
        recorder.set_filled(Bytes(1_000 + number * 10));
        recorder.record(op(number * 10, 10));
    }
    let recorded = recorder.finish(Nanos(1_000_200));
    let ops: Vec<u64> = recorded.intervals.iter().map(Interval::ops).collect();
    // A level of 100 bytes is reached after ten steps, and the interval ends with the next operation.
    assert_eq!(ops, [11, 9]);
    assert_eq!(recorded.intervals[0].filled, Some(Bytes(1_100)));
}

#[test]
fn a_stall_is_over_the_least_and_over_ten_times_the_median() {
    const MS: u64 = 1_000_000;
    let stalls = |usual: u64, count: usize, long: &[u64]| {
        let lengths: Vec<u64> = std::iter::repeat_n(usual * MS, count)
            .chain(long.iter().map(|long| long * MS))
            .collect();
        let found = recorded(&lengths, 1000 * MS, MS).final_stalls(Nanos(100 * MS));
        (found.over.0.div_ceil(MS), found.seen, found.listed.len())
    };
    assert_eq!(stalls(2, 100, &[60, 101, 150]), (100, 2, 2));
    // Ten times 20 ms, to within a bucket.
    let (over, seen, listed) = stalls(20, 100, &[101, 150, 230, 5000]);
    assert!((198..=203).contains(&over), "{over}");
    assert_eq!((seen, listed), (2, 2));
    // More waits over the limit of what is recorded than are kept: counted in the histogram.
    let (_, seen, listed) = stalls(20, 3000, &[300; 40]);
    assert_eq!((seen, listed), (40, 40));
}
