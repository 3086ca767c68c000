//! Level shifts in a series, by ranks.
//!
//! Where one split is tested, the statistic is Wilcoxon's: the sum of the ranks left of the split,
//! standardised; the split with the largest is taken. It does not depend on the distribution of the
//! noise, and one wild value moves it by one rank. Splits are sought in nested windows of halved
//! lengths (seeded binary segmentation), so that a dip in the middle is found as well as a step.
//!
//! The bound on what noise reaches: P(|z| > t) ≤ exp(−t²/2) for one split, so over all `s` splits
//! that are looked at t = √(2 ln(s/α)) holds the chance of any false finding to α. Neighbouring
//! intervals of storage are alike without any change of level; z is therefore divided by
//! √((1+ρ)/(1−ρ)), ρ the correlation of neighbours about their levels.

use std::ops::Range;

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
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    for same in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = from as f64 + (same.len() as f64 + 1.0) / 2.0;
        same.iter().for_each(|index| ranks[*index] = rank);
        from += same.len();
    }
    ranks
}

/// Correlation of neighbours about the medians left and right of `at`, values beyond three
/// standard deviations (by the median deviation) drawn in.
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

/// The median; zero of nothing.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}
