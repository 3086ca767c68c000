//! WriteBooster: a cache that is part of the user's capacity, and when it is emptied.

use super::write_cache::{SLC, cliff};
use super::*;

/// A block on each of four dies in SLC mode, in units: 32 pages of 16 KiB.
const GROUP: u64 = 4 * 32 * 4;
const QUICK: [(&str, &str); 2] =
    [("host.write_command", "\"0s\""), ("host.write_per_second", "\"2GB\"")];
const SHARED: (&str, &str) = ("slc.space", "\"shared\"");

/// A front of 256 MiB with a cache of 12 MiB, `full` bytes of which are in the main area, from the
/// end on.
fn used(full: u64, changes: &[(&str, &str)]) -> (Front, Dies) {
    let (front, mut dies) = front(&[&SLC[..], &BUFFER[..], &QUICK[..], changes].concat());
    let first = dies.mapped.len() - (full / 4096) as usize;
    dies.mapped[first..].fill(true);
    (front, dies)
}

#[test]
fn a_shared_cache_shrinks_to_what_the_free_room_holds_in_single_bits() {
    for (full, expected) in [(0, 12 * MIB), (200 * MIB, 12 * MIB), (232 * MIB, 6 * MIB)] {
        // U bytes in it and F free before: U = min(12 MiB, (F - U) / 3).
        let (mut front, mut dies) = used(full, &[SHARED]);
        let (written, ..) = cliff(&mut front, &mut dies, Nanos::ZERO, 24 * MIB);
        near(written as f64, expected as f64, 0.01);
        let (mut front, mut dies) = used(full, &[]);
        let (written, ..) = cliff(&mut front, &mut dies, Nanos::ZERO, 24 * MIB);
        assert_eq!(written, 12 * MIB, "a cache apart has its size whatever is full");
    }
}

#[test]
fn a_shared_cache_gives_a_byte_back_for_each_three_that_are_written_beside_it() {
    let (mut front, mut dies) = used(200 * MIB, &[SHARED]);
    // 12 MiB into the cache, 8 MiB beside it: 36 MiB are free, which hold 12 MiB in single bits.
    let mut at = in_a_row(&mut front, &mut dies, Nanos::ZERO, sequential(0, 20 * MIB, 192 * KIB));
    assert!(front.slc_counts().folded <= 12, "{:?}", front.slc_counts());
    let from = at;
    for step in 1..=32 {
        let more = sequential((19 + step) * MIB, MIB, 128 * KIB);
        at = in_a_row(&mut front, &mut dies, at, more);
        // The third part of it, to a group of blocks.
        let (folded, due) = (front.slc_counts().folded, step * 256 / 3);
        assert!(folded + GROUP >= due && folded <= due + GROUP + 24, "{folded} of {due}");
        let slc = front.slc.as_ref().unwrap();
        assert!(slc.occupied() <= slc.most(&dies) + GROUP);
    }
    assert_eq!(
        front.slc_counts().written * 4096,
        12 * MIB,
        "nothing goes where room was given back"
    );
    // Three programs in four are the host's. A program of folding waits for its reads, which wait
    // for these at most.
    let at = in_a_row(&mut front, &mut dies, at, [Command::Flush]);
    assert_eq!(dies.units, 40 * MIB / 4096 + front.slc_counts().folded);
    let rate = 32.0 * MIB as f64 / at.since(from).as_secs_f64();
    assert!(rate < 0.75 * 4.0 * 49152.0 / 1e-3, "{rate}");
    assert!(rate > 3.0 * 49152.0 / (2.0 * 1e-3 + 3.0 * 20e-6), "{rate}");
}

#[test]
fn a_shared_cache_that_gave_room_back_takes_data_again_once_it_was_emptied() {
    let (mut front, mut dies) = used(200 * MIB, &[SHARED, ("slc.fold_after", "\"1s\"")]);
    let at = in_a_row(&mut front, &mut dies, Nanos::ZERO, sequential(0, 30 * MIB, 192 * KIB));
    let before = front.slc_counts().written;
    let later = at.plus(Nanos::from_secs(60));
    in_a_row(&mut front, &mut dies, later, sequential(30 * MIB, 12 * MIB, 192 * KIB));
    // 26 MiB are free: (26 - U) / 3 are 6.5 MiB.
    let written = (front.slc_counts().written - before) * 4096;
    near(written as f64, 6.5 * MIB as f64, 0.02);
}

/// Units that are folded in a rest of 10 s after `bytes` were written.
fn folded_after(bytes: u64, changes: &[(&str, &str)]) -> u64 {
    let (mut front, mut dies) = used(0, &[&[("slc.fold_after", "\"5ms\"")], changes].concat());
    let writes = sequential(0, bytes, 128 * KIB).chain([Command::Flush]);
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, writes);
    front.idle(&mut dies, end.plus(Nanos::from_secs(10))).unwrap();
    front.slc_counts().folded
}

/// A step of folding: a page from each of three dies, and a program unit of twelve units.
const STEP: u64 = 20_000 + 1_000_000;

#[test]
fn folding_stops_where_the_host_takes_the_power_away() {
    let until = ("slc.fold_until", "\"20ms\"");
    // From 5 ms on, a step begins whenever one has ended, until 20 ms.
    let steps = 15_000_000u64.div_ceil(STEP);
    assert_eq!(folded_after(11 * MIB, &[until]), 12 * steps);
    assert_eq!(folded_after(11 * MIB, &[]), 11 * MIB / 4096);
    // With 0.4 of it to be available it goes on until 0.6 are in use, in whole groups of blocks.
    let below = ("slc.fold_below", "0.4");
    let groups = (11 * MIB / 4096 - 12 * MIB / 4096 * 6 / 10).div_ceil(GROUP);
    assert_eq!(folded_after(11 * MIB, &[until, below]), (groups * GROUP).next_multiple_of(12));
    // Half is available.
    assert_eq!(folded_after(6 * MIB, &[until, below]), 12 * steps);
}

#[test]
fn a_step_of_folding_programs_as_many_dies_as_it_has_streams() {
    // A step of n program units reads 3 n pages on four dies. A group that is empty is erased.
    for (streams, reads) in [(1, 1), (2, 2), (4, 3)] {
        let (mut time, mut folded) = (0, 0);
        while time < 40_000_000 {
            let before = folded / GROUP;
            folded += 12 * streams;
            let erases = folded / GROUP - before;
            time += reads * 20_000 + 1_000_000 + erases * 3_000_000;
        }
        let streams = streams.to_string();
        let changes = [("slc.fold_until", "\"45ms\""), ("slc.fold_streams", &streams)];
        assert_eq!(folded_after(11 * MIB, &changes), folded, "{streams} streams");
    }
}
