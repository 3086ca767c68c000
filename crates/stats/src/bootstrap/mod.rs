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
//! **Between runs.** Where a side has several runs, whole runs are what is compared: a side's figure
//! is the geometric mean over its runs, and the interval is Welch's: Student's t with the degrees of
//! freedom of Welch and Satterthwaite, from how the runs' figures differ. What a run varies within
//! itself is in that already. Where one side has a single run, the other's differences are taken for
//! it. With a single run on each side nothing is known of how runs differ:
//! [`Compared::between_runs`] is then `false`, and the reader must be told.
//!
//! **Bounds.** A quantile of a resample lies between the lowest and the highest of its blocks', so
//! no interval goes beyond the ratio of those ends: widening alone would give ratios that no resample
//! can have, where a run has two levels.

mod beta;
mod resample;
#[cfg(test)]
mod tests;

use flashlag_units::{Bytes, Nanos};
use rand::SeedableRng;
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
    // The interval lies about the figures before they were rounded to the middles of buckets, and
    // is extended to the ratio of what is printed where that is outside.
    let center = second.center - first.center;
    let (low, high) = match between_runs {
        true => welch(&first, &second),
        false => resampled(&first.runs[0], &second.runs[0], seed),
    };
    let (low, high) = (center + low, center + high);
    let (low, high) = within(low, high, (first.hull(between_runs), second.hull(between_runs)));
    let log_ratio = second.printed - first.printed;
    let ratio = log_ratio.exp();
    let (low, high) = (low.exp().min(ratio), high.exp().max(ratio));
    let shown = (low > 1.0 || high < 1.0) && log_ratio.abs() > RESOLUTION.ln_1p();
    Some(Compared { ratio, low, high, shown, between_runs })
}

/// The deviations from the ratio of two runs that 95 % of resamples are within, as logarithms.
fn resampled(first: &Resampler, second: &Resampler, seed: u64) -> (f64, f64) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let deviation = |run: &Resampler, random: &mut Pcg64Mcg| run.resample(random) - run.center;
    let mut deviations: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let down = deviation(first, &mut random);
            deviation(second, &mut random) - down
        })
        .collect();
    deviations.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| deviations[(share * (RESAMPLES - 1) as f64).round() as usize];
    (at(0.025), at(0.975))
}

/// The deviations that Welch's interval allows, from how the runs of each side differ.
fn welch(first: &Side, second: &Side) -> (f64, f64) {
    let parts = [first.variance_of_mean(second), second.variance_of_mean(first)];
    let variance = parts[0].0 + parts[1].0;
    let spread: f64 = parts.iter().map(|(part, freedom)| part * part / freedom).sum();
    let freedom = if spread > 0.0 { variance * variance / spread } else { 1.0 };
    // Two sides that share one side's differences have no more freedom than it.
    let alone = first.runs.len() == 1 || second.runs.len() == 1;
    let freedom = if alone { parts[0].1.min(parts[1].1) } else { freedom };
    let half = student(freedom) * variance.sqrt();
    (-half, half)
}

/// The interval, within the ratios that any resample can have.
fn within(low: f64, high: f64, (first, second): ((f64, f64), (f64, f64))) -> (f64, f64) {
    let (least, most) = (second.0 - first.1, second.1 - first.0);
    (low.clamp(least, most.max(least)), high.clamp(least, most.max(least)))
}

/// The runs of one side, with their figures as logarithms.
struct Side {
    runs: Vec<Resampler>,
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
        Some(Side { runs, center, printed })
    }

    /// The variance of this side's mean and its degrees of freedom; a single run is taken to differ
    /// as the other side's do.
    fn variance_of_mean(&self, other: &Side) -> (f64, f64) {
        let of = if self.runs.len() > 1 { self } else { other };
        let freedom = (of.runs.len() as f64 - 1.0).max(1.0);
        let square = of.runs.iter().map(|run| (run.center - of.center).powi(2)).sum::<f64>();
        (square / freedom / self.runs.len() as f64, freedom)
    }

    /// What no figure of a resample is below or above. Of several runs: what was seen at all.
    fn hull(&self, several: bool) -> (f64, f64) {
        let hulls = self.runs.iter().map(|run| if several { run.seen() } else { run.hull() });
        hulls.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), hull| {
            (low.min(hull.0), high.max(hull.1))
        })
    }
}

/// √(m/(m−1)): m runs about their own mean spread less than runs do; 1 for a single run.
fn spread_of_few(count: usize) -> f64 {
    if count < 2 { 1.0 } else { (count as f64 / (count as f64 - 1.0)).sqrt() }
}

/// Student's 97.5 % quantile over the normal one; 1 where there are no degrees of freedom.
fn student_over_normal(freedom: usize) -> f64 {
    if freedom == 0 { 1.0 } else { student(freedom as f64) / NORMAL }
}

/// The normal 97.5 % quantile.
const NORMAL: f64 = 1.960;

/// Student's 97.5 % quantile; between whole degrees of freedom by the line between them.
fn student(freedom: f64) -> f64 {
    const FEW: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    let freedom = freedom.max(1.0);
    let below = freedom.floor();
    match FEW.get(below as usize - 1..below as usize + 1) {
        Some([low, high]) => low + (high - low) * (freedom - below),
        // Cornish and Fisher's expansion; within 0.001 from 11 on.
        _ => NORMAL + 2.372 / freedom + 2.823 / (freedom * freedom),
    }
}
