//! Figures with their variation: from seed to seed, and between the ranks next to a percentile.

use flashlag_predict::change::{Range, TestFigures};

use super::{number, time};

/// A smaller scatter than this share of the mean is not printed.
const SEEN: f64 = 0.01;

/// The mean of seeds in a unit, and how far the farthest is from the mean: `0.58 ±3%`.
fn with_scatter(mean: f64, range: Option<Range>, unit: f64) -> String {
    let figure = number(mean / unit);
    let farthest = range.map_or(0.0, |range| (range.high - mean).max(mean - range.low) / mean);
    if farthest.is_finite() && farthest >= SEEN {
        format!("{figure} ±{:.0}%", 100.0 * farthest)
    } else {
        figure
    }
}

/// p99: one figure, or a range where it lies between the fast and the slow.
pub(super) fn p99(test: &TestFigures) -> Option<String> {
    test.p99_range().map(from_to).or_else(|| test.p99_ns.map(time))
}

/// The median: one figure, or a range where it may be either of two.
pub(super) fn p50(test: &TestFigures) -> Option<String> {
    test.p50_range().map(from_to).or_else(|| test.p50_ns.map(time))
}

fn from_to(Range { low, high }: Range) -> String {
    let (low, high) = (time(low), time(high));
    let unit_of_high = high.split_once(' ').map(|(_, unit)| unit);
    match low.split_once(' ') {
        // One unit is enough: `3.3–133 ms`.
        Some((number, unit)) if unit_of_high == Some(unit) => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

/// Megabytes a second.
pub(super) fn megabytes(test: &TestFigures) -> String {
    with_scatter(test.bytes_per_second, test.seeds.map(|seeds| seeds.bytes_per_second), 1e6)
}

/// Megabytes a second, from the lowest to the highest.
pub(super) fn between(range: Range) -> String {
    let [low, high] = [range.low, range.high].map(|rate| number(rate / 1e6));
    if low == high { low } else { format!("{low}–{high}") }
}

/// Operations a second.
pub(super) fn rate(test: &TestFigures) -> String {
    with_scatter(test.per_second, test.seeds.map(|seeds| seeds.per_second), 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scatter_is_that_of_the_farthest_seed_and_left_out_below_a_hundredth() {
        let range = |low: f64, high: f64| Some(Range { low, high });
        assert_eq!(with_scatter(2e6, range(1.9e6, 2.06e6), 1e6), "2.00 ±5%");
        assert_eq!(with_scatter(2e6, range(1.99e6, 2.06e6), 1e6), "2.00 ±3%");
        assert_eq!(with_scatter(2e6, range(1.981e6, 2.01e6), 1e6), "2.00");
        assert_eq!(with_scatter(48.94, None, 1.0), "48.9");
        assert_eq!(with_scatter(0.0, range(0.0, 0.0), 1.0), "0.00");
    }

    #[test]
    fn a_median_is_a_range_where_it_may_be_either_of_two_times() {
        let test = |low: f64, high: f64| TestFigures {
            p50_ns: Some(high),
            around_p50_ns: Some(Range { low, high }),
            ..TestFigures::default()
        };
        assert_eq!(p50(&test(1.8e6, 3.1e6)).unwrap(), "1.8–3.1 ms");
        assert_eq!(p50(&test(3.0e6, 3.1e6)).unwrap(), "3.1 ms");
    }

    #[test]
    fn a_p99_is_a_range_where_neighbouring_ranks_are_twice_apart() {
        let test = |low: f64, high: f64| TestFigures {
            p99_ns: Some(3.4e6),
            around_p99_ns: Some(Range { low, high }),
            ..TestFigures::default()
        };
        assert_eq!(p99(&test(3.3e6, 6.5e6)).unwrap(), "3.4 ms");
        assert_eq!(p99(&test(3.3e6, 133e6)).unwrap(), "3.3–133 ms");
        assert_eq!(p99(&test(0.28e6, 41e6)).unwrap(), "280 µs–41 ms");
        assert_eq!(p99(&TestFigures { p99_ns: None, ..test(1e6, 9e6) }), None);
    }
}
