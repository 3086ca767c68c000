//! Collection in slices of time: how long one write waits, and what that changes besides.

use crate::common;
use flashlag_flash::{Flash, Order, Past};
use flashlag_units::Nanos;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

const PAGE: u64 = 4096;
const SEED: u64 = 5;

struct Seen {
    longest: Nanos,
    mean: f64,
    amplification: f64,
    late: usize,
}

/// Random writes on a full device, one after the other.
fn seen(changes: &[(&str, &str)]) -> Seen {
    let mut flash: Flash = common::flash(changes);
    let past = Past { written: flash.capacity(), order: Order::Random, cycles: 0 };
    flash.prepare(&past).unwrap();
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let pages = flash.capacity().0 / PAGE;
    let before = flash.stats();
    let (mut at, mut times) = (Nanos::ZERO, Vec::new());
    for _ in 0..40_000 {
        let page = random.random_range(0..pages);
        let ended = flash.submit(at, common::write(page * PAGE, PAGE)).unwrap().ended;
        times.push(ended.since(at));
        at = ended;
    }
    let after = flash.stats();
    let programmed = after.programmed().unwrap().0 - before.programmed().unwrap().0;
    Seen {
        // At first it gathers the free blocks that it works with from then on.
        longest: times.iter().skip(100).copied().max().unwrap(),
        mean: at.0 as f64 / times.len() as f64,
        amplification: programmed as f64 / (times.len() as u64 * PAGE) as f64,
        late: times.iter().filter(|time| **time > Nanos::from_millis(4)).count(),
    }
}

#[test]
fn no_write_waits_longer_than_a_slice_and_the_steps_about_it() {
    for streams in ["true", "false"] {
        let base = ("gc.hot_cold", streams);
        let whole = seen(&[base]);
        let sliced = seen(&[base, ("gc.slice", "\"5ms\"")]);
        // A step is a page read and a page programmed; the last one may be followed by an erase.
        let step = 50e3 + 600e3 + 2.0 * PAGE as f64 * 10.0 + 3e6;
        let own = 100e3 + PAGE as f64 * (1e3 / 90.0 + 10.0) + 600e3;
        let most = 5e6 + step + own;
        assert!(
            (sliced.longest.0 as f64) < most,
            "{} of at most {most}, seed {SEED}",
            sliced.longest
        );
        assert!(whole.longest > Nanos::from_millis(20), "{}", whole.longest);
        // The same work, in more parts: more writes wait, each less.
        let off = (sliced.amplification / whole.amplification - 1.0).abs();
        assert!(off < 0.03, "{} and {}", sliced.amplification, whole.amplification);
        let off = (sliced.mean / whole.mean - 1.0).abs();
        assert!(off < 0.03, "{} and {} ns", sliced.mean, whole.mean);
        assert!(sliced.late > 2 * whole.late, "{} and {}", sliced.late, whole.late);
    }
}

#[test]
fn where_slices_do_not_suffice_a_write_waits_rather_than_find_no_room() {
    // A slice of one step a write is less than what a write costs in copies.
    let sliced = seen(&[("map.spare", "\"2MiB\""), ("gc.slice", "\"1us\"")]);
    assert!(sliced.amplification > 4.0, "{}", sliced.amplification);
    assert!(sliced.longest > Nanos::from_millis(20), "{}", sliced.longest);
}
