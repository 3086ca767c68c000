//! A past that was given at once is as good as one that was written.

use crate::common;
use flashlag_flash::{Command, Flash, FlashError, Order, Past};
use flashlag_units::{Bytes, Nanos};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

const PAGE: u64 = 4096;

/// What uniform random writes to the first pages cost: write amplification, and times of writes.
struct Cost {
    amplification: f64,
    times: Vec<u64>,
}

impl Cost {
    fn mean(&self) -> f64 {
        self.times.iter().sum::<u64>() as f64 / self.times.len() as f64
    }

    fn percentile(&self, share: f64) -> f64 {
        self.times[(self.times.len() as f64 * share) as usize] as f64
    }
}

fn measure(flash: &mut Flash, pages: u64, from: Nanos, writes: u64) -> (Cost, Nanos) {
    let mut random = Pcg64Mcg::seed_from_u64(99);
    let before = flash.stats();
    let mut at = from;
    let mut times = Vec::new();
    for _ in 0..writes {
        let offset = random.random_range(0..pages) * PAGE;
        let ended = flash.submit(at, common::write(offset, PAGE)).unwrap().ended;
        times.push(ended.since(at).0);
        at = ended;
    }
    times.sort_unstable();
    let after = flash.stats();
    let programmed = after.programmed().unwrap().0 - before.programmed().unwrap().0;
    let amplification = programmed as f64 / (writes * PAGE) as f64;
    (Cost { amplification, times }, at)
}

/// Writes a device to steady state, and computes that state as a past; a share of it is in use.
fn both_ways(changes: &[(&str, &str)], used: f64, passes: u64) {
    let model = common::model(changes);
    let mut long = Flash::new(&model, 1).unwrap();
    let pages = (long.capacity().0 as f64 * used) as u64 / PAGE;
    let fill = (0..pages).map(|page| common::write(page * PAGE, PAGE));
    let at = common::in_a_row(&mut long, Nanos::ZERO, fill);
    let (_, at) = measure(&mut long, pages, at, passes * pages);
    let (long, _) = measure(&mut long, pages, at, 2 * pages);

    let mut short = Flash::new(&model, 2).unwrap();
    let past = Past { written: Bytes(pages * PAGE), order: Order::Random, cycles: 0 };
    short.prepare(&past).unwrap();
    assert_eq!(short.stats().mapped, past.written);
    let (short, _) = measure(&mut short, pages, Nanos::ZERO, 2 * pages);

    let near = |what: &str, long: f64, short: f64, step: f64| {
        let off = (short - long).abs() - step;
        assert!(off < long / 100.0, "{changes:?} {used}: {what} {short:.4}, {long:.4}");
    };
    near("write amplification", long.amplification, short.amplification, 0.0);
    near("mean", long.mean(), short.mean(), 0.0);
    for share in [0.5, 0.9, 0.99, 0.999] {
        let what = format!("the {share} quantile");
        near(&what, long.percentile(share), short.percentile(share), COPY);
    }
}

/// Times differ by whole copies: 50 us to read one, 600 us to program it, its bytes twice.
const COPY: f64 = 650e3 + 2.0 * 40_960.0;

const SIZE: [(&str, &str); 2] = [("map.capacity", "\"448MiB\""), ("map.spare", "\"64MiB\"")];

fn with<'a>(changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&SIZE, changes].concat()
}

#[test]
fn a_greedy_device_is_in_its_steady_state_at_once() {
    both_ways(&with(&[]), 1.0, 4);
    both_ways(&with(&[]), 0.8, 4);
}

#[test]
fn a_device_that_keeps_copies_apart_is_in_its_steady_state_at_once() {
    both_ways(&with(&[("gc.hot_cold", "true"), ("nand.channels", "4")]), 1.0, 4);
}

/// Writes three quarters of a device in order, discards every fourth MiB of it and some pages more, and
/// writes the rest at random: long, or once its content was scattered at once.
#[test]
fn content_that_is_scattered_at_once_is_in_its_steady_state() {
    for policy in ["greedy", "random", "cost_benefit"] {
        let policy = format!("\"{policy}\"");
        let model = common::model(&with(&[("gc.policy", &policy), ("gc.hot_cold", "true")]));
        let pages = 448 * 256;
        let held: Vec<u64> = (0..pages).filter(|page| page / 256 % 4 != 3).collect();
        let lived = |scattered: bool| {
            let mut flash = Flash::new(&model, 3).unwrap();
            let fill = (0..pages).map(|page| common::write(page * PAGE, PAGE));
            let mut at = common::in_a_row(&mut flash, Nanos::ZERO, fill);
            for first in (3 * 256..pages).step_by(4 * 256) {
                let length = Bytes(256 * PAGE);
                let discard = Command::Discard { offset: Bytes(first * PAGE), length };
                at = flash.submit(at, discard).unwrap().ended;
            }
            let before = flash.stats();
            if scattered {
                flash.scatter().unwrap();
            }
            let after = flash.stats();
            assert_eq!(before.mapped, after.mapped, "{policy}");
            assert_eq!(before.programmed(), after.programmed(), "{policy}");
            let mut random = Pcg64Mcg::seed_from_u64(99);
            let mut amplification = Vec::new();
            for _ in 0..if scattered { 1 } else { 6 } {
                let before = flash.stats();
                for _ in 0..2 * held.len() {
                    let page = held[random.random_range(0..held.len())];
                    at = flash.submit(at, common::write(page * PAGE, PAGE)).unwrap().ended;
                }
                let programmed = flash.stats().programmed().unwrap().0;
                let programmed = programmed - before.programmed().unwrap().0;
                amplification.push(programmed as f64 / (2 * held.len() as u64 * PAGE) as f64);
            }
            amplification
        };
        let (long, short) = (lived(false), lived(true));
        let (last, first) = (long[long.len() - 1], short[0]);
        assert!((first / last - 1.0).abs() < 0.01, "{policy}: {first:.4}, {long:.4?}");
        assert!(long[0] < 0.97 * last, "{policy}: it was steady from the start, {long:.4?}");
    }
}

#[test]
fn only_a_map_of_pages_can_be_scattered() {
    let mut logs = common::flash(&[("map.kind", "\"fast\""), ("map.log_blocks", "4")]);
    assert_eq!(logs.scatter(), Err(FlashError::NoPast));
    let mut empty = common::flash(&[]);
    assert_eq!(empty.scatter(), Ok(()));
}

#[test]
fn devices_of_other_policies_are_in_their_steady_state_at_once() {
    both_ways(&with(&[("gc.policy", "\"fifo\"")]), 1.0, 4);
    both_ways(&with(&[("gc.policy", "\"random\"")]), 1.0, 8);
    both_ways(&with(&[("gc.policy", "\"d_choices\""), ("gc.choices", "2")]), 1.0, 8);
    let all = [("gc.policy", "\"d_choices\""), ("gc.choices", "3"), ("gc.skip_full", "false")];
    both_ways(&with(&all), 1.0, 8);
    both_ways(&with(&[("gc.policy", "\"cost_benefit\"")]), 1.0, 4);
}

#[test]
fn a_device_that_was_filled_in_order_is_the_same_either_way() {
    let model = common::model(&with(&[("nand.channels", "2")]));
    for pages in [1000, 77_777, 448 * 256] {
        let mut long = Flash::new(&model, 5).unwrap();
        let fill = (0..pages).map(|page| common::write(page * PAGE, PAGE));
        let from = common::in_a_row(&mut long, Nanos::ZERO, fill).plus(Nanos::from_secs(1));
        let mut short = Flash::new(&model, 5).unwrap();
        let past = Past { written: Bytes(pages * PAGE), order: Order::Sequential, cycles: 0 };
        short.prepare(&past).unwrap();
        let (long, _) = measure(&mut long, pages, from, 50_000);
        let (short, _) = measure(&mut short, pages, from, 50_000);
        assert_eq!(long.times, short.times, "{pages} pages");
        assert_eq!(long.amplification.to_bits(), short.amplification.to_bits(), "{pages} pages");
    }
}

#[test]
fn wear_is_part_of_the_past() {
    let model = common::model(&[
        ("wear.endurance", "1000"),
        ("wear.retries", "3.0"),
        ("nand.read", "\"50us\""),
    ]);
    let mut flash = Flash::new(&model, 1).unwrap();
    let past = Past { written: Bytes(1 << 20), order: Order::Sequential, cycles: 500 };
    flash.prepare(&past).unwrap();
    assert_eq!(flash.stats().life_used, Some(0.5));
    // Three retries at the end of life, a quarter of that after half of it.
    let worn = flash.submit(Nanos::ZERO, common::read(0, PAGE)).unwrap();
    let mut new = Flash::new(&model, 1).unwrap();
    new.prepare(&Past { cycles: 0, ..past }).unwrap();
    let read = new.submit(Nanos::ZERO, common::read(0, PAGE)).unwrap();
    assert_eq!(worn.ended.since(read.ended), Nanos(37_500));
}

#[test]
fn only_a_new_device_of_pages_can_be_given_a_past() {
    let past = Past { written: Bytes(1 << 20), order: Order::Random, cycles: 0 };
    let mut flash = common::flash(&[]);
    flash
        .submit(Nanos::ZERO, Command::Write { offset: Bytes(0), length: Bytes(4096), fua: false })
        .unwrap();
    assert_eq!(flash.prepare(&past), Err(FlashError::NotNew));
    let mut twice = common::flash(&[]);
    twice.prepare(&past).unwrap();
    assert_eq!(twice.prepare(&past), Err(FlashError::NotNew));
    let mut logs = common::flash(&[("map.kind", "\"fast\""), ("map.log_blocks", "4")]);
    assert_eq!(logs.prepare(&past), Err(FlashError::NoPast));
}
