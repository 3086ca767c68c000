//! Schedules keep their rate, and Poisson schedules are Poisson.

use flashlag_spec::scenario::{self, Schedule};
use flashlag_units::Nanos;
use flashlag_workload::Arrivals;
use proptest::prelude::*;

fn schedule(per_second: f64, schedule: Schedule, seed: u64) -> Arrivals {
    let asked = scenario::Arrivals { per_second: Some(per_second), schedule };
    Arrivals::new(&asked, Nanos(1_000), seed).expect("an open loop")
}

#[test]
fn a_closed_loop_has_no_schedule() {
    for rate in [None, Some(0.0), Some(-1.0), Some(f64::NAN), Some(f64::INFINITY)] {
        let asked = scenario::Arrivals { per_second: rate, schedule: Schedule::Fixed };
        assert!(Arrivals::new(&asked, Nanos::ZERO, 1).is_none(), "{rate:?}");
    }
}

#[test]
fn a_fixed_schedule_does_not_drift() {
    // A third of a second is no whole number of nanoseconds.
    let mut arrivals = schedule(3.0, Schedule::Fixed, 0);
    let last = (0..=3_000_000).map(|_| arrivals.next_time()).last().expect("some");
    let exact = 1_000 + 1_000_000_000_000_000;
    assert!(last.0.abs_diff(exact) < 10, "{last:?} after a million seconds");
}

#[test]
fn a_poisson_schedule_has_the_mean_and_the_deviation_of_an_exponential() {
    let seed = 11;
    let mut arrivals = schedule(1_000.0, Schedule::Poisson, seed);
    let (mut last, mut sum, mut squares) = (Nanos(1_000), 0.0, 0.0);
    const COUNT: u32 = 200_000;
    for _ in 0..COUNT {
        let time = arrivals.next_time();
        let distance = time.since(last).as_millis_f64();
        (sum, squares, last) = (sum + distance, squares + distance * distance, time);
    }
    let mean = sum / f64::from(COUNT);
    let deviation = (squares / f64::from(COUNT) - mean * mean).sqrt();
    assert!((0.99..1.01).contains(&mean), "seed {seed}: mean {mean} ms");
    assert!((0.98..1.02).contains(&deviation), "seed {seed}: deviation {deviation} ms");
}

#[test]
fn an_exponential_distance_is_beyond_its_mean_as_often_as_it_should() {
    let seed = 12;
    let mut arrivals = schedule(1_000_000.0, Schedule::Poisson, seed);
    let mut last = Nanos(1_000);
    let beyond = (0..100_000).filter(|_| {
        let time = arrivals.next_time();
        let distance = time.since(std::mem::replace(&mut last, time));
        distance > Nanos(2_000)
    });
    // e^-2 of 100,000 is 13,534, with a deviation of 108.
    let beyond = beyond.count();
    assert!((13_000..14_070).contains(&beyond), "seed {seed}: {beyond}");
}

proptest! {
    #[test]
    fn times_never_go_back(seed: u64, rate in 0.001f64..1e9, poisson: bool) {
        let kind = if poisson { Schedule::Poisson } else { Schedule::Fixed };
        let mut arrivals = schedule(rate, kind, seed);
        let mut last = Nanos::ZERO;
        for _ in 0..100 {
            prop_assert_eq!(arrivals.peek(), arrivals.peek());
            let time = arrivals.next_time();
            prop_assert!(time >= last);
            last = time;
        }
    }
}
