//! The units by which a run is resampled: blocks of its intervals, or its ranks.

use flashlag_units::Bytes;
use rand::SeedableRng;

use super::*;

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
}

#[test]
fn neighbours_of_a_ramp_correlate_and_alternating_ones_count_as_independent() {
    // Deviations −2, −1, 0, 1, 2: products 2 + 0 + 0 + 2 over squares 10.
    near(neighbour_correlation(&[1.0, 2.0, 3.0, 4.0, 5.0]), 0.4);
    assert_eq!(neighbour_correlation(&[1.0, 3.0, 1.0, 3.0, 1.0, 3.0]), 0.0);
    assert_eq!(neighbour_correlation(&[2.0; 20]), 0.0);
    // The mean of equal values is seldom that value.
    for count in 2..200 {
        for value in [1.0 / 3.0, 0.1, -1e9 / 7.0, 1e-12 / 3.0] {
            assert_eq!(neighbour_correlation(&vec![value; count]), 0.0, "{count} of {value}");
        }
    }
    // A small variation on a large value is one.
    let rising: Vec<f64> = (0..100).map(|index| 1e9 + f64::from(index)).collect();
    near(neighbour_correlation(&rising), 0.95);
    let halves: Vec<f64> = (0..100).map(|at| f64::from(at / 50)).collect();
    assert_eq!(neighbour_correlation(&halves), 0.95, "(98 − 1) / 100, limited");
}

#[test]
fn blocks_are_as_long_as_carlsteins_rule_says_and_at_most_a_fifth_of_the_run() {
    assert_eq!(block_length(0.0, 200), 1);
    // (√6 · 0.5 / 0.75)^⅔ · 1000^⅓ = 1.387 · 10.
    assert_eq!(block_length(0.5, 1000), 14);
    assert_eq!(block_length(0.95, 20), 4);
    assert_eq!(block_length(0.95, 4), 1);
}

fn rows(count: u64) -> Vec<Vec<u64>> {
    (1..=count).map(|value| vec![value, 10 * value]).collect()
}

#[test]
fn independent_intervals_are_blocks_of_one_scaled_for_their_number() {
    let blocks = Blocks::of(rows(10), &[1.0; 10]);
    let each: Vec<Vec<u64>> = blocks.each().collect();
    assert_eq!(each, rows(10));
    near(blocks.scale, (10.0f64 / 9.0).sqrt() * 2.262 / 1.960);
}

#[test]
fn blocks_of_a_ramp_wrap_around_and_are_scaled_for_what_correlates_across_their_borders() {
    let ramp: Vec<f64> = (0..11).map(f64::from).collect();
    let blocks = Blocks::of(rows(11), &ramp);
    // Deviations −5 to 5: squares 110, products 2·(20 + 12 + 6 + 2) = 80: ρ = 8/11; a fifth is 2.
    assert_eq!(blocks.length, 2);
    let each: Vec<u64> = blocks.each().map(|block| block[0]).collect();
    let pairs = (1..=11).map(|value| value + value % 11 + 1);
    // The shorter block that ends a resample, here of one interval, is among them.
    assert_eq!(each, pairs.chain(1..=11).collect::<Vec<u64>>());
    let alike: f64 = 8.0 / 11.0;
    let missed = (2.0 * alike / ((1.0 - alike * alike) * 2.0)).min(0.6);
    near(blocks.scale, (1.0 / (1.0 - missed)).sqrt() * 1.25f64.sqrt() * 2.776 / 1.960);
}

#[test]
fn less_correlation_than_the_limit_is_scaled_as_it_is() {
    // ρ = 0.4 of 1 to 5, followed by what is at the mean: 4 of 10 still.
    let mut influence = vec![3.0; 40];
    influence[..5].copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let blocks = Blocks::of(rows(40), &influence);
    // (√6 · 0.4 / 0.84)^⅔ · 40^⅓ = 1.108 · 3.42 = 3.79.
    assert_eq!(blocks.length, 4);
    let missed = 0.8 / (0.84 * 4.0);
    let few = (10.0f64 / 9.0).sqrt() * 2.262 / 1.960;
    near(blocks.scale, (1.0 / (1.0f64 - missed)).sqrt() * few);
}

#[test]
fn a_resample_has_as_many_intervals_as_the_run() {
    let ramp: Vec<f64> = (0..11).map(f64::from).collect();
    let ones: Vec<Vec<u64>> = vec![vec![1, 3]; 11];
    let blocks = Blocks::of(ones, &ramp);
    for seed in 0..20 {
        let drawn = blocks.draw(&mut Pcg64Mcg::seed_from_u64(seed));
        assert_eq!(drawn, [11, 33], "seed {seed}");
    }
    let (mut random, blocks) = (Pcg64Mcg::seed_from_u64(1), Blocks::of(rows(11), &ramp));
    let drawn: Vec<u64> = (0..2000).map(|_| blocks.draw(&mut random)[0]).collect();
    let mean = drawn.iter().sum::<u64>() as f64 / 2000.0;
    assert!((mean - 66.0).abs() < 2.0, "seed 1: {mean}, for a sum of 66");
    assert!(drawn.iter().min() < drawn.iter().max());
}

#[test]
fn values_are_spread_evenly_over_their_bucket_and_stay_within_what_was_seen() {
    let mut histogram = Histogram::new();
    let (start, end) = (Nanos(1 << 20), Nanos((1 << 20) + (1 << 14) - 1));
    for value in [start, end, Nanos(5_000_000), Nanos(5_000_000)] {
        histogram.record(value);
    }
    let values = Values::of(&histogram);
    assert_eq!(values.counts, [2, 2], "a bucket of 2^14 and one of two equal values");
    let at = |share: f64| values.quantile(&values.counts, share);
    near(at(0.25), (1 << 20) as f64 + (1 << 13) as f64);
    near(at(0.0), (1 << 20) as f64);
    near(at(1.0), 5_000_000.0);
    // All values are in the second bucket, so the quantile is limited to the largest value.
    near(values.quantile(&[0, 2], 1.0), 5_000_000.0);
    near(values.quantile(&[0, 0], 0.5), 5_000_000.0);
}

fn interval(ends: u64, bytes: u64, values: &[u64]) -> Interval {
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.record(Nanos(*value)));
    Interval {
        ends: Nanos(ends),
        bytes: Bytes(bytes),
        filled: None,
        temperature_millicelsius: None,
        waited: None,
        exact: (
            histogram.min().unwrap_or_default(),
            histogram.max().unwrap_or_default(),
            histogram.sum(),
        ),
        buckets: histogram.occupied().collect(),
    }
}

#[test]
fn a_long_series_is_joined_in_pairs_until_256_are_left() {
    let series = |count: u64| (1..=count).map(|at| interval(at, at, &[7])).collect::<Vec<_>>();
    for (count, left) in [(256, 256), (257, 129), (512, 256), (513, 129), (1, 1)] {
        let joined = joined(&series(count));
        assert_eq!(joined.len(), left, "{count}");
        let bytes: u64 = joined.iter().map(|interval| interval.bytes.0).sum();
        assert_eq!(bytes, count * (count + 1) / 2, "{count}");
        assert_eq!(joined.last().map(|last| last.ends), Some(Nanos(count)));
    }
}

fn sample(intervals: Vec<Interval>) -> Sample {
    let elapsed = intervals.last().map_or(Nanos(1000), |last| last.ends);
    let bytes = intervals.iter().fold(Bytes::ZERO, |sum, interval| sum.plus(interval.bytes));
    let histogram = intervals.iter().fold(Histogram::new(), |mut sum, interval| {
        sum.merge(&interval.histogram());
        sum
    });
    Sample { histogram, intervals, bytes, elapsed }
}

#[test]
fn ten_intervals_show_how_throughput_varies_and_nine_do_not() {
    let of = |count: u64| {
        let intervals = (1..=count).map(|at| interval(at * 100, 1000 * at, &[7]));
        Resampler::of(&sample(intervals.collect()), Figure::Throughput).unwrap()
    };
    assert!(of(10).varies() && !of(9).varies());
    // 55,000 bytes in 1,000 ns; the intervals' rates are 10 to 100 bytes a nanosecond.
    near(of(10).center, 55e9f64.ln());
    near(of(10).printed, 55e9f64.ln());
    let (low, high) = of(10).seen();
    near(low, 10e9f64.ln());
    near(high, 100e9f64.ln());
    assert_eq!(of(9).seen(), (f64::NEG_INFINITY, f64::INFINITY));
    assert!(Resampler::of(&sample(Vec::new()), Figure::Throughput).is_none(), "no bytes");
}

/// Length of the blocks of intervals for the median.
fn median_blocks(series: Vec<Interval>) -> usize {
    let resampler = Resampler::of(&sample(series), Figure::Percentile(Percentile::P50));
    match resampler.unwrap().method {
        Method::QuantileBlocks { blocks, .. } => blocks.length,
        _ => panic!("blocks of 20 intervals"),
    }
}

#[test]
fn intervals_are_alike_by_their_shares_above_the_quantile() {
    // Ten fast intervals and ten slow ones: the longest blocks, a fifth of the run.
    let apart = (1..=20).map(|at| interval(at * 100, 1, &[if at > 10 { 9000 } else { 100 }; 9]));
    assert_eq!(median_blocks(apart.collect()), 4);
    // In each interval a quarter of the operations is above the value, however many it has.
    let more = (1..=20u64).map(|at| {
        let values: Vec<u64> = (0..4 * at).map(|op| if op % 4 == 0 { 9000 } else { 100 }).collect();
        interval(at * 100, 1, &values)
    });
    assert_eq!(median_blocks(more.collect()), 1);
    // None is above a value that all have.
    let same = (1..=20u64).map(|at| interval(at * 100, 1, &vec![100; at as usize]));
    assert_eq!(median_blocks(same.collect()), 1);
}

#[test]
fn a_resample_lies_within_the_hull_of_blocks_widened_by_their_scale() {
    let series = (1..=20).map(|at| interval(at * 100, 1000 + at % 4 * 500, &[100 + at; 20]));
    let sample = sample(series.collect());
    for figure in [Figure::Throughput, Figure::Percentile(Percentile::P50)] {
        let resampler = Resampler::of(&sample, figure).unwrap();
        let (low, high) = resampler.hull();
        let center = resampler.center;
        assert!(low < center && center < high, "{low} {center} {high}");
        let scale = match &resampler.method {
            Method::QuantileBlocks { blocks, .. } | Method::ThroughputBlocks { blocks } => {
                blocks.scale
            }
            _ => panic!("blocks of 20 intervals"),
        };
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let bound = |end: f64| center + (end - center) * scale;
        for _ in 0..500 {
            let drawn = resampler.resample(&mut random);
            assert!((bound(low)..=bound(high)).contains(&drawn), "seed 5: {drawn}");
        }
    }
}

#[test]
fn nothing_has_the_logarithm_of_the_smallest_number() {
    assert_eq!(log(0.0), f64::MIN_POSITIVE.ln());
    near(log(std::f64::consts::E), 1.0);
}
