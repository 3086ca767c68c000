//! The bounds on the error of a simulated row.

use flashlag_schema::published::Published;

/// The bound on the error of a simulated row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// In percent of the published value.
    Percent(f64),
    /// In points: the row is a change in percent.
    Points(f64),
    /// Within this factor, up or down.
    Factor(f64),
}

/// The verdict over a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within its bound.
    Pass,
    /// The one write row of its device with a wider bound.
    Allowance,
    /// Out of bounds.
    Fail,
    /// The run has no such row.
    Missing,
}

/// Bound of throughput and rates, in percent.
pub(super) const CELL: f64 = 20.0;
/// Bound of one write row of each device, in percent.
pub(super) const ALLOWANCE: f64 = 35.0;
/// Bound of medians, in percent.
const LATENCY: f64 = 15.0;
/// Bound of changes, in points.
pub(super) const CHANGE: f64 = 5.0;
/// Factor for figures from the text of an article, after a day of unknown use.
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
    /// Whether `error`, in percent or points as the bound, is within it.
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
