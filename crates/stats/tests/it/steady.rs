//! SNIA's steady state: where it is reached, and that both bounds matter.
use flashlag_stats::steady::{
    Steadiness, Window, first_steady, last_window, rounds_of, steadiness,
};
use flashlag_stats::{Histogram, Interval};
use flashlag_units::{Bytes, Nanos};

/// One interval per second, each with one operation that moved a number of bytes.
fn series(bytes: &[u64]) -> Vec<Interval> {
    let seconds = 1u64..;
    let interval = |(second, bytes): (u64, &u64)| Interval {
        ends: Nanos::from_secs(second),
        bytes: Bytes(*bytes),
        filled: None,
        temperature_millicelsius: None,
        waited: None,
        exact: (Nanos(100), Nanos(100), Nanos(100)),
        buckets: vec![(Histogram::index_of(Nanos(100)) as u32, 1)],
    };
    seconds.zip(bytes).map(interval).collect()
}

#[test]
fn the_first_window_that_meets_both_bounds_is_found() {
    let values = [300.0, 250.0, 150.0, 101.0, 100.0, 99.0, 101.0, 100.0, 100.0];
    let window = first_steady(&values).unwrap();
    assert_eq!(window.first, 3);
    assert!((window.average - 100.2).abs() < 1e-9);
    assert!((window.range - 2.0 / 100.2).abs() < 1e-9);
}

#[test]
fn a_slow_slide_within_the_range_is_not_steady() {
    // 18 % of range passes the first bound; a line that falls by 18 % fails the second.
    let values = [109.0, 104.5, 100.0, 95.5, 91.0];
    let window = Window::at(&values, 0).unwrap();
    assert!(window.range <= 0.20 && (window.slope - 0.18).abs() < 1e-9, "{window:?}");
    assert_eq!(first_steady(&values), None);
}

#[test]
fn a_wide_range_without_a_slope_is_not_steady() {
    let values = [100.0, 125.0, 100.0, 125.0, 100.0];
    assert!(Window::at(&values, 0).unwrap().slope < 1e-9);
    assert_eq!(first_steady(&values), None);
}

#[test]
fn the_bounds_themselves_are_steady() {
    // Average 100, range exactly 20 %.
    assert!(first_steady(&[100.0, 110.0, 100.0, 90.0, 100.0]).is_some());
}

#[test]
fn too_few_rounds_and_nothing_moved_are_never_steady() {
    assert_eq!(first_steady(&[1.0; 4]), None);
    assert_eq!(first_steady(&[0.0; 9]), None);
    assert_eq!(first_steady(&[f64::NAN; 9]), None);
    assert_eq!(last_window(&[1.0; 4]), None);
    assert_eq!(Window::at(&[1.0; 9], usize::MAX), None);
}

#[test]
fn a_phase_is_steady_from_the_end_of_the_fifth_round() {
    let bytes = [900, 900, 500, 500, 200, 200, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 7];
    let Steadiness::Reached { window, at, written } =
        steadiness(&series(&bytes), Nanos::from_secs(2), Bytes::ZERO)
    else {
        panic!("not steady")
    };
    assert_eq!((window.first, at), (3, Nanos::from_secs(16)));
    assert_eq!(written, Bytes(bytes[..16].iter().sum()));
    assert_eq!(
        rounds_of(&series(&bytes), Nanos::from_secs(2), Bytes::ZERO).len(),
        8,
        "a rest is no round"
    );
}

#[test]
fn a_phase_that_falls_all_the_way_says_by_how_much_it_missed() {
    let bytes: Vec<u64> = (0..10).map(|round| 1_000 - round * 90).collect();
    let Steadiness::Missed(window) = steadiness(&series(&bytes), Nanos::from_secs(1), Bytes::ZERO)
    else {
        panic!("not missed")
    };
    assert_eq!(window.first, 5);
    assert!(window.slope > 0.10);
    let short = steadiness(&series(&bytes[..3]), Nanos::from_secs(1), Bytes::ZERO);
    assert_eq!(short, Steadiness::TooShort { rounds: 3 });
}

#[test]
fn a_ramp_of_five_rounds_rises_and_ranges_by_its_ends_over_its_average() {
    for (values, rise) in
        [([98.0, 99.0, 100.0, 101.0, 102.0], 0.04), ([30.0, 25.0, 20.0, 15.0, 10.0], 1.0)]
    {
        let window = Window::at(&values, 0).unwrap();
        assert!((window.slope - rise).abs() < 1e-12 && (window.range - rise).abs() < 1e-12);
    }
    // Least squares: (−2·0 − 1·0 + 1·0 + 2·10) / 10 = 2 a round, 8 over the window, of 2.
    let window = Window::at(&[0.0, 0.0, 0.0, 0.0, 10.0], 0).unwrap();
    assert!((window.slope - 4.0).abs() < 1e-12, "{}", window.slope);
}
