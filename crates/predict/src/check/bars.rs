//! The bounds on the error of a simulated row.

use flashlag_spec::profile::ProfileCheck;
use flashlag_spec::published::Published;

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
/// Bound of medians and means, in percent.
const LATENCY: f64 = 15.0;
/// Bound of p90, in percent: tails differ more from one run to the next than medians.
const P90: f64 = 20.0;
/// Bound of p99 and p99.9, in percent.
const TAIL: f64 = 25.0;
/// Bound of changes, in points.
pub(super) const CHANGE: f64 = 5.0;
/// Factor for figures from the text of an article, after a day of unknown use.
const TORTURE: f64 = 2.0;

/// The bound of a row: the usual one of its metric, or the check's own if that is narrower.
pub(super) fn bar(row: &Published, check: &ProfileCheck) -> Bar {
    match (usual(row), check.bars.get(&row.metric)) {
        (Bar::Percent(usual), Some(own)) => Bar::Percent(usual.min(*own)),
        (usual, _) => usual,
    }
}

fn usual(row: &Published) -> Bar {
    if row.unit == "%" {
        Bar::Points(CHANGE)
    } else if row.condition.ends_with("torture") {
        Bar::Factor(TORTURE)
    } else if row.metric.starts_with("latency") {
        Bar::Percent(match row.metric.as_str() {
            "latency p90" => P90,
            "latency p99" | "latency p99.9" => TAIL,
            _ => LATENCY,
        })
    } else {
        Bar::Percent(CELL)
    }
}

impl Bar {
    /// Whether `error` (in percent or points, as the bound) is within the bound.
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
