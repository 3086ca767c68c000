//! The write buffer.

use super::*;

#[test]
fn what_is_overwritten_in_the_buffer_never_reaches_the_flash() {
    let (mut front, mut dies) = front(&BUFFER);
    let again = (0..1000).map(|index| write(index % 10 * 4096, 4096));
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, again);
    assert_eq!(dies.programs, 0);
    let flushed = front.submit(&mut dies, end, Command::Flush).unwrap();
    assert_eq!((dies.programs, dies.units), (1, 10));
    assert_eq!(flushed.ended.since(end), Nanos(5_000 + 1_000_000));
    assert_eq!(dies.reads, 0);
}

#[test]
fn reads_find_what_the_buffer_holds() {
    let (mut front, mut dies) = front(&BUFFER);
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, [write(8192, 4096)]);
    let end = in_a_row(&mut front, &mut dies, end, [read(8192, 4096)]);
    assert_eq!(dies.reads, 0);
    let end = in_a_row(&mut front, &mut dies, end, [Command::Flush, read(8192, 4096)]);
    assert_eq!(dies.reads, 1);
    // Half of a unit is no answer for the other half.
    in_a_row(&mut front, &mut dies, end, [write(8192, 512), read(8192 + 512, 512)]);
    assert_eq!(dies.reads, 2);
}

#[test]
fn a_flush_ends_no_earlier_than_every_write_before_it() {
    // Submitted during the write: at its start, during its transfer or its program operation, or
    // just before its end.
    for after in [0, 15_000, 25_000, 500_000, 1_030_239] {
        let (mut front, mut dies) = front(&[("host.queue_depth", "32")]);
        let written = front.submit(&mut dies, Nanos::ZERO, write(0, 4096)).unwrap();
        assert_eq!(written.ended, Nanos(20_000 + 10_240 + 1_000_000));
        let flushed = front.submit(&mut dies, Nanos(after), Command::Flush).unwrap();
        // Its own 5 µs pass meanwhile, unless they begin too late for that.
        assert_eq!(flushed.ended, written.ended.max(Nanos(after + 5_000)), "after {after} ns");
    }
}

#[test]
fn a_flush_programs_all_that_a_write_under_way_brings_into_a_volatile_buffer() {
    let changes = [BUFFER[0], BUFFER[1], ("host.queue_depth", "32")];
    let (mut front, mut dies) = front(&changes);
    // 64 units come over the link; they are less than half of what the buffer holds.
    let written = front.submit(&mut dies, Nanos::ZERO, write(0, 256 * KIB)).unwrap();
    assert_eq!((written.ended, dies.programs), (Nanos(20_000 + 64 * 10_240), 0));
    let flushed = front.submit(&mut dies, Nanos::ZERO, Command::Flush).unwrap();
    // Six programs of twelve units at most, on four dies: two rounds, after the last unit has come.
    assert_eq!((dies.programs, dies.units), (6, 64));
    assert_eq!(flushed.ended, written.ended.plus(Nanos::from_millis(2)));
}

#[test]
fn a_flush_waits_for_programs_that_a_volatile_buffer_has_issued_before() {
    let changes = [BUFFER[0], BUFFER[1], ("host.queue_depth", "32")];
    let (mut front, mut dies) = front(&changes);
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, sequential(0, MIB, 64 * KIB));
    let busy = *dies.busy.iter().max().unwrap();
    assert!(dies.programs > 8 && busy > end, "{} programs until {busy}", dies.programs);
    let flushed = front.submit(&mut dies, end, Command::Flush).unwrap();
    assert_eq!(dies.units, 256);
    assert_eq!(flushed.ended, *dies.busy.iter().max().unwrap());
}

#[test]
fn a_read_finds_a_unit_in_the_buffer_then_in_the_write_cache_then_in_the_map() {
    let mut changes = super::write_cache::SLC.to_vec();
    changes.extend(BUFFER);
    let (mut front, mut dies) = front(&changes);
    let mut at = Nanos::ZERO;
    let mut took = |command: Command| {
        let begun = at;
        at = front.submit(&mut dies, begun, command).unwrap().ended;
        at.since(begun).0
    };
    // 20 µs for the command and 4 KiB over the link, in addition to the source's time.
    let (of_map, of_cache, of_buffer) = (30_240 + 50_000, 30_240 + 20_000, 30_240);
    let (read, write) = (read(8192, 4096), write(8192, 4096));
    assert_eq!(took(read), of_map);
    took(write);
    assert_eq!(took(read), of_buffer);
    took(Command::Flush);
    assert_eq!(took(read), of_cache);
    // Written again it is in both, and what the buffer has is newer.
    took(write);
    assert_eq!(took(read), of_buffer);
}

#[test]
fn a_flush_is_free_where_the_buffer_has_a_battery() {
    let changes = [("buffer.size", "\"1MiB\""), ("buffer.volatile", "false")];
    let (mut front, mut dies) = front(&changes);
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, [write(0, 4096)]);
    let flushed = front.submit(&mut dies, end, Command::Flush).unwrap();
    assert_eq!(flushed.ended.since(end), Nanos(5_000));
    let fua = Command::Write { offset: Bytes(4096), length: Bytes(4096), fua: true };
    in_a_row(&mut front, &mut dies, flushed.ended, [fua]);
    assert_eq!(dies.programs, 0);
}

#[test]
fn force_unit_access_programs_its_own_units_only() {
    let (mut front, mut dies) = front(&BUFFER);
    let fua = Command::Write { offset: Bytes(40960), length: Bytes(4096), fua: true };
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, [write(0, 4096)]);
    let timing = front.submit(&mut dies, end, fua).unwrap();
    assert_eq!((dies.programs, dies.units), (1, 1));
    // The command, 4 KiB over the link, and a program of no more than its own unit.
    assert_eq!(timing.ended.since(end), Nanos(20_000 + 10_240 + 1_000_000));
}

#[test]
fn an_idle_buffer_drains_after_its_drain_time() {
    let changes = [BUFFER[0], BUFFER[1], ("buffer.drain_after", "\"10ms\"")];
    let (mut front, mut dies) = front(&changes);
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, [write(0, 4096)]);
    let at = end.plus(Nanos::from_millis(20));
    let flushed = front.submit(&mut dies, at, Command::Flush).unwrap();
    assert_eq!(dies.programs, 1);
    assert_eq!(flushed.ended.since(at), Nanos(5_000));
}

#[test]
fn a_burst_fits_in_the_buffer_and_then_runs_at_the_speed_of_the_dies() {
    let (mut front, mut dies) = front(&BUFFER);
    let mut at = Nanos::ZERO;
    let mut latencies = Vec::new();
    for command in sequential(0, 8 * MIB, 64 * KIB) {
        let timing = front.submit(&mut dies, at, command).unwrap();
        latencies.push(timing.ended.since(at));
        at = timing.ended;
    }
    // 64 KiB in 20 µs and 164 µs over the link; later in 333 µs, since dies do 196.6 MB/s.
    assert!(latencies[..16].iter().all(|latency| latency.0 < 185_000), "{latencies:?}");
    let rest: u64 = latencies[64..].iter().map(|latency| latency.0).sum();
    near(rest as f64 / 64.0, 65536.0 / 196.6e6 * 1e9, 0.02);
}
