//! What a reader of a phase derives from it: its rate without think times, a mean operation's split, whether it is
//! the headline test.

use flashlag_schema::{
    BlockKinds, CardLost, KindCount, Mixed, Phase, StallCause, Think, Time, WaitPart, WaitRecord,
};
use flashlag_spec::scenario::Durability;
use flashlag_spec::{Operation, Reading, State};
use flashlag_stats::Histogram;
use flashlag_testing::closed_loop_phase;
use flashlag_units::{Bytes, Nanos};

/// A hundred durable writes of 4 KiB, of 1 ms each.
fn durable_writes() -> Phase {
    let mut latency = Histogram::new();
    (0..100).for_each(|_| latency.record(Nanos::from_millis(1)));
    let operation = Operation::RandomWrite;
    let mut phase = closed_loop_phase("rand_write_4k", State::Filled, operation, &latency);
    phase.durable = Durability::Fdatasync;
    (phase.queue_depth, phase.threads, phase.run) = (1, 1, 2);
    phase
}

fn time(on_cpu: u64, runnable: u64, blocked: u64, stopped: u64) -> Time {
    let [on_cpu_ns, runnable_ns, blocked_ns, stopped_ns] =
        [on_cpu, runnable, blocked, stopped].map(Nanos::from_micros);
    Time { on_cpu_ns, runnable_ns, blocked_ns, stopped_ns }
}

#[test]
fn the_headline_test_is_one_durable_random_write_of_4_kib_at_a_time_and_nothing_else() {
    let phase = durable_writes();
    assert!(phase.is_durable_write());
    assert_eq!(phase.label(), "filled 2: rand_write_4k");
    let changes: [fn(&mut Phase); 6] = [
        |phase| phase.operation = Operation::SequentialWrite,
        |phase| phase.block_bytes = Bytes(8192),
        |phase| phase.queue_depth = 2,
        |phase| phase.threads = 2,
        |phase| phase.mixed = Some(Mixed { read_percent: 70 }),
        |phase| phase.durable = Durability::None,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut other = phase.clone();
        change(&mut other);
        assert!(!other.is_durable_write(), "change {number}");
    }
}

#[test]
fn think_times_are_in_the_rate_and_not_in_what_was_served_each_second() {
    let mut phase = durable_writes();
    assert_eq!((phase.is_paced(), phase.thought()), (false, Nanos::ZERO));
    assert_eq!(phase.served_per_sec(), phase.ops_per_sec);
    // Four slots, each of which rests for half a second of one second.
    (phase.queue_depth, phase.threads) = (2, 2);
    (phase.elapsed_ns, phase.ops_per_sec) = (Nanos::from_secs(1), 100.0);
    phase.think =
        Some(Think { each_ns: Nanos::from_millis(20), total_ns: Nanos::from_millis(4 * 500) });
    assert_eq!((phase.is_paced(), phase.thought()), (true, Nanos::from_millis(2000)));
    assert_eq!(phase.served_per_sec(), 200.0, "of half a second");
    (phase.think, phase.closed_loop) = (None, false);
    assert!(phase.is_paced(), "by a schedule");
}

#[test]
fn an_operations_split_has_no_cpu_time_that_lies_between_two_operations() {
    let mut phase = durable_writes();
    phase.time = Reading::Value(time(60_000, 10_000, 40_000, 1_000));
    // 600 + 100 + 400 + 10 µs is 110 µs more than the mean latency.
    assert_eq!(phase.time_each(), Some(time(490, 100, 400, 10)));
    phase.time = Reading::Value(Time::default());
    assert_eq!(phase.time_each(), None, "nothing was split");
    phase.time = Reading::unavailable("not here");
    assert_eq!(phase.time_each(), None);
}

#[test]
fn a_paced_phases_split_is_that_of_its_sampled_operations() {
    let mut phase = durable_writes();
    phase.closed_loop = false;
    phase.time = Reading::Value(time(0, 0, 9_000_000, 0));
    let class = |ops, time| WaitRecord { from_ns: Nanos(1), below_ns: Nanos(2), ops, time };
    phase.waits = vec![class(1, time(100, 10, 40, 0)), class(3, time(300, 30, 1160, 80))];
    assert_eq!(phase.time_each(), Some(time(100, 10, 300, 20)), "asleep between operations");
    phase.operation = Operation::Save;
    assert_eq!(phase.time_each(), Some(time(0, 0, 90_000, 0)), "of a save the thread's own");
}

#[test]
fn a_stall_has_the_cause_of_more_than_half_of_it_or_of_its_largest_part() {
    for (split, cause) in [
        (time(1, 1, 3, 0), StallCause::Storage),
        (time(1, 3, 1, 0), StallCause::Cpu),
        (time(3, 1, 1, 0), StallCause::Executing),
        (time(1, 0, 1, 3), StallCause::Stopped),
        (time(2, 2, 0, 0), StallCause::Mixed),
        (time(0, 2, 2, 0), StallCause::Mixed),
        (time(0, 0, 2, 2), StallCause::Mixed),
    ] {
        assert_eq!(StallCause::of(&split), cause, "{split:?}");
        assert_eq!(StallCause::known(&[], Some(&split)), cause);
    }
    assert_eq!(StallCause::known(&[], None), StallCause::Unknown);
    let part = |cause, ns| WaitPart { cause, ns: Nanos(ns) };
    let parts = [
        part(StallCause::Storage, 1),
        part(StallCause::Checkpoint, 5),
        part(StallCause::Cleaning, 5),
    ];
    assert_eq!(StallCause::known(&parts, Some(&time(0, 0, 0, 9))), StallCause::Checkpoint);
}

#[test]
fn writes_by_purpose_are_counted_from_a_moment_on() {
    let count = |writes: u64, bytes: u64| KindCount { writes, bytes: Bytes(bytes) };
    let kinds = |n: u64| BlockKinds {
        data: count(10 * n, 100 * n),
        journal: count(20 * n, 200 * n),
        metadata: count(30 * n, 300 * n),
    };
    assert_eq!(kinds(5).since(kinds(3)), kinds(2));
}

#[test]
fn what_a_card_lost_has_vanished_but_for_flipped_bits_and_what_could_not_be_read() {
    let lost = CardLost {
        blank: Bytes(1),
        other_address: Bytes(20),
        old: Bytes(300),
        flipped: Bytes(4_000),
        foreign: Bytes(50_000),
        unreadable: Bytes(600_000),
    };
    assert_eq!(lost.vanished(), Bytes(50_321));
    assert_eq!(lost.total(), Bytes(654_321));
}
