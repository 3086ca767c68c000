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
        // The pages one after another; the stop begins as the hundredth is taken.
        let stop = 100_000 * pages - 10_240;
        let waits: Vec<u64> =
            times.iter().map(|time| time.0 - usual).filter(|wait| *wait > 0).collect();
        assert_eq!(waits, [stop; 5], "{step}");
        assert_eq!(front.journal.as_ref().unwrap().programmed(), Bytes(6 * pages * 16 * KIB));
    }
}

/// Writes of 4 KiB with this housekeeping, each `rest` after the end of the one before: how long
/// each waits beyond what all take.
fn waits(housekeeping: &str, rest: u64, count: u64) -> Vec<u64> {
    let changes = [("host.housekeeping", housekeeping), BUFFER[0], BUFFER[1]];
    let (mut front, mut dies) = front(&[&SLC, &changes[..]].concat());
    let mut at = Nanos::ZERO;
    (0..count)
        .map(|index| {
            let end = front.submit(&mut dies, at, write(index % 1000 * 4096, 4096)).unwrap().ended;
            let wait = end.since(at).0 - (20_000 + 10_240);
            at = end.plus(Nanos(rest));
            wait
        })
        .collect()
}

#[test]
fn housekeeping_delays_one_command_in_its_interval_by_its_time() {
    let found = waits(r#"[{ writes = 50, mean = "20ms", spread = 0.5 }]"#, 0, 100_000);
    let late: Vec<f64> =
        found.iter().filter(|wait| **wait > 1_000_000).map(|wait| *wait as f64).collect();
    near(late.len() as f64, 2_000.0, 0.02);
    near(late.iter().sum::<f64>() / late.len() as f64, 20e6, 0.03);
    // No interval is longer than one and a half of the mean, or shorter than half of it.
    let places: Vec<usize> = (0..found.len()).filter(|place| found[*place] > 1_000_000).collect();
    let gaps = places.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(gaps.clone().min().unwrap() >= 25 && gaps.max().unwrap() <= 75);
    // By bytes it is the same for writes of one size.
    let bytes = waits(r#"[{ bytes = "200KiB", mean = "20ms" }]"#, 0, 100_000);
    near(bytes.iter().filter(|wait| **wait >= 20_000_000).count() as f64, 2_000.0, 0.02);
    let none = waits(r#"[{ writes = 4000000, mean = "20ms" }]"#, 0, 1000);
    assert!(none.iter().all(|wait| *wait < 1_000_000));
}

#[test]
fn pauses_hide_housekeeping_that_can_be_done_in_them() {
    let late = |rest: u64, pauses: bool| {
        let kinds = format!(r#"[{{ writes = 640, mean = "2ms", pauses = {pauses} }}]"#);
        waits(&kinds, rest, 100_000).into_iter().filter(|wait| *wait > 200_000).max()
    };
    // Twenty writes may pass until it is done: twenty pauses of 150 us are enough, of 50 us not.
    assert_eq!(late(0, false), Some(2_000_000));
    assert_eq!(late(150_000, false), Some(2_000_000));
    assert_eq!(late(150_000, true), None);
    let rest = late(50_000, true).unwrap();
    assert!((900_000..1_100_000).contains(&rest), "{rest}");
}

#[test]
fn housekeeping_of_a_full_write_cache_is_due_by_what_goes_past_it() {
    let late = |size: &str| {
        let changes = [
            ("slc.static", size),
            ("slc.dynamic", "0.0"),
            ("host.housekeeping", r#"[{ bytes = "1MiB", full = true, mean = "10ms" }]"#),
        ];
        let (mut front, mut dies) = front(&[&SLC[1..], &changes].concat());
        let times = times(&mut front, &mut dies, sequential(0, 48 * MIB, 48 * KIB));
        times.iter().filter(|time| time.0 > 10_000_000).count()
    };
    assert_eq!(late("\"64MiB\""), 0);
    near(late("\"16MiB\"") as f64, 32.0, 0.15);
}

#[test]
fn the_controllers_time_spreads_around_its_mean() {
    let changes = [("host.command_spread", "0.5"), ("host.flush_spread", "0.3"), BUFFER[0]];
    let changes = [&changes[..], &[BUFFER[1]]].concat();
    let (mut front, mut dies) = front(&[&SLC, &changes[..]].concat());
    let commands = (0..20_000).map(|index| write(index % 16 * 4096, 4096));
    let mut found: Vec<u64> =
        times(&mut front, &mut dies, commands).iter().map(|time| time.0 - 10_240).collect();
    found.sort_unstable();
    near(found.iter().sum::<u64>() as f64 / 20_000.0, 20_000.0, 0.02);
    near(found[18_000] as f64 / found[10_000] as f64, f64::exp(1.2816 * 0.5), 0.05);
    let flushes = times(&mut front, &mut dies, (0..20_000).map(|_| Command::Flush));
    let mut found: Vec<u64> = flushes[1..].iter().map(|time| time.0).collect();
    found.sort_unstable();
    near(found[18_000] as f64 / found[10_000] as f64, f64::exp(1.2816 * 0.3), 0.05);
}
