//! Delays of the device: late erases and the map's journal.

use super::write_cache::SLC;
use super::*;

/// Consecutive writes, each submitted at the end of the previous one: their latencies.
fn times(
    front: &mut Front,
    dies: &mut Dies,
    commands: impl Iterator<Item = Command>,
) -> Vec<Nanos> {
    let mut at = Nanos::ZERO;
    commands
        .map(|command| {
            let end = front.submit(dies, at, command).unwrap().ended;
            let time = end.since(at);
            at = end;
            time
        })
        .collect()
}

#[test]
fn writes_in_a_row_stop_for_an_erase_at_each_block_of_the_write_cache() {
    let changes =
        [("slc.static", "\"64MiB\""), ("gc.erase", "\"late\""), ("slc.erase", "\"10ms\"")];
    let (mut front, mut dies) = front(&[&SLC[1..], &changes].concat());
    // 96 pages of TLC are 32 of SLC: 32 * 16 KiB on each of four dies.
    let block = 2 * MIB;
    let times = times(&mut front, &mut dies, sequential(0, 32 * MIB, 16 * KIB));
    let stops = times.iter().filter(|time| **time >= Nanos::from_millis(10)).count() as u64;
    assert_eq!(stops, 32 * MIB / block);
    let longest = *times.iter().max().unwrap();
    assert_eq!(longest, Nanos(20_000 + 40_960 + 10_000_000 + 100_000));
    let early = [("slc.static", "\"64MiB\""), ("slc.erase", "\"10ms\"")];
    let (mut front, mut dies) = super::front(&[&SLC[1..], &early].concat());
    let in_a_row = sequential(0, 32 * MIB, 16 * KIB);
    assert!(self::times(&mut front, &mut dies, in_a_row).iter().all(|time| time.0 < 1_000_000));
}

#[test]
fn the_device_stops_to_write_the_pages_of_the_map_that_changed() {
    // A page of the map stands for 16 MiB: 4096 entries of 4 bytes.
    for (step, pages) in [(16 * MIB, 10), (4096, 1)] {
        let changes = [("map.journal", "100"), BUFFER[0], BUFFER[1]];
        let (mut front, mut dies) = front(&[&SLC, &changes[..]].concat());
        let commands = (0..600).map(|index| write(index % 10 * step, 4096));
        let times = times(&mut front, &mut dies, commands);
        let usual = 20_000 + 10_240;
        // The pages on four dies, a program each; the stop begins as the hundredth is taken.
        let stop = 100_000 * u64::div_ceil(pages, 4) - 10_240;
        let waits: Vec<u64> =
            times.iter().map(|time| time.0 - usual).filter(|wait| *wait > 0).collect();
        assert_eq!(waits, [stop; 5], "{step}");
        assert_eq!(front.journal.as_ref().unwrap().programmed(), Bytes(6 * pages * 16 * KIB));
    }
}
