//! How near a simulated row must be.

use flashlag_schema::published::Published;

/// How far a simulated row may be from the published one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// In percent of the published value.
    Percent(f64),
    /// In points: the row is a change in percent.
    Points(f64),
    /// Within this factor, up or down.
    Factor(f64),
}

/// Whether a row is within its bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Pass,
    /// It is the one write cell of its device that may be further off.
    Allowance,
    /// It is not.
    Fail,
    /// The run has no such row.
    Missing,
}

/// Throughput and rates.
pub(super) const CELL: f64 = 20.0;
/// One write cell of each device.
pub(super) const ALLOWANCE: f64 = 35.0;
/// Medians.
const LATENCY: f64 = 15.0;
/// Losses.
pub(super) const CHANGE: f64 = 5.0;
/// Figures from the text of an article, after a day of which nothing else is known.
const TORTURE: f64 = 2.0;

pub(super) fn bar(row: &Published) -> Bar {
    if row.unit == "%" {
        Bar::Points(CHANGE)
    } else if row.condition.ends_with("torture") {
        Bar::Factor(TORTURE)
    } else if row.metric.starts_with("latency") {
        Bar::Percent(LATENCY)
    } else {
        Bar::Percent(CELL)
    }
}

impl Bar {
    /// Whether `error`, in the bar's own measure (percent, or points), is within it.
    pub fn holds(self, error: f64) -> bool {
        match self {
            Bar::Percent(most) | Bar::Points(most) => error.abs() <= most,
            Bar::Factor(most) => {
                let ratio = 1.0 + error / 100.0;
                ratio <= most && ratio >= 1.0 / most
            }
        }
    }
}
