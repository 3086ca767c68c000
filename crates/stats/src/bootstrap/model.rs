//! What is compared, and Student's quantiles for few runs.

use flashlag_units::{Bytes, Nanos};

use crate::histogram::Histogram;
use crate::interval::Interval;
use crate::percentile::Percentile;

/// One phase of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Latencies of the phase.
    pub histogram: Histogram,
    /// Interval series; empty if unknown.
    pub intervals: Vec<Interval>,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Length of the phase.
    pub elapsed: Nanos,
}

/// The figure to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// A percentile of latency.
    Percentile(Percentile),
    /// Bytes per second.
    Throughput,
}

/// √(m/(m−1)): corrects the spread of m runs around their own mean; 1 for a single run.
pub(super) fn spread_of_few(count: usize) -> f64 {
    if count < 2 { 1.0 } else { (count as f64 / (count as f64 - 1.0)).sqrt() }
}

/// Student's 97.5 % quantile over the normal one; 1 without degrees of freedom.
pub(super) fn student_over_normal(freedom: usize) -> f64 {
    if freedom == 0 { 1.0 } else { student(freedom as f64) / NORMAL }
}

/// The normal 97.5 % quantile.
pub(super) const NORMAL: f64 = 1.960;

/// Student's 97.5 % quantile, interpolated between whole degrees of freedom.
pub(super) fn student(freedom: f64) -> f64 {
    const FEW: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    let freedom = freedom.max(1.0);
    let below = freedom.floor();
    match FEW.get(below as usize - 1..below as usize + 1) {
        Some([low, high]) => low + (high - low) * (freedom - below),
        // The Cornish-Fisher expansion is within 0.003 from 10 on.
        _ => NORMAL + 2.372 / freedom + 2.823 / (freedom * freedom),
    }
}
