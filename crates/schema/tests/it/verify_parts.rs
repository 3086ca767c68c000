//! Parts of a phase that only some have: a floor, a schedule's figures, stalls that fio counted.
#![allow(clippy::unwrap_used)]

use flashlag_schema::verify::verify;
use flashlag_schema::{Floor, LatencySummary, Run, StoredHistogram, TargetKind};
use flashlag_spec::scenario::EngineKind;
use flashlag_stats::Histogram;
use flashlag_units::Nanos;

/// The paths at which a changed run differs.
fn found(change: impl FnOnce(&mut Run)) -> Vec<String> {
    let mut run = flashlag_testing::small_run();
    change(&mut run);
    run.seal();
    verify(&run).into_iter().map(|one| one.path).collect()
}

fn is_found(path: &str, change: impl FnOnce(&mut Run)) -> bool {
    found(change).iter().any(|found| found == path)
}

#[test]
fn a_closed_loop_has_neither_responses_nor_missed_slots() {
    let with = |responses: bool, missed: bool| {
        is_found("phases[0].closed_loop", |run| {
            let phase = &mut run.phases[0];
            phase.closed_loop = true;
            assert!(phase.response_histogram.is_some());
            if !responses {
                (phase.response_histogram, phase.response_ns) = (None, None);
            }
            phase.missed_slots = missed.then_some(0);
        })
    };
    assert!(with(true, true) && with(true, false) && with(false, true));
    assert!(!with(false, false));
    assert!(!is_found("phases[0].closed_loop", |run| run.phases[0].closed_loop = false));
}

#[test]
fn the_figures_of_a_floor_follow_from_its_histogram() {
    let mut latency = Histogram::new();
    (1..=50).for_each(|micros| latency.record(Nanos::from_micros(micros)));
    let floor = Floor {
        ops: 50,
        latency_ns: LatencySummary::from(&latency),
        histogram: StoredHistogram::from(&latency),
    };
    let with = |floor: Floor| found(|run| run.phases[0].floor = Some(floor));
    assert_eq!(with(floor.clone()), Vec::<String>::new());
    let more = Floor { ops: 51, ..floor.clone() };
    assert_eq!(with(more), ["phases[0].floor.ops"]);
    let mut slower = floor;
    slower.latency_ns.p50 = Some(Nanos(1));
    assert_eq!(with(slower), ["phases[0].floor.latency_ns.p50"]);
}

#[test]
fn stalls_are_surely_those_of_buckets_above_the_limit_and_perhaps_those_that_reach_beyond_it() {
    // 97 operations of one bucket, of which the limit is the start, the end, or between the two.
    let value = Nanos::from_millis(3);
    let (start, end) = Histogram::bounds_of(Histogram::index_of(value));
    let within = |limit: Nanos, seen: u64| {
        !is_found("phases[0].stalls_seen", |run| {
            let mut latency = Histogram::new();
            (0..97).for_each(|_| latency.record(value));
            let phase = &mut run.phases[0];
            phase.histogram = StoredHistogram::from(&latency);
            (phase.stall_over_ns, phase.stalls_seen) = (limit, seen);
        })
    };
    // All above: every one is a stall.
    let below = Nanos(start.0 - 1);
    assert!(within(below, 97) && !within(below, 96) && !within(below, 98));
    // A wait of just the limit is none, so any number may be.
    assert!(within(start, 0) && within(start, 97) && !within(start, 98));
    // None reaches beyond the end of its bucket.
    assert!(within(end, 0) && !within(end, 1));
    assert!(within(Nanos(end.0 - 1), 97));
}

#[test]
fn stalls_that_are_counted_are_listed_except_those_that_fio_counted() {
    let unlisted = |change: fn(&mut Run)| {
        is_found("phases[0].stalls", |run| {
            assert!(run.phases[0].stalls_seen > 0);
            run.phases[0].stalls.clear();
            change(run);
        })
    };
    assert!(unlisted(|_| {}));
    assert!(!unlisted(|run| run.phases[0].engine = EngineKind::Fio));
    assert!(!unlisted(|run| run.target.kind = TargetKind::Imported));
    assert!(!unlisted(|run| run.phases[0].stalls_seen = 0), "nothing to list");
    assert!(!is_found("phases[0].stalls", |_| {}), "all are listed");
}
