//! The histogram's claims, over all of `u64`: its error, its index (fio's), merging and ranks.
use flashlag_stats::{Histogram, HistogramError, Percentile};
use flashlag_units::Nanos;
use proptest::prelude::*;

/// fio's `plat_val_to_idx` with 6 bits, as its `stat.h` describes it: a value whose highest bit is
/// at most bit 6 is its own index; else the bits below the six after the highest are dropped, and
/// the group (how many were dropped) and the six bits make the index.
fn fio_index(value: u64) -> usize {
    let highest = if value == 0 { 0 } else { 63 - value.leading_zeros() };
    if highest <= 6 {
        return value as usize;
    }
    let dropped = highest - 6;
    let group = ((dropped + 1) as usize) << 6;
    group + ((value >> dropped) & 63) as usize
}

/// fio's `plat_idx_to_val`: the value it prints for a bucket.
fn fio_value(index: usize) -> u64 {
    if index < 128 {
        return index as u64;
    }
    let dropped = (index >> 6) - 1;
    let base = 1u64 << (dropped + 6);
    let half = if dropped == 0 { 0 } else { 1u64 << (dropped - 1) };
    base + (((index % 64) as u64) << dropped) + half
}

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.record(Nanos(*value)));
    histogram
}

/// Values of every magnitude: uniform in their logarithm, and right beside powers of two.
fn any_value() -> impl Strategy<Value = u64> {
    let magnitude = (0u32..64, any::<u64>()).prop_map(|(shift, value)| value >> shift);
    let edge = (0u32..64, -2i64..3).prop_map(|(p, d)| (1u64 << p).wrapping_add_signed(d));
    prop_oneof![magnitude, edge, Just(u64::MAX), Just(0)]
}

#[test]
fn every_bucket_is_where_the_last_one_ended_and_ends_at_the_largest_value() {
    let mut next = 0u64;
    for index in 0..=Histogram::LAST {
        let (start, end) = Histogram::bounds_of(index);
        assert_eq!(start.0, next, "bucket {index}");
        assert_eq!(Histogram::index_of(start), index);
        assert_eq!(Histogram::index_of(end), index);
        assert_eq!(Histogram::middle_of(index).0, fio_value(index), "bucket {index}");
        next = end.0.wrapping_add(1);
    }
    assert_eq!(next, 0, "the last bucket ends at u64::MAX");
    assert_eq!(Histogram::bounds_of(usize::MAX), Histogram::bounds_of(Histogram::LAST));
}

#[test]
fn the_largest_value_is_recorded_exactly() {
    let histogram = of(&[u64::MAX, u64::MAX]);
    assert_eq!(histogram.max(), Some(Nanos::MAX));
    assert_eq!(histogram.mean(), Some(Nanos::MAX));
    assert_eq!(histogram.sum(), Nanos::MAX, "the sum stops at the end of 64 bits");
    assert_eq!(histogram.quantile(Percentile::P50), Some(Nanos::MAX));
}

#[test]
fn a_percentile_needs_ten_values_beyond_it() {
    for (percentile, needs) in [
        (Percentile::P50, 20),
        (Percentile::P90, 100),
        (Percentile::P99, 1_000),
        (Percentile::P999, 10_000),
    ] {
        let mut histogram = of(&vec![5; needs - 1]);
        assert_eq!(histogram.percentile(percentile), None, "{percentile:?} of {}", needs - 1);
        histogram.record(Nanos(5));
        assert_eq!(histogram.percentile(percentile), Some(Nanos(5)), "{percentile:?} of {needs}");
    }
    assert_eq!(of(&[]).quantile(Percentile::P50), None);
}

#[test]
fn values_are_counted_over_a_limit_by_their_buckets_middles() {
    let histogram = of(&[10, 20, 20, 30]);
    for (limit, over) in [(9, 4), (10, 3), (19, 3), (20, 1), (30, 0)] {
        assert_eq!(histogram.count_over(Nanos(limit)), over, "over {limit} ns");
    }
    assert_eq!(of(&[]).count_over(Nanos::ZERO), 0);
    // The middle of their bucket is above a frame of 60 Hz, and none of the values is.
    assert_eq!(of(&[12_000_000, 16_660_000, 16_663_316]).count_over(Nanos(16_666_667)), 0);
    assert_eq!(of(&[12_000_000, 16_660_000, 16_700_000]).count_over(Nanos(16_666_667)), 2);
    // The middle of theirs is below the limit, and both values are above it.
    assert_eq!(of(&[16_730_000, 16_740_000]).count_over(Nanos(16_720_000)), 2);
}

#[test]
fn stored_buckets_that_no_histogram_has_are_refused() {
    let exact = |min, max, sum| Some((Nanos(min), Nanos(max), Nanos(sum)));
    let parts = Histogram::from_parts;
    assert!(matches!(parts(&[1], &[], None), Err(HistogramError::Lengths { .. })));
    assert!(matches!(parts(&[3, 3], &[1, 1], None), Err(HistogramError::Index { .. })));
    assert!(matches!(parts(&[u32::MAX], &[1], None), Err(HistogramError::Index { .. })));
    assert!(matches!(parts(&[1, 2], &[u64::MAX, 1], None), Err(HistogramError::Overflow)));
    // The smallest above the largest used to panic when a percentile was kept within them.
    assert!(matches!(parts(&[1, 9], &[1, 1], exact(9, 1, 10)), Err(HistogramError::Exact { .. })));
    assert!(matches!(parts(&[1, 9], &[1, 1], exact(1, 9, 11)), Err(HistogramError::Exact { .. })));
    assert!(matches!(parts(&[1, 9], &[1, 1], exact(2, 9, 10)), Err(HistogramError::Exact { .. })));
    assert_eq!(parts(&[1, 9], &[1, 1], exact(1, 9, 10)).unwrap(), of(&[1, 9]));
    assert_eq!(parts(&[], &[], exact(7, 7, 7)).unwrap(), Histogram::new());
}

#[test]
fn the_keys_of_fio_json_plus_bins_are_the_middles_of_buckets() {
    // Keys from a file that fio 3.33 wrote.
    for key in [31616u64, 32128, 34048, 36096, 602112, 1581056, 1712128, 1810432, 2768896] {
        assert_eq!(Histogram::middle_of(Histogram::index_of(Nanos(key))), Nanos(key));
    }
}

#[test]
fn merging_what_no_measurement_reaches_stops_at_the_end() {
    let mut huge = Histogram::from_parts(&[5], &[u64::MAX], None).unwrap();
    huge.merge(&huge.clone());
    assert_eq!(huge.count(), u64::MAX);
    assert_eq!(huge.mean().map(|mean| mean.0 <= 10), Some(true));
}

proptest! {
    #[test]
    fn occupied_buckets_are_those_of_the_values_in_order(
        mut values in prop::collection::vec(any_value(), 0..40),
        more in prop::collection::vec(any_value(), 0..40),
        ends: bool,
    ) {
        values.extend([0, u64::MAX].into_iter().filter(|_| ends));
        let mut histogram = of(&values);
        histogram.merge(&of(&more));
        let mut expected = std::collections::BTreeMap::new();
        for value in values.into_iter().chain(more) {
            *expected.entry(fio_index(value) as u32).or_insert(0) += 1;
        }
        let expected: Vec<(u32, u64)> = expected.into_iter().collect();
        prop_assert_eq!(histogram.occupied().collect::<Vec<_>>(), expected);
        histogram.clear();
        prop_assert_eq!(histogram.occupied().count(), 0);
    }

    #[test]
    fn the_error_is_below_point_eight_percent_for_every_value(value in any_value()) {
        let middle = Histogram::middle_of(Histogram::index_of(Nanos(value))).0;
        let error = middle.abs_diff(value) as f64 / (value.max(1)) as f64;
        prop_assert!(error < 0.008, "{value} reads as {middle}");
    }

    #[test]
    fn the_bucket_index_is_fios(value in any_value()) {
        prop_assert_eq!(Histogram::index_of(Nanos(value)), fio_index(value));
    }

    #[test]
    fn merging_equals_recording_everything_in_any_order(
        a in prop::collection::vec(any_value(), 0..40),
        b in prop::collection::vec(any_value(), 0..40),
        c in prop::collection::vec(any_value(), 0..40),
    ) {
        let all = of(&[a.clone(), b.clone(), c.clone()].concat());
        let merged = |x: &Histogram, y: &Histogram| { let mut z = x.clone(); z.merge(y); z };
        let (a, b, c) = (of(&a), of(&b), of(&c));
        prop_assert_eq!(&merged(&merged(&a, &b), &c), &all);
        prop_assert_eq!(&merged(&a, &merged(&b, &c)), &all);
        prop_assert_eq!(&merged(&merged(&c, &b), &a), &all);
    }

    #[test]
    fn a_quantile_is_within_the_error_of_the_value_of_its_rank(
        mut values in prop::collection::vec(any_value(), 1..300),
        p in 0u16..=10_000,
    ) {
        let histogram = of(&values);
        values.sort_unstable();
        // Rank ⌈p·n⌉, at least 1.
        let rank = (p as usize * values.len()).div_ceil(10_000).max(1);
        let exact = values[rank - 1];
        let read = histogram.quantile(Percentile(p)).unwrap().0;
        prop_assert_eq!(Histogram::index_of(Nanos(read)), Histogram::index_of(Nanos(exact)));
        prop_assert!(read.abs_diff(exact) as f64 <= exact as f64 * 0.008);
        prop_assert!((values[0]..=values[values.len() - 1]).contains(&read));
    }

    #[test]
    fn no_percentile_is_given_beyond_what_the_count_supports(
        count in 0usize..3000,
        p in 0u16..=10_000,
    ) {
        let given = of(&vec![7; count]).percentile(Percentile(p)).is_some();
        prop_assert_eq!(given, count > 0 && count * (10_000 - p as usize) >= 10 * 10_000);
    }

    #[test]
    fn what_is_stored_restores_to_the_same(values in prop::collection::vec(any_value(), 0..60)) {
        // The stored sum has 64 bits: 60 values of 58 bits fit.
        let values: Vec<u64> = values.iter().map(|value| value >> 6).collect();
        let histogram = of(&values);
        let (indices, counts): (Vec<u32>, Vec<u64>) = histogram.occupied().unzip();
        let exact = (
            histogram.min().unwrap_or_default(),
            histogram.max().unwrap_or_default(),
            histogram.sum(),
        );
        let restored = Histogram::from_parts(&indices, &counts, Some(exact)).unwrap();
        prop_assert_eq!(restored, histogram);
    }
}

#[test]
fn exact_figures_are_those_that_values_in_the_buckets_can_have() {
    let index = Histogram::index_of(Nanos(1 << 20));
    let (start, end) = Histogram::bounds_of(index);
    assert!(end.0 - start.0 > 1_000, "a bucket of several values");
    let of = |min: u64, max: u64, sum: u64| {
        let exact = Some((Nanos(min), Nanos(max), Nanos(sum)));
        Histogram::from_parts(&[index as u32], &[10], exact)
    };
    let (low, high) = (10 * start.0, 10 * end.0);
    for sum in [low, low + 1, high - 1, high] {
        let restored = of(start.0, end.0, sum).unwrap();
        assert_eq!((restored.min(), restored.max()), (Some(start), Some(end)));
        assert_eq!((restored.sum(), restored.count()), (Nanos(sum), 10));
    }
    assert!(of(start.0, end.0, low - 1).is_err() && of(start.0, end.0, high + 1).is_err());
    assert!(of(start.0 - 1, end.0, low).is_err() && of(start.0, end.0 + 1, low).is_err());
    assert!(of(end.0, start.0, low).is_err(), "the smallest is above the largest");
    assert!(of(start.0 + 5, start.0 + 5, low).is_ok());
}
