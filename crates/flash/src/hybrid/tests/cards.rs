//! Cards with few open allocation units: sequential and random writes, near one another and spread.

use flashlag_spec::profile::Model;
use flashlag_units::Nanos;

use super::timing::{Timed, interleaved, model};
use crate::address::Unit;
use crate::front::UnitWrite;
use crate::hybrid::log_blocks::LogBlocks;

/// Units of 16 KiB of an allocation unit of 4 MiB, and seconds of a program and a read of one.
const UNITS: f64 = 256.0;
const BUS: f64 = 16384.0 / 40e6;
const PROGRAM: f64 = 1e-3 + BUS;
const READ: f64 = 75e-6 + BUS;
const ERASE: f64 = 3e-3;

fn near(actual: f64, expected: f64, share: f64) {
    assert!((actual / expected - 1.0).abs() < share, "{actual} is not {expected}");
}

#[test]
fn as_many_writers_in_order_as_there_are_open_units_cost_no_more_than_one() {
    let rate = |open: &str, streams| {
        let changes = [
            ("map.open_units", open),
            ("map.sequential_logs", open),
            ("map.log_blocks", "7"),
            ("map.spare", "\"64MiB\""),
        ];
        interleaved(&model(&changes), streams)
    };
    // 16 KiB in a program; a block is erased while the next ones are written to the same die.
    let one = UNITS * 16384.0 / (UNITS * PROGRAM + ERASE);
    for (open, streams) in [("1", 1), ("2", 1), ("2", 2), ("4", 2), ("4", 4)] {
        near(rate(open, streams), one, 0.01);
    }
    // One more: each of 48 visits of 256 KiB, except the first two, closes a unit. The three whose
    // writes began at the start are completed by copying the rest, all others are copied
    // completely.
    let copies = 3.0 * (UNITS - 16.0) + 43.0 * UNITS;
    let visits = 48.0 * 16.0 * PROGRAM + copies * (READ + PROGRAM) + 46.0 * ERASE;
    near(rate("2", 3), 3.0 * UNITS * 16384.0 / visits, 0.01);
}

/// Seconds that a random write of one unit takes. The writes are spread over this many allocation
/// units, all of which have been written in order before.
fn random(model: &Model, within: u64, writes: u64) -> f64 {
    let (mut map, mut dies) = (LogBlocks::new(model).unwrap(), Timed::new(model));
    let units = within * 256;
    let all = Unit(0).run(units as u32).map(|unit| UnitWrite { unit, whole: true });
    let mut at = map.write(&mut dies, Nanos::ZERO, &all.collect::<Vec<_>>());
    let mut state = 1u64;
    let mut from = at;
    // The first round of the logs ends without a merge.
    for index in 0..2 * writes {
        if index == writes {
            from = at.max(dies.busy[0]);
        }
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Not the first unit of an allocation unit, which would begin a separate log.
        let unit = (state >> 33) % (units - within);
        let unit = Unit((unit / 255 * 256 + 1 + unit % 255) as u32);
        at = map.write(&mut dies, at, &[UnitWrite { unit, whole: true }]);
    }
    at.max(dies.busy[0]).since(from).as_secs_f64() / writes as f64
}

#[test]
fn random_writes_near_one_another_are_cheap_and_each_unit_more_costs_a_merge_a_round() {
    let model = model(&[("map.open_units", "1000")]);
    // Five log blocks take the random writes. Whenever they are full, the oldest is reclaimed and has
    // all K units under test in it: a merge of each. The other logs hold nothing valid then, so the
    // merges serve a round of 5 · 256 writes.
    let round = 5.0 * UNITS;
    let time = |units: f64| {
        let merge = UNITS * (READ + PROGRAM) + ERASE;
        PROGRAM + units * merge / round + ERASE / UNITS
    };
    for units in [1, 2, 8, 32] {
        near(random(&model, units, 8 * 1280), time(units as f64), 0.02);
    }
    // Spread over 128 MiB a write takes seven times as long as within 4 MiB.
    assert!(time(32.0) > 7.0 * time(1.0));
}
