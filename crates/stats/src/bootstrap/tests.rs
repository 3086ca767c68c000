//! Coverage: for two samples of one distribution, the interval contains 1 in about 95 % of cases.
mod parts;

use super::beta::{beta, normal};
use super::model::{Figure, Sample};
use super::{RatioInterval, compare};
use crate::{Histogram, Interval, Percentile};
use flashlag_units::{Bytes, Nanos};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

const CASES: u64 = 400;

/// Compares two runs by their histograms alone.
fn compare_histograms(
    first: &Histogram,
    second: &Histogram,
    percentile: Percentile,
    seed: u64,
) -> Option<RatioInterval> {
    let sample = |histogram: &Histogram| Sample {
        histogram: histogram.clone(),
        intervals: Vec::new(),
        bytes: Bytes::ZERO,
        elapsed: Nanos::ZERO,
    };
    compare(&[sample(first)], &[sample(second)], Figure::Percentile(percentile), seed)
}

fn log_normal(count: usize, median: f64, random: &mut Pcg64Mcg) -> Histogram {
    let mut histogram = Histogram::new();
    for _ in 0..count {
        histogram.record(Nanos((median * (0.5 * normal(random)).exp()) as u64));
    }
    histogram
}

/// A run whose latencies drift: each interval has a level of its own, correlated with the last's.
fn drifting(median: f64, correlation: f64, random: &mut Pcg64Mcg) -> Sample {
    let mut level = normal(random);
    let mut histogram = Histogram::new();
    let mut intervals = Vec::new();
    let mut ends = 0u64;
    for _ in 0..200 {
        level = correlation * level + (1.0 - correlation * correlation).sqrt() * normal(random);
        let part = log_normal(50, median * (0.3 * level).exp(), random);
        ends += part.sum().0;
        histogram.merge(&part);
        intervals.push(Interval {
            ends: Nanos(ends),
            bytes: Bytes(50 * 4096),
            filled: None,
            temperature_millicelsius: None,
            waited: None,
            exact: (part.min().unwrap(), part.max().unwrap(), part.sum()),
            buckets: part.occupied().collect(),
        });
    }
    Sample { histogram, intervals, bytes: Bytes(200 * 50 * 4096), elapsed: Nanos(ends) }
}

/// The share of cases in which the interval contains 1.
fn coverage(mut case: impl FnMut(u64, &mut Pcg64Mcg) -> RatioInterval) -> f64 {
    let holds = |seed: &u64| {
        let compared = case(*seed, &mut Pcg64Mcg::seed_from_u64(*seed));
        assert!(compared.low <= compared.ratio && compared.ratio <= compared.high);
        (compared.low..=compared.high).contains(&1.0)
    };
    (0..CASES).filter(holds).count() as f64 / CASES as f64
}

#[test]
fn beta_draws_have_the_mean_and_variance_of_the_distribution() {
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let (a, b) = (7.0, 3.0);
    let draws: Vec<f64> = (0..40_000).map(|_| beta(a, b, &mut random)).collect();
    let mean = draws.iter().sum::<f64>() / 40_000.0;
    let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 40_000.0;
    assert!((mean - 0.7).abs() < 0.003, "{mean}");
    assert!((variance - a * b / (100.0 * 11.0)).abs() < 0.0005, "{variance}");
}

#[test]
fn two_samples_of_one_distribution_differ_in_five_percent_of_cases() {
    for percentile in [Percentile::P50, Percentile::P99] {
        let share = coverage(|seed, random| {
            let first = log_normal(3_000, 1e5, random);
            let second = log_normal(3_000, 1e5, random);
            compare_histograms(&first, &second, percentile, seed).unwrap()
        });
        assert!((0.92..=0.985).contains(&share), "{percentile:?}: {share} over {CASES} seeds");
    }
}

#[test]
fn a_real_difference_is_shown() {
    let shown = (0..100).filter(|seed| {
        let mut random = Pcg64Mcg::seed_from_u64(*seed);
        let first = log_normal(3_000, 1e5, &mut random);
        let second = log_normal(3_000, 1.2e5, &mut random);
        let compared = compare_histograms(&first, &second, Percentile::P50, *seed).unwrap();
        compared.shown && (compared.low..compared.high).contains(&1.2)
    });
    assert!(shown.count() >= 90);
}

#[test]
fn drifting_runs_need_blocks_and_blocks_cover() {
    let pair = |random: &mut Pcg64Mcg| (drifting(1e5, 0.8, random), drifting(1e5, 0.8, random));
    let blocks = coverage(|seed, random| {
        let (first, second) = pair(random);
        compare(&[first], &[second], Figure::Percentile(Percentile::P50), seed).unwrap()
    });
    let independent = coverage(|seed, random| {
        let (first, second) = pair(random);
        compare_histograms(&first.histogram, &second.histogram, Percentile::P50, seed).unwrap()
    });
    assert!(blocks >= 0.91, "{blocks} over {CASES} seeds");
    assert!(independent < 0.7, "values taken as independent: {independent} over {CASES} seeds");
}

#[test]
fn throughput_of_drifting_runs_is_covered_too() {
    let share = coverage(|seed, random| {
        let (first, second) = (drifting(1e5, 0.5, random), drifting(1e5, 0.5, random));
        compare(&[first], &[second], Figure::Throughput, seed).unwrap()
    });
    assert!(share >= 0.92, "{share} over {CASES} seeds");
}

#[test]
fn runs_that_differ_among_themselves_widen_the_interval() {
    let runs = |random: &mut Pcg64Mcg| -> Vec<Sample> {
        let run = |_| {
            let histogram = log_normal(500, 1e5 * (0.2 * normal(random)).exp(), random);
            let (bytes, elapsed) = (Bytes(500 * 4096), histogram.sum());
            Sample { histogram, intervals: Vec::new(), bytes, elapsed }
        };
        (0..3).map(run).collect()
    };
    let share = coverage(|seed, random| {
        let (first, second) = (runs(random), runs(random));
        let compared = compare(&first, &second, Figure::Percentile(Percentile::P50), seed).unwrap();
        assert!(compared.between_runs);
        compared
    });
    assert!((0.9..=1.0).contains(&share), "{share} over {CASES} seeds");
}

#[test]
fn too_little_to_compare_gives_nothing() {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let small = log_normal(500, 1e5, &mut random);
    assert_eq!(compare_histograms(&small, &small, Percentile::P99, 1), None);
    let compared = compare_histograms(&small, &small, Percentile::P50, 1).unwrap();
    assert_eq!(compared.ratio, 1.0);
    assert!(!compared.shown && !compared.between_runs);
    assert_eq!(compare(&[], &[], Figure::Throughput, 1), None);
    let bare =
        Sample { histogram: small, intervals: Vec::new(), bytes: Bytes(1), elapsed: Nanos(1) };
    assert_eq!(
        compare(std::slice::from_ref(&bare), std::slice::from_ref(&bare), Figure::Throughput, 1),
        None
    );
}

#[test]
fn a_difference_below_the_resolution_is_never_shown() {
    // 1.2 % apart with a million values each: certain, but finer than the buckets.
    let sure = |value| Histogram::from_parts(&[value], &[1_000_000], None).unwrap();
    let (a, b) = (Histogram::index_of(Nanos(100_000)), Histogram::index_of(Nanos(101_300)));
    assert_eq!(b, a + 1);
    let compared = compare_histograms(&sure(a as u32), &sure(b as u32), Percentile::P50, 1);
    assert!(!compared.unwrap().shown);
}

#[test]
fn the_same_seed_gives_the_same_interval() {
    let mut random = Pcg64Mcg::seed_from_u64(9);
    let (a, b) = (drifting(1e5, 0.5, &mut random), drifting(1.1e5, 0.5, &mut random));
    let once = |seed| {
        compare(
            std::slice::from_ref(&a),
            std::slice::from_ref(&b),
            Figure::Percentile(Percentile::P99),
            seed,
        )
    };
    assert_eq!(once(4), once(4));
    assert_ne!(once(4), once(5));
}

/// A run of two levels: fast at first, slow later, each latency within 5 % of its level.
fn two_levels(levels: [f64; 2], fast_share: f64, random: &mut Pcg64Mcg) -> Sample {
    let mut histogram = Histogram::new();
    let mut intervals = Vec::new();
    let mut ends = 0u64;
    for index in 0..60 {
        let level = if f64::from(index) < 60.0 * fast_share { levels[0] } else { levels[1] };
        let mut part = Histogram::new();
        for _ in 0..20 {
            part.record(Nanos((level * (1.0 + 0.05 * normal(random).clamp(-1.0, 1.0))) as u64));
        }
        ends += part.sum().0;
        histogram.merge(&part);
        intervals.push(Interval {
            ends: Nanos(ends),
            bytes: Bytes(20 * 4096),
            filled: None,
            temperature_millicelsius: None,
            waited: None,
            exact: (part.min().unwrap(), part.max().unwrap(), part.sum()),
            buckets: part.occupied().collect(),
        });
    }
    Sample { histogram, intervals, bytes: Bytes(60 * 20 * 4096), elapsed: Nanos(ends) }
}

#[test]
fn no_interval_goes_beyond_the_ratios_that_resampled_values_can_have() {
    for seed in 0..150u64 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let level = |random: &mut Pcg64Mcg| 1e6 * (1.5 * normal(random)).exp();
        let run = |random: &mut Pcg64Mcg| {
            let levels = [level(random), level(random)];
            let share = 0.3 + 0.01 * (seed % 40) as f64;
            two_levels(levels, share, random)
        };
        let runs = 1 + (seed % 3) as usize;
        let first: Vec<Sample> = (0..runs).map(|_| run(&mut random)).collect();
        let second: Vec<Sample> = (0..runs).map(|_| run(&mut random)).collect();
        let ends = |side: &[Sample]| {
            let least = side.iter().filter_map(|s| s.histogram.min()).min().unwrap();
            let most = side.iter().filter_map(|s| s.histogram.max()).max().unwrap();
            (least.0 as f64, most.0 as f64)
        };
        let (a, b) = (ends(&first), ends(&second));
        // The printed value is the middle of a bucket: within 0.8 % of its values.
        let (least, most) = (b.0 / a.1 * 0.98, b.1 / a.0 * 1.02);
        for percentile in [Percentile::P50, Percentile::P90] {
            let figure = Figure::Percentile(percentile);
            let found = compare(&first, &second, figure, seed).unwrap();
            assert!(
                found.low >= least && found.high <= most,
                "seed {seed}, {percentile:?}: {found:?} leaves {least} to {most}"
            );
        }
    }
}

#[test]
fn an_interval_of_two_levels_is_not_widened_beyond_their_ratio() {
    // 6 ms, later 14 ms, against 7.7 ms, later 20 ms: no ratio of medians is below 7.3 / 14.7.
    let mut random = Pcg64Mcg::seed_from_u64(4);
    let first = two_levels([6e6, 14e6], 0.55, &mut random);
    let second = two_levels([7.7e6, 19.8e6], 0.45, &mut random);
    let found = compare(&[first], &[second], Figure::Percentile(Percentile::P50), 1).unwrap();
    assert!(found.low > 0.49 && found.high < 3.7, "{found:?}");
}

#[test]
fn three_whole_runs_of_6_ms_against_three_of_20_ms_show_a_difference() {
    // Each run has two levels, so within a run its median could be anything between them; but the
    // runs agree with each other.
    let runs = |levels: [f64; 2], share: f64, seed: u64| -> Vec<Sample> {
        let run = |run| two_levels(levels, share, &mut Pcg64Mcg::seed_from_u64(seed + run));
        (0..3).map(run).collect()
    };
    let first = runs([6e6, 14e6], 0.55, 10);
    let second = runs([7.7e6, 19.8e6], 0.45, 20);
    let found = compare(&first, &second, Figure::Percentile(Percentile::P50), 1).unwrap();
    assert!(found.shown && found.between_runs, "{found:?}");
    assert!(found.low > 2.5 && found.high < 4.0, "{found:?}");
    let one = compare(&first[..1], &second[..1], Figure::Percentile(Percentile::P50), 1).unwrap();
    assert!(!one.shown && !one.between_runs, "{one:?}");
}

#[test]
fn two_runs_a_side_that_differ_are_covered_by_students_interval() {
    let runs = |random: &mut Pcg64Mcg| -> Vec<Sample> {
        let run = |_| {
            let histogram = log_normal(500, 1e5 * (0.1 * normal(random)).exp(), random);
            let (bytes, elapsed) = (Bytes(500 * 4096), histogram.sum());
            Sample { histogram, intervals: Vec::new(), bytes, elapsed }
        };
        (0..2).map(run).collect()
    };
    for figure in [Figure::Percentile(Percentile::P50), Figure::Throughput] {
        let share = coverage(|seed, random| {
            let (first, second) = (runs(random), runs(random));
            compare(&first, &second, figure, seed).unwrap()
        });
        assert!((0.93..=1.0).contains(&share), "{figure:?}: {share} over {CASES} seeds");
    }
}

/// The ratio inverted: (b, a) in place of (a, b).
fn inverse(of: RatioInterval) -> RatioInterval {
    RatioInterval { ratio: 1.0 / of.ratio, low: 1.0 / of.high, high: 1.0 / of.low, ..of }
}

fn is_near(one: RatioInterval, other: RatioInterval) -> bool {
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    near(one.ratio, other.ratio) && near(one.low, other.low) && near(one.high, other.high)
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(40))]

    #[test]
    fn the_other_way_round_is_the_inverse(
        seed in 0u64..1000,
        sizes in (1usize..4, 1usize..4),
        medians in (1e4..1e7f64, 1e4..1e7f64),
        alike in proptest::bool::ANY,
    ) {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut side = |size: usize, median: f64| -> Vec<Sample> {
            (0..size).map(|_| drifting(median, 0.6, &mut random)).collect()
        };
        let first = side(sizes.0, medians.0);
        let second = if alike { first.clone() } else { side(sizes.1, medians.1) };
        for figure in [Figure::Percentile(Percentile::P50), Figure::Throughput] {
            let there = compare(&first, &second, figure, seed).unwrap();
            let back = inverse(compare(&second, &first, figure, seed).unwrap());
            proptest::prop_assert!(is_near(there, back), "{there:?} {back:?}");
            proptest::prop_assert_eq!(there.shown, back.shown);
        }
    }
}

#[test]
fn a_run_against_itself_has_an_interval_on_both_sides_of_equal() {
    let run = [drifting(1e5, 0.6, &mut Pcg64Mcg::seed_from_u64(5))];
    let found = compare(&run, &run, Figure::Percentile(Percentile::P50), 1).unwrap();
    assert!(found.low < 0.97 && found.high > 1.03, "{found:?}");
    assert!((found.low * found.high - 1.0).abs() < 1e-9, "{found:?}");
}

/// Two runs that agree to the last operation say nothing about how runs on another device vary.
#[test]
fn a_single_run_is_no_surer_for_repeats_on_the_other_side() {
    let single = [two_levels([6e6, 14e6], 0.55, &mut Pcg64Mcg::seed_from_u64(3))];
    let many: Vec<Sample> =
        (0..3).map(|_| two_levels([7e6, 15e6], 0.55, &mut Pcg64Mcg::seed_from_u64(4))).collect();
    let figure = Figure::Percentile(Percentile::P50);
    let alone = compare(&single, &many[..1], figure, 1).unwrap();
    let found = compare(&single, &many, figure, 1).unwrap();
    assert!(!alone.shown && !found.shown && !found.between_runs, "{alone:?} {found:?}");
    // A rate without intervals: nothing says how much it varies.
    let bare = Sample { intervals: Vec::new(), ..single[0].clone() };
    assert_eq!(compare(&[bare], &many, Figure::Throughput, 1), None);
}

/// About 2.5 % of the values are below a gap. The value at one rank would be one of the two levels, and
/// one more draw would make it the other.
#[test]
fn an_end_beside_a_gap_is_between_its_levels() {
    let mut ordered: Vec<f64> = vec![0.0; 51];
    ordered.extend(vec![1.0; 1949]);
    let jumps = super::smoothed(&ordered, 0.025 * 1999.0);
    ordered[50] = 1.0;
    let moved = super::smoothed(&ordered, 0.025 * 1999.0);
    assert!(jumps > 0.3 && jumps < 0.5 && moved - jumps < 0.1, "{jumps} {moved}");
}
