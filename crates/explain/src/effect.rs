//! How much longer one side waits than the other, with a confidence interval.
//!
//! It uses only operations that IEEE 754 rounds correctly: a file must verify on another machine,
//! too.

use flashlag_schema::Phase;
use flashlag_schema::finding::{Counted, Estimate, FindingEffect, MeasuredWait};
use flashlag_stats::{Histogram, student_95};
use flashlag_units::Nanos;

use crate::figures::Figures;
use crate::histograms::{response_histogram, restored};

/// A mean with its standard error, both in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub mean: f64,
    pub error: f64,
    pub n: u64,
    /// Degrees of freedom of the error's estimate.
    pub freedom: f64,
}

/// Minimum intervals to estimate the variation over time.
const LEAST_INTERVALS: usize = 8;

impl Mean {
    /// The mean of a histogram, whose values are taken as independent. `None` below two values.
    pub fn of(histogram: &Histogram) -> Option<Mean> {
        let n = histogram.count();
        let mean = histogram.mean()?.0 as f64;
        if n < 2 {
            return None;
        }
        let square = |index: u32| {
            let off = Histogram::middle_of(index as usize).0 as f64 - mean;
            off * off
        };
        let sum: f64 = histogram.occupied().map(|(i, count)| square(i) * count as f64).sum();
        let freedom = (n - 1) as f64;
        Some(Mean { mean, error: (sum / freedom / n as f64).sqrt(), n, freedom })
    }

    /// The mean of one of several equal parts of an operation.
    pub fn divided(self, parts: u32) -> Mean {
        let parts = f64::from(parts.max(1));
        Mean { mean: self.mean / parts, error: self.error / parts, ..self }
    }

    /// The mean wait of a phase as a person would feel it. Slow stretches come in one piece, so the
    /// error is the larger of two: that of independent values, and that between intervals (the
    /// linearized variance of a ratio of sums, with intervals as clusters).
    pub fn of_phase(phase: &Phase) -> Option<Mean> {
        let mut mean = Mean::of(&response_histogram(phase)?)?;
        // Intervals have latencies, not responses.
        let closed = phase.response_histogram.is_none();
        if closed
            && let Some((error, freedom)) = error_between_intervals(phase)
            && error > mean.error
        {
            (mean.error, mean.freedom) = (error, freedom);
        }
        Some(mean)
    }
}

/// The standard error of the mean, and its degrees of freedom.
fn error_between_intervals(phase: &Phase) -> Option<(f64, f64)> {
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
    let off = |(n, sum): &(f64, f64)| sum - mean * n;
    let squares: f64 = parts.iter().map(|part| off(part) * off(part)).sum();
    let intervals = parts.len() as f64;
    let error = (intervals / (intervals - 1.0) * squares).sqrt() / n;
    Some((error, intervals - 1.0))
}

/// One side of a comparison.
pub struct Side {
    pub mean: Mean,
    pub figures: Figures,
}

impl Side {
    fn wait(&self) -> MeasuredWait {
        MeasuredWait {
            ops: self.mean.n,
            mean_ns: Nanos(self.mean.mean as u64),
            p50_ns: self.figures.p50,
            p999_ns: self.figures.p999,
        }
    }
}

/// Half the width of a 95 % interval of a difference of two means, in standard errors of that
/// difference: from Student's t, with the degrees of freedom of Welch (1947, "The generalization of
/// 'Student's' problem"). If there are few values, they say little about how much waits vary.
fn half_width(a: Mean, b: Mean) -> Option<f64> {
    let (one, other) = (a.error * a.error, b.error * b.error);
    let together = one + other;
    if together == 0.0 {
        return student_95(a.freedom.min(b.freedom));
    }
    let (one, other) = (one / together, other / together);
    student_95(1.0 / (one * one / a.freedom + other * other / b.freedom))
}

/// By how much the first side waits longer than the second; `share` of all operations is affected.
/// `None` if the numbers are too large.
pub fn effect(per: Counted, now: &Side, fixed: &Side, share: f64) -> Option<FindingEffect> {
    let per_thousand = |nanos: f64| nanos * share * 1e3 / 1e9;
    let (a, b) = (now.mean, fixed.mean);
    let cost = per_thousand(a.mean - b.mean);
    let margin = half_width(a, b)? * per_thousand((a.error * a.error + b.error * b.error).sqrt());
    if !cost.is_finite() || !margin.is_finite() {
        return None;
    }
    Some(FindingEffect {
        per,
        now: now.wait(),
        fixed: Some(fixed.wait()),
        mean_ratio: ratio_of_means(a, b),
        cost_s_per_1000: Estimate { value: cost, interval: Some((cost - margin, cost + margin)) },
    })
}

/// The ratio of two independent means with Fieller's interval (Fieller 1954, "Some problems in
/// interval estimation"); without an interval if the second mean may be 0.
fn ratio_of_means(a: Mean, b: Mean) -> Option<Estimate> {
    let value = a.mean / b.mean;
    if !value.is_finite() {
        return None;
    }
    let width = half_width(a, b)?;
    let g = width * width * b.error * b.error / (b.mean * b.mean);
    let spread = a.error * a.error * (1.0 - g) + value * value * b.error * b.error;
    let half = width / b.mean * spread.sqrt();
    let interval = ((value - half) / (1.0 - g), (value + half) / (1.0 - g));
    let known = g < 1.0 && interval.0.is_finite() && interval.1.is_finite();
    Some(Estimate { value, interval: known.then_some(interval) })
}

/// Whether the first side waits longer by at least 1 %, and not by chance.
pub fn is_cost(effect: &FindingEffect) -> bool {
    let sure = effect.cost_s_per_1000.interval.is_some_and(|(low, _)| low > 0.0);
    let Some(fixed) = effect.fixed else { return false };
    let (now, fixed) = (effect.now.mean_ns.0, fixed.mean_ns.0);
    sure && now > fixed.saturating_add(fixed / 100)
}

/// Whether the median falls by at least 2 %: if not, the cost is in the slow operations.
pub fn lowers_median(effect: &FindingEffect) -> bool {
    let fixed = effect.fixed.and_then(|fixed| fixed.p50_ns);
    let (Some(now), Some(fixed)) = (effect.now.p50_ns, fixed) else { return false };
    fixed.0 as f64 <= 0.98 * now.0 as f64
}

/// Both 99.9 % waits, if the slowest operations remain more than four fifths as long.
pub fn slowest_remain(effect: &FindingEffect) -> Option<(Nanos, Nanos)> {
    let (now, fixed) = (effect.now.p999_ns?, effect.fixed?.p999_ns?);
    (fixed.0 as f64 > 0.8 * now.0 as f64).then_some((now, fixed))
}

#[cfg(test)]
mod tests {
    use flashlag_spec::State;

    use super::*;
    use crate::testing::{interval, of_ms, writes};

    #[test]
    fn the_error_of_a_mean_in_slow_stretches_is_that_between_intervals() {
        // Means of 10 and 30 ms in turn, ten operations each: the error of the mean of eight such means is
        // sd / sqrt(8) with the sample's sd of 10 * sqrt(8 / 7) ms.
        let mut phase = writes("rand_write_4k", State::New, &[10; 80]);
        let alternating = [10, 30].repeat(4);
        phase.intervals =
            alternating.into_iter().map(|ms| interval(Nanos::ZERO, &of_ms(&[ms; 10]))).collect();
        let (error, freedom) = error_between_intervals(&phase).unwrap();
        let expected = 10e6 * (8.0_f64 / 7.0).sqrt() / 8.0_f64.sqrt();
        assert!((error / expected - 1.0).abs() < 0.01, "{error} {expected}");
        assert_eq!(freedom, 7.0);
        phase.intervals.pop();
        assert_eq!(error_between_intervals(&phase), None);
    }
}
