//! Queue, command overheads, link, sleep, discards.

use super::*;

#[test]
fn writing_in_a_row_runs_at_the_slower_of_link_and_dies() {
    // Four dies of 48 KiB a millisecond: 196.6 MB/s.
    let dies_rate = 4.0 * 48.0 * 1024.0 / 1e-3;
    for (link, expected) in [("400MB", dies_rate), ("100MB", 100e6), ("250MB", dies_rate)] {
        let link = format!("\"{link}\"");
        let changes = [
            BUFFER[0],
            BUFFER[1],
            ("host.write_per_second", &link),
            ("host.write_command", "\"0s\""),
            ("map.capacity", "\"1GiB\""),
        ];
        let (mut front, mut dies) = front(&changes);
        let bytes = 384 * MIB;
        let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, sequential(0, bytes, 512 * KIB));
        near(bytes as f64 / end.as_secs_f64(), expected, 0.01);
    }
}

#[test]
fn one_large_write_without_a_buffer_hides_all_but_its_first_transfer() {
    let (mut front, mut dies) = front(&[("host.write_per_second", "\"1GB\"")]);
    let timing = front.submit(&mut dies, Nanos::ZERO, write(0, 480 * KIB)).unwrap();
    // Ten programs on four dies: die 1 and 2 get three. The second's first begins once two pieces
    // are there; it is busy from then on.
    let piece = 48 * 1024;
    assert_eq!(timing.ended, Nanos(20_000 + 2 * piece + 3_000_000));
}

#[test]
fn one_large_read_hides_all_but_the_transfer_of_its_last_page() {
    let (mut front, mut dies) = front(&[]);
    let timing = front.submit(&mut dies, Nanos::ZERO, read(0, 64 * KIB)).unwrap();
    // Four pages of 16 KiB that these dies have in a row: each goes over the link while the next is
    // read.
    assert_eq!(dies.reads, 4);
    assert_eq!(timing.ended, Nanos(20_000 + 4 * 50_000 + 40_960));
}

#[test]
fn the_queue_limits_how_many_reads_are_at_work() {
    for (depth, expected) in [(1, 1.0), (2, 2.0), (4, 4.0), (32, 4.0)] {
        let depth_text = format!("{depth}");
        let changes = [
            ("host.queue_depth", depth_text.as_str()),
            ("host.read_command", "\"0s\""),
            ("host.read_per_second", "\"100GB\""),
        ];
        let (mut front, mut dies) = front(&changes);
        let count = 4000;
        let ends =
            (0..count).map(|index| front.submit(&mut dies, Nanos::ZERO, read(index * 4096, 512)));
        let end = ends.map(|timing| timing.unwrap().ended).max().unwrap();
        // Four dies of 20,000 reads a second each, one of them for each command that is at work.
        near(count as f64 / end.as_secs_f64(), expected * 20_000.0, 0.01);
    }
}

#[test]
fn the_controller_does_no_more_than_one_command_in_its_overhead() {
    let (mut front, mut dies) = front(&[("host.queue_depth", "32")]);
    let ends =
        (0..1000).map(|index| front.submit(&mut dies, Nanos::ZERO, read(index * 4096, 4096)));
    let end = ends.map(|timing| timing.unwrap().ended).max().unwrap();
    near(1000.0 / end.as_secs_f64(), 50_000.0, 0.01);
}

#[test]
fn a_command_larger_than_the_largest_pays_for_each_part() {
    let (mut front, mut dies) =
        front(&[("host.largest", "\"4KiB\""), ("host.read_command", "\"1ms\"")]);
    let end = front.submit(&mut dies, Nanos::ZERO, read(0, 64 * KIB)).unwrap().ended;
    // Sixteen of them, one after the other: overhead, read, transfer.
    assert_eq!(end, Nanos(16 * (1_000_000 + 50_000 + 10_240)));
}

#[test]
fn packed_writes_pay_for_one_command() {
    let overheads = |packed: &str| {
        let changes = [
            ("host.packed", packed),
            ("host.write_command", "\"1ms\""),
            ("nand.program", "\"1us\""),
        ];
        let (mut front, mut dies) = front(&changes);
        let ends =
            (0..17).map(|index| front.submit(&mut dies, Nanos::ZERO, write(index * 4096, 4096)));
        let end = ends.map(|timing| timing.unwrap().ended).max().unwrap();
        end.0 / 1_000_000
    };
    // The first goes alone, since nothing waits yet; the other sixteen in packs.
    assert_eq!((overheads("1"), overheads("8"), overheads("16")), (17, 3, 2));
}

#[test]
fn a_device_that_slept_answers_later() {
    let changes = [
        ("host.sleep_after", "\"220ms\""),
        ("host.wake", "\"2400us\""),
        ("host.wake_most", "\"4900us\""),
    ];
    let (mut front, mut dies) = front(&changes);
    let first = front.submit(&mut dies, Nanos::ZERO, read(0, 4096)).unwrap();
    let awake = first.ended.0;
    let mut waits = Vec::new();
    let mut at = first.ended;
    for _ in 0..200 {
        let called = at.plus(Nanos::from_millis(220));
        let timing = front.submit(&mut dies, called, read(0, 4096)).unwrap();
        waits.push(timing.ended.since(called).0 - awake);
        let soon = timing.ended.plus(Nanos::from_millis(219));
        let timing = front.submit(&mut dies, soon, read(0, 4096)).unwrap();
        assert_eq!(timing.ended.since(soon).0, awake);
        at = timing.ended;
    }
    let (least, most) = (*waits.iter().min().unwrap(), *waits.iter().max().unwrap());
    assert!((2_400_000..2_500_000).contains(&least), "{least}");
    assert!((4_800_000..=4_900_000).contains(&most), "{most}");
}

#[test]
fn discards_cost_by_range_and_size_and_delay_the_flush_where_they_are_queued() {
    let time = |kind: &str| {
        let changes =
            [("trim.kind", kind), ("trim.per_range", "\"100us\""), ("trim.per_mib", "\"50us\"")];
        let (mut front, mut dies) = front(&changes);
        let discard = Command::Discard { offset: Bytes(0), length: Bytes(64 * MIB) };
        let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, [discard, discard]);
        (end, in_a_row(&mut front, &mut dies, end, [Command::Flush]))
    };
    let (command, work, flush) = (20_000, 100_000 + 64 * 50_000, 5_000);
    let immediate = 2 * (command + work);
    assert_eq!(time("\"immediate\""), (Nanos(immediate), Nanos(immediate + flush)));
    let queued = 2 * command;
    assert_eq!(time("\"queued\""), (Nanos(queued), Nanos(command + 2 * work)));
    assert_eq!(time("\"ignored\""), (Nanos(queued), Nanos(queued + flush)));
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let run = || {
        let changes = [
            BUFFER[0],
            BUFFER[1],
            ("host.sleep_after", "\"1ms\""),
            ("host.wake", "\"1ms\""),
            ("host.wake_most", "\"9ms\""),
        ];
        let (mut front, mut dies) = front(&changes);
        let mut at = Nanos::ZERO;
        (0..300)
            .map(|index: u64| {
                at = front
                    .submit(&mut dies, at, write(index * 7919 % 4096 * 4096, 4096))
                    .unwrap()
                    .ended;
                at = at.plus(Nanos(index % 5 * 400_000));
                at
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

/// Levels of UFS: link asleep, clocks off, power off.
const RESTS: &str = r#"[{ after = "1ms", wake = "455us" }, { after = "50ms", wake = "12700us" },
    { after = "3s", wake = "19600us" }]"#;

#[test]
fn the_last_level_of_sleep_that_a_rest_has_reached_is_what_waking_costs() {
    let rests = RESTS.replace('\n', " ");
    let (mut front, mut dies) = front(&[("host.rests", &rests), ("host.queue_depth", "32")]);
    let mut at = front.submit(&mut dies, Nanos::ZERO, read(0, 4096)).unwrap().ended;
    let awake = at.0;
    for (rest, wake) in [
        (999_999, 0),
        (1_000_000, 455_000),
        (49_999_999, 455_000),
        (50_000_000, 12_700_000),
        (2_999_999_999, 12_700_000),
        (3_000_000_000, 19_600_000),
        (86_400_000_000_000, 19_600_000),
    ] {
        let called = at.plus(Nanos(rest));
        at = front.submit(&mut dies, called, read(0, 4096)).unwrap().ended;
        assert_eq!(at.since(called), Nanos(awake + wake), "after {rest} ns");
        // A command that arrives during the wake-up waits for the rest of it, not for another one.
        let soon = called.plus(Nanos(1));
        let second = front.submit(&mut dies, soon, read(4096, 4096)).unwrap().ended;
        assert_eq!(second.since(called), Nanos(awake + wake + 20_000), "after {rest} ns");
        at = second;
    }
}

/// Reads of 4 KiB, 16 always in flight: the sorted latencies, and the total time.
fn sixteen_under_way(passed_over: &str) -> (Vec<u64>, Nanos) {
    let changes = [
        ("host.queue_depth", "32"),
        ("host.duplex", "true"),
        ("host.passed_over", passed_over),
        ("nand.read", "\"1us\""),
    ];
    let (mut front, mut dies) = front(&changes);
    let mut ends = std::collections::BinaryHeap::from(vec![std::cmp::Reverse(Nanos::ZERO); 16]);
    let (mut times, mut last) = (Vec::new(), Nanos::ZERO);
    for index in 0..40_000 {
        let at = ends.pop().unwrap().0;
        let end = front.submit(&mut dies, at, read(index % 4096 * 4096, 4096)).unwrap().ended;
        times.push(end.since(at).0);
        last = last.max(end);
        ends.push(std::cmp::Reverse(end));
    }
    times.sort_unstable();
    (times, last)
}

#[test]
fn commands_that_are_passed_over_take_two_rounds_and_the_rate_stays() {
    let (stage, count) = (20_000.0, 40_000.0);
    let (times, all) = sixteen_under_way("0.0");
    near(times[20_000] as f64, 16.0 * stage, 0.01);
    near(all.0 as f64 / count, stage, 0.01);
    let (times, all) = sixteen_under_way("0.05");
    near(all.0 as f64 / count, stage, 0.01);
    let median = times[20_000] as f64;
    let late = times.iter().filter(|time| **time as f64 > 1.5 * median).count();
    near(late as f64 / count, 0.05, 0.1);
    near(times[39_600] as f64 / median, 2.0, 0.1);
    // With sixteen in flight at the same rate, each takes sixteen stages on average.
    let mean = times.iter().sum::<u64>() as f64 / count;
    near(mean, 16.0 * stage, 0.01);
}
