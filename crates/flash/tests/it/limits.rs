//! The whole device against closed forms: link, dies, queue, controller, write cache, idle time.

use crate::common;
use flashlag_flash::{Command, Flash, Order, Past};
use flashlag_units::{Bytes, Nanos};

const PAGE: u64 = 4096;

fn near(what: &str, found: f64, expected: f64) {
    let off = (found / expected - 1.0) * 100.0;
    assert!(off.abs() < 1.0, "{what}: {found:.0} against {expected:.0}, {off:+.2} %");
}

/// Commands per second with `depth` always under way.
fn rate(flash: &mut Flash, depth: usize, count: usize, command: impl Fn(u64) -> Command) -> f64 {
    let from = Nanos::from_secs(1000);
    let mut ends = vec![from; depth];
    for turn in 0..count {
        let next = (0..depth).min_by_key(|slot| ends[*slot]).unwrap();
        ends[next] = flash.submit(ends[next], command(turn as u64)).unwrap().ended;
    }
    let last = ends.into_iter().max().unwrap();
    count as f64 / (last.since(from).0 as f64 / 1e9)
}

/// A device whose first 32 MiB are written: page after page on die after die.
fn filled(changes: &[(&str, &str)]) -> Flash {
    let mut flash = common::flash(changes);
    let past = Past { written: Bytes(32 << 20), order: Order::Sequential, cycles: 0 };
    flash.prepare(&past).unwrap();
    flash
}

#[test]
fn reads_in_a_row_run_at_the_links_rate_where_the_dies_are_faster() {
    let mut flash = filled(&[("nand.channels", "8"), ("host.read_command", "\"1us\"")]);
    let chunk = 512 << 10;
    let found = rate(&mut flash, 1, 64, |turn| common::read(turn * chunk, chunk));
    // 90 MB/s; the first page of each command comes before its link, 1 us and 91 us of 5.8 ms.
    let time = 1e-6 + 50e-6 + PAGE as f64 / 100e6 + chunk as f64 / 90e6;
    near("bytes a second", found * chunk as f64, chunk as f64 / time);
    assert!(found * chunk as f64 > 0.98 * 90e6, "the link is the limit");
}

#[test]
fn writes_in_a_row_run_at_the_dies_rate_where_the_link_is_faster() {
    for (dies, volatile) in [(1.0, "true"), (4.0, "false")] {
        let channels = format!("{dies}");
        let mut flash = common::flash(&[
            ("nand.channels", &channels),
            ("buffer.size", "\"1MiB\""),
            ("buffer.volatile", volatile),
        ]);
        let chunk = 256 << 10;
        let found = rate(&mut flash, 1, 200, |turn| common::write(turn * chunk, chunk));
        // What is still in the buffer at the end, 2 % of all, took no program yet.
        let die = PAGE as f64 / (600e-6 + PAGE as f64 / 100e6);
        let expected = dies * die * 200.0 / 196.0;
        near("bytes a second", found * chunk as f64, expected);
    }
}

#[test]
fn reads_at_once_are_as_many_as_the_queue_takes() {
    let time = 10e-6 + 50e-6 + PAGE as f64 / 100e6 + PAGE as f64 / 900e6;
    for (depth, queue) in [(1, 32), (4, 32), (8, 32), (32, 4), (32, 1)] {
        let queue_text = queue.to_string();
        let mut flash = filled(&[
            ("nand.channels", "64"),
            ("host.queue_depth", &queue_text),
            ("host.read_command", "\"10us\""),
            ("host.read_per_second", "\"900MB\""),
        ]);
        let found = rate(&mut flash, depth, 4000, |turn| common::read(turn * PAGE, PAGE));
        let expected = depth.min(queue) as f64 / time;
        near(&format!("{depth} of {queue}"), found, expected.min(1e5));
    }
}

#[test]
fn the_controller_does_one_command_in_its_overhead_whatever_the_queue() {
    let mut flash = filled(&[("nand.channels", "64"), ("host.queue_depth", "32")]);
    let found = rate(&mut flash, 32, 4000, |turn| common::read(turn * PAGE, PAGE));
    near("reads a second", found, 1.0 / 100e-6);
}

#[test]
fn the_write_cache_ends_in_a_cliff_where_it_is_full() {
    // 8 MiB of its own and a third of each of 40 % of 64 MiB; 20 us in it and 600 us beside it.
    let mut flash = common::flash(&[
        ("nand.cell", "\"tlc\""),
        ("map.program_unit", "\"12KiB\""),
        ("nand.pages_per_block", "96"),
        ("host.write_per_second", "\"900MB\""),
        ("slc.static", "\"8MiB\""),
        ("slc.dynamic", "0.4"),
        ("slc.read", "\"20us\""),
        ("slc.program", "\"20us\""),
        ("slc.erase", "\"2ms\""),
    ]);
    let capacity = flash.capacity().0 as f64;
    let lent = 0.4 / 3.0;
    let cliff = (8.0 * 1048576.0 + lent * capacity) / (1.0 + lent);
    let chunk = 48 << 10;
    let mut at = Nanos::ZERO;
    let mut times = Vec::new();
    for turn in 0..flash.capacity().0 / chunk {
        let ended = flash.submit(at, common::write(turn * chunk, chunk)).unwrap().ended;
        times.push(ended.since(at).0);
        at = ended;
    }
    let middle = (times[0] + times[times.len() - 1]) / 2;
    let before = times.iter().position(|time| *time > middle).unwrap();
    near("bytes before the cliff", (before as u64 * chunk) as f64, cliff);
    // Twelve pages of 20 us, or four shots of 600 us, on one die.
    let bus = chunk as f64 / 100e6;
    let came = 100e-6 + 12288.0 / 900e6;
    let first = came + 12.0 * 20e-6 + bus;
    near("ns before it", times[0] as f64, first * 1e9);
    let last = came + 4.0 * 600e-6 + bus;
    near("ns after it", times[times.len() - 1] as f64, last * 1e9);
}

#[test]
fn idle_time_is_used_to_make_room_and_no_more_than_there_is() {
    let changes = [("gc.idle_after", "\"100ms\""), ("gc.idle_until", "20")];
    let stalls = |idle: Nanos| {
        let mut flash = common::flash(&changes);
        let past = Past { written: flash.capacity(), order: Order::Random, cycles: 0 };
        flash.prepare(&past).unwrap();
        let from = flash.submit(Nanos::ZERO, common::write(0, PAGE)).unwrap().ended;
        let at = from.plus(idle);
        let writes = (1..16 * 64).map(|turn| common::write(turn * 16 * PAGE % (60 << 20), PAGE));
        let ended = common::in_a_row(&mut flash, at, writes);
        (ended.since(at), flash.stats().free_blocks.unwrap())
    };
    let (busy, _) = stalls(Nanos::from_millis(99));
    let (some, _) = stalls(Nanos::from_millis(400));
    let (rested, _) = stalls(Nanos::from_secs(60));
    // Sixteen blocks fit in what was made free: nothing but the writes themselves.
    let own = 16.0 * 64.0 * (100e3 + PAGE as f64 * (1e3 / 90.0 + 1e3 / 100.0) + 600e3);
    near("ns after a rest", rested.0 as f64, own);
    assert!(busy > some && some > rested, "{busy:?} {some:?} {rested:?}");
}
