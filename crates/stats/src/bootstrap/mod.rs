//! Comparison of two sets of runs: a bootstrap interval of the ratio of a percentile or of
//! throughput.
//!
//! **Within a run, without intervals.** The p-quantile of a resample of n values is its r-th
//! smallest, r = ⌈p·n⌉. Drawing n values from the empirical distribution F is drawing n uniform
//! numbers and applying F⁻¹, and the r-th smallest of n uniform numbers is Beta(r, n − r + 1). So a
//! resampled quantile is F⁻¹ of one Beta draw: exact, and as cheap for a billion values as for ten.
//! It takes the values as independent, which those of a run are not.
//!
//! **Within a run, with intervals.** Slow stretches come in one piece, so whole blocks of
//! neighbouring intervals are drawn (circular moving-block bootstrap). The length of a block is
//! Carlstein's for an AR(1) series, (√6·ρ/(1−ρ²))^⅔ · n^⅓, where ρ is the correlation of
//! neighbouring intervals' share of values above the quantile (of their throughput). Blocks of
//! length L miss what correlates across their borders, a share of about 2ρ/((1−ρ²)·L) of the
//! variance (Künsch 1989, for AR(1)); with b blocks in a run their spread shows (b−1)/b of it, known
//! with b−1 degrees of freedom. Deviations are scaled up by all three.
//!
//! **Between runs.** If a side has several runs, whole runs are compared: a side's figure is the
//! geometric mean over its runs, and the interval is Welch's: Student's t with the degrees of
//! freedom of Welch and Satterthwaite, from how the runs' figures differ, which includes how each
//! run varies within itself. If one side is a single run, nothing shows how its runs would differ:
//! it is taken to vary as the other side's runs do or as it does within itself, whichever is more,
//! with the other side's degrees of freedom. Unless both sides have several runs,
//! [`RatioInterval::between_runs`] is `false`, which every view must say.
//!
//! **Order.** Each run is resampled with random numbers of its own, which follow from the seed and
//! from what was measured: the interval of (a, b) is the inverse of that of (b, a), and a third side
//! changes nothing. The ends of an interval are means of the ordered ratios about the 2.5 % and the
//! 97.5 % rank, weighted by how likely each rank is the true one (as Harrell and Davis 1982): where
//! the ratios jump beside that rank, one draw more or less beyond the jump moves an end by little.
//!
//! **Bounds.** A quantile of a resample lies between the lowest and the highest of its blocks', so
//! no interval goes beyond the ratio of those ends: widening alone would give ratios that no resample
//! can have, where a run has two levels.

mod beta;
mod model;
mod resample;
#[cfg(test)]
mod tests;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

pub use model::{Figure, Sample};
use model::{NORMAL, student};
use resample::Resampler;

/// Resamples of each run.
const RESAMPLES: usize = 4_000;
/// The middles of adjacent buckets may differ by this much for equal values: a smaller difference
/// is never shown.
const RESOLUTION: f64 = 1.0 / 64.0;

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioInterval {
    /// The second side's figure over the first's.
    pub ratio: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// Whether a difference is shown: 1 is outside the interval, and the difference is larger than
    /// the histogram resolves (1.6 %).
    pub shown: bool,
    /// Whether the interval includes the differences between runs of a side; `false` if a side is a
    /// single run.
    pub between_runs: bool,
}

/// Compares the runs of one side with those of another. The same seed gives the same result.
///
/// `None` if a side has no runs, if a run has too few values for the percentile, or if nothing
/// shows how much the figure of a side varies (throughput of a single run without intervals).
pub fn compare(
    first: &[Sample],
    second: &[Sample],
    figure: Figure,
    seed: u64,
) -> Option<RatioInterval> {
    Side::of(first, figure, seed)?.against(&Side::of(second, figure, seed)?)
}

/// The limits that contain 95 % of deviations from a ratio, as logarithms.
fn middle(deviations: &mut [f64]) -> (f64, f64) {
    deviations.sort_unstable_by(f64::total_cmp);
    let last = deviations.len().saturating_sub(1) as f64;
    (smoothed(deviations, 0.025 * last), smoothed(deviations, 0.975 * last))
}

/// The mean of the values around a rank, weighted by the distribution of the rank of a quantile
/// among as many draws (normal approximation).
fn smoothed(ordered: &[f64], rank: f64) -> f64 {
    let spread = (0.025 * 0.975 * ordered.len() as f64).sqrt().max(0.5);
    let from = (rank - 4.0 * spread).max(0.0).ceil() as usize;
    let near = ordered.iter().enumerate().skip(from).take((8.0 * spread) as usize + 1);
    let weighted = near.map(|(place, value)| {
        let weight = (-0.5 * ((place as f64 - rank) / spread).powi(2)).exp();
        (weight, weight * value)
    });
    let (weights, sum) = weighted.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// The limits that contain 95 % of the resampled deviations from the ratio of two single runs.
fn resampled(first: &Side, second: &Side) -> (f64, f64) {
    let pairs = first.deviations.iter().zip(&second.deviations);
    let mut differences: Vec<f64> = pairs.map(|(first, second)| second - first).collect();
    if first.key != second.key {
        return middle(&mut differences);
    }
    // A run against itself draws the same numbers twice. One side's are reversed, and the interval
    // is made symmetric, since neither order is the right one.
    let turned = second.deviations.iter().rev().zip(&first.deviations);
    let mut differences: Vec<f64> = turned.map(|(second, first)| second - first).collect();
    let (low, high) = middle(&mut differences);
    let half = (high - low) / 2.0;
    (-half, half)
}

/// The limits of Welch's interval, from how the runs of each side differ.
fn welch(first: &Side, second: &Side) -> (f64, f64) {
    let parts = [first.variance_of_mean(second), second.variance_of_mean(first)];
    let variance = parts[0].0 + parts[1].0;
    let spread: f64 = parts.iter().map(|(part, freedom)| part * part / freedom).sum();
    let freedom = if spread > 0.0 { variance * variance / spread } else { 1.0 };
    // Two sides that share one side's differences have only its degrees of freedom.
    let alone = first.runs.len() == 1 || second.runs.len() == 1;
    let freedom = if alone { parts[0].1.min(parts[1].1) } else { freedom };
    let half = student(freedom) * variance.sqrt();
    (-half, half)
}

/// Restricts an interval to the ratios that a resample can have.
fn within(low: f64, high: f64, first: (f64, f64), second: (f64, f64)) -> (f64, f64) {
    let (least, most) = (second.0 - first.1, second.1 - first.0);
    (low.clamp(least, most.max(least)), high.clamp(least, most.max(least)))
}

/// The runs of one side, resampled for one figure and ready for any number of comparisons.
pub struct Side {
    /// Figures are natural logarithms.
    runs: Vec<Resampler>,
    /// Mean over runs of the figure as resamples compute it.
    center: f64,
    /// Mean over runs of the figure as printed.
    printed: f64,
    /// Key of its random numbers, from what was measured.
    key: u64,
    /// Of a single run: each resample's deviation from the figure; otherwise empty.
    deviations: Vec<f64>,
}

impl Side {
    /// Resamples the runs of a side. The same runs and seed give the same result.
    ///
    /// `None` without runs, or if a run has too few values for the percentile.
    pub fn of(samples: &[Sample], figure: Figure, seed: u64) -> Option<Side> {
        let runs: Option<Vec<Resampler>> =
            samples.iter().map(|sample| Resampler::of(sample, figure)).collect();
        let runs = runs.filter(|runs| !runs.is_empty())?;
        let count = runs.len() as f64;
        let center = runs.iter().map(|run| run.center).sum::<f64>() / count;
        let printed = runs.iter().map(|run| run.printed).sum::<f64>() / count;
        let key = samples.iter().fold(0, |key, sample| mixed(key, content(sample)));
        let deviations = match runs.as_slice() {
            [run] if run.varies() => {
                let mut random = Pcg64Mcg::seed_from_u64(mixed(seed, key));
                (0..RESAMPLES).map(|_| run.resample(&mut random) - run.center).collect()
            }
            _ => Vec::new(),
        };
        Some(Side { runs, center, printed, key, deviations })
    }

    /// The ratio of `second`'s figure to this side's. Swapping the sides gives the inverse.
    ///
    /// `None` if nothing shows how much the figure of a side varies.
    pub fn against(&self, second: &Side) -> Option<RatioInterval> {
        if self.is_blind() || second.is_blind() {
            return None;
        }
        let several = self.runs.len() > 1 || second.runs.len() > 1;
        // The interval is around figures that are not rounded to the middles of buckets. It is
        // extended to the printed ratio if that is outside.
        let center = second.center - self.center;
        let (low, high) = if several { welch(self, second) } else { resampled(self, second) };
        let (low, high) = (center + low, center + high);
        let (low, high) = within(low, high, self.hull(several), second.hull(several));
        let log_ratio = second.printed - self.printed;
        let ratio = log_ratio.exp();
        let (low, high) = (low.exp().min(ratio), high.exp().max(ratio));
        let shown = (low > 1.0 || high < 1.0) && log_ratio.abs() > RESOLUTION.ln_1p();
        let between_runs = self.runs.len() > 1 && second.runs.len() > 1;
        Some(RatioInterval { ratio, low, high, shown, between_runs })
    }

    /// Whether nothing shows how much the figure varies: a single run without deviations.
    fn is_blind(&self) -> bool {
        self.runs.len() == 1 && self.deviations.is_empty()
    }

    /// Standard deviation of a single run's figure: the farther limit of its interval over the
    /// normal quantile.
    fn deviation_within(&self) -> f64 {
        let (low, high) = middle(&mut self.deviations.clone());
        low.abs().max(high.abs()) / NORMAL
    }

    /// Variance of this side's mean, and its degrees of freedom. A single run is taken to vary as
    /// the other side's runs do, or as it does within itself if that is more.
    fn variance_of_mean(&self, other: &Side) -> (f64, f64) {
        let of = if self.runs.len() > 1 { self } else { other };
        let freedom = (of.runs.len() as f64 - 1.0).max(1.0);
        let square = of.runs.iter().map(|run| (run.center - of.center).powi(2)).sum::<f64>();
        let between = square / freedom / self.runs.len() as f64;
        match self.runs.len() {
            1 => (between.max(self.deviation_within().powi(2)), freedom),
            _ => (between, freedom),
        }
    }

    /// Bounds of the figure of any resample; of several runs, bounds of what was measured.
    fn hull(&self, several: bool) -> (f64, f64) {
        let hulls = self.runs.iter().map(|run| if several { run.seen() } else { run.hull() });
        hulls.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), hull| {
            (low.min(hull.0), high.max(hull.1))
        })
    }
}

/// A hash of what was measured in a run.
fn content(sample: &Sample) -> u64 {
    let counts = sample.histogram.occupied();
    let counts = counts.fold(0, |key, (index, count)| mixed(mixed(key, index.into()), count));
    mixed(mixed(counts, sample.bytes.0), sample.elapsed.0)
}

/// Mixes two numbers so that every bit of both matters (the finaliser of SplitMix64).
fn mixed(key: u64, value: u64) -> u64 {
    let sum = key.rotate_left(23).wrapping_add(value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let once = (sum ^ (sum >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    twice ^ (twice >> 31)
}
