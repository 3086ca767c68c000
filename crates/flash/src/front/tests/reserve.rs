//! Small writes while the write cache is full: the reserve in SLC mode.

use proptest::prelude::*;

use super::durable::{PAGE, durable, phone, programmed};
use super::*;

/// A cache of no room at all, one plane for a small write, a page of the map's journal a flush.
const FULL: [(&str, &str); 3] =
    [("slc.static", "\"0B\""), ("slc.program_page", "\"16KiB\""), ("slc.flush_pages", "1")];
/// A block on each of four dies in SLC mode, 32 pages of 64 KiB.
const GROUP: u64 = 8 * MIB;
const RESERVE: (&str, &str) = ("slc.reserve", "\"32MiB\"");
/// Command, link, flush, and the programs of data and journal.
const EACH: u64 = 20_000 + 10_240 + 5_000 + 2 * 100_000;

#[test]
fn a_durable_write_to_a_full_cache_costs_its_pages_and_its_own_bytes_of_the_main_area() {
    let count = 4000;
    let (mut front, mut dies) = phone(&[&FULL[..], &[RESERVE]].concat());
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, durable(0, count));
    assert_eq!(programmed(&front), count * 2 * PAGE);
    let folded = front.slc_counts().folded;
    assert_eq!((dies.units, dies.programs * 48), (folded, folded));
    // The last group but the one that is being filled is on its way to the main area.
    let held = (count - folded) * 2 * PAGE;
    assert!((2 * GROUP..=4 * GROUP).contains(&held), "{held} bytes in the reserve");
    // Beside its own time a write waits for a die that folds (a program of the main area, and reads
    // of 24 pages that hold two units each), or that erases, once for each of these at most.
    let (folds, erases) = (dies.programs, front.slc_counts().erased / 4);
    let waits = end.0 - count * EACH;
    assert!(waits <= folds * (1_000_000 + 24 * 20_000) + erases * 3_000_000, "{waits} ns");

    let (mut front, mut dies) = phone(&FULL);
    let padded = in_a_row(&mut front, &mut dies, Nanos::ZERO, durable(0, count));
    assert_eq!((dies.programs, dies.units), (count, count));
    assert_eq!(padded.0, count * (EACH - 100_000 + 1_000_000));
}

#[test]
fn until_its_last_group_the_reserve_takes_a_small_write_in_two_programs() {
    let count = 3 * GROUP / (2 * PAGE);
    let (mut front, mut dies) = phone(&[&FULL[..], &[RESERVE]].concat());
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, durable(0, count));
    assert_eq!((dies.programs, end.0), (0, count * EACH));
    // What it holds is read from it.
    let read = front.submit(&mut dies, end, read(4096, 4096)).unwrap();
    assert_eq!(read.ended.since(end), Nanos(20_000 + 20_000 + 10_240));
    assert_eq!(dies.reads, 0);
}

#[test]
fn what_is_overwritten_in_the_reserve_is_never_folded() {
    let (mut front, mut dies) = phone(&[&FULL[..], &[RESERVE]].concat());
    let again = (0..100).flat_map(|_| durable(7, 40));
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, again);
    assert_eq!((dies.programs, front.slc_counts().folded), (0, 0));
    assert_eq!(programmed(&front), 4000 * 2 * PAGE);
    // 125 MiB were programmed: as many groups of 8 MiB as were filled, but for the last, are erased,
    // four blocks each.
    assert_eq!(front.slc_counts().erased, 15 * 4);
    assert!(end.0 <= 4000 * EACH + 15 * 3_000_000, "{end:?}");
}

#[test]
fn large_writes_pass_the_reserve_by() {
    let large = |changes: &[(&str, &str)]| {
        let (mut front, mut dies) = phone(&[&FULL[..], changes].concat());
        let writes = sequential(0, 12 * MIB, 192 * KIB).chain([Command::Flush]);
        let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, writes);
        (end, dies.programs, front.slc_counts().written)
    };
    let without = large(&[]);
    assert_eq!((without.1, without.2), (64, 0));
    assert_eq!(large(&[RESERVE]), without);
}

#[test]
fn idle_time_empties_the_reserve_too() {
    let (mut front, mut dies) =
        phone(&[&FULL[..], &[RESERVE, ("slc.fold_after", "\"1s\"")]].concat());
    let end = in_a_row(&mut front, &mut dies, Nanos::ZERO, durable(0, 100));
    assert_eq!(dies.programs, 0);
    front.idle(&mut dies, end.plus(Nanos::from_secs(10))).unwrap();
    assert_eq!((dies.programs, dies.units), (3, 100));
}

#[derive(Clone, Debug)]
enum Step {
    Write { unit: u64, count: u64 },
    Discard { unit: u64, count: u64 },
    Flush,
    Rest,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let write = (0u64..300, 1u64..80).prop_map(|(unit, count)| Step::Write { unit, count });
    let discard = (0u64..300, 1u64..80).prop_map(|(unit, count)| Step::Discard { unit, count });
    let step = prop_oneof![8 => write, 1 => discard, 4 => Just(Step::Flush), 1 => Just(Step::Rest)];
    prop::collection::vec(step, 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_unit_is_in_one_place(steps in steps(), fixed in 0u64..3, reserve in 1u64..4) {
        // Groups of 256 KiB: caches and reserves of a few.
        let (fixed, reserve) = (format!("\"{}KiB\"", fixed * 300), format!("\"{}KiB\"", reserve * 300));
        let (mut front, mut dies) = phone(&[
            &FULL[1..],
            &[("nand.pages_per_block", "3"), ("slc.static", &fixed), ("slc.reserve", &reserve)],
            &[("slc.fold_after", "\"1ms\""), ("buffer.size", "\"64KiB\"")],
        ].concat());
        let (mut at, mut there) = (Nanos::ZERO, vec![false; 400]);
        let mut set = |unit: u64, count: u64, to: bool| {
            there[unit as usize..(unit + count) as usize].fill(to);
        };
        for step in &steps {
            let command = match *step {
                Step::Write { unit, count } => {
                    set(unit, count, true);
                    write(unit * 4096, count * 4096)
                }
                Step::Discard { unit, count } => {
                    set(unit, count, false);
                    Command::Discard { offset: Bytes(unit * 4096), length: Bytes(count * 4096) }
                }
                Step::Flush => Command::Flush,
                Step::Rest => {
                    at = at.plus(Nanos::from_millis(20));
                    Command::Flush
                }
            };
            at = front.submit(&mut dies, at, command).unwrap().ended;
        }
        in_a_row(&mut front, &mut dies, at, [Command::Flush]);
        let slc = front.slc.as_ref().unwrap();
        for (unit, there) in there.iter().enumerate() {
            let places = slc.places(Unit(unit as u32)) + u32::from(dies.mapped[unit]);
            prop_assert_eq!(places, u32::from(*there), "unit {}", unit);
        }
        let within = slc.units() + dies.mapped_units();
        prop_assert_eq!(within, there.iter().filter(|there| **there).count() as u64);
    }
}
