use super::bars::Verdict;
use super::cells::Cell;
use super::judge;
use super::order::Inversion;
use super::parameters::{FittedParameter, Overfitting};
use super::sensitivity::Sensitivity;

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckReport {
    /// The profile's name.
    pub profile: String,
    /// The description of the device.
    pub about: String,
    /// The simulated seeds.
    pub seeds: Vec<u64>,
    /// One for each published row, in their order, also for rows without a simulated figure.
    pub cells: Vec<Cell>,
    /// Pairs of rows of one column in the reverse order.
    pub inversions: Vec<Inversion>,
    pub fitted: Vec<FittedParameter>,
    /// The numbers of fitted parameters and rows.
    pub overfitting: Overfitting,
    /// The sensitivity of the rows to them; empty unless requested.
    pub sensitivity: Vec<Sensitivity>,
    /// The assumptions of profile and protocols.
    pub assumptions: Vec<String>,
}

impl CheckReport {
    /// Number of rows within 20 % of the published value; published changes within 5 points.
    pub fn near(&self) -> usize {
        self.cells.iter().filter(|cell| judge::is_near(cell)).count()
    }

    /// Whether every row is within its bound and no column's order is inverted.
    pub fn passed(&self) -> bool {
        let fine = |cell: &Cell| matches!(cell.verdict, Verdict::Pass | Verdict::Allowance);
        self.cells.iter().all(fine) && self.inversions.is_empty()
    }
}
