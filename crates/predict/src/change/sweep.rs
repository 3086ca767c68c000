use super::figures::{Figures, PredictOptions, measure};
use super::parse::{Change, level};
use super::situation::Situation;
use super::{beyond, plan};
use crate::{ChangeError, PredictError, Simulator};
use flashlag_spec::published::Published;

/// A device at one fill level after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The profile's name.
    pub profile: String,
    /// Filesystem and options.
    pub filesystem: String,
    /// The levels, from low to high.
    pub levels: Vec<Level>,
    /// Warnings: doubts about the run that its profile was fitted to, and a large misfit.
    pub warnings: Vec<String>,
    /// Extrapolations beyond published measurements.
    pub beyond: Vec<String>,
    pub assumptions: Vec<String>,
}

/// One fill level.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The share of the filesystem's room that is in use.
    pub full: f64,
    pub figures: Figures,
}

/// Distance of levels.
const APART: f64 = 0.1;

/// Parses `full=10%..95%`: levels ten points apart, and the last.
///
/// # Errors
/// The text is no sweep; the error shows the notation.
pub fn parse_levels(text: &str) -> Result<Vec<f64>, PredictError> {
    let refuse = |reason| PredictError::Change { change: text.to_owned(), reason };
    let parts = text
        .strip_prefix("full=")
        .and_then(|range| range.split_once(".."))
        .ok_or_else(|| refuse(ChangeError::NoSweep))?;
    let from = level(parts.0.trim()).map_err(refuse)?;
    let to = level(parts.1.trim()).map_err(refuse)?;
    if from >= to {
        return Err(refuse(ChangeError::NotRising));
    }
    let steps = ((to - from) / APART + 1e-9).floor() as u32;
    let mut levels: Vec<f64> = (0..=steps).map(|step| from + f64::from(step) * APART).collect();
    if levels.last().is_some_and(|last| to - last > 1e-6) {
        levels.push(to);
    }
    Ok(levels)
}

/// Simulates a device at each of these levels, in parallel.
pub fn sweep(
    start: &Situation,
    levels: &[f64],
    published: &[Published],
    simulator: &dyn Simulator,
    options: &PredictOptions,
) -> Result<Sweep, PredictError> {
    let mut base = start.clone();
    (base.plan.daily, base.plan.rollback) = (options.daily, options.rollback);
    let mut situations = Vec::new();
    let mut doubts: Vec<String> = Vec::new();
    for &full in levels {
        let change = Change::Full(full);
        let situation = base.with(&change).map_err(|error| PredictError::Change {
            change: change.to_string(),
            reason: error.into(),
        })?;
        for doubt in beyond::beyond(&base, &situation, &change, published) {
            if !doubts.contains(&doubt) {
                doubts.push(doubt);
            }
        }
        situations.push((situation, change.to_string()));
    }
    let figures = measure(&situations, simulator, options)?;
    let measured = levels.iter().zip(figures).map(|(&full, figures)| Level { full, figures });
    let measured = measured.collect();
    let last = situations.last().map(|(situation, _)| plan::assumptions(&situation.plan));
    let assumptions = last.unwrap_or_default();
    Ok(Sweep {
        profile: start.profile.name.clone(),
        filesystem: start.mount.to_string(),
        levels: measured,
        warnings: start.warnings(),
        beyond: doubts,
        assumptions,
    })
}
