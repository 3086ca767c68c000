//! Judges simulated rows.

use super::bars::{ALLOWANCE, Bar, CELL, CHANGE, Verdict};
use super::cells::Cell;

/// Whether a row is within 20 %, whatever its bound is; a change in percent, within its points.
pub(super) fn is_near(cell: &Cell) -> bool {
    let bar = match cell.bar {
        Bar::Points(_) => Bar::Points(CHANGE),
        _ => Bar::Percent(CELL),
    };
    cell.error.is_some_and(|error| bar.holds(error))
}

/// Judges every cell; one write cell of each device has a wider bound.
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
        let latency = cell.published.metric.starts_with("latency");
        let written = cell.test.contains("write") && cell.bar == Bar::Percent(CELL) && !latency;
        let near = cell.error.is_some_and(|error| error.abs() <= ALLOWANCE);
        let device = &cell.published.device;
        if cell.verdict == Verdict::Fail && written && near && !allowed.contains(device) {
            allowed.push(device.clone());
            cell.verdict = Verdict::Allowance;
        }
    }
}
