//! What was fitted, to what, and how free it was.

use flashlag_schema::profile::{Parameter, Profile};

use super::bars::Verdict;
use super::cells::Cell;
use crate::knob;

/// A bound is what lies within this share of the range.
const AT_BOUND: f64 = 0.01;

/// A parameter that was fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// `nand.program`.
    pub key: String,
    /// Its value, as it is written.
    pub value: String,
    /// The plausible values, lowest and highest, as they are written.
    pub range: Option<(String, String)>,
    /// Which bound it sits on: `lowest`, `highest`.
    pub bound: Option<&'static str>,
    /// Whether it lies outside its range.
    pub outside: bool,
    /// The rows that it was fitted to.
    pub rows: Vec<String>,
    /// Where its range comes from.
    pub source: String,
}

/// How many parameters were fitted to how many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overfitting {
    /// Parameters that were fitted.
    pub parameters: usize,
    /// Rows that at least one of them was fitted to.
    pub fitted_cells: usize,
    /// Rows to which nothing was fitted: what the model foretells.
    pub free_cells: usize,
    /// Those of them that are within their bars.
    pub free_passed: usize,
}

pub(super) fn fitted(profile: &Profile) -> Vec<Fitted> {
    let all = profile.parameters.iter().filter(|(_, parameter)| !parameter.fitted.is_empty());
    all.map(|(key, parameter)| {
        let (bound, outside) = at_bound(parameter);
        Fitted {
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

/// Which bound a parameter sits on, and whether it is beyond one.
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

pub(super) fn overfitting(fitted: &[Fitted], cells: &[Cell]) -> Overfitting {
    let free = || cells.iter().filter(|cell| cell.fitted.is_empty());
    Overfitting {
        parameters: fitted.len(),
        fitted_cells: cells.len() - free().count(),
        free_cells: free().count(),
        free_passed: free().filter(|cell| cell.verdict == Verdict::Pass).count(),
    }
}
