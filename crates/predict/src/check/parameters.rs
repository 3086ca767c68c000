//! The fitted parameters of a profile, and the rows they were fitted to.

use flashlag_spec::profile::{Parameter, Profile};

use super::bars::Verdict;
use super::cells::Cell;
use crate::knob;

/// A parameter within this share of its range from an end counts as on that bound.
const AT_BOUND: f64 = 0.01;

/// A fitted parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedParameter {
    /// `nand.program`.
    pub key: String,
    /// Its value, as in the profile.
    pub value: String,
    /// The ends of its range, as in the profile.
    pub range: Option<(String, String)>,
    /// The bound it lies on: `lowest`, `highest`.
    pub bound: Option<&'static str>,
    /// Whether it lies outside its range.
    pub outside: bool,
    pub rows: Vec<String>,
    /// The source of its range.
    pub source: String,
}

/// The numbers of fitted parameters and of rows they were fitted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overfitting {
    /// FittedParameter parameters.
    pub parameters: usize,
    /// Rows that at least one parameter was fitted to.
    pub fitted_cells: usize,
    /// Rows without a fitted parameter, which the model predicts.
    pub free_cells: usize,
    /// Predicted rows within their bounds.
    pub free_passed: usize,
}

pub(super) fn fitted(profile: &Profile) -> Vec<FittedParameter> {
    let all = profile.parameters.iter().filter(|(_, parameter)| !parameter.fitted.is_empty());
    all.map(|(key, parameter)| {
        let (bound, outside) = at_bound(parameter);
        FittedParameter {
            key: key.clone(),
            value: knob::written(&parameter.value),
            range: parameter
                .range
                .as_ref()
                .map(|[low, high]| (knob::written(low), knob::written(high))),
            bound,
            outside,
            rows: parameter.fitted.clone(),
            source: parameter.source.clone(),
        }
    })
    .collect()
}

/// The bound a parameter lies on, and whether it is beyond one.
pub(crate) fn at_bound(parameter: &Parameter) -> (Option<&'static str>, bool) {
    let (Some(value), Some((low, high))) = (parameter.number(), parameter.bounds()) else {
        return (None, false);
    };
    let near = AT_BOUND * (high - low);
    let bound = if value <= low + near {
        Some("lowest")
    } else if value >= high - near {
        Some("highest")
    } else {
        None
    };
    (bound, value < low || value > high)
}

pub(super) fn overfitting(fitted: &[FittedParameter], cells: &[Cell]) -> Overfitting {
    let free = || cells.iter().filter(|cell| cell.fitted.is_empty());
    Overfitting {
        parameters: fitted.len(),
        fitted_cells: cells.len() - free().count(),
        free_cells: free().count(),
        free_passed: free().filter(|cell| cell.verdict == Verdict::Pass).count(),
    }
}
