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
    assert!(timing.ended.since(end) >= Nanos::from_millis(1));
}

#[test]
fn an_idle_buffer_empties_itself_where_it_is_told_to() {
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
