//! How much longer one side waits than the other, with its interval.

use flashlag_schema::Phase;
use flashlag_stats::Histogram;
use flashlag_units::Nanos;

use crate::figures::{felt, restored};

/// The difference of two means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Both means.
    pub means: (Nanos, Nanos),
    /// Both numbers of operations.
    pub n: (u64, u64),
    /// Seconds by which 1,000 operations of the first wait longer.
    pub cost: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
}

/// A mean with its standard error, both in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub mean: f64,
    pub error: f64,
    pub n: u64,
}

/// Fewer intervals than this say nothing of how a phase varies over time.
const LEAST_INTERVALS: usize = 8;

impl Mean {
    /// Of a histogram, its values taken as independent. `None` below two values.
    pub fn of(histogram: &Histogram) -> Option<Mean> {
        let n = histogram.count();
        let mean = histogram.mean()?.0 as f64;
        if n < 2 {
            return None;
        }
        let square = |index: u32| (Histogram::middle_of(index as usize).0 as f64 - mean).powi(2);
        let sum: f64 = histogram.occupied().map(|(i, count)| square(i) * count as f64).sum();
        Some(Mean { mean, error: (sum / (n - 1) as f64 / n as f64).sqrt(), n })
    }

    /// Of what a person would have waited in a phase. Slow stretches come in one piece, so the
    /// error is the larger of that of independent values and that between intervals (the
    /// linearized variance of a ratio of sums, intervals as clusters).
    pub fn of_phase(phase: &Phase) -> Option<Mean> {
        let mut mean = Mean::of(&felt(phase)?)?;
        // Intervals hold latencies, not responses.
        let closed = phase.response_histogram.is_none();
        if closed && let Some(error) = error_between_intervals(phase) {
            mean.error = mean.error.max(error);
        }
        Some(mean)
    }
}

fn error_between_intervals(phase: &Phase) -> Option<f64> {
    let parts: Vec<(f64, f64)> = phase
        .intervals
        .iter()
        .filter_map(|interval| restored(&interval.histogram))
        .filter(|histogram| histogram.count() > 0)
        .map(|histogram| (histogram.count() as f64, histogram.sum().0 as f64))
        .collect();
    if parts.len() < LEAST_INTERVALS {
        return None;
    }
    let (n, sum) = parts.iter().fold((0.0, 0.0), |(n, sum), part| (n + part.0, sum + part.1));
    let mean = sum / n;
    let squares: f64 = parts.iter().map(|(n, sum)| (sum - mean * n).powi(2)).sum();
    let intervals = parts.len() as f64;
    Some((intervals / (intervals - 1.0) * squares).sqrt() / n)
}

impl Effect {
    /// By how much the first waits longer than the second, a share of all operations concerned.
    pub fn between(first: Mean, second: Mean, share: f64) -> Effect {
        let per_thousand = |nanos: f64| nanos * share * 1e3 / 1e9;
        let cost = per_thousand(first.mean - second.mean);
        let margin = 1.96 * per_thousand(first.error.hypot(second.error));
        Effect {
            means: (Nanos(first.mean as u64), Nanos(second.mean as u64)),
            n: (first.n, second.n),
            cost,
            interval: (cost - margin, cost + margin),
        }
    }

    /// Whether the first waits longer, beyond chance, by a hundredth or more.
    pub fn is_cost(&self) -> bool {
        self.interval.0 > 0.0 && self.means.0.0 > self.means.1.0 + self.means.1.0 / 100
    }
}
