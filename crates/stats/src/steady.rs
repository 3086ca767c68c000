//! Steady state by the rule of the SNIA Solid State Storage Performance Test Specification: over a
//! window of five rounds, the figure (1) ranges over no more than 20 % of its average, and (2) the
//! least-squares line through it rises or falls by no more than 10 % of its average.

use flashlag_units::{Bytes, Nanos};

use crate::interval::Interval;

/// Rounds in the measurement window.
pub const WINDOW: usize = 5;
/// Largest minus smallest round, as a share of the window's average.
pub const RANGE_MAX: f64 = 0.20;
/// Rise or fall of the least-squares line over the window, as a share of its average.
pub const SLOPE_MAX: f64 = 0.10;

/// A round: throughput and latency over a stretch of a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// End of the round, from the start of the phase.
    pub ends: Nanos,
    pub length: Nanos,
    /// Bytes moved in it.
    pub bytes: Bytes,
    /// Operations that ended in it.
    pub ops: u64,
    pub latency_mean: Nanos,
}

impl Round {
    /// Throughput in bytes per second; zero for an empty round.
    pub fn bytes_per_second(&self) -> f64 {
        flashlag_units::per_second(self.bytes.0, self.length).unwrap_or(0.0)
    }
}

/// Steadiness of a window of five rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Index of its first round.
    pub first: usize,
    /// The average of its rounds.
    pub average: f64,
    /// (largest − smallest) / average.
    pub range: f64,
    /// |rise of the least-squares line from the first to the last round| / average.
    pub slope: f64,
}

impl Window {
    /// The window of five rounds from `first` on. `None` with fewer rounds, or if their average is
    /// not above zero: standing still is not steady.
    pub fn at(values: &[f64], first: usize) -> Option<Window> {
        let window = values.get(first..first.checked_add(WINDOW)?)?;
        let count = WINDOW as f64;
        let average = window.iter().sum::<f64>() / count;
        if !average.is_finite() || average <= 0.0 {
            return None;
        }
        let largest = window.iter().copied().fold(f64::MIN, f64::max);
        let smallest = window.iter().copied().fold(f64::MAX, f64::min);
        // Least squares over x = 0, 1, …, 4: Σ(x−x̄)(y−ȳ) = Σx(y−ȳ), and Σ(x−x̄)² = n(n²−1)/12.
        let covariance: f64 = (0..).zip(window).map(|(x, y)| f64::from(x) * (y - average)).sum();
        let per_round = covariance / (count * (count * count - 1.0) / 12.0);
        Some(Window {
            first,
            average,
            range: (largest - smallest) / average,
            slope: (per_round * (count - 1.0)).abs() / average,
        })
    }

    /// Whether both bounds hold.
    pub fn is_steady(&self) -> bool {
        self.range <= RANGE_MAX && self.slope <= SLOPE_MAX
    }
}

/// The first steady window of five rounds. `values` are throughputs or latencies, one per round, in
/// order.
pub fn first_steady(values: &[f64]) -> Option<Window> {
    (0..values.len()).filter_map(|first| Window::at(values, first)).find(Window::is_steady)
}

/// The window of the last five rounds, steady or not: shows by how much a phase missed.
pub fn last_window(values: &[f64]) -> Option<Window> {
    Window::at(values, values.len().checked_sub(WINDOW)?)
}

/// Result of looking for steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steadiness {
    /// Steady: the first steady window and the end of its last round.
    Reached {
        window: Window,
        /// End of the window, from the start of the phase.
        at: Nanos,
        /// Bytes moved before that.
        written: Bytes,
    },
    /// Not steady: the last window, which missed a bound.
    Missed(Window),
    /// Undecided: fewer than five whole rounds, or nothing moved.
    TooShort {
        /// Number of whole rounds.
        rounds: usize,
    },
}

/// Steady state of the throughput of a phase, in rounds of at least `length` and `bytes`.
pub fn steadiness(series: &[Interval], length: Nanos, bytes: Bytes) -> Steadiness {
    let rounds = rounds_of(series, length, bytes);
    let values: Vec<f64> = rounds.iter().map(Round::bytes_per_second).collect();
    if let Some(window) = first_steady(&values) {
        let through = &rounds[..window.first + WINDOW];
        let written = through.iter().fold(Bytes::ZERO, |sum, round| sum.plus(round.bytes));
        let at = through.last().map_or(Nanos::ZERO, |round| round.ends);
        return Steadiness::Reached { window, at, written };
    }
    match last_window(&values) {
        Some(window) => Steadiness::Missed(window),
        None => Steadiness::TooShort { rounds: rounds.len() },
    }
}

/// Joins intervals to rounds of at least `length` and `at_least` bytes, without the rest at the end.
pub fn rounds_of(series: &[Interval], length: Nanos, at_least: Bytes) -> Vec<Round> {
    let mut rounds = Vec::new();
    let mut from = Nanos::ZERO;
    let (mut bytes, mut ops, mut waited) = (Bytes::ZERO, 0u64, Nanos::ZERO);
    for interval in series {
        bytes = bytes.plus(interval.bytes);
        ops = ops.saturating_add(interval.ops());
        waited = waited.plus(interval.exact.2);
        let lasted = interval.ends.saturating_since(from);
        if lasted.0 == 0 || lasted < length || bytes < at_least {
            continue;
        }
        let latency_mean = Nanos(waited.0.checked_div(ops).unwrap_or(0));
        rounds.push(Round { ends: interval.ends, length: lasted, bytes, ops, latency_mean });
        (bytes, ops, waited) = (Bytes::ZERO, 0, Nanos::ZERO);
        from = interval.ends;
    }
    rounds
}
