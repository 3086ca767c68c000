//! The rules of the verdict at their edges.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flashlag_stats::Histogram;
use flashlag_testing::sample;
use flashlag_units::Nanos;
use flashlag_views::{Judgement, LagVerdict};

/// `n` values, of which the last ones are as given: (how many, how long in microseconds).
fn waits(n: u64, slow: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::new();
    let slow_count: u64 = slow.iter().map(|(count, _)| count).sum();
    (0..n - slow_count).for_each(|_| histogram.record(Nanos::from_millis(1)));
    for (count, micros) in slow {
        (0..*count).for_each(|_| histogram.record(Nanos::from_micros(*micros)));
    }
    histogram
}

fn verdict(n: u64, slow: &[(u64, u64)]) -> LagVerdict {
    LagVerdict::of(&waits(n, slow)).unwrap()
}

#[test]
fn an_empty_histogram_has_no_verdict() {
    assert_eq!(LagVerdict::of(&Histogram::new()), None);
}

#[test]
fn one_percent_late_hitches_and_less_is_smooth() {
    assert_eq!(verdict(10_000, &[(99, 20_000)]), LagVerdict::Smooth);
    assert_eq!(verdict(10_000, &[(100, 20_000)]), LagVerdict::Hitches);
}

#[test]
fn ten_percent_late_lags() {
    assert_eq!(verdict(10_000, &[(999, 20_000)]), LagVerdict::Hitches);
    assert_eq!(verdict(10_000, &[(1_000, 20_000)]), LagVerdict::Lags);
}

#[test]
fn a_p999_of_100_ms_hitches() {
    assert_eq!(verdict(10_000, &[(10, 120_000)]), LagVerdict::Smooth);
    assert_eq!(verdict(10_000, &[(11, 120_000)]), LagVerdict::Hitches);
    assert_eq!(verdict(10_000, &[(11, 95_000)]), LagVerdict::Smooth);
}

#[test]
fn a_p99_of_100_ms_lags() {
    assert_eq!(verdict(10_000, &[(100, 120_000)]), LagVerdict::Hitches);
    assert_eq!(verdict(10_000, &[(101, 120_000)]), LagVerdict::Lags);
}

#[test]
fn a_p999_of_a_second_freezes_whatever_else_holds() {
    assert_eq!(verdict(10_000, &[(10, 1_100_000)]), LagVerdict::Smooth);
    assert_eq!(verdict(10_000, &[(11, 1_100_000)]), LagVerdict::Freezes);
    assert_eq!(verdict(10_000, &[(5_000, 200_000), (11, 1_100_000)]), LagVerdict::Freezes);
}

#[test]
fn few_values_are_judged_by_those_there_are_and_say_so() {
    // One freeze among 500: more than 1 in 1,000.
    assert_eq!(verdict(500, &[(1, 1_500_000)]), LagVerdict::Freezes);
    let mut run = sample::sqlite();
    run.phases.truncate(1);
    let Judgement::Judged { caveat: Some(caveat), .. } = Judgement::of(&run, &run.phases[0]) else {
        panic!("2,000 values support no p99.9");
    };
    assert!(caveat.contains("n = 2,000") && caveat.contains("p99.9"), "{caveat}");
    assert!(caveat.contains("longest"), "{caveat}");
}

#[test]
fn enough_values_need_no_caveat() {
    let run = sample::lifecycle();
    let write = run.phases.iter().find(|phase| phase.is_durable_write()).unwrap();
    let judged = Judgement::of(&run, write);
    assert!(matches!(judged, Judgement::Judged { caveat: None, .. }), "{judged:?}");
}

#[test]
fn a_row_under_a_failed_check_is_not_judged_and_names_it() {
    let run = sample::lifecycle();
    let idle = run.phases.iter().find(|phase| phase.label() == "idle 1: rand_write_4k").unwrap();
    let judged = Judgement::of(&run, idle);
    assert_eq!(judged.word(), "not judged");
    assert_eq!(judged.failures()[0].claim, "Idle was long enough");
}
