use flashlag_schema::finding::{StallCount, WaitFinding, WaitRange};
use flashlag_schema::{CheckId, Run, StallCause, StallRecord, Time, WaitRecord};
use flashlag_spec::State;
use flashlag_units::Nanos;

use crate::findings;
use crate::testing::{around, failing, run, saves, writes};

/// A class of latencies whose time is split in parts of 1,000.
fn class(power: u32, on_cpu: u64, runnable: u64) -> WaitRecord {
    let part = |parts: u64| Nanos(parts * 1_000_000);
    WaitRecord {
        from_ns: Nanos(1 << power),
        below_ns: Nanos(2 << power),
        ops: 7,
        time: Time {
            on_cpu_ns: part(on_cpu),
            runnable_ns: part(runnable),
            blocked_ns: part(1000 - on_cpu - runnable),
            stopped_ns: Nanos::ZERO,
        },
    }
}

/// A thousand waits of about 10 ms, in the class from 2^23 ns.
fn with(on_cpu: u64, runnable: u64) -> Run {
    let mut phase = saves("save_delete", State::Filled, &around(10, 1000));
    phase.waits = vec![class(23, on_cpu, runnable)];
    run(vec![phase])
}

fn waits(run: &Run) -> WaitFinding {
    findings(run).waits.unwrap()
}

#[test]
fn what_holds_half_of_a_typical_wait_is_its_cause() {
    assert_eq!(waits(&with(100, 400)).cause, StallCause::Storage);
    assert_eq!(waits(&with(100, 500)).cause, StallCause::Cpu);
    assert_eq!(waits(&with(100, 499)).cause, StallCause::Mixed);
    assert_eq!(waits(&with(500, 300)).cause, StallCause::Executing);
    assert_eq!(waits(&with(499, 300)).cause, StallCause::Mixed);
}

#[test]
fn groups_are_the_typical_the_slow_and_with_a_thousand_operations_the_slowest() {
    let run = with(100, 200);
    let found = waits(&run);
    let ranges: Vec<WaitRange> = found.groups.iter().map(|group| group.range).collect();
    assert_eq!(ranges, [WaitRange::Typical, WaitRange::Slow, WaitRange::Slowest]);
    let ops: Vec<u64> = found.groups.iter().map(|group| group.ops).collect();
    assert_eq!(ops, [100, 90, 10]);
    for group in &found.groups {
        assert!((group.on_cpu - 0.1).abs() < 1e-12 && (group.blocked - 0.7).abs() < 1e-12);
        assert!(group.mean_ns.0.abs_diff(10_000_000) < 100_000, "{group:?}");
        assert_eq!((group.sampled, group.sampled_from_ns.0), (7, 1 << 23));
    }
    let mut fewer = run;
    fewer.phases[0].histogram = flashlag_schema::StoredHistogram::from(&around(10, 999));
    assert_eq!(waits(&fewer).groups.len(), 2, "999 operations have no p99");
}

#[test]
fn the_split_of_a_group_weights_each_class_by_its_time_in_the_group() {
    // Ranks 900 to 990 of 1,000: half of these waits take 10 ms, the other half 40.
    let mut waits_of = around(10, 945);
    waits_of.merge(&around(40, 55));
    let mut phase = saves("save_delete", State::Filled, &waits_of);
    phase.waits = vec![class(23, 0, 0), class(25, 0, 1000)];
    let slow = waits(&run(vec![phase])).groups.remove(1);
    assert!((slow.waiting_for_cpu - 0.8).abs() < 0.01, "40 of 50 ms: {slow:?}");
}

#[test]
fn a_failed_check_leaves_the_cause_open_unless_it_is_the_cpu_that_each_group_shows() {
    let doubted = |runnable, id| {
        let mut run = with(0, runnable);
        run.trust.checks = vec![failing(id, &[])];
        let found = waits(&run);
        (found.cause, found.doubted_by)
    };
    let open = |id| (StallCause::Unknown, Some(id));
    assert_eq!(doubted(200, CheckId::ForeignIo), open(CheckId::ForeignIo));
    assert_eq!(doubted(500, CheckId::CpuContention), open(CheckId::CpuContention));
    assert_eq!(doubted(501, CheckId::CpuContention), (StallCause::Cpu, None));
}

#[test]
fn the_same_test_when_new_stands_beside_the_worst_stage() {
    let mut new = saves("save_delete", State::New, &around(10, 1000));
    new.waits = vec![class(23, 900, 0)];
    let mut full = saves("save_delete", State::Filled, &around(40, 1000));
    full.waits = vec![class(25, 100, 0)];
    let found = waits(&run(vec![new, full]));
    assert_eq!(found.groups[0].phase, "new: save_delete");
    assert_eq!((found.phase.as_str(), found.groups.len()), ("filled 1: save_delete", 4));
    assert_eq!(found.cause, StallCause::Storage, "by the stage that is explained");
}

#[test]
fn without_a_split_there_is_nothing_to_say_of_waits() {
    assert_eq!(findings(&run(vec![writes("rand_write_4k", State::New, &[10; 50])])).waits, None);
}

#[test]
fn stalls_are_counted_by_cause_and_are_usual_where_the_median_is_over_the_limit() {
    let stall = |ms: u64, cause| StallRecord {
        t_ns: Nanos::ZERO,
        ns: Nanos::from_millis(ms),
        cause,
        ..StallRecord::default()
    };
    let mut phase = writes("rand_write_4k", State::New, &[10; 50]);
    phase.stalls = vec![
        stall(20, StallCause::Cpu),
        stall(30, StallCause::Storage),
        stall(50, StallCause::Storage),
    ];
    phase.stalls_seen = 9;
    let calm = writes("seq_write_1m", State::New, &[10; 50]);
    let mut run = run(vec![phase, calm]);
    let found = findings(&run).stalls;
    assert_eq!(found.len(), 1, "a phase without stalls has no entry");
    assert_eq!((found[0].seen, found[0].usual), (9, false));
    assert_eq!(found[0].longest_ns, Some(Nanos::from_millis(50)));
    assert_eq!(found[0].total_ns, Nanos::from_millis(100));
    let counts = [(StallCause::Storage, 2), (StallCause::Cpu, 1)];
    assert_eq!(found[0].causes, counts.map(|(cause, stalls)| StallCount { cause, stalls }));
    let median = run.phases[0].latency_ns.p50.unwrap();
    run.phases[0].stall_over_ns = median;
    assert!(!findings(&run).stalls[0].usual);
    run.phases[0].stall_over_ns = Nanos(median.0 - 1);
    assert!(findings(&run).stalls[0].usual);
}
