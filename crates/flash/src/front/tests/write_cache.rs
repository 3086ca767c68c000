//! The write cache: its cliff, and how idle time restores it.

use super::*;

pub(super) const SLC: [(&str, &str); 4] = [
    ("slc.static", "\"12MiB\""),
    ("slc.read", "\"20us\""),
    ("slc.program", "\"100us\""),
    ("slc.erase", "\"3ms\""),
];

/// Writes until the rate falls for good; the bytes before the cliff, the rates before and after.
pub(super) fn cliff(
    front: &mut Front,
    dies: &mut Dies,
    from: Nanos,
    bytes: u64,
) -> (u64, f64, f64) {
    let (mut at, mut ends) = (from, Vec::new());
    for command in sequential(0, bytes, 192 * KIB) {
        at = front.submit(dies, at, command).unwrap().ended;
        ends.push(at);
    }
    let written = front.slc_counts().written * 4096;
    let steps = (written / (192 * KIB)) as usize;
    let rate = |from: usize, until: usize| {
        (until - from) as f64 * 192.0 * 1024.0 / ends[until].since(ends[from]).as_secs_f64()
    };
    (written, rate(8, steps - 8), rate(steps + 8, ends.len() - 1))
}

#[test]
fn a_full_write_cache_is_a_cliff() {
    let mut changes = SLC.to_vec();
    changes.extend([
        ("host.write_command", "\"0s\""),
        ("host.write_per_second", "\"2GB\""),
        ("host.queue_depth", "1"),
        BUFFER[0],
        BUFFER[1],
    ]);
    let (mut front, mut dies) = front(&changes);
    let (written, before, after) = cliff(&mut front, &mut dies, Nanos::ZERO, 96 * MIB);
    // 256 program units, to the last.
    assert_eq!(written, 12 * MIB);
    // 16 KiB in 100 µs on four dies, then 48 KiB in 1 ms.
    near(before, 4.0 * 16384.0 / 100e-6, 0.03);
    near(after, 4.0 * 49152.0 / 1e-3, 0.01);
}

#[test]
fn a_share_of_what_is_free_is_lent_to_the_write_cache() {
    let mut changes = SLC.to_vec();
    changes.extend([("slc.dynamic", "0.3"), BUFFER[0], BUFFER[1]]);
    let (mut front, mut dies) = front(&changes);
    let (written, ..) = cliff(&mut front, &mut dies, Nanos::ZERO, 96 * MIB);
    let (fixed, share, free) = (12.0, 0.3 / 3.0, 256.0);
    near(written as f64 / MIB as f64, (fixed + share * free) / (1.0 + share), 0.01);
}

#[test]
fn idle_time_gives_the_write_cache_back() {
    let mut changes = SLC.to_vec();
    changes.extend([("slc.fold_after", "\"1s\""), BUFFER[0], BUFFER[1]]);
    let (mut front, mut dies) = front(&changes);
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, sequential(0, 24 * MIB, 192 * KIB));
    let full = front.slc_counts().written;
    // Too short to fold all of it: a step takes a read, a program, and its share of an erase.
    let short = end.plus(Nanos::from_millis(1100));
    let end = in_a_row(&mut front, &mut dies, short, [read(0, 4096)]);
    let folded = front.slc_counts().folded;
    assert!(folded > 0 && folded < full, "{folded} of {full}");
    let long = end.plus(Nanos::from_secs(10));
    in_a_row(&mut front, &mut dies, long, sequential(64 * MIB, 24 * MIB, 192 * KIB));
    assert_eq!(front.slc_counts().folded, full);
    near((front.slc_counts().written - full) as f64, full as f64, 0.01);
}

#[test]
fn folding_for_room_is_slower_than_going_past_the_cache() {
    let after = |full: &str| {
        let mut changes = SLC.to_vec();
        changes.extend([
            ("slc.full", full),
            BUFFER[0],
            BUFFER[1],
            ("slc.static", "\"8MiB\""),
            ("host.write_command", "\"0s\""),
            ("host.write_per_second", "\"2GB\""),
        ]);
        let (mut front, mut dies) = front(&changes);
        let filled =
            in_a_row(&mut front, &mut dies, Nanos::ZERO, sequential(0, 24 * MIB, 192 * KIB));
        let end =
            in_a_row(&mut front, &mut dies, filled, sequential(24 * MIB, 24 * MIB, 192 * KIB));
        let counts = front.slc_counts();
        let rate = 24.0 * MIB as f64 / end.since(filled).as_secs_f64();
        (rate, counts)
    };
    let (direct, direct_counts) = after("\"direct\"");
    let (fold, fold_counts) = after("\"fold\"");
    assert!(fold < 0.9 * direct, "{fold} {direct}");
    assert_eq!(direct_counts.folded, 0);
    // Every unit but those that are still there was folded.
    let all = 48 * MIB / 4096;
    assert!(fold_counts.written >= all - 300 && fold_counts.folded >= all - 300 - 8 * 256);
}

#[test]
fn what_was_discarded_is_not_folded() {
    let mut changes = SLC.to_vec();
    changes.extend([("slc.fold_after", "\"1s\"")]);
    let (mut front, mut dies) = front(&changes);
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, sequential(0, 6 * MIB, 192 * KIB));
    let discard = Command::Discard { offset: Bytes(0), length: Bytes(4 * MIB) };
    let end = in_a_row(&mut front, &mut dies, end, [discard]);
    front.idle(&mut dies, end.plus(Nanos::from_secs(10))).unwrap();
    assert_eq!(front.slc_counts().folded, 2 * 256);
}

#[test]
fn reads_of_the_write_cache_take_its_time() {
    let (mut front, mut dies) = front(&SLC);
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, [write(0, 16 * KIB)]);
    let timing = front.submit(&mut dies, end, read(4096, 4096)).unwrap();
    assert_eq!(timing.ended.since(end), Nanos(20_000 + 20_000 + 4096 * 10 / 4));
    // The four units of a page are read at once.
    let end = timing.ended;
    let timing = front.submit(&mut dies, end, read(0, 16 * KIB)).unwrap();
    assert_eq!(timing.ended.since(end), Nanos(20_000 + 20_000 + 16384 * 10 / 4));
    assert_eq!(dies.reads, 0);
}
