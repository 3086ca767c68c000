//! Profiles of one family, fitted at once: what is known of a parameter in one of them counts for the others.

use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;
use nalgebra::{DMatrix, DVector};

use super::axis::{Axis, of_fitted};
use super::rows::OfRows;
use super::search::{Objective, profile_at};
use super::solve::step;
use crate::check::rows_of;
use crate::{PredictError, parallel};

/// Standard deviation of a row, as a logarithm: half of the usual bar of a fifth.
const ROW: f64 = 0.1;
/// Standard deviation of a parameter about the middle of its range, as a share of the range: its ends are two
/// of them away.
const RANGE: f64 = 0.25;
/// The middle of a range.
const MIDDLE: f64 = 0.5;
/// How much of a parameter's variance a family has in common. Assumed: two of its devices differ by 45 % of what
/// two of any family do, the root of what is left.
const COMMON: f64 = 0.8;
/// Steps of Gauss and Newton from the profile's own values.
const STEPS: usize = 2;

/// A row that a profile is checked against.
pub(super) struct OwnRow<'a> {
    /// Its test: `filled/rand_write_4k`.
    pub label: String,
    /// Whether a parameter was fitted to it.
    is_fitted: bool,
    pub published: &'a Published,
}

/// A profile, its fitted rows, and how each changes with each parameter.
pub(super) struct Member<'a> {
    pub profile: &'a Profile,
    pub axes: Vec<Axis>,
    objective: &'a OfRows<'a>,
    /// In the order of the residuals.
    pub rows: Vec<OwnRow<'a>>,
    places: DVector<f64>,
    /// Those of the profile's own values.
    pub residuals: DVector<f64>,
    slopes: DMatrix<f64>,
}

impl<'a> Member<'a> {
    /// Simulates the profile, and once more for each fitted parameter.
    pub fn new(
        profile: &'a Profile,
        objective: &'a OfRows<'a>,
    ) -> Result<Member<'a>, PredictError> {
        let rows = objective
            .protocols
            .iter()
            .flat_map(|protocol| rows_of(protocol, objective.published))
            .map(|row| OwnRow {
                label: row.label(),
                is_fitted: row.is_fitted(profile),
                published: row.published,
            });
        let rows: Vec<OwnRow<'_>> = rows.collect();
        let axes = of_fitted(profile);
        let places = axes.iter().map(|axis| axis.place(axis.start));
        let mut member = Member {
            profile,
            objective,
            places: DVector::from_iterator(axes.len(), places),
            residuals: DVector::zeros(rows.len()),
            slopes: DMatrix::zeros(rows.len(), axes.len()),
            axes,
            rows,
        };
        if member.rows.is_empty() || member.axes.is_empty() {
            return Ok(member);
        }
        member.residuals = member.at(&member.places)?;
        let numbered: Vec<(usize, &Axis)> = member.axes.iter().enumerate().collect();
        let slopes = parallel::try_map(objective.threads(), &numbered, |&(index, axis)| {
            let step = step(axis, member.places[index]);
            let mut beside = member.places.clone();
            beside[index] += step;
            Ok::<_, PredictError>((member.at(&beside)? - &member.residuals) / step)
        })?;
        member.slopes = DMatrix::from_columns(&slopes);
        Ok(member)
    }

    /// The residuals of a device with these parameters.
    fn at(&self, places: &DVector<f64>) -> Result<DVector<f64>, PredictError> {
        let there = profile_at(self.profile, &self.axes, places.as_slice())?;
        let found =
            self.objective.residuals(&there).map_err(|reason| PredictError::Simulation {
                what: format!("{} with other values", self.profile.name),
                reason,
            })?;
        Ok(DVector::from_vec(found))
    }

    /// About the residuals with these parameters, without a simulation.
    fn near(&self, places: &DVector<f64>) -> DVector<f64> {
        &self.residuals + &self.slopes * (places - &self.places)
    }

    /// The tests with a row that a parameter was fitted to, each once.
    pub fn labels(&self) -> Vec<&str> {
        let mut labels: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| row.is_fitted && !self.axes.is_empty()) {
            if !labels.contains(&row.label.as_str()) {
                labels.push(&row.label);
            }
        }
        labels
    }

    /// The weight of each row where these are left out, also where a row is another profile's too.
    fn weights(&self, without: &[&Published]) -> DVector<f64> {
        let counts = |row: &OwnRow<'_>| row.is_fitted && !without.contains(&row.published);
        let weight = |row| if counts(row) { 1.0 / (ROW * ROW) } else { 0.0 };
        DVector::from_iterator(self.rows.len(), self.rows.iter().map(weight))
    }

    fn published_of(&self, label: &str) -> Vec<&Published> {
        let rows = self.rows.iter().filter(|row| row.label == label);
        rows.map(|row| row.published).collect()
    }
}

/// What is known of all parameters before any row: their means, and the inverse of their covariances.
struct Prior {
    means: DVector<f64>,
    precision: DMatrix<f64>,
}

impl Prior {
    /// Those of these axes, of which the ones with the same key are one family's.
    fn of(axes: &[&Axis]) -> Prior {
        let mut means = DVector::from_element(axes.len(), MIDDLE);
        let mut covariance = DMatrix::zeros(axes.len(), axes.len());
        for (index, axis) in axes.iter().enumerate() {
            let kin: Vec<&Axis> =
                axes.iter().copied().filter(|other| other.key == axis.key).collect();
            let mean = |of: &dyn Fn(&Axis) -> f64| {
                kin.iter().map(|axis| of(axis)).sum::<f64>() / kin.len().max(1) as f64
            };
            // In logarithms of values, since ranges differ.
            let middle = mean(&|axis| axis.low_end() + MIDDLE * axis.reach());
            let deviation = mean(&|axis| RANGE * axis.reach());
            means[index] = (middle - axis.low_end()) / axis.reach();
            for (beside, other) in axes.iter().enumerate().filter(|(_, it)| it.key == axis.key) {
                let common = if beside == index { 1.0 } else { COMMON };
                covariance[(index, beside)] =
                    common * deviation * deviation / (axis.reach() * other.reach());
            }
        }
        let size = axes.len();
        // Positive definite, as one family's variance is never all in common.
        let precision = covariance.cholesky().map(|it| it.inverse());
        Prior { means, precision: precision.unwrap_or_else(|| DMatrix::identity(size, size)) }
    }
}

/// Profiles that are fitted at once.
pub(super) struct Family<'a> {
    pub members: Vec<Member<'a>>,
    prior: Prior,
}

impl<'a> Family<'a> {
    pub fn new(members: Vec<Member<'a>>) -> Family<'a> {
        let axes: Vec<&Axis> = members.iter().flat_map(|member| &member.axes).collect();
        Family { prior: Prior::of(&axes), members }
    }

    /// Where a member's parameters begin among those of all, and how many they are.
    fn own(&self, index: usize) -> (usize, usize) {
        let before = self.members[..index].iter().map(|member| member.axes.len()).sum();
        (before, self.members[index].axes.len())
    }

    /// A member's residuals with the parameters that all tests but this one decide.
    pub fn without(&self, of: usize, label: &str) -> Result<DVector<f64>, PredictError> {
        let member = &self.members[of];
        let without = member.published_of(label);
        let weights: Vec<DVector<f64>> =
            self.members.iter().map(|member| member.weights(&without)).collect();
        let mut normal = self.prior.precision.clone();
        for (index, (member, weights)) in self.members.iter().zip(&weights).enumerate() {
            let (start, size) = self.own(index);
            let mut part = normal.view_mut((start, start), (size, size));
            part += member.slopes.transpose() * DMatrix::from_diagonal(weights) * &member.slopes;
        }
        let Some(normal) = normal.cholesky() else { return Ok(member.residuals.clone()) };
        let all = self.members.iter().flat_map(|member| member.places.iter().copied());
        let mut places = DVector::from_iterator(self.prior.means.len(), all);
        let mut residuals: Vec<DVector<f64>> =
            self.members.iter().map(|member| member.residuals.clone()).collect();
        // The profile's own values know the row that is left out, so they are no candidate.
        let mut best: Option<(f64, DVector<f64>)> = None;
        for _ in 0..STEPS {
            places = (&places - normal.solve(&self.downhill(&weights, &places, &residuals)))
                .map(|place| place.clamp(0.0, 1.0));
            for (index, member) in self.members.iter().enumerate() {
                let (start, size) = self.own(index);
                let own = places.rows(start, size).into_owned();
                residuals[index] = if index == of { member.at(&own)? } else { member.near(&own) };
            }
            let cost = self.cost(&weights, &places, &residuals);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, residuals[of].clone()));
            }
        }
        Ok(best.map_or_else(|| member.residuals.clone(), |(_, residuals)| residuals))
    }

    /// Half the slope of the cost.
    fn downhill(
        &self,
        weights: &[DVector<f64>],
        places: &DVector<f64>,
        residuals: &[DVector<f64>],
    ) -> DVector<f64> {
        let mut slope = &self.prior.precision * (places - &self.prior.means);
        for (index, member) in self.members.iter().enumerate() {
            let (start, size) = self.own(index);
            let mut part = slope.rows_mut(start, size);
            part += member.slopes.transpose() * residuals[index].component_mul(&weights[index]);
        }
        slope
    }

    /// How unlikely residuals and parameters are.
    fn cost(
        &self,
        weights: &[DVector<f64>],
        places: &DVector<f64>,
        residuals: &[DVector<f64>],
    ) -> f64 {
        let rows = residuals.iter().zip(weights);
        let rows: f64 = rows.map(|(off, weights)| off.component_mul(off).dot(weights)).sum();
        let off = places - &self.prior.means;
        rows + off.dot(&(&self.prior.precision * &off))
    }
}
