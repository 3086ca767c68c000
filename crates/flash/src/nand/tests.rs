//! Dies and channels against closed forms.

use flashlag_spec::profile::{CellKind, Profile};
use flashlag_units::{Bytes, Text};

use super::retention::DAY;
use super::*;

/// One die of SLC on one channel: 50 us, 600 us, 3 ms; 4096 bytes take 40,960 ns.
fn model() -> Model {
    let text = include_str!("../../tests/it/data/small.toml").replace("\"mlc\"", "\"slc\"");
    Profile::parse(&text).unwrap().model().unwrap()
}

fn nand(change: impl FnOnce(&mut Model)) -> Nand {
    let mut model = model();
    change(&mut model);
    Nand::new(&model, 100, &[], 1)
}

const READ: u64 = 50_000;
const PROGRAM: u64 = 600_000;
const MOVE: u64 = 40_960;

#[test]
fn operations_of_a_die_follow_one_another() {
    let mut nand = nand(|_| {});
    assert_eq!(nand.program_unit(Nanos(0), Die(0), Block(0), Page(0), 4096), Nanos(MOVE + PROGRAM));
    assert_eq!(
        nand.read_page(Nanos(10), Die(0), (Block(0), Page(0)), 4096),
        Nanos(2 * MOVE + PROGRAM + READ)
    );
    let erased = nand.erase_block(Nanos(0), Die(0), Block(0));
    assert_eq!(erased, Nanos(2 * MOVE + PROGRAM + READ + 3_000_000));
    assert_eq!(nand.counts.busy, erased);
}

#[test]
fn dies_work_at_once_and_share_their_channel() {
    // Reads on four dies of one channel: their sensing overlaps, their transfers do not.
    let mut shared = nand(|model| model.nand.dies_per_channel = 4);
    let ends: Vec<u64> = (0..4)
        .map(|die| shared.read_page(Nanos(0), Die(die), (Block(0), Page(0)), 4096).0)
        .collect();
    assert_eq!(ends, [1, 2, 3, 4].map(|turn| READ + turn * MOVE));
    let mut apart = nand(|model| model.nand.channels = 4);
    assert!(
        (0..4).all(|die| apart.read_page(Nanos(0), Die(die), (Block(0), Page(0)), 4096)
            == Nanos(READ + MOVE))
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
    let first = nand.read_page(Nanos(100_000), Die(0), (Block(1), Page(0)), 4096);
    assert_eq!(first, Nanos(100_000 + 20_000 + READ + MOVE));
    // The second read waits for the first, which it does not suspend, and for its own suspension of
    // the erase.
    let second = nand.read_page(Nanos(100_000), Die(0), (Block(2), Page(0)), 4096);
    assert_eq!(second, first.plus(Nanos(20_000 + READ + MOVE)));
    assert_eq!(nand.counts.suspended, 2);
    // What came after the erase waits for all of it.
    let delay = 2 * (20_000 + READ + MOVE);
    let program = nand.program_unit(Nanos(200_000), Die(0), Block(3), Page(0), 4096);
    assert_eq!(program, Nanos(3_000_000 + delay + MOVE + PROGRAM));
    // Nothing to suspend: no price.
    let idle = nand.read_page(program.plus(Nanos(5)), Die(0), (Block(1), Page(0)), 4096);
    assert_eq!(idle, program.plus(Nanos(5 + READ + MOVE)));
}

#[test]
fn without_suspension_a_read_waits_for_the_erase() {
    let mut nand = nand(|_| {});
    nand.erase_block(Nanos(0), Die(0), Block(0));
    assert_eq!(
        nand.read_page(Nanos(100_000), Die(0), (Block(1), Page(0)), 4096),
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
        single.read_page(Nanos(7), Die(0), (Block(0), Page(0)), 4096);
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
        nand.read_page(begin, Die(0), (Block(5), Page(0)), 0).since(begin).0
    };
    let times: Vec<u64> = [0, 25, 50, 100, 150].into_iter().map(&mut read).collect();
    assert_eq!(times, [50_000, 62_500, 100_000, 250_000, 250_000]);
    assert!(nand.is_worn(Block(5)) && !nand.is_worn(Block(6)));
}

/// A program that reads one after another interrupt until `until`: its end, with the number of
/// suspensions.
fn interrupted(change: impl FnOnce(&mut Model), readers: u64, until: u64) -> (Nanos, u64) {
    let mut nand = nand(|model| {
        model.nand.suspend = Some(Text(Nanos(20_000)));
        model.nand.program = Text(Nanos(1_100_000));
        change(model);
    });
    nand.program_unit(Nanos(0), Die(0), Block(0), Page(0), 0);
    let mut clients = vec![Nanos(10_000); readers as usize];
    let mut end = Nanos::ZERO;
    while let Some(next) = clients.iter_mut().min().filter(|next| next.0 < until) {
        let at = *next;
        *next = nand.read_page(at, Die(0), (Block(1), Page(0)), 0);
        end = match &nand.limits {
            None => nand.dies[0].busy_until,
            Some(limits) => limits.last_end(Die(0)).unwrap_or(end),
        };
    }
    (end, nand.counts.suspended)
}

#[test]
fn reads_without_an_end_hold_up_a_program_as_often_as_it_may_be_suspended() {
    let limited = |most: u32| {
        move |model: &mut Model| {
            model.nand.suspend_most = Some(most);
            model.nand.suspend_progress = Some(Text(Nanos(100_000)));
            model.nand.suspend_least = Some(Text(Nanos(100_000)));
        }
    };
    for most in [1, 4, 8] {
        for readers in [1, 3] {
            let found = interrupted(limited(most), readers, 2_300_000);
            let expected = 1_100_000 + u64::from(most) * (20_000 + readers * READ);
            assert_eq!(found, (Nanos(expected), u64::from(most)), "{most} {readers}");
        }
    }
    // Without limits one reader stops it for as long as it reads.
    let (end, suspended) = interrupted(|_| {}, 1, 10_000_000);
    assert!(end > Nanos(10_000_000) && suspended > 100, "{end} {suspended}");
}

#[test]
fn a_program_that_is_nearly_done_is_not_suspended() {
    let mut nand = nand(|model| {
        model.nand.suspend = Some(Text(Nanos(20_000)));
        model.nand.suspend_erase = Some(Text(Nanos(300_000)));
        model.nand.suspend_least = Some(Text(Nanos(100_000)));
    });
    nand.program_unit(Nanos(0), Die(0), Block(0), Page(0), 0);
    let late = nand.read_page(Nanos(PROGRAM - 99_999), Die(0), (Block(1), Page(0)), 0);
    assert_eq!(late, Nanos(PROGRAM + READ));
    // The next program has not begun: the read goes first, at no cost.
    assert_eq!(nand.counts.suspended, 0);
    let begin = late;
    nand.program_unit(begin, Die(0), Block(0), Page(1), 0);
    let early =
        nand.read_page(begin.plus(Nanos(PROGRAM - 100_000)), Die(0), (Block(1), Page(0)), 0);
    assert_eq!(early, begin.plus(Nanos(PROGRAM - 100_000 + 20_000 + READ)));
    // The rest of the program operation follows; then an erase, whose suspension has its own cost.
    let end = nand.erase_block(early, Die(0), Block(0));
    assert_eq!(end, early.plus(Nanos(100_000 + 3_000_000)));
    let read = nand.read_page(early.plus(Nanos(200_000)), Die(0), (Block(1), Page(0)), 0);
    assert_eq!(read, early.plus(Nanos(200_000 + 300_000 + READ)));
    assert_eq!(nand.counts.suspended, 2);
}

#[test]
fn pages_of_a_word_line_and_layers_have_times_of_their_own() {
    let mut nand = nand(|model| model.nand.read_types = vec![0.71, 0.97, 1.32]);
    for (page, time) in [(0, 35_500), (1, 48_500), (2, 66_000), (3, 35_500)] {
        let begin = nand.dies[0].busy_until;
        let read = nand.read_page(begin, Die(0), (Block(0), Page(page)), 0).since(begin);
        assert!(read.0.abs_diff(time) <= 1, "{page}: {read}");
    }
    let spread = |seed: u64| {
        let mut model = model();
        (model.nand.program_spread, model.nand.erase_spread) = (0.05, 0.1);
        let mut nand = Nand::new(&model, 100, &[], seed);
        let mut time = |page: u32| {
            let begin = nand.dies[0].busy_until;
            nand.program_unit(begin, Die(0), Block(0), Page(page), 0).since(begin).0
        };
        let times: Vec<u64> = (0..4000).map(&mut time).collect();
        assert!((0..4000).map(&mut time).eq(times.iter().copied()), "a page has one time");
        let begin = nand.dies[0].busy_until;
        let erases: Vec<u64> =
            (0..99).map(|row| nand.erase_block(begin, Die(0), Block(row)).since(begin).0).collect();
        assert!(erases.windows(2).any(|two| two[1] - two[0] != erases[0]), "{seed}");
        times
    };
    let mut times = spread(1);
    assert_eq!(times, spread(1));
    assert_ne!(times, spread(2));
    let mean = times.iter().sum::<u64>() as f64 / 4000.0;
    assert!((mean / PROGRAM as f64 - 1.0).abs() < 0.005, "{mean}");
    times.sort_unstable();
    let ratio = times[3600] as f64 / times[2000] as f64;
    assert!((ratio / f64::exp(1.2816 * 0.05) - 1.0).abs() < 0.01, "{ratio}");
}

#[test]
fn whole_retries_are_as_many_on_average_as_the_mean_of_all() {
    let mut nand = nand(|model| {
        model.wear.endurance = Some(100);
        model.wear.retries = 4.0;
        model.wear.whole_retries = true;
    });
    nand.age(50);
    let times: Vec<u64> = (0..20_000)
        .map(|_| {
            let begin = nand.dies[0].busy_until;
            nand.read_page(begin, Die(0), (Block(0), Page(0)), 0).since(begin).0
        })
        .collect();
    assert!(times.iter().all(|time| time.is_multiple_of(READ)), "reads are whole");
    // 4 * (50 / 100)^2 retries.
    let mean = times.iter().sum::<u64>() as f64 / 20_000.0 / READ as f64;
    assert!((mean / 2.0 - 1.0).abs() < 0.01, "{mean}");
    let none = times.iter().filter(|time| **time == READ).count() as f64 / 20_000.0;
    assert!((none - f64::exp(-1.0)).abs() < 0.01, "{none}");
}

#[test]
fn old_data_is_read_again_as_often_as_published_errors_grow_and_rewritten_data_is_not() {
    for whole in [false, true] {
        let mut nand = nand(|model| {
            (model.wear.endurance, model.wear.retention) = (Some(3000), 3.0);
            model.wear.whole_retries = whole;
        });
        nand.age(1000);
        nand.program_unit(Nanos(10 * DAY.0), Die(0), Block(0), Page(0), 0);
        let mut mean = |day: u64, row: u32| {
            let reads = if whole { 20_000 } else { 1 };
            let sum: u64 = (0..reads)
                .map(|_| {
                    let begin = nand.dies[0].busy_until.max(Nanos(day * DAY.0));
                    nand.read_page(begin, Die(0), (Block(row), Page(0)), 0).since(begin).0
                })
                .sum();
            sum as f64 / reads as f64 / READ as f64 - 1.0
        };
        assert_eq!(mean(10, 0), 0.0);
        // Block 1 was never written: its content is as old as the device.
        for (day, row, days) in [(40, 0, 30.0), (40, 1, 40.0), (375, 0, 365.0), (3660, 0, 3650.0)] {
            let expected = 3.0 * f64::powf(days / 365.0, 0.54) * f64::powf(1000.0 / 3000.0, 0.14);
            let ratio = mean(day, row) / expected;
            assert!((ratio - 1.0).abs() < 0.04, "{whole} {day}: {ratio}");
        }
        nand.erase_block(Nanos(3660 * DAY.0), Die(0), Block(0));
        let begin = nand.dies[0].busy_until;
        assert_eq!(nand.read_page(begin, Die(0), (Block(0), Page(0)), 0).since(begin).0, READ);
    }
}
