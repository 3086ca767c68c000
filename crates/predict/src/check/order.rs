//! The order of the rows of a column: which state is faster.

use super::cells::Cell;

/// Published values that differ by less have no order.
const DIFFERENT: f64 = 0.05;

/// Two rows of a column whose simulated order is the reverse of the published one, beyond the scatter
/// of seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Inversion {
    /// Device, workload and metric.
    pub column: (String, String, String),
    /// The condition whose published value is higher.
    pub higher: String,
    /// The condition whose published value is lower.
    pub lower: String,
    pub published: (f64, f64),
    /// Their simulated means.
    pub simulated: (f64, f64),
}

pub(super) fn inversions(cells: &[Cell]) -> Vec<Inversion> {
    let mut inversions = Vec::new();
    for (index, one) in cells.iter().enumerate() {
        for other in cells.iter().skip(index + 1) {
            if one.column() == other.column() {
                inversions.extend(inversion(one, other));
            }
        }
    }
    inversions
}

fn inversion(one: &Cell, other: &Cell) -> Option<Inversion> {
    let (high, low) =
        if one.published.value >= other.published.value { (one, other) } else { (other, one) };
    if high.published.value - low.published.value <= DIFFERENT * low.published.value.abs() {
        return None;
    }
    let (above, below) = (high.simulated.as_ref().ok()?, low.simulated.as_ref().ok()?);
    // Only if no seed of the one reaches any seed of the other.
    (above.high < below.low).then(|| Inversion {
        column: (
            high.published.device.clone(),
            high.published.workload.clone(),
            high.published.metric.clone(),
        ),
        higher: high.published.condition.clone(),
        lower: low.published.condition.clone(),
        published: (high.published.value, low.published.value),
        simulated: (above.mean, below.mean),
    })
}
