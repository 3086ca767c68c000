//! Each formula by itself, against tables, limits that are known, or arithmetic by hand.

use super::super::model::student;
use super::super::model::{spread_of_few, student_over_normal};
use super::super::{Side, content, middle, mixed, resampled, smoothed, welch, within};
use super::*;

#[test]
fn students_quantile_is_that_of_the_tables() {
    // t of 97.5 %: exact below ten degrees of freedom, 0.003 off at most from there on.
    for (freedom, quantile, error) in [
        (1.0, 12.706, 0.0),
        (2.0, 4.303, 0.0),
        (9.0, 2.262, 0.0),
        (10.0, 2.228, 0.003),
        (11.0, 2.201, 0.0021),
        (20.0, 2.086, 0.001),
        (60.0, 2.000, 0.001),
        (1e9, 1.960, 1e-6),
    ] {
        let found = student(freedom);
        assert!((found - quantile).abs() <= error, "{freedom}: {found} for {quantile}");
    }
    assert_eq!(student(0.2), 12.706, "at least one degree");
    assert!((student(2.5) - (4.303 + 3.182) / 2.0).abs() < 1e-12);
    assert!((student(1.25) - (12.706 * 0.75 + 4.303 * 0.25)).abs() < 1e-12);
}

#[test]
fn few_runs_are_corrected_for_their_own_mean_and_their_degrees_of_freedom() {
    assert_eq!([0, 1].map(spread_of_few), [1.0, 1.0]);
    assert!((spread_of_few(2) - 2f64.sqrt()).abs() < 1e-12);
    assert!((spread_of_few(5) - 1.25f64.sqrt()).abs() < 1e-12);
    assert_eq!(student_over_normal(0), 1.0);
    assert!((student_over_normal(1) - 12.706 / 1.960).abs() < 1e-12);
}

#[test]
fn the_end_of_an_interval_is_a_mean_about_its_rank_weighted_by_the_normal_density() {
    let line: Vec<f64> = (0..1001).map(f64::from).collect();
    for rank in [25.0, 500.0, 975.0] {
        let found = smoothed(&line, rank);
        assert!((found - rank).abs() < 0.05, "{rank}: {found}");
    }
    // The rank of a 2.5 % quantile of 1,001 draws deviates by √(0.025·0.975·1001) = 4.94: beyond one
    // deviation lies 15.9 % of the weight, beyond two 2.3 %.
    for (deviations, share) in [(0.0, 0.5), (1.0, 0.1587), (2.0, 0.0228)] {
        let from = 500.0 + deviations * 4.94;
        let step: Vec<f64> = line.iter().map(|at| f64::from(*at > from)).collect();
        let found = smoothed(&step, 500.0);
        assert!((found - share).abs() < 0.045, "{deviations}: {found}");
    }
    assert_eq!(smoothed(&[7.0], 0.0), 7.0);
    assert_eq!(smoothed(&[], 0.0), 0.0);
}

#[test]
fn the_middle_is_between_the_2_5_and_the_97_5_percent_rank_in_whatever_order() {
    let mut values: Vec<f64> = (0..4001).rev().map(f64::from).collect();
    let (low, high) = middle(&mut values);
    assert!((low - 100.0).abs() < 0.1 && (high - 3900.0).abs() < 0.1, "{low} {high}");
}

#[test]
fn an_interval_is_cut_to_the_ratios_of_the_farthest_ends() {
    let (first, second) = ((1.0, 2.0), (2.5, 4.0));
    assert_eq!(within(-5.0, 5.0, first, second), (0.5, 3.0));
    assert_eq!(within(0.75, 2.0, first, second), (0.75, 2.0));
    assert_eq!(within(4.0, 5.0, first, second), (3.0, 3.0));
}

#[test]
fn numbers_are_mixed_by_splitmix64() {
    // Its first two outputs from the seed 0, of the reference implementation.
    assert_eq!(mixed(0, 0), 0xe220_a839_7b1d_cdaf);
    assert_eq!(mixed(0, 0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    // The key is turned before it is added, so that (1, 0) and (0, 1) differ.
    assert_eq!(mixed(1, 0), mixed(0, 1 << 23));
    assert_ne!(mixed(1, 0), mixed(0, 1));
}

fn run(megabytes_per_second: f64) -> Sample {
    Sample {
        histogram: Histogram::new(),
        intervals: Vec::new(),
        bytes: Bytes((megabytes_per_second * 1e6) as u64),
        elapsed: Nanos::from_secs(1),
    }
}

#[test]
fn whatever_was_measured_changes_the_key_of_a_run() {
    let one = run(100.0);
    let mut longer = one.clone();
    longer.elapsed.0 += 1;
    let mut slower = one.clone();
    slower.histogram.record(Nanos(5));
    let keys = [&one, &longer, &slower, &run(101.0)].map(content);
    let different: std::collections::BTreeSet<u64> = keys.into_iter().collect();
    assert_eq!(different.len(), 4);
    assert_eq!(content(&one), content(&run(100.0)));
}

#[test]
fn the_throughput_of_several_runs_has_welchs_interval() {
    // The second side is twice the first: both vary alike, so there are 2·(3−1) degrees of freedom.
    let rates = [100.0, 110.0, 125.0];
    let (first, second) = (rates.map(run), rates.map(|rate| run(2.0 * rate)));
    let found = compare(&first, &second, Figure::Throughput, 1).unwrap();
    let logs = rates.map(f64::ln);
    let mean = logs.iter().sum::<f64>() / 3.0;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 2.0;
    let half = 2.776 * (variance / 3.0 + variance / 3.0).sqrt();
    assert!((found.ratio - 2.0).abs() < 1e-9);
    assert!((found.low - 2.0 * (-half).exp()).abs() < 1e-9, "{}", found.low);
    assert!((found.high - 2.0 * half.exp()).abs() < 1e-9, "{}", found.high);
    assert!(found.shown && found.between_runs);
}

#[test]
fn unequal_variances_have_the_degrees_of_freedom_of_welch_and_satterthwaite() {
    let (narrow, wide) = ([100.0, 101.0, 102.0, 103.0], [150.0, 200.0, 260.0]);
    let found = compare(&narrow.map(run), &wide.map(run), Figure::Throughput, 1).unwrap();
    let part = |rates: &[f64]| {
        let (n, logs) = (rates.len() as f64, rates.iter().map(|rate| rate.ln()));
        let mean = logs.clone().sum::<f64>() / n;
        (mean, logs.map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0) / n)
    };
    let ((first, a), (second, b)) = (part(&narrow), part(&wide));
    let freedom = (a + b).powi(2) / (a * a / 3.0 + b * b / 2.0);
    let half = student(freedom) * (a + b).sqrt();
    assert!((2.0..2.1).contains(&freedom), "{freedom}: nearly all of it is the wide side's");
    assert!((found.low.ln() - (second - first - half)).abs() < 1e-6);
    assert!((found.high.ln() - (second - first + half)).abs() < 1e-6);
}

#[test]
fn a_difference_is_shown_from_the_histograms_resolution_on() {
    // Runs that hardly vary: 1/64 is not shown, a little more is.
    let side = |rate: f64| [run(rate), run(rate + 1e-6)];
    let shown = |ratio: f64| {
        compare(&side(1000.0), &side(1000.0 * ratio), Figure::Throughput, 1).unwrap().shown
    };
    assert!(!shown(1.0 + 1.0 / 64.0 - 1e-5) && shown(1.0 + 1.0 / 64.0 + 1e-5));
    assert!(!shown(1.0 / (1.0 + 1.0 / 64.0) + 1e-5) && shown(1.0 / (1.0 + 1.0 / 64.0) - 1e-5));
}

/// A run of intervals of a second each, alternately faster and slower.
fn series(megabytes_per_second: f64, intervals: u64) -> Sample {
    let second = |number: u64| Interval {
        ends: Nanos::from_secs(number),
        bytes: Bytes((megabytes_per_second * (1.0 + 0.05 * (number % 2) as f64) * 1e6) as u64),
        filled: None,
        temperature_millicelsius: None,
        waited: None,
        exact: (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO),
        buckets: Vec::new(),
    };
    let intervals: Vec<Interval> = (1..=intervals).map(second).collect();
    let bytes = intervals.iter().fold(Bytes::ZERO, |sum, interval| sum.plus(interval.bytes));
    let elapsed = Nanos::from_secs(intervals.len() as u64);
    Sample { histogram: Histogram::new(), intervals, bytes, elapsed }
}

#[test]
fn runs_with_and_without_enough_intervals_are_compared_in_one_unit() {
    // Ten intervals show how a run varies, nine do not; the figure is the same.
    let mixed = [series(100.0, 9), series(100.0, 10), series(102.0, 10)];
    let found = compare(&mixed, &mixed, Figure::Throughput, 1).unwrap();
    assert!(found.low > 0.9 && found.high < 1.1, "{found:?}");
    let alone = compare(&[series(100.0, 20)], &mixed, Figure::Throughput, 1).unwrap();
    assert!(alone.low > 0.8 && alone.high < 1.25, "{alone:?}");
}

#[test]
fn a_single_run_beside_several_has_only_their_degrees_of_freedom() {
    let several = [100.0, 104.0, 110.0].map(|rate| series(rate, 20));
    let [one, three] =
        [&[series(100.0, 20)][..], &several].map(|runs| Side::of(runs, Figure::Throughput, 1));
    let (one, three) = (one.unwrap(), three.unwrap());
    let variance = one.variance_of_mean(&three).0 + three.variance_of_mean(&one).0;
    for (from, to) in [(&one, &three), (&three, &one)] {
        let (low, high) = welch(from, to);
        // Two degrees of freedom: 4.303.
        assert!((high - 4.303 * variance.sqrt()).abs() < 1e-9, "{high}");
        assert_eq!(low, -high);
        assert!(!from.against(to).unwrap().between_runs);
    }
}

#[test]
fn a_run_against_itself_pairs_its_draws_in_opposite_orders() {
    // A ramp and its reverse differ by −4,000 to 4,000, of which 95 % are within 3,800.
    let ramp = |key| Side {
        runs: Vec::new(),
        center: 0.0,
        printed: 0.0,
        key,
        deviations: (0..4001).map(f64::from).collect(),
    };
    let (low, high) = resampled(&ramp(1), &ramp(1));
    assert!((high - 3800.0).abs() < 0.2 && low == -high, "{low} {high}");
    // The interval of two different runs, from their draws one by one.
    let (low, high) = resampled(&ramp(1), &ramp(2));
    assert!(low.abs() < 1e-9 && high.abs() < 1e-9, "{low} {high}");
}
