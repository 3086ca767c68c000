//! Level shifts in a series, by ranks.
//!
//! To test one split, the statistic is Wilcoxon's: the standardised sum of the ranks left of the
//! split; the split with the largest one is taken. It does not depend on the distribution of the
//! noise, and one wild value moves it by one rank. Splits are sought in nested windows of halved
//! lengths (seeded binary segmentation), so that a dip in the middle is found as well as a step.
//!
//! How far noise can reach is bounded: P(|z| > t) ≤ exp(−t²/2) for one split, so with `s` splits t
//! = √(2 ln(s/α)) keeps the probability of any false finding below α. Neighbouring intervals of
//! storage are correlated even if the level does not change; z is therefore divided by
//! √((1+ρ)/(1−ρ)), ρ the correlation of neighbours about their levels.

use std::ops::Range;

use flashlag_units::InOrder;

/// Largest probability of a false finding in noise (a union bound; far less in practice).
const ALPHA: f64 = 0.005;
/// Fewest values of a level.
const SHORTEST: usize = 5;
/// Shortest window that is searched for a split.
const SHORTEST_WINDOW: usize = 24;

/// The levels of `values`, in order and without gaps; medians of neighbours differ by at least
/// `least_ratio`. One level if nothing changes, none without values.
pub(super) fn levels(values: &[f64], least_ratio: f64) -> Vec<Range<usize>> {
    if values.is_empty() {
        return Vec::new();
    }
    let mut starts = vec![0];
    split(values, 0..values.len(), &mut starts);
    starts.sort_unstable();
    let mut bounds = starts;
    bounds.push(values.len());
    join_alike(values, &mut bounds, least_ratio);
    refine(values, &mut bounds);
    join_alike(values, &mut bounds, least_ratio);
    bounds.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

fn split(values: &[f64], within: Range<usize>, starts: &mut Vec<usize>) {
    let windows = windows_in(&within);
    let splits: usize = windows.iter().map(Range::len).sum();
    let best = windows.iter().filter_map(|window| best_split(values, window.clone()));
    let Some((at, score)) = best.max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    if score * score / 2.0 <= (splits as f64 / ALPHA).ln() {
        return;
    }
    starts.push(at);
    split(values, within.start..at, starts);
    split(values, at..within.end, starts);
}

/// The search windows: the whole, then half the length at every quarter of it, and so on.
fn windows_in(within: &Range<usize>) -> Vec<Range<usize>> {
    let mut windows = Vec::new();
    let mut length = within.len();
    while length >= SHORTEST_WINDOW.min(within.len()) && length >= 2 * SHORTEST {
        let step = (length / 2).max(1);
        let mut start = within.start;
        while start + length < within.end {
            windows.push(start..start + length);
            start += step;
        }
        windows.push(within.end - length..within.end);
        length /= 2;
    }
    windows
}

/// The best split of a window and its standardised rank sum, corrected for correlation.
fn best_split(values: &[f64], window: Range<usize>) -> Option<(usize, f64)> {
    let part = &values[window.clone()];
    let ranks = ranks(part);
    let count = part.len() as f64;
    let middle = (count + 1.0) / 2.0;
    let variance = ranks.iter().map(|rank| (rank - middle).powi(2)).sum::<f64>() / count;
    if variance <= 0.0 {
        return None;
    }
    let mut sum = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for (index, rank) in ranks.iter().enumerate() {
        sum += rank - middle;
        let left = index + 1;
        if left < SHORTEST || left + SHORTEST > part.len() {
            continue;
        }
        let (left, right) = (left as f64, count - left as f64);
        let score = f64::abs(sum) / (left * right / (count - 1.0) * variance).sqrt();
        if best.is_none_or(|(_, highest)| score > highest) {
            best = Some((index + 1, score));
        }
    }
    let (at, score) = best?;
    let alike = neighbour_correlation(part, at).clamp(0.0, 0.95);
    Some((window.start + at, score / ((1.0 + alike) / (1.0 - alike)).sqrt()))
}

/// Ranks from 1; equal values share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.order_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    for same in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = from as f64 + (same.len() as f64 + 1.0) / 2.0;
        same.iter().for_each(|index| ranks[*index] = rank);
        from += same.len();
    }
    ranks
}

/// Correlation of neighbours about the medians left and right of `at`. Values beyond three standard
/// deviations (estimated from the median deviation) are drawn in to that distance.
fn neighbour_correlation(values: &[f64], at: usize) -> f64 {
    let (left, right) = values.split_at(at);
    let (low, high) = (median(left), median(right));
    let about = left.iter().map(|v| v - low).chain(right.iter().map(|v| v - high));
    let mut about: Vec<f64> = about.collect();
    let sizes: Vec<f64> = about.iter().map(|v| v.abs()).collect();
    let limit = 3.0 * 1.4826 * median(&sizes);
    if limit > 0.0 {
        about.iter_mut().for_each(|v| *v = v.clamp(-limit, limit));
    }
    let square: f64 = about.iter().map(|v| v * v).sum();
    let product: f64 = about.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

/// Removes borders between levels that are alike, the most alike first.
fn join_alike(values: &[f64], bounds: &mut Vec<usize>, least_ratio: f64) {
    while bounds.len() > 2 {
        let contrasts = bounds.windows(3).map(|three| {
            contrast(median(&values[three[0]..three[1]]), median(&values[three[1]..three[2]]))
        });
        let least = contrasts.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        match least {
            Some((index, ratio)) if ratio < least_ratio => bounds.remove(index + 1),
            _ => return,
        };
    }
}

/// The larger over the smaller; infinite if only one is zero.
fn contrast(a: f64, b: f64) -> f64 {
    if a == b { 1.0 } else { a.max(b) / a.min(b) }
}

/// Moves each border to where the neighbouring medians fit best: the least sum of absolute
/// differences of logarithms. (The best split by ranks is biased towards the middle.)
fn refine(values: &[f64], bounds: &mut [usize]) {
    let log = |value: f64| value.max(f64::MIN_POSITIVE).ln();
    for index in 1..bounds.len().saturating_sub(1) {
        let (start, at, end) = (bounds[index - 1], bounds[index], bounds[index + 1]);
        let (left, right) = (log(median(&values[start..at])), log(median(&values[at..end])));
        let mut cost = 0.0;
        let mut best = (0.0, start);
        for (next, value) in (start + 1..).zip(&values[start..end]) {
            cost += (log(*value) - left).abs() - (log(*value) - right).abs();
            let inside = next >= start + SHORTEST && next + SHORTEST <= end;
            if inside && (best.1 == start || cost < best.0) {
                best = (cost, next);
            }
        }
        if best.1 > start {
            bounds[index] = best.1;
        }
    }
}

/// The median; zero without values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of one window")]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(ranks(&[30.0, 10.0, 20.0, 20.0]), [4.0, 1.0, 2.5, 2.5]);
        assert_eq!(ranks(&[5.0; 3]), [2.0; 3]);
    }

    #[test]
    fn a_median_is_the_middle_value_or_the_mean_of_two() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[7.0]), 7.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 10.0]), 3.0);
    }

    #[test]
    fn windows_are_the_whole_then_half_of_it_at_every_quarter_down_to_24() {
        assert_eq!(windows_in(&(0..48)), [0..48, 0..24, 12..36, 24..48]);
        assert_eq!(windows_in(&(100..148)), [100..148, 100..124, 112..136, 124..148]);
        assert_eq!(windows_in(&(0..47)), [0..47], "half of it is too short");
        assert_eq!(windows_in(&(5..25)), [5..25], "a short series is one window");
        assert_eq!(windows_in(&(0..10)), [0..10]);
        assert_eq!(windows_in(&(0..9)), [], "two levels of five are ten values");
        let long = windows_in(&(0..96));
        assert_eq!(long.len(), 1 + 3 + 7);
    }

    #[test]
    fn the_best_split_has_wilcoxons_standardised_rank_sum() {
        // Six of 1, six of 2: ranks 3.5 and 9.5 about 6.5, variance 9; 18 over √(6·6/11·9).
        let mut step = vec![1.0; 6];
        step.extend([2.0; 6]);
        let (at, score) = best_split(&step, 0..12).unwrap();
        assert_eq!(at, 6);
        assert!((score - 11f64.sqrt()).abs() < 1e-12, "{score}");
        assert_eq!(best_split(&[3.0; 20], 0..20), None);
        let mut shifted = vec![9.0; 4];
        shifted.extend(&step);
        assert_eq!(best_split(&shifted, 4..16).map(|(at, _)| at), Some(10));
    }

    #[test]
    fn no_level_is_shorter_than_five() {
        let mut early = vec![1.0; 3];
        early.extend([2.0; 17]);
        assert_eq!(best_split(&early, 0..20).map(|(at, _)| at), Some(5));
        let mut late = vec![1.0; 17];
        late.extend([2.0; 3]);
        assert_eq!(best_split(&late, 0..20).map(|(at, _)| at), Some(15));
        assert_eq!(best_split(&[1.0, 2.0, 3.0], 0..3), None);
    }

    #[test]
    fn neighbours_are_correlated_about_their_own_levels_and_wild_values_are_drawn_in() {
        // About 2 and 12: −1, 1, −1, 1, then again: products −7 over squares 8.
        let values = [1.0, 3.0, 1.0, 3.0, 11.0, 13.0, 11.0, 13.0];
        assert!((neighbour_correlation(&values, 4) + 7.0 / 8.0).abs() < 1e-12);
        assert_eq!(neighbour_correlation(&[5.0; 8], 4), 0.0);
        // About the median of 1: 0, −2, 0, −2, 999, −2, 0, −2, 0. Half of them are at least 2 away
        // from it, so 999 counts as 3·1.4826·2.
        let wild = [1.0, -1.0, 1.0, -1.0, 1000.0, -1.0, 1.0, -1.0, 1.0];
        let limit = 3.0 * 1.4826 * 2.0;
        let expected = -2.0 * 2.0 * limit / (4.0 * 4.0 + limit * limit);
        let found = neighbour_correlation(&wild, 9);
        assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
    }

    #[test]
    fn a_contrast_is_the_larger_over_the_smaller() {
        assert_eq!(contrast(2.0, 6.0), 3.0);
        assert_eq!(contrast(6.0, 2.0), 3.0);
        assert_eq!(contrast(0.0, 0.0), 1.0);
        assert_eq!(contrast(0.0, 1.0), f64::INFINITY);
    }

    #[test]
    fn the_levels_that_are_most_alike_are_joined_first_while_they_are_less_apart_than_asked() {
        let values: Vec<f64> = [1.0, 1.2, 1.3, 2.6].iter().flat_map(|level| [*level; 10]).collect();
        let joined = |least_ratio: f64| {
            let mut bounds = vec![0, 10, 20, 30, 40];
            join_alike(&values, &mut bounds, least_ratio);
            bounds
        };
        assert_eq!(joined(1.05), [0, 10, 20, 30, 40]);
        assert_eq!(joined(1.1), [0, 10, 30, 40]);
        assert_eq!(joined(1.26), [0, 30, 40]);
        assert_eq!(joined(5.0), [0, 40]);
        // A ratio of exactly the limit is enough.
        assert_eq!(joined(1.2), [0, 10, 30, 40]);
    }

    #[test]
    fn a_border_moves_to_where_both_levels_fit_best_and_no_closer_than_five_to_the_next() {
        let mut values = vec![1.0; 20];
        values.extend([10.0; 20]);
        for from in [8, 15, 20, 25, 32] {
            let mut bounds = [0, from, 40];
            refine(&values, &mut bounds);
            assert_eq!(bounds, [0, 20, 40], "from {from}");
        }
        let mut early = vec![1.0; 2];
        early.extend([10.0; 20]);
        let mut bounds = [0, 6, 22];
        refine(&early, &mut bounds);
        assert!((5..=17).contains(&bounds[1]), "{bounds:?}");
    }

    #[test]
    fn a_step_is_two_levels_and_what_never_changes_one() {
        let mut values = vec![1.0; 30];
        values.extend([3.0; 30]);
        assert_eq!(levels(&values, 1.25), [0..30, 30..60]);
        assert_eq!(levels(&values, 3.5), [0..60]);
        assert_eq!(levels(&[4.0; 60], 1.25), [0..60]);
        assert_eq!(levels(&[], 1.25), []);
        let mut dip = vec![5.0; 90];
        dip[30..60].fill(1.0);
        assert_eq!(levels(&dip, 1.25), [0..30, 30..60, 60..90]);
    }
}
