//! What F2FS does while the device is idle.

use super::*;

const SEGMENT: Bytes = Bytes::from_mib(2);

/// A filesystem with `count` files of a segment each, of which every other one is deleted.
fn holed(spec: &str, count: u64) -> RamStack {
    let stack = stack(spec);
    for number in 0..count {
        let file = stack.create(&format!("file-{number}")).unwrap();
        stack.write_nothing(file, Bytes::ZERO, SEGMENT, true).unwrap();
    }
    stack.sync_directory().unwrap();
    for number in (0..count).step_by(2) {
        stack.delete(&format!("file-{number}")).unwrap();
    }
    stack.sync_directory().unwrap();
    stack
}

/// The milliseconds from now on (the first is 1) in which discards are sent, and the bytes of each.
fn discarded(stack: &RamStack, until: Nanos) -> Vec<(u64, Bytes)> {
    let from = stack.clock().now();
    let mut rounds = Vec::new();
    for millis in 1..=until.0 / 1_000_000 {
        let sent = sent(stack, || stack.pass_until(from.plus(Nanos::from_millis(millis))));
        if sent.discarded_bytes > Bytes::ZERO {
            rounds.push((millis, sent.discarded_bytes));
        }
    }
    rounds
}

#[test]
fn discards_begin_after_five_seconds_of_rest_eight_at_a_time_twenty_times_a_second() {
    let stack = holed("f2fs", 40);
    let rounds = discarded(&stack, Nanos::from_secs(8));
    // Twenty separate segments: 8 + 8 + 4 ranges. A file's first page may be in the segment before
    // its own, so not all of the files' segments are empty.
    let times: Vec<u64> = rounds.iter().map(|(millis, _)| *millis).collect();
    assert_eq!(times, [5_001, 5_051, 5_101], "{rounds:?}");
    let sizes: Vec<u64> = rounds.iter().map(|(_, bytes)| bytes.0 / SEGMENT.0).collect();
    assert_eq!(sizes, [8, 8, 4], "{rounds:?}");
}

#[test]
fn nothing_is_discarded_while_the_device_is_used_every_four_seconds() {
    let stack = holed("f2fs", 20);
    let file = stack.find("file-1").unwrap();
    for _ in 0..10 {
        let used = sent(&stack, || {
            let now = stack.clock().now();
            stack.pass_until(now.plus(Nanos::from_secs(4)));
            stack.write_nothing(file, Bytes::ZERO, Bytes::from_kib(4), true).unwrap();
        });
        assert_eq!(used.discarded_bytes, Bytes::ZERO);
    }
    assert_eq!(discarded(&stack, Nanos::from_secs(6)).len(), 2);
}

#[test]
fn free_segments_that_lie_together_are_one_discard() {
    let stack = stack("f2fs");
    let file = stack.create("gone").unwrap();
    stack.write_nothing(file, Bytes::ZERO, Bytes::from_mib(64), true).unwrap();
    stack.sync(file, false).unwrap();
    stack.delete("gone").unwrap();
    stack.sync_directory().unwrap();
    let rounds = discarded(&stack, Nanos::from_secs(6));
    assert_eq!(rounds.len(), 1, "{rounds:?}");
    assert!(rounds[0].1 >= Bytes::from_mib(62), "{rounds:?}");
    assert_eq!(stack.trim().unwrap(), Bytes::ZERO, "a trim finds nothing left");
}

/// A filesystem whose segments are half valid: pages of two files alternate, and one of the files
/// is deleted.
fn half_valid(spec: &str, segments: u64) -> RamStack {
    let stack = stack(spec);
    let files = ["kept", "gone"].map(|name| stack.create(name).unwrap());
    let page = Bytes::from_kib(4);
    for index in 0..segments * 256 {
        for file in files {
            stack.write_nothing(file, Bytes(index * page.0), page, true).unwrap();
        }
    }
    stack.delete("gone").unwrap();
    stack.sync_directory().unwrap();
    stack
}

#[test]
fn cleaning_at_rest_moves_a_segment_every_thirty_seconds_until_none_has_holes() {
    let stack = half_valid("f2fs,background_gc=on,nodiscard", 4);
    let from = stack.clock().now();
    let mut rounds = Vec::new();
    for second in 1..=1_000 {
        let until = from.plus(Nanos::from_secs(second));
        let read = sent(&stack, || stack.pass_until(until)).read_bytes;
        if read > Bytes::ZERO {
            rounds.push((second, read));
        }
    }
    // Cleaning moves 256 valid pages of each of three segments; the log still has the fourth open.
    // The third waits for five idle seconds after the checkpoint, which the first made due a minute
    // later.
    let half = Bytes::from_mib(1);
    assert_eq!(rounds, [(30, half), (60, half), (95, half)]);
}

#[test]
fn without_cleaning_at_rest_holes_stay() {
    let stack = half_valid("f2fs,nodiscard", 4);
    let rest = sent(&stack, || stack.pass_until(Nanos::from_secs(5_000)));
    assert_eq!(rest.read_bytes, Bytes::ZERO);
}
