//! Whether two sets of runs differ, and by how much: a bootstrap interval of the ratio of a
//! percentile or of throughput.
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
//! **Between runs.** Runs are drawn with replacement, then each is resampled within (hierarchical
//! bootstrap); a side's figure is the geometric mean over its runs. Few runs show too little of how
//! runs differ: deviations are scaled by √(m/(m−1)) and by Student's t over the normal quantile for
//! the degrees of freedom there are. Where one side has a single run, the other's differences are
//! taken for it. With a single run on each side nothing is known of how runs differ:
//! [`Compared::between_runs`] is then `false`, and the reader must be told.

mod beta;
mod resample;
#[cfg(test)]
mod tests;

use flashlag_units::{Bytes, Nanos};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::histogram::Histogram;
use crate::interval::Interval;
use crate::percentile::Percentile;
use resample::Resampler;

/// Resamples for each comparison.
const RESAMPLES: usize = 2_000;
/// Middle of two values in adjacent buckets may be this far apart though the values are equal:
/// a smaller difference is never shown.
const RESOLUTION: f64 = 1.0 / 64.0;

/// One phase of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// All its latencies.
    pub histogram: Histogram,
    /// How it went over time; empty where that is not known.
    pub intervals: Vec<Interval>,
    /// Bytes it moved.
    pub bytes: Bytes,
    /// How long it took.
    pub elapsed: Nanos,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// A percentile of latency.
    Percentile(Percentile),
    /// Bytes a second.
    Throughput,
}

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The second side's figure over the first's.
    pub ratio: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// Whether a difference is shown: 1 is outside the interval, and the difference is larger than
    /// the histogram resolves (1.6 %).
    pub shown: bool,
    /// Whether the interval includes how runs differ from one another. `false` where each side is
    /// a single run.
    pub between_runs: bool,
}

/// Compares one run with one run by histograms alone.
///
/// `None` where either has too few values for the percentile.
pub fn compare_histograms(
    first: &Histogram,
    second: &Histogram,
    percentile: Percentile,
    seed: u64,
) -> Option<Compared> {
    let sample = |histogram: &Histogram| Sample {
        histogram: histogram.clone(),
        intervals: Vec::new(),
        bytes: Bytes::ZERO,
        elapsed: Nanos::ZERO,
    };
    compare(&[sample(first)], &[sample(second)], Figure::Percentile(percentile), seed)
}

/// Compares the runs of one side with those of another. The same seed gives the same result.
///
/// `None` where a side has no runs, where any run has too few values for the percentile, or where
/// nothing says how much the figure varies (throughput of single runs without intervals).
pub fn compare(first: &[Sample], second: &[Sample], figure: Figure, seed: u64) -> Option<Compared> {
    let first = Side::of(first, figure)?;
    let second = Side::of(second, figure)?;
    let between_runs = first.runs.len() > 1 || second.runs.len() > 1;
    let blind = |side: &Side| side.runs.iter().all(|run| !run.varies());
    if !between_runs && (blind(&first) || blind(&second)) {
        return None;
    }
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let freedom = first.runs.len() + second.runs.len() - 2;
    let widen = student_over_normal(freedom);
    let mut deviations: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let down = first.deviation(&second, &mut random);
            (second.deviation(&first, &mut random) - down) * widen
        })
        .collect();
    deviations.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| deviations[(share * (RESAMPLES - 1) as f64).round() as usize];
    let log_ratio = second.printed - first.printed;
    let ratio = log_ratio.exp();
    // The interval lies about the figures before they were rounded to the middles of buckets, and
    // is extended to the ratio of what is printed where that is outside.
    let center = second.center - first.center;
    let (low, high) = ((center + at(0.025)).exp(), (center + at(0.975)).exp());
    let (low, high) = (low.min(ratio), high.max(ratio));
    let shown = (low > 1.0 || high < 1.0) && log_ratio.abs() > RESOLUTION.ln_1p();
    Some(Compared { ratio, low, high, shown, between_runs })
}

/// The runs of one side, with their figures as logarithms.
struct Side {
    runs: Vec<Resampler>,
    /// Each run's figure less the side's.
    residuals: Vec<f64>,
    /// Mean over runs of the figure that the resampling is about.
    center: f64,
    /// Mean over runs of the figure as it is printed.
    printed: f64,
}

impl Side {
    fn of(samples: &[Sample], figure: Figure) -> Option<Side> {
        let runs: Option<Vec<Resampler>> =
            samples.iter().map(|sample| Resampler::of(sample, figure)).collect();
        let runs = runs.filter(|runs| !runs.is_empty())?;
        let count = runs.len() as f64;
        let center = runs.iter().map(|run| run.center).sum::<f64>() / count;
        let printed = runs.iter().map(|run| run.printed).sum::<f64>() / count;
        let scale = spread_of_few(runs.len());
        let residuals = runs.iter().map(|run| (run.center - center) * scale).collect();
        Some(Side { runs, residuals, center, printed })
    }

    /// By how much a resample of this side's figure differs from the figure.
    fn deviation(&self, other: &Side, random: &mut Pcg64Mcg) -> f64 {
        let count = self.runs.len();
        if count == 1 {
            let run = &self.runs[0];
            let between = if other.runs.len() > 1 {
                other.residuals[random.random_range(0..other.residuals.len())]
            } else {
                0.0
            };
            return run.resample(random) - self.center + between;
        }
        let draw = |_| self.runs[random.random_range(0..count)].resample(random);
        let mean = (0..count).map(draw).sum::<f64>() / count as f64;
        (mean - self.center) * spread_of_few(count)
    }
}

/// √(m/(m−1)): m runs about their own mean spread less than runs do; 1 for a single run.
fn spread_of_few(count: usize) -> f64 {
    if count < 2 { 1.0 } else { (count as f64 / (count as f64 - 1.0)).sqrt() }
}

/// Student's 97.5 % quantile over the normal one; 1 where there are no degrees of freedom.
fn student_over_normal(freedom: usize) -> f64 {
    const FEW: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    const NORMAL: f64 = 1.960;
    let student = match freedom {
        0 => NORMAL,
        1..=10 => FEW[freedom - 1],
        // Cornish and Fisher's expansion; within 0.001 from 11 on.
        _ => NORMAL + 2.372 / freedom as f64 + 2.823 / (freedom as f64).powi(2),
    };
    student / NORMAL
}
