//! Small durable writes: a page of one plane each, and the map's journal.

use super::write_cache::SLC;
use super::*;

pub(super) const PAGE: u64 = 16 * KIB;

/// Four dies of four planes, and a volatile buffer.
pub(super) fn phone(changes: &[(&str, &str)]) -> (Front, Dies) {
    let four = [("nand.planes", "4"), ("map.program_unit", "\"192KiB\""), BUFFER[0], BUFFER[1]];
    front(&[&SLC, &four[..], changes].concat())
}

/// Writes of 4 KiB at addresses of their own, each followed by a flush.
pub(super) fn durable(from: u64, count: u64) -> impl Iterator<Item = Command> {
    (from..from + count).flat_map(|index| [write(index * 4096, 4096), Command::Flush])
}

/// Bytes programmed in the cache: data, padding and journal.
pub(super) fn programmed(front: &Front) -> u64 {
    let counts = front.slc_counts();
    (counts.written + counts.padded + counts.journal) * 4096
}

#[test]
fn a_durable_write_programs_a_page_of_one_plane_and_the_journal() {
    let cases = [
        (&[][..], 4 * PAGE),
        (&[("slc.program_page", "\"16KiB\"")], PAGE),
        (&[("slc.program_page", "\"16KiB\""), ("slc.flush_pages", "1")], 2 * PAGE),
        (
            &[("slc.program_page", "\"16KiB\""), ("slc.flush_pages", "1"), ("slc.pack", "true")],
            PAGE,
        ),
    ];
    for (changes, each) in cases {
        let (mut front, mut dies) = phone(changes);
        in_a_row(&mut front, &mut dies, Nanos::ZERO, durable(0, 60));
        assert_eq!(programmed(&front), 60 * each, "{changes:?}");
        // As many fit in the cache as divide it; the next one goes to the main area.
        let fit = 12 * MIB / each;
        in_a_row(&mut front, &mut dies, Nanos::from_millis(90), durable(60, fit - 60));
        assert_eq!(dies.programs, 0, "{changes:?}");
        in_a_row(&mut front, &mut dies, Nanos::from_secs(9), durable(fit, 1));
        assert_eq!(dies.programs, 1, "{changes:?}");
    }
}

#[test]
fn a_flush_takes_a_program_for_its_data_and_one_for_each_page_of_the_journal() {
    for (pages, programs) in [("0", 1), ("1", 2), ("2", 3)] {
        let (mut front, mut dies) =
            phone(&[("slc.program_page", "\"16KiB\""), ("slc.flush_pages", pages)]);
        let written = in_a_row(&mut front, &mut dies, Nanos::ZERO, [write(0, 4096)]);
        let flushed = in_a_row(&mut front, &mut dies, written, [Command::Flush]);
        assert_eq!(flushed.since(written), Nanos(5_000 + programs * 100_000));
        // Nothing has changed since.
        let again = in_a_row(&mut front, &mut dies, flushed, [Command::Flush]);
        assert_eq!(again.since(flushed), Nanos(5_000));
        let force = Command::Write { offset: Bytes(0), length: Bytes(4096), fua: true };
        let forced = in_a_row(&mut front, &mut dies, again, [force]);
        assert_eq!(forced.since(again), Nanos(20_000 + 10_240 + 100_000));
    }
}

#[test]
fn large_writes_use_all_planes_before_and_after_small_ones() {
    let time = |changes: &[(&str, &str)], small: u64| {
        let (mut front, mut dies) = phone(changes);
        let from = in_a_row(&mut front, &mut dies, Nanos::ZERO, durable(0, small));
        let large = sequential(16 * MIB, 8 * MIB, 64 * KIB).chain([Command::Flush]);
        in_a_row(&mut front, &mut dies, from, large).since(from)
    };
    let pages = [("slc.program_page", "\"16KiB\"")];
    let whole = time(&[], 0);
    assert_eq!(time(&pages, 0), whole);
    // One small write leaves three planes of a page, which are skipped, and a die one program on.
    assert!(time(&pages, 1).0.abs_diff(whole.0) <= 100_000);
}

#[test]
fn idle_time_folds_whole_program_units_and_keeps_the_rest() {
    let changes = [
        ("slc.program_page", "\"16KiB\""),
        ("slc.fold_after", "\"1s\""),
        ("slc.fold_whole", "true"),
    ];
    let (mut front, mut dies) = phone(&changes);
    let night = Nanos::from_secs(3600);
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, durable(0, 40));
    front.idle(&mut dies, end.plus(night)).unwrap();
    assert_eq!((front.slc_counts().folded, dies.programs), (0, 0));
    // 140 units at addresses of their own: two program units of 48 and a rest.
    let end = in_a_row(&mut front, &mut dies, end, durable(40, 100));
    front.idle(&mut dies, end.plus(night)).unwrap();
    assert_eq!((front.slc_counts().folded, dies.programs), (96, 2));
    // Overwritten units are not folded; 44 stay, and 600 of 768 pages hold next to nothing.
    let again = (0..450).flat_map(|_| durable(96, 1));
    let end = in_a_row(&mut front, &mut dies, end, again);
    front.idle(&mut dies, end.plus(night)).unwrap();
    assert_eq!((front.slc_counts().folded, dies.programs), (96 + 44, 3));
}
