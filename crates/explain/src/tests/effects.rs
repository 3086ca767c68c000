use flashlag_schema::finding::{Counted, Estimate, FindingEffect, MeasuredWait};
use flashlag_stats::Histogram;
use flashlag_units::Nanos;

use crate::effect::{Mean, Side, effect};
use crate::{Figures, lowers_median, slowest_remain};

fn side(mean: f64, error: f64) -> Side {
    Side { mean: Mean { mean, error, n: 10_000, freedom: 1e12 }, figures: Figures::default() }
}

/// Fieller's limits are the ratios r at which a − r·b is exactly 1.96 of its own standard errors
/// from 0.
#[test]
fn both_ends_of_a_ratio_s_interval_satisfy_fieller_s_equation() {
    for (a, b) in [((2e7, 3e5), (1e7, 2e5)), ((1e6, 5e4), (3e6, 9e5)), ((1e9, 0.0), (7e8, 1e8))] {
        let found = effect(Counted::Writes, &side(a.0, a.1), &side(b.0, b.1), 1.0).unwrap();
        let Estimate { value, interval } = found.mean_ratio.unwrap();
        let (low, high) = interval.unwrap();
        assert!(low < value && value < high, "{a:?} / {b:?}: {low} {value} {high}");
        for ratio in [low, high] {
            let off = (a.0 - ratio * b.0).abs();
            let error = (a.1.powi(2) + (ratio * b.1).powi(2)).sqrt();
            assert!((off / error / 1.96 - 1.0).abs() < 1e-9, "{a:?} / {b:?} at {ratio}");
        }
    }
}

#[test]
fn a_ratio_to_what_is_not_shown_to_differ_from_nothing_has_no_interval() {
    let ratio = |error| {
        effect(Counted::Writes, &side(1e7, 1e5), &side(1.96e6, error), 1.0).unwrap().mean_ratio
    };
    assert!(ratio(0.999e6).unwrap().interval.is_some());
    assert!(ratio(1.001e6).unwrap().interval.is_none());
    let none = effect(Counted::Writes, &side(1e7, 1e5), &side(0.0, 0.0), 1.0).unwrap();
    assert_eq!(none.mean_ratio, None);
}

#[test]
fn the_margin_of_a_cost_is_that_of_the_difference() {
    // Errors of 3 and 4 ms combine to 5 ms; half of all operations are affected.
    let found = effect(Counted::Saves, &side(9e7, 3e6), &side(5e7, 4e6), 0.5).unwrap();
    let Estimate { value, interval } = found.cost_s_per_1000;
    let (low, high) = interval.unwrap();
    assert!((value - 20.0).abs() < 1e-9, "{value}");
    assert!((high - value - 1.96 * 2.5).abs() < 1e-9 && (value - low - 4.9).abs() < 1e-9);
}

#[test]
fn numbers_too_large_to_compare_give_no_effect() {
    assert!(effect(Counted::Saves, &side(f64::MAX, f64::MAX), &side(1.0, 1.0), 1.0).is_none());
}

fn waits(p50: (u64, u64), p999: (u64, u64)) -> FindingEffect {
    let wait = |p50, p999| MeasuredWait {
        ops: 10_000,
        mean_ns: Nanos(1),
        p50_ns: Some(Nanos(p50)),
        p999_ns: Some(Nanos(p999)),
    };
    FindingEffect {
        per: Counted::Saves,
        now: wait(p50.0, p999.0),
        fixed: Some(wait(p50.1, p999.1)),
        mean_ratio: None,
        cost_s_per_1000: Estimate { value: 1.0, interval: None },
    }
}

#[test]
fn a_median_falls_by_two_hundredths_and_the_slowest_remain_above_four_fifths() {
    assert!(lowers_median(&waits((1000, 980), (1, 1))));
    assert!(!lowers_median(&waits((1000, 981), (1, 1))));
    let remain = |fixed| slowest_remain(&waits((1, 1), (1000, fixed)));
    assert_eq!(remain(801), Some((Nanos(1000), Nanos(801))));
    assert_eq!(remain(800), None);
    let mut few = waits((1000, 1), (1000, 999));
    few.fixed.as_mut().unwrap().p50_ns = None;
    few.now.p999_ns = None;
    assert!(!lowers_median(&few) && slowest_remain(&few).is_none());
}

/// `n` saves of 10 to 18 ms, one in ten of them 3 ms longer.
fn drawn(n: u64, random: &mut impl FnMut() -> f64) -> Histogram {
    let mut histogram = Histogram::new();
    for _ in 0..n {
        let sum: f64 = (0..4).map(|_| random()).sum();
        let slow = if random() < 0.1 { 3e6 } else { 0.0 };
        histogram.record(Nanos((1e7 + 2e6 * sum + slow) as u64));
    }
    histogram
}

/// In how many of a hundred cases the interval of a cost contains the true one, which is 0.
fn held(n: (u64, u64), random: &mut impl FnMut() -> f64) -> f64 {
    let rounds = 2000;
    let of = |histogram: &Histogram| Side {
        mean: Mean::of(histogram).unwrap(),
        figures: Figures::default(),
    };
    let held = (0..rounds).filter(|_| {
        let (one, other) = (drawn(n.0, random), drawn(n.1, random));
        let found = effect(Counted::Saves, &of(&one), &of(&other), 1.0).unwrap();
        let (low, high) = found.cost_s_per_1000.interval.unwrap();
        low <= 0.0 && high >= 0.0
    });
    held.count() as f64 * 100.0 / f64::from(rounds)
}

#[test]
fn the_interval_of_a_cost_holds_the_true_one_however_few_values_there_are() {
    let mut state = 20_u64;
    let mut random = move || {
        // Knuth's generator of 64 bits.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for n in [(3, 3), (5, 5), (5, 200), (10, 10), (20, 15), (30, 30), (300, 300)] {
        let held = held(n, &mut random);
        assert!((93.0..98.5).contains(&held), "{n:?}: {held}");
    }
}
