//! The map against analytic results, and its conservation laws.

use flashlag_spec::profile::{GcPolicy, Profile};
use flashlag_units::{Bytes, Text};

use super::*;
use crate::front::{Store, UnitWrite};

const SMALL: &str = include_str!("../../tests/it/data/small.toml");

/// A map of `blocks` × `units` with this share of spare slots, those that are always free aside.
fn bare(policy: GcPolicy, choices: Option<u32>, blocks: u32, units: u32, spare: f64) -> PageStore {
    let mut model = Profile::parse(SMALL).unwrap().model().unwrap();
    let all = u64::from(blocks) * u64::from(units);
    let logical = ((1.0 - spare) * all as f64).round() as u64;
    model.nand.pages_per_block = units;
    model.map.capacity = Text(Bytes(logical * 4096));
    model.map.spare = Text(Bytes((all - logical) * 4096));
    model.gc.policy = policy;
    model.gc.choices = choices;
    model.gc.low_water = 1;
    model.gc.hot_cold = false;
    model.gc.skip_full = false;
    let store = PageStore::new(&model, 7).unwrap();
    assert_eq!(store.map.shape.logical, logical as u32);
    store
}

fn write(store: &mut PageStore, unit: u32) {
    store.write(Nanos::ZERO, &[UnitWrite { unit: Unit(unit), whole: true }]).unwrap();
}

fn next(random: &mut Pcg64Mcg, below: u32) -> u32 {
    use rand::RngExt;
    random.random_range(0..below)
}

/// Write amplification of what happens while `work` does `count` steps.
fn amplification(store: &mut PageStore, count: u32, mut work: impl FnMut(&mut PageStore)) -> f64 {
    let before = store.map.counts();
    (0..count).for_each(|_| work(store));
    store.map.audit().unwrap();
    let after = store.map.counts();
    assert_eq!(after.padded, 0);
    let host = after.host - before.host;
    (after.copied - before.copied + host) as f64 / host as f64
}

fn holds(what: &str, found: f64, expected: f64) {
    let off = (found / expected - 1.0) * 100.0;
    assert!(off.abs() < 0.5, "{what}: {found:.4} against {expected}, {off:+.2} %");
}

/// Every row of the table of analytic results whose number leaves this rest, at 10,000 blocks.
fn rows_hold(rest: usize) {
    let rows = include_str!("../../tests/it/data/write_amplification.csv");
    let rows: Vec<&str> = rows.lines().skip(1).collect();
    assert_eq!(rows.len(), 29);
    for row in rows.iter().skip(rest).step_by(2) {
        let fields: Vec<&str> = row.split(',').collect();
        let spare: f64 = fields[1].parse().unwrap();
        let units: u32 = fields[2].parse().unwrap_or(64);
        let expected: f64 = fields[3].parse().unwrap();
        let (policy, choices) = match fields[0] {
            "fifo" => (GcPolicy::Fifo, None),
            "greedy" => (GcPolicy::Greedy, None),
            "random" => (GcPolicy::Random, None),
            draws => {
                let draws = draws.strip_prefix("d-choices-").unwrap();
                (GcPolicy::DChoices, Some(draws.parse().unwrap()))
            }
        };
        let mut store = bare(policy, choices, 10_000, units, spare);
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let logical = store.map.shape.logical;
        (0..logical).for_each(|unit| write(&mut store, unit));
        let mut step = |store: &mut PageStore| write(store, next(&mut random, logical));
        (0..3 * logical).for_each(|_| step(&mut store));
        holds(row, amplification(&mut store, 2 * logical, step), expected);
    }
}

#[test]
fn write_amplification_is_the_analytic_one_in_even_rows() {
    rows_hold(0);
}

#[test]
fn write_amplification_is_the_analytic_one_in_odd_rows() {
    rows_hold(1);
}

/// A policy over closed blocks with these numbers of valid units, in the order of closing.
fn closed(policy: GcPolicy, units: u32, valid: &[u32]) -> (Victims, Blocks, Pcg64Mcg) {
    let store = bare(policy, None, valid.len() as u32, units, 0.2);
    let PageMap { mut victims, mut blocks, random, .. } = store.map;
    for (block, valid) in (0..).map(Block).zip(valid) {
        blocks.set_valid_run(block, Slot::FIRST, *valid);
        blocks.close(block);
        victims.closed(block, *valid);
    }
    (victims, blocks, random)
}

#[test]
fn cost_benefit_takes_the_block_with_the_highest_age_times_free_space_over_cost() {
    use rand::RngExt;
    let units = 64;
    let (mut not_fewest, mut not_oldest) = (0, 0);
    for seed in 0..500 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let least = random.random_range(0..3) * 20;
        let valid: Vec<u32> = (0..40).map(|_| random.random_range(least..=units)).collect();
        let (mut victims, blocks, mut random) = closed(GcPolicy::CostBenefit, units, &valid);
        let taken = victims.take(&blocks, units, &mut random).unwrap().index();
        // Kawaguchi, Nishioka and Motoda (1995): age · (1 - u) / 2u, u the share that is valid. The
        // age is in blocks that were closed since.
        let score = |block: usize| {
            let (age, u) = ((39 - block) as f64, f64::from(valid[block]) / f64::from(units));
            age * (1.0 - u) / (2.0 * u)
        };
        let fewest = *valid.iter().min().unwrap();
        if fewest == 0 {
            // Nothing to copy: the oldest of those that cost nothing.
            assert_eq!(Some(taken), valid.iter().position(|valid| *valid == 0), "seed {seed}");
            continue;
        }
        let best = (0..valid.len()).map(score).fold(0.0, f64::max);
        // Scores are kept with eight binary places.
        assert!(score(taken) >= best - 1.0 / 256.0, "seed {seed}: {} of {best}", score(taken));
        not_fewest += u32::from(valid[taken] > fewest);
        not_oldest += u32::from(taken != 0);
    }
    assert!(not_fewest > 100 && not_oldest > 100, "{not_fewest} {not_oldest}: nothing was weighed");
}

#[test]
fn cost_benefit_prefers_an_old_block_to_a_young_one_with_fewer_valid_units() {
    // Ages 9 to 0. Three quarters valid nine closings ago: 9 · 0.25 / 1.5 = 1.5. Half valid two
    // closings ago: 2 · 0.5 / 1 = 1. Greedy takes the second.
    let mut valid = [64; 10];
    (valid[0], valid[7]) = (48, 32);
    let take = |policy| {
        let (mut victims, blocks, mut random) = closed(policy, 64, &valid);
        victims.take(&blocks, 64, &mut random)
    };
    assert_eq!(
        (take(GcPolicy::CostBenefit), take(GcPolicy::Greedy)),
        (Some(Block(0)), Some(Block(7)))
    );
}

#[test]
fn discarded_units_make_room_as_the_formula_says() {
    // A share q of the requests trims a unit in use: greedy, 64 units a block, spare 0.10.
    for (q, expected) in
        [(0.0, 4.8213), (0.05, 3.4082), (0.10, 2.5993), (0.20, 1.7162), (0.30, 1.2635)]
    {
        let mut store = bare(GcPolicy::Greedy, None, 10_000, 64, 0.10);
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let logical = store.map.shape.logical;
        (0..logical).for_each(|unit| write(&mut store, unit));
        let mut step = |store: &mut PageStore| {
            if next(&mut random, 1000) < (q * 1000.0) as u32 {
                let unit = std::iter::repeat_with(|| next(&mut random, logical))
                    .find(|unit| store.is_mapped(Unit(*unit)))
                    .unwrap();
                store.discard(Nanos::ZERO, Unit(unit), 1);
            } else {
                write(store, next(&mut random, logical));
            }
        };
        (0..9 * logical).for_each(|_| step(&mut store));
        holds(&format!("q {q}"), amplification(&mut store, 3 * logical, step), expected);
    }
}

#[test]
fn a_device_that_is_partly_full_copies_less() {
    // Greedy, 256 units a block, over-provisioning 7 %; a share of the logical units is in use.
    for (live, expected) in [
        (1.0, 7.5969),
        (0.95, 4.5623),
        (0.90, 3.2955),
        (0.80, 2.1672),
        (0.70, 1.6560),
        (0.50, 1.1995),
    ] {
        let mut store = bare(GcPolicy::Greedy, None, 4_000, 256, 1.0 - 1.0 / 1.07);
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let used = (f64::from(store.map.shape.logical) * live) as u32;
        (0..used).for_each(|unit| write(&mut store, unit));
        let mut step = |store: &mut PageStore| write(store, next(&mut random, used));
        (0..5 * used).for_each(|_| step(&mut store));
        holds(&format!("live {live}"), amplification(&mut store, used, step), expected);
    }
}

#[test]
fn hot_and_cold_addresses_cost_what_two_temperatures_do() {
    // FIFO; a share of the writes goes to a share of the units, each evenly.
    for (writes, units, spare, expected) in
        [(80, 0.20, 0.10, 5.5378), (80, 0.20, 0.20, 3.0345), (90, 0.10, 0.10, 6.1676)]
    {
        let mut store = bare(GcPolicy::Fifo, None, 10_000, 64, spare);
        let mut random = Pcg64Mcg::seed_from_u64(17);
        let logical = store.map.shape.logical;
        let hot = (f64::from(logical) * units) as u32;
        (0..logical).for_each(|unit| write(&mut store, unit));
        let mut step = |store: &mut PageStore| {
            let unit = if next(&mut random, 100) < writes {
                next(&mut random, hot)
            } else {
                hot + next(&mut random, logical - hot)
            };
            write(store, unit);
        };
        (0..12 * logical).for_each(|_| step(&mut store));
        let what = format!("{writes} % of the writes at spare {spare}");
        holds(&what, amplification(&mut store, 4 * logical, step), expected);
    }
}

#[test]
fn memory_is_at_most_twelve_bytes_a_unit() {
    let mut store = bare(GcPolicy::Greedy, None, 1_000, 256, 0.07);
    let logical = store.map.shape.logical;
    (0..3 * logical).for_each(|unit| write(&mut store, unit * 7 % logical));
    let bytes = store.map.memory() as f64 / f64::from(logical);
    assert!((8.0..12.0).contains(&bytes), "{bytes}");
}

/// Writes, discards and idle times that are drawn, on a device that the seed makes.
fn live(seed: u64) -> PageStore {
    use rand::RngExt;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut model = Profile::parse(SMALL).unwrap().model().unwrap();
    let policies = [
        GcPolicy::Greedy,
        GcPolicy::Fifo,
        GcPolicy::Random,
        GcPolicy::DChoices,
        GcPolicy::CostBenefit,
    ];
    model.gc.policy = policies[seed as usize % 5];
    model.gc.hot_cold = random.random();
    model.gc.idle_after = Some(Text(Nanos::from_millis(1)));
    model.gc.idle_until = Some(random.random_range(4..40));
    model.nand.channels = random.random_range(1..4);
    model.nand.bad_blocks = 0.02;
    model.map.program_unit = Text(Bytes(4096 << random.random_range(0..4)));
    model.map.capacity = Text(Bytes::from_mib(8));
    model.wear.leveling = random.random::<bool>().then_some(8);
    model.wear.endurance = random.random::<bool>().then_some(15);
    let mut store = PageStore::new(&model, seed).unwrap();
    let (logical, program) = (store.map.shape.logical, store.map.shape.program);
    let mut at = Nanos::ZERO;
    for _ in 0..20_000 {
        let unit = random.random_range(0..logical - program);
        let count = random.random_range(1..=program);
        match random.random_range(0..20) {
            0 => store.discard(at, Unit(unit), count),
            1 => store.background(at, at.plus(Nanos(random.random_range(0..9_000_000)))).unwrap(),
            _ => {
                let whole = random.random();
                let units: Vec<_> =
                    Unit(unit).run(count).map(|unit| UnitWrite { unit, whole }).collect();
                match store.write(at, &units) {
                    Ok(end) => at = end,
                    Err(FlashError::WornOut { .. }) => break,
                    Err(error) => panic!("seed {seed}: {error}"),
                }
            }
        }
    }
    store
}

#[test]
fn all_accounts_agree_after_whatever_was_done() {
    let (mut worn, mut collected) = (0, 0);
    for seed in 0..100 {
        let store = live(seed);
        store.map.audit().unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        collected += store.map.counts().collected;
        worn += u32::from(store.map.ended.is_some());
    }
    assert!(worn > 10 && collected > 50_000, "{worn} worn out, {collected} victims");
}
