//! How near a simulated row must be.

use super::cells::Cell;
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
const CELL: f64 = 20.0;
/// One write cell of each device.
const ALLOWANCE: f64 = 35.0;
/// Medians.
const LATENCY: f64 = 15.0;
/// Losses.
const CHANGE: f64 = 5.0;
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

/// Whether a row comes out within 20 %, whatever its bar is; a change in percent within its points.
pub(super) fn is_near(cell: &Cell) -> bool {
    let bar = match cell.bar {
        Bar::Points(_) => Bar::Points(CHANGE),
        _ => Bar::Percent(CELL),
    };
    cell.error.is_some_and(|error| bar.holds(error))
}

/// Judges every cell; of each device's write cells one may be off by more.
pub(super) fn judge(cells: &mut [Cell]) {
    for cell in cells.iter_mut() {
        cell.verdict = match cell.error {
            Some(error) if cell.bar.holds(error) => Verdict::Pass,
            Some(_) => Verdict::Fail,
            None => Verdict::Missing,
        };
    }
    let mut allowed: Vec<String> = Vec::new();
    for cell in cells.iter_mut() {
        let written = cell.test.contains("write") && cell.bar == Bar::Percent(CELL);
        let near = cell.error.is_some_and(|error| error.abs() <= ALLOWANCE);
        let device = &cell.published.device;
        if cell.verdict == Verdict::Fail && written && near && !allowed.contains(device) {
            allowed.push(device.clone());
            cell.verdict = Verdict::Allowance;
        }
    }
}
