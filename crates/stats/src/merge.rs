use flashlag_units::{Bytes, InOrder, Nanos};

use crate::histogram::Histogram;
use crate::interval::{Interval, IntervalSeries};
use crate::recorder::PhaseRecord;
use crate::stall::StallList;
use crate::wait::WaitTable;

/// Merges what the threads of a test recorded. The elapsed time is that of the last thread to end;
/// counts, bytes and histograms are sums; intervals are those of a common grid of `width`, doubled
/// until the series is within its bound.
///
/// `warmth` are readings of the storage's temperature, in millidegrees Celsius, in order of time.
pub fn merge_threads(parts: &[&PhaseRecord], width: Nanos, warmth: &[(Nanos, i64)]) -> PhaseRecord {
    let elapsed = parts.iter().map(|part| part.elapsed).max().unwrap_or_default();
    let mut merged = PhaseRecord {
        began: parts.iter().map(|part| part.began).min().unwrap_or_default(),
        behind: Nanos::ZERO,
        elapsed,
        bytes: Bytes::ZERO,
        latency: Histogram::new(),
        flush: Histogram::new(),
        response: Histogram::new(),
        missed_slots: 0,
        intervals: intervals(parts, width, elapsed, warmth),
        stall_over: parts.iter().map(|part| part.stall_over).min().unwrap_or_default(),
        stalls: Vec::new(),
        stalls_seen: 0,
        waits: WaitTable::default(),
    };
    let mut stalls = StallList::default();
    for part in parts {
        merged.bytes = merged.bytes.plus(part.bytes);
        merged.latency.merge(&part.latency);
        merged.flush.merge(&part.flush);
        merged.response.merge(&part.response);
        merged.missed_slots = merged.missed_slots.saturating_add(part.missed_slots);
        merged.stalls_seen = merged.stalls_seen.saturating_add(part.stalls_seen);
        merged.waits.merge(&part.waits);
        part.stalls.iter().for_each(|stall| stalls.push(*stall));
    }
    merged.stalls = stalls.in_order();
    merged
}

/// Assigns each interval to the cell of the grid with its middle: threads use the same grid, but an
/// interval ends with the first operation after its line.
fn intervals(
    parts: &[&PhaseRecord],
    width: Nanos,
    elapsed: Nanos,
    warmth: &[(Nanos, i64)],
) -> Vec<Interval> {
    let mut width = width.0.max(1);
    while elapsed.0.div_ceil(width) > IntervalSeries::CAPACITY as u64 {
        width = width.saturating_mul(2);
    }
    let mut placed: Vec<(u64, &Interval)> = Vec::new();
    for part in parts {
        let mut begins = Nanos::ZERO;
        for interval in &part.intervals {
            let middle = begins.0 + interval.ends.saturating_since(begins).0 / 2;
            placed.push((middle / width, interval));
            begins = interval.ends;
        }
    }
    // A stable order, so that equal parts give an equal series.
    placed.order_by_key(|(cell, _)| *cell);
    let mut merged: Vec<(u64, Interval)> = Vec::new();
    for (cell, interval) in placed {
        match merged.last_mut() {
            Some((last, sum)) if *last == cell => *sum = sum.joined(interval),
            _ => merged.push((cell, interval.clone())),
        }
    }
    let ends = |cell: u64| Nanos((cell + 1).saturating_mul(width)).min(elapsed);
    let finished = merged.into_iter().map(|(cell, interval)| Interval {
        ends: ends(cell),
        temperature_millicelsius: warmth_at(warmth, ends(cell)),
        ..interval
    });
    finished.collect()
}

/// The last temperature read by `by`.
fn warmth_at(warmth: &[(Nanos, i64)], by: Nanos) -> Option<i64> {
    let read = warmth.iter().rev().find(|(at, _)| *at <= by).or(warmth.first());
    read.map(|(_, millicelsius)| *millicelsius)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{OpTimes, Recorder, RecorderConfig};

    const WIDTH: Nanos = Nanos(1_000);

    /// A thread whose operations follow one another, each of one of `lengths` in turn.
    fn thread(lengths: &[u64], until: u64) -> PhaseRecord {
        let mut recorder = Recorder::new(RecorderConfig {
            start: Nanos::ZERO,
            interval: WIDTH,
            stall_over: Nanos(900),
            live: None,
        })
        .aligned();
        let mut now = 0;
        for length in lengths.iter().cycle() {
            if now >= until {
                break;
            }
            let (started, ended) = (Nanos(now), Nanos(now + length));
            let op = OpTimes { intended: None, started, flush_from: None, ended, bytes: Bytes(4) };
            if recorder.record(op) {
                recorder.record_stall(op, None);
            }
            now += length;
        }
        recorder.finish(Nanos(now))
    }

    #[test]
    fn parts_add_up_to_the_whole_whatever_their_speed() {
        let threads =
            [thread(&[70], 50_000), thread(&[130, 950, 40], 50_000), thread(&[3_300], 50_000)];
        let parts: Vec<&PhaseRecord> = threads.iter().collect();
        let merged = merge_threads(&parts, WIDTH, &[(Nanos(0), 30_000), (Nanos(20_000), 41_000)]);
        let ops: u64 = threads.iter().map(|thread| thread.latency.count()).sum();
        assert_eq!(merged.latency.count(), ops);
        assert_eq!(merged.bytes, Bytes(4 * ops));
        assert_eq!(
            merged.stalls_seen,
            threads.iter().map(|thread| thread.stalls_seen).sum::<u64>()
        );
        assert_eq!(merged.stalls.len() as u64, merged.stalls_seen);
        let mut sum = Histogram::new();
        let mut before = Nanos::ZERO;
        for interval in &merged.intervals {
            assert!(interval.ends > before && interval.ends <= merged.elapsed);
            before = interval.ends;
            sum.merge(&interval.histogram());
        }
        assert_eq!(sum, merged.latency);
        assert_eq!(merged.intervals.iter().map(|i| i.bytes.0).sum::<u64>(), 4 * ops);
        assert_eq!(merged.intervals[3].temperature_millicelsius, Some(30_000));
        assert_eq!(merged.intervals.last().and_then(|i| i.temperature_millicelsius), Some(41_000));
    }

    #[test]
    fn equal_threads_have_an_even_series() {
        let threads: Vec<PhaseRecord> = (0..8).map(|_| thread(&[30], 40_000)).collect();
        let parts: Vec<&PhaseRecord> = threads.iter().collect();
        let merged = merge_threads(&parts, WIDTH, &[]);
        let inner = &merged.intervals[1..merged.intervals.len() - 1];
        let most = inner.iter().map(Interval::ops).max().unwrap_or_default();
        let least = inner.iter().map(Interval::ops).min().unwrap_or_default();
        // 33 or 34 of each thread fit between two lines.
        assert!(most - least <= 8, "{least} to {most}");
    }

    #[test]
    fn a_long_test_keeps_the_series_within_its_bound() {
        let threads = [thread(&[500], 2_000_000), thread(&[700], 2_000_000)];
        let merged = merge_threads(&[&threads[0], &threads[1]], WIDTH, &[]);
        assert!(merged.intervals.len() <= IntervalSeries::CAPACITY, "{}", merged.intervals.len());
        assert_eq!(merged.intervals.iter().map(Interval::ops).sum::<u64>(), merged.latency.count());
    }

    #[test]
    fn one_thread_is_as_it_was_but_for_the_grid() {
        let one = thread(&[70], 9_990);
        let merged = merge_threads(&[&one], WIDTH, &[]);
        assert_eq!(
            (merged.latency, merged.elapsed, merged.bytes),
            (one.latency, one.elapsed, one.bytes)
        );
        assert_eq!(merged.intervals.len(), one.intervals.len());
    }

    #[test]
    fn a_series_is_coarser_only_where_it_would_exceed_its_bound() {
        let cells = |until: u64| merge_threads(&[&thread(&[500], until)], WIDTH, &[]).intervals;
        assert_eq!(cells(512_000).len(), 512);
        let coarser = cells(513_000);
        assert_eq!((coarser.len(), coarser[0].ends), (257, Nanos(2_000)));
        assert_eq!(coarser.last().map(|last| last.ends), Some(Nanos(513_000)));
    }

    #[test]
    fn an_interval_is_in_the_cell_of_its_middle_with_the_last_temperature_by_its_end() {
        // Ends at 3,300, 6,600 and 9,900: the middles are 1,650, 4,950 and 8,250.
        let slow = thread(&[3_300], 9_900);
        let warmth = [(Nanos(3_000), 30_000), (Nanos(5_000), 35_000), (Nanos(9_001), 41_000)];
        let merged = merge_threads(&[&slow], WIDTH, &warmth);
        let cells = merged.intervals.iter().map(|one| (one.ends.0, one.temperature_millicelsius));
        let expected = [(2_000, 30_000), (5_000, 35_000), (9_000, 35_000)];
        let expected = expected.map(|(ends, millicelsius)| (ends, Some(millicelsius)));
        assert_eq!(cells.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn waits_and_missed_slots_of_all_threads_are_summed() {
        let mut threads = [thread(&[70], 1_000), thread(&[70], 1_000)];
        for (at, thread) in threads.iter_mut().enumerate() {
            thread.missed_slots = at as u64 + 3;
            thread.began = Nanos(10 - at as u64);
            thread.waits.record(Nanos(70), crate::WaitSplit::of(Nanos(70), Nanos(1), Nanos(2)));
        }
        let merged = merge_threads(&[&threads[0], &threads[1]], WIDTH, &[]);
        assert_eq!((merged.missed_slots, merged.began), (7, Nanos(9)));
        let waits: Vec<_> =
            merged.waits.occupied().map(|(power, class)| (power, class.ops)).collect();
        assert_eq!(waits, [(6, 2)]);
    }
}
