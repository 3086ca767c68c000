use super::*;
use crate::front::{Store, UnitWrite};

const SMALL: &str = include_str!("../../tests/data/small.toml");

fn model() -> Model {
    flashlag_schema::profile::Profile::parse(SMALL).unwrap().model().unwrap()
}

/// A map of `blocks` × `units` with this share of spare slots, those that are always free aside.
fn bare(policy: GcPolicy, choices: Option<u32>, blocks: u32, units: u32, spare: f64) -> PageMap {
    let kept = 1 + 2;
    let shape = Shape {
        logical: ((1.0 - spare) * f64::from(blocks) * f64::from(units)).round() as u32,
        blocks: blocks + kept,
        units,
        program: 1,
        unit_bytes: 4096,
        pages: 1,
        page_units: 1,
        dies: 1,
    };
    let mut gc = model().gc;
    gc.policy = policy;
    gc.choices = choices;
    gc.low_water = 1;
    gc.hot_cold = false;
    gc.skip_full = false;
    PageMap::build(shape, Nand::new(&model(), u64::from(blocks)), gc, None, 7)
}

fn write(map: &mut PageMap, unit: u32) {
    map.write(Nanos::ZERO, &[UnitWrite { unit, whole: true }]).unwrap();
}

fn next(random: &mut Pcg64Mcg, below: u32) -> u32 {
    use rand::RngExt;
    random.random_range(0..below)
}

/// Write amplification of uniform random overwrites in steady state.
fn amplification(map: &mut PageMap) -> f64 {
    let mut random = Pcg64Mcg::seed_from_u64(11);
    let logical = map.shape.logical;
    (0..logical).for_each(|unit| write(map, unit));
    (0..3 * logical).for_each(|_| write(map, next(&mut random, logical)));
    let before = map.programmed;
    (0..2 * logical).for_each(|_| write(map, next(&mut random, logical)));
    map.audit();
    let after = map.programmed;
    assert_eq!(after.padded, 0);
    (after.all() - before.all()) as f64 / (after.host - before.host) as f64
}

/// Every row of the table of analytic results whose number leaves this rest, at 10,000 blocks.
fn rows_hold(rest: usize) {
    let rows = include_str!("../../tests/data/write_amplification.csv");
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
        let found = amplification(&mut bare(policy, choices, 10_000, units, spare));
        let off = (found / expected - 1.0) * 100.0;
        assert!(off.abs() < 0.5, "{row}: {found:.4}, {off:+.2} %");
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

#[test]
fn discarded_units_make_room_as_the_formula_says() {
    // A share q of the requests trims a unit in use: greedy, 64 units a block, spare 0.10.
    for (q, expected) in [(0.05, 3.4082), (0.10, 2.5993), (0.20, 1.7162), (0.30, 1.2635)] {
        let mut map = bare(GcPolicy::Greedy, None, 10_000, 64, 0.10);
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let logical = map.shape.logical;
        (0..logical).for_each(|unit| write(&mut map, unit));
        let step = |map: &mut PageMap, random: &mut Pcg64Mcg| {
            if next(random, 1000) < (q * 1000.0) as u32 {
                let unit = std::iter::repeat_with(|| next(random, logical))
                    .find(|unit| map.is_mapped(*unit))
                    .unwrap();
                map.discard(Nanos::ZERO, unit, 1);
            } else {
                let unit = next(random, logical);
                write(map, unit);
            }
        };
        (0..9 * logical).for_each(|_| step(&mut map, &mut random));
        let before = map.programmed;
        (0..3 * logical).for_each(|_| step(&mut map, &mut random));
        map.audit();
        let after = map.programmed;
        let found = (after.all() - before.all()) as f64 / (after.host - before.host) as f64;
        let off = (found / expected - 1.0) * 100.0;
        assert!(off.abs() < 0.5, "q {q}: {found:.4} against {expected}, {off:+.2} %");
    }
}

#[test]
fn memory_is_at_most_twelve_bytes_a_unit() {
    let map = bare(GcPolicy::Greedy, None, 10_000, 256, 0.07);
    let words = map.map.len() + map.owner.len() + 4 * map.valid.len();
    assert!(words * 4 <= 12 * map.map.len());
}

#[test]
fn a_device_that_is_partly_full_copies_less() {
    // Greedy, 256 units a block, over-provisioning 7 %; a share of the logical units is in use.
    for (live, expected) in [(0.90, 3.2955), (0.70, 1.6560)] {
        let mut map = bare(GcPolicy::Greedy, None, 10_000, 256, 1.0 - 1.0 / 1.07);
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let used = (f64::from(map.shape.logical) * live) as u32;
        (0..used).for_each(|unit| write(&mut map, unit));
        (0..5 * used).for_each(|_| write(&mut map, next(&mut random, used)));
        let before = map.programmed;
        (0..used).for_each(|_| write(&mut map, next(&mut random, used)));
        let after = map.programmed;
        let found = (after.all() - before.all()) as f64 / (after.host - before.host) as f64;
        let off = (found / expected - 1.0) * 100.0;
        assert!(off.abs() < 0.5, "live {live}: {found:.4} against {expected}, {off:+.2} %");
    }
}
