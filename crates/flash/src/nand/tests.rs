//! Dies and channels against closed forms.

use flashlag_schema::profile::{CellKind, Profile};
use flashlag_units::{Bytes, Text};

use super::*;

/// One die of SLC on one channel: 50 us, 600 us, 3 ms; 4096 bytes take 40,960 ns.
fn model() -> Model {
    let text = include_str!("../../tests/data/small.toml").replace("\"mlc\"", "\"slc\"");
    Profile::parse(&text).unwrap().model().unwrap()
}

fn nand(change: impl FnOnce(&mut Model)) -> Nand {
    let mut model = model();
    change(&mut model);
    Nand::new(&model, 100, &[])
}

const READ: u64 = 50_000;
const PROGRAM: u64 = 600_000;
const MOVE: u64 = 40_960;

#[test]
fn operations_of_a_die_follow_one_another() {
    let mut nand = nand(|_| {});
    assert_eq!(nand.program_unit(Nanos(0), Die(0), Block(0), Page(0), 4096), Nanos(MOVE + PROGRAM));
    assert_eq!(nand.read_page(Nanos(10), Die(0), Block(0), 4096), Nanos(2 * MOVE + PROGRAM + READ));
    let erased = nand.erase_block(Nanos(0), Die(0), Block(0));
    assert_eq!(erased, Nanos(2 * MOVE + PROGRAM + READ + 3_000_000));
    assert_eq!(nand.counts.busy, erased);
}

#[test]
fn dies_work_at_once_and_share_their_channel() {
    // Reads on four dies of one channel: their sensing overlaps, their transfers do not.
    let mut shared = nand(|model| model.nand.dies_per_channel = 4);
    let ends: Vec<u64> =
        (0..4).map(|die| shared.read_page(Nanos(0), Die(die), Block(0), 4096).0).collect();
    assert_eq!(ends, [1, 2, 3, 4].map(|turn| READ + turn * MOVE));
    let mut apart = nand(|model| model.nand.channels = 4);
    assert!(
        (0..4).all(|die| apart.read_page(Nanos(0), Die(die), Block(0), 4096) == Nanos(READ + MOVE))
    );
}

/// Bytes a second of programs that are always waiting, on dies in turn.
fn program_rate(dies: u32, bus: u64) -> f64 {
    let mut nand = nand(|model| {
        model.nand.dies_per_channel = dies;
        model.nand.bus_per_second = Text(Bytes(bus));
    });
    let mut end = Nanos::ZERO;
    for unit in 0..4000 {
        // Handed over as soon as the die is free, as a queue would.
        let at = nand.dies[(unit % dies) as usize].busy_until;
        end = end.max(nand.program_unit(at, Die(unit % dies), Block(0), Page(unit / dies), 4096));
    }
    4000.0 * 4096.0 / (end.0 as f64 / 1e9)
}

#[test]
fn programs_run_at_the_dies_rate_until_the_channel_is_full() {
    let die = 4096.0 / (600e-6 + 4096.0 / 100e6);
    for (dies, bus, expected) in
        [(1, 100_000_000, die), (4, 100_000_000, 4.0 * die), (8, 20_000_000, 20e6)]
    {
        let found = program_rate(dies, bus);
        assert!((found / expected - 1.0).abs() < 0.01, "{dies} dies: {found} against {expected}");
    }
}

#[test]
fn the_pages_of_a_word_line_of_mlc_take_their_times_in_turn() {
    let mlc = |pages: u64| {
        nand(move |model| {
            model.nand.cell = CellKind::Mlc;
            model.nand.program_upper = Some(Text(Nanos::from_millis(2)));
            model.map.program_unit = Text(Bytes(4096 * pages));
        })
    };
    let mut one = mlc(1);
    let mut time = |page| {
        let begin = one.dies[0].busy_until;
        one.program_unit(begin, Die(0), Block(0), Page(page), 0).since(begin)
    };
    let times: Vec<u64> = (0..4).map(|page| time(page).0).collect();
    assert_eq!(times, [PROGRAM, 2_000_000, PROGRAM, 2_000_000]);
    // Two pages are a whole word line; three begin with a lower or an upper one.
    assert_eq!(
        mlc(2).program_unit(Nanos(0), Die(0), Block(0), Page(2), 0),
        Nanos(PROGRAM + 2_000_000)
    );
    assert_eq!(
        mlc(3).program_unit(Nanos(0), Die(0), Block(0), Page(0), 0),
        Nanos(2 * PROGRAM + 2_000_000)
    );
    assert_eq!(
        mlc(3).program_unit(Nanos(0), Die(0), Block(0), Page(3), 0),
        Nanos(PROGRAM + 4_000_000)
    );
}

#[test]
fn all_pages_of_a_word_line_of_tlc_and_qlc_take_one_program() {
    for (cell, pages, shots) in
        [(CellKind::Tlc, 3, 1), (CellKind::Tlc, 4, 2), (CellKind::Qlc, 8, 2)]
    {
        let mut nand = nand(|model| {
            model.nand.cell = cell;
            model.map.program_unit = Text(Bytes(4096 * pages));
        });
        assert_eq!(
            nand.program_unit(Nanos(0), Die(0), Block(0), Page(0), 0),
            Nanos(shots * PROGRAM),
            "{cell:?}"
        );
    }
}

#[test]
fn a_read_suspends_an_erase_which_then_ends_later_by_what_that_took() {
    let mut nand = nand(|model| model.nand.suspend = Some(Text(Nanos::from_micros(20))));
    let erased = nand.erase_block(Nanos(0), Die(0), Block(0));
    assert_eq!(erased, Nanos(3_000_000));
    let first = nand.read_page(Nanos(100_000), Die(0), Block(1), 4096);
    assert_eq!(first, Nanos(100_000 + 20_000 + READ + MOVE));
    // The second waits for the first, which it does not suspend, and for a suspension of its own.
    let second = nand.read_page(Nanos(100_000), Die(0), Block(2), 4096);
    assert_eq!(second, first.plus(Nanos(20_000 + READ + MOVE)));
    assert_eq!(nand.counts.suspended, 2);
    // What came after the erase waits for all of it.
    let delay = 2 * (20_000 + READ + MOVE);
    let program = nand.program_unit(Nanos(200_000), Die(0), Block(3), Page(0), 4096);
    assert_eq!(program, Nanos(3_000_000 + delay + MOVE + PROGRAM));
    // Nothing to suspend: no price.
    let idle = nand.read_page(program.plus(Nanos(5)), Die(0), Block(1), 4096);
    assert_eq!(idle, program.plus(Nanos(5 + READ + MOVE)));
}

#[test]
fn without_suspension_a_read_waits_for_the_erase() {
    let mut nand = nand(|_| {});
    nand.erase_block(Nanos(0), Die(0), Block(0));
    assert_eq!(
        nand.read_page(Nanos(100_000), Die(0), Block(1), 4096),
        Nanos(3_000_000 + READ + MOVE)
    );
    assert_eq!(nand.counts.suspended, 0);
}

#[test]
fn a_relocation_takes_as_long_as_its_operations_one_by_one() {
    let mut bulk = nand(|_| {});
    let moves = [DieMoves { reads: 3, programs: [2, 1], bytes: 6 * 4096 }];
    let end = bulk.relocate(Nanos(7), Block(0), &moves);
    let mut single = nand(|_| {});
    for page in 0..3 {
        single.read_page(Nanos(7), Die(0), Block(0), 4096);
        single.program_unit(Nanos(7), Die(0), Block(1), Page(page), 4096);
    }
    assert_eq!(end, single.dies[0].busy_until);
    assert_eq!(bulk.counts, single.counts);
}

#[test]
fn reads_of_worn_blocks_take_retries_that_grow_with_the_square_of_the_cycles() {
    let mut nand = nand(|model| {
        model.wear.endurance = Some(100);
        model.wear.retries = 4.0;
    });
    let mut read = |cycles: u32| {
        while nand.cycles(Block(5)) < cycles {
            nand.erase_block(Nanos(0), Die(0), Block(5));
        }
        let begin = nand.dies[0].busy_until;
        nand.read_page(begin, Die(0), Block(5), 0).since(begin).0
    };
    let times: Vec<u64> = [0, 25, 50, 100, 150].into_iter().map(&mut read).collect();
    assert_eq!(times, [50_000, 62_500, 100_000, 250_000, 250_000]);
    assert!(nand.is_worn(Block(5)) && !nand.is_worn(Block(6)));
}
