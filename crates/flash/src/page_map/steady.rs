//! Valid units per block in the steady state of uniform random overwrites.
//!
//! Let C closed blocks of n units hold U valid ones, f_j be the share of blocks with j valid ones,
//! and F_j that of those with j or more. Each overwrite is equally likely to hit every valid unit,
//! so while one block is closed and one reclaimed, blocks go from j to j - 1 valid units at the
//! rate `C · f_j · j · h / U`, where h is the gain from a victim. That flow is the block that was
//! closed, less the victims with j or more. So with G_j the probability that a victim has j or more
//!
//! `f_j = k / j · (1 - G_j)`, `k = U / (C · h)`,
//!
//! where G_j is 0 above the fewest of all for *greedy*, `F_j^d` for the best of d random
//! candidates, and `(F_j^d - F_n^d) / (1 - F_n^d)` if candidates are drawn again when nothing can
//! be gained. From n downwards each f_j follows from those above it; k is found by search, so that
//! the mean is U / C.
//!
//! *Fifo* is simpler: the block that was closed i blocks ago has `n · r^i`, with r chosen so that
//! they sum to U.
//!
//! *Cost-benefit* is assumed to leave what *greedy* leaves, which is nearly true for uniform
//! traffic.
//!
//! It uses only sums, products and quotients, which are the same on every machine.

use flashlag_spec::profile::{GcModel, GcPolicy};

/// Number of halvings of a search, enough for the last bit of the result.
const HALVINGS: u32 = 60;

/// Valid units of each of `blocks` closed blocks, the oldest first, with the sum `held` as far as
/// blocks have room.
pub(super) fn valid_units(gc: &GcModel, blocks: u32, units: u32, held: u64) -> Vec<u32> {
    let mean = (held as f64 / f64::from(blocks.max(1))).min(f64::from(units));
    let mut valid = match gc.policy {
        GcPolicy::Fifo => by_age(blocks, units, mean),
        // With uniform traffic the oldest blocks are those with the fewest valid units.
        GcPolicy::Greedy | GcPolicy::CostBenefit => by_count(blocks, units, mean, |_, _| 0.0),
        GcPolicy::Random => drawn(gc, 1, blocks, units, mean),
        GcPolicy::DChoices => drawn(gc, gc.choices.unwrap_or(2).max(1), blocks, units, mean),
    };
    correct(&mut valid, units, held);
    valid
}

fn drawn(gc: &GcModel, choices: u32, blocks: u32, units: u32, mean: f64) -> Vec<u32> {
    let power = |share: f64| (0..choices).fold(1.0, |product, _| product * share);
    let skip = gc.skip_full;
    by_count(blocks, units, mean, move |share, full| {
        if skip && full < 1.0 {
            (power(share) - power(full)) / (1.0 - power(full))
        } else {
            power(share)
        }
    })
}

/// Ascending numbers of valid units; `beyond` is G as a function of F_j and F_n.
fn by_count(blocks: u32, units: u32, mean: f64, beyond: impl Fn(f64, f64) -> f64) -> Vec<u32> {
    let (mut low, mut high) = (0.0, f64::from(units));
    for _ in 0..HALVINGS {
        let k = f64::midpoint(low, high);
        // The larger k is, the more blocks have many valid units.
        if shares(units, k, &beyond).1 < mean { low = k } else { high = k }
    }
    let (shares, _) = shares(units, high, &beyond);
    // The middle block of each of equal parts stands for that part.
    let (mut count, mut below) = (0, shares[0]);
    let middle = |block: u32| (f64::from(block) + 0.5) / f64::from(blocks);
    let quantile = |block: u32| {
        while below < middle(block) && count < units {
            count += 1;
            below += shares[count as usize];
        }
        count
    };
    (0..blocks).map(quantile).collect()
}

/// f_0 to f_n and their mean.
fn shares(units: u32, k: f64, beyond: &impl Fn(f64, f64) -> f64) -> (Vec<f64>, f64) {
    let mut shares = vec![0.0; units as usize + 1];
    let (mut above, mut full, mut mean) = (0.0, 0.0, 0.0);
    for count in (1..=units).rev() {
        let rate = k / f64::from(count);
        let share = solve(rate, 1.0 - above, |share| {
            let full = if count == units { share } else { full };
            rate * (1.0 - beyond(above + share, full))
        });
        if count == units {
            full = share;
        }
        shares[count as usize] = share;
        above += share;
        mean += share * f64::from(count);
    }
    shares[0] = 1.0 - above;
    (shares, mean)
}

/// The x in 0..`most` with x = `of(x)`, where `of` falls with x from at most `first`: by regula
/// falsi with halving (Illinois).
fn solve(first: f64, most: f64, of: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, first.min(most));
    let (mut over, mut under) = (of(low) - low, of(high) - high);
    if under >= 0.0 {
        return high;
    }
    let mut last = 0.0;
    for _ in 0..HALVINGS {
        let middle = (low * under - high * over) / (under - over);
        let off = of(middle) - middle;
        if off.abs() <= high * f64::EPSILON {
            return middle;
        }
        if off > 0.0 {
            (low, over) = (middle, off);
            if last > 0.0 {
                under /= 2.0;
            }
        } else {
            (high, under) = (middle, off);
            if last < 0.0 {
                over /= 2.0;
            }
        }
        last = off;
    }
    f64::midpoint(low, high)
}

/// Valid units by age, the oldest block first, each a little fuller than the one before.
fn by_age(blocks: u32, units: u32, mean: f64) -> Vec<u32> {
    let wanted = mean / f64::from(units) * f64::from(blocks);
    let powers = |ratio: f64| {
        std::iter::successors(Some(1.0), move |power| Some(power * ratio)).take(blocks as usize)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let ratio = f64::midpoint(low, high);
        if powers(ratio).sum::<f64>() < wanted { low = ratio } else { high = ratio }
    }
    let valid = |power: f64| (f64::from(units) * power).round() as u32;
    let mut valid: Vec<u32> = powers(high).map(valid).collect();
    valid.reverse();
    valid
}

/// Corrects rounding by adding or removing one unit per block.
fn correct(valid: &mut [u32], units: u32, held: u64) {
    let mut sum: u64 = valid.iter().map(|valid| u64::from(*valid)).sum();
    // A step coprime to most numbers of blocks spreads the corrections evenly.
    let step = (valid.len() as f64 * 0.618) as usize | 1;
    let mut index = 0;
    for _ in 0..valid.len().saturating_mul(64) {
        if sum == held {
            return;
        }
        index = (index + step) % valid.len();
        if sum < held && valid[index] < units {
            (valid[index], sum) = (valid[index] + 1, sum + 1);
        } else if sum > held && valid[index] > 0 {
            (valid[index], sum) = (valid[index] - 1, sum - 1);
        }
    }
}
