//! How a device would feel, by fixed thresholds.

use flashlag_schema::{Lag, Phase, Run};
use flashlag_stats::{Histogram, Percentile};
use flashlag_units::Nanos;

use crate::doubt::is_trusted;
use crate::histograms::response_histogram;
use crate::overload::is_overloaded;

/// A wait of this length is noticeable.
pub const NOTICED: Nanos = Nanos::from_millis(100);
/// A wait of this length is a freeze.
pub const FREEZE: Nanos = Nanos::from_secs(1);

/// How a device would feel, the worst that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LagVerdict {
    /// None of the other verdicts applies.
    Smooth,
    /// 1 % late or more, or p99.9 of 100 ms or more.
    Hitches,
    /// 10 % late or more, or p99 of 100 ms or more.
    Lags,
    /// p99.9 of 1 s or more.
    Freezes,
    /// A schedule that the device can't keep: see [`is_overloaded`].
    Overloaded,
}

impl LagVerdict {
    /// All of them, mildest first.
    pub const ALL: [LagVerdict; 5] = [
        LagVerdict::Smooth,
        LagVerdict::Hitches,
        LagVerdict::Lags,
        LagVerdict::Freezes,
        LagVerdict::Overloaded,
    ];

    /// As printed: `smooth`, `hitches`, `lags`, `freezes`, `overloaded`.
    pub fn name(self) -> &'static str {
        match self {
            LagVerdict::Smooth => "smooth",
            LagVerdict::Hitches => "hitches",
            LagVerdict::Lags => "lags",
            LagVerdict::Freezes => "freezes",
            LagVerdict::Overloaded => "overloaded",
        }
    }

    /// The verdict on a distribution; `None` if it is empty. If there are too few values for a p99
    /// or p99.9, the value at that rank replaces it, so that a single long wait still counts.
    pub fn of(histogram: &Histogram) -> Option<LagVerdict> {
        let n = histogram.count();
        let p99 = histogram.quantile(Percentile::P99)?;
        let p999 = histogram.quantile(Percentile::P999)?;
        let late = u128::from(histogram.count_over(Lag::FRAME_60HZ));
        let at_least = |percent: u128| late * 100 >= percent * u128::from(n);
        Some(if p999 >= FREEZE {
            LagVerdict::Freezes
        } else if at_least(10) || p99 >= NOTICED {
            LagVerdict::Lags
        } else if at_least(1) || p999 >= NOTICED {
            LagVerdict::Hitches
        } else {
            LagVerdict::Smooth
        })
    }
}

/// The verdict on a phase. `None` if a failed check covers it, nothing was measured, or its
/// histogram can't be read.
pub fn verdict(run: &Run, phase: &Phase) -> Option<LagVerdict> {
    if !is_trusted(run, phase) {
        return None;
    }
    if is_overloaded(phase) {
        Some(LagVerdict::Overloaded)
    } else {
        LagVerdict::of(&response_histogram(phase)?)
    }
}
