//! Identifiability: the parameters that the figures of a run determine, and those it can't separate.

use nalgebra::DMatrix;

use super::axis::Axis;
use super::search::DETERMINED;

/// If the correlation of two parameters' effects is at least this, they count as one.
const ALIKE: f64 = 0.95;
/// Directions weaker than this share of the strongest are not determined.
const WEAK: f64 = 0.02;
/// Parameters with a smaller part in a direction are not named.
const PART: f64 = 0.3;

/// Minimum standard deviation of a figure: seeds scatter, and histograms have buckets.
const FINEST: f64 = 0.01;

/// The parameters that a fit could not determine from the figures it had.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identifiability {
    /// Keys of parameters that change no figure anywhere in their range.
    pub undetermined: Vec<String>,
    /// Groups of parameters that compensate each other.
    pub confounded: Vec<ConfoundedGroup>,
}

/// Parameters that have the same effect on all figures.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfoundedGroup {
    /// The keys: two, or more that compensate each other only together.
    pub keys: Vec<String>,
    /// The correlation of two; absent for more.
    pub correlation: Option<f64>,
}

/// The identifiability of `axes` by the derivatives of all residuals, a column for each axis.
pub(super) fn identifiability(axes: &[Axis], jacobian: &DMatrix<f64>) -> Identifiability {
    let strong: Vec<usize> =
        (0..axes.len()).filter(|index| jacobian.column(*index).amax() >= DETERMINED).collect();
    let undetermined = (0..axes.len())
        .filter(|index| !strong.contains(index))
        .map(|index| axes[index].key.clone())
        .collect();
    let mut columns = DMatrix::zeros(jacobian.nrows(), strong.len());
    for (column, &index) in strong.iter().enumerate() {
        columns.set_column(column, &jacobian.column(index).normalize());
    }
    let mut confounded = Vec::new();
    for one in 0..strong.len() {
        for other in one + 1..strong.len() {
            let correlation = columns.column(one).dot(&columns.column(other));
            if correlation.abs() > ALIKE {
                confounded.push(ConfoundedGroup {
                    keys: [one, other].map(|index| axes[strong[index]].key.clone()).to_vec(),
                    correlation: Some(correlation),
                });
            }
        }
    }
    groups(axes, &strong, columns, &mut confounded);
    Identifiability { undetermined, confounded }
}

/// Directions of three or more parameters that change no figure.
fn groups(
    axes: &[Axis],
    strong: &[usize],
    columns: DMatrix<f64>,
    confounded: &mut Vec<ConfoundedGroup>,
) {
    if strong.len() < 3 || columns.nrows() == 0 {
        return;
    }
    let decomposition = columns.svd(false, true);
    let Some(directions) = decomposition.v_t else { return };
    let strongest = decomposition.singular_values.max();
    for (row, strength) in decomposition.singular_values.iter().enumerate() {
        if *strength >= WEAK * strongest {
            continue;
        }
        let keys: Vec<String> = strong
            .iter()
            .enumerate()
            .filter(|(column, _)| directions[(row, *column)].abs() >= PART)
            .map(|(_, &index)| axes[index].key.clone())
            .collect();
        if keys.len() > 2 {
            confounded.push(ConfoundedGroup { keys, correlation: None });
        }
    }
}

/// The standard deviation of each parameter as a share of its value, from the remaining residuals.
pub(super) fn uncertainties(
    axes: &[Axis],
    jacobian: &DMatrix<f64>,
    residuals: &[f64],
) -> Vec<Option<f64>> {
    let freedom = residuals.len().saturating_sub(axes.len()).max(1) as f64;
    let left = residuals.iter().map(|one| one * one).sum::<f64>() / freedom;
    let variance = left.max(FINEST * FINEST);
    let mut normal = jacobian.transpose() * jacobian;
    for index in 0..axes.len() {
        // A weak prior: no parameter lies beyond its range.
        normal[(index, index)] += variance;
    }
    let Some(inverse) = normal.try_inverse() else { return vec![None; axes.len()] };
    (0..axes.len())
        .map(|index| {
            let is_determined = jacobian.column(index).amax() >= DETERMINED;
            let deviation = (variance * inverse[(index, index)].max(0.0)).sqrt();
            is_determined.then(|| (deviation * axes[index].reach()).exp_m1())
        })
        .collect()
}
