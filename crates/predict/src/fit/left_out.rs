//! What a profile forecasts of published rows that it was not fitted to: each test is left out once, and the
//! others alone decide the fitted parameters.
//!
//! The parameters that only the left-out test determines fall back to the middle of their plausible
//! ranges. So a profile with as many parameters as rows does not get its own values back.

use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;
use flashlag_stats::change::median;
use nalgebra::{DMatrix, DVector};

use super::axis::{Axis, of_fitted};
use super::rows::OfRows;
use super::search::{Objective, profile_at};
use super::solve::step;
use crate::check::{Protocol, protocols, rows_of};
use crate::{PredictError, Simulator, parallel};

/// Standard deviation of a row, as a logarithm: half of the usual bar of a fifth.
const ROW: f64 = 0.1;
/// Standard deviation of a parameter about the middle of its range, as a share of the range: its ends are two
/// of them away.
const RANGE: f64 = 0.25;
/// The middle of a range.
const MIDDLE: f64 = 0.5;
/// Steps of Gauss and Newton from the profile's own values.
const STEPS: usize = 2;

/// A published row, as forecast by the others.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOutRow {
    pub published: Published,
    /// `filled/rand_write_4k`: all rows of that test were left out together.
    pub label: String,
    /// The error of the profile's own figure, in percent, or in points for a change.
    pub own: f64,
    /// The error of the forecast without the test's rows.
    pub error: f64,
}

/// The rows that a profile was fitted to, each forecast without its test.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The profile's name.
    pub profile: String,
    /// The parameters that were fitted anew each time.
    pub parameters: Vec<String>,
    pub rows: Vec<LeftOutRow>,
}

impl LeftOut {
    /// The median and the largest size of all errors; `None` without rows.
    pub fn median_and_worst(&self) -> Option<(f64, f64)> {
        let sizes: Vec<f64> = self.rows.iter().map(|row| row.error.abs()).collect();
        let worst = sizes.iter().copied().max_by(f64::total_cmp)?;
        Some((median(&sizes), worst))
    }
}

/// Forecasts each test of a profile's published rows from the others, with one seed.
///
/// # Errors
/// The profile has no check, a protocol can't be parsed, or a run can't be simulated.
pub fn left_out(
    profile: &Profile,
    published: &[Published],
    scenario_text: &dyn Fn(&str) -> Option<String>,
    simulator: &dyn Simulator,
) -> Result<LeftOut, PredictError> {
    let mut protocols = protocols(profile, scenario_text)?;
    protocols
        .retain(|protocol| rows_of(protocol, published).iter().any(|row| row.is_fitted(profile)));
    let axes = of_fitted(profile);
    let parameters = axes.iter().map(|axis| axis.key.clone()).collect();
    let rows = if axes.is_empty() || protocols.is_empty() {
        Vec::new()
    } else {
        let objective = OfRows { protocols: &protocols, published, seeds: &[1], simulator };
        let rows = fitted(profile, &protocols, published);
        Rest::new(profile, &axes, &objective, &rows)?.each()?
    };
    Ok(LeftOut { profile: profile.name.clone(), parameters, rows })
}

/// Each row's label, and whether a parameter was fitted to it, in the order of the residuals.
fn fitted<'a>(
    profile: &Profile,
    protocols: &'a [Protocol<'_>],
    published: &'a [Published],
) -> Vec<(String, bool, &'a Published)> {
    let rows = protocols.iter().flat_map(|protocol| rows_of(protocol, published));
    rows.map(|row| (row.label(), row.is_fitted(profile), row.published)).collect()
}

/// The fitted rows of a profile, and how each changes with each parameter.
struct Rest<'a> {
    profile: &'a Profile,
    axes: &'a [Axis],
    objective: &'a OfRows<'a>,
    rows: &'a [(String, bool, &'a Published)],
    places: DVector<f64>,
    residuals: DVector<f64>,
    slopes: DMatrix<f64>,
}

impl<'a> Rest<'a> {
    fn new(
        profile: &'a Profile,
        axes: &'a [Axis],
        objective: &'a OfRows<'a>,
        rows: &'a [(String, bool, &'a Published)],
    ) -> Result<Rest<'a>, PredictError> {
        let places = axes.iter().map(|axis| axis.place(axis.start));
        let places = DVector::from_iterator(axes.len(), places);
        let mut rest = Rest {
            profile,
            axes,
            objective,
            rows,
            residuals: DVector::zeros(rows.len()),
            slopes: DMatrix::zeros(rows.len(), axes.len()),
            places,
        };
        rest.residuals = rest.at(&rest.places)?;
        let numbered: Vec<(usize, &Axis)> = axes.iter().enumerate().collect();
        let slopes = parallel::try_map(objective.threads(), &numbered, |&(index, axis)| {
            let step = step(axis, rest.places[index]);
            let mut beside = rest.places.clone();
            beside[index] += step;
            Ok::<_, PredictError>((rest.at(&beside)? - &rest.residuals) / step)
        })?;
        rest.slopes = DMatrix::from_columns(&slopes);
        Ok(rest)
    }

    /// The residuals of a device with these parameters.
    fn at(&self, places: &DVector<f64>) -> Result<DVector<f64>, PredictError> {
        let there = profile_at(self.profile, self.axes, places.as_slice())?;
        let found =
            self.objective.residuals(&there).map_err(|reason| PredictError::Simulation {
                what: format!("{} with other values", self.profile.name),
                reason,
            })?;
        Ok(DVector::from_vec(found))
    }

    /// Each fitted row, as forecast without its test.
    fn each(&self) -> Result<Vec<LeftOutRow>, PredictError> {
        let mut labels: Vec<&String> = Vec::new();
        for (label, is_fitted, _) in self.rows {
            if *is_fitted && !labels.contains(&label) {
                labels.push(label);
            }
        }
        let forecasts =
            parallel::try_map(self.objective.threads(), &labels, |label| self.without(label))?;
        let mut all = Vec::new();
        for (label, forecast) in labels.into_iter().zip(forecasts) {
            for (index, (of, _, published)) in self.rows.iter().enumerate() {
                if of == label {
                    all.push(LeftOutRow {
                        published: (*published).clone(),
                        label: label.clone(),
                        own: error(published, self.residuals[index]),
                        error: error(published, forecast[index]),
                    });
                }
            }
        }
        Ok(all)
    }

    /// The residuals with the parameters that all other tests decide.
    fn without(&self, label: &str) -> Result<DVector<f64>, PredictError> {
        let counts = |index: usize| self.rows[index].1 && self.rows[index].0 != label;
        let weight = |index: usize| if counts(index) { 1.0 / (ROW * ROW) } else { 0.0 };
        let weights = DVector::from_fn(self.rows.len(), |index, _| weight(index));
        let pull = 1.0 / (RANGE * RANGE);
        let mut weighted = self.slopes.transpose();
        for (index, mut column) in weighted.column_iter_mut().enumerate() {
            column *= weights[index];
        }
        let mut normal = &weighted * &self.slopes;
        for index in 0..self.axes.len() {
            normal[(index, index)] += pull;
        }
        let Some(normal) = normal.cholesky() else { return Ok(self.residuals.clone()) };
        let cost = |places: &DVector<f64>, residuals: &DVector<f64>| {
            let rows = residuals.iter().zip(&weights).map(|(off, weight)| off * off * weight);
            let pulls = places.iter().map(|place| (place - MIDDLE).powi(2) * pull);
            rows.sum::<f64>() + pulls.sum::<f64>()
        };
        let (mut places, mut residuals) = (self.places.clone(), self.residuals.clone());
        // The profile's own values know the row that is left out, so they are no candidate.
        let mut best: Option<(f64, DVector<f64>)> = None;
        for _ in 0..STEPS {
            let down = &weighted * &residuals + places.map(|place| (place - MIDDLE) * pull);
            places = (&places - normal.solve(&down)).map(|place| place.clamp(0.0, 1.0));
            residuals = self.at(&places)?;
            let cost = cost(&places, &residuals);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, residuals.clone()));
            }
        }
        Ok(best.map_or(residuals, |(_, residuals)| residuals))
    }
}

/// A residual as an error in percent, or in points for a change.
fn error(published: &Published, residual: f64) -> f64 {
    if published.unit == "%" { residual * super::rows::POINTS } else { residual.exp_m1() * 100.0 }
}
