//! Least squares by Levenberg and Marquardt (MINPACK's, in a crate), with wide differences for
//! derivatives: simulated figures jump a little, and narrow differences would measure the jumps.
//!
//! A simplex or an evolution strategy (argmin, cmaes) needs no derivatives, but some thousands of
//! simulations for this many parameters, and a simulation takes seconds. This method is quicker
//! because it uses every figure and not only their sum.

use std::cell::RefCell;
use std::f64::consts::FRAC_PI_2;

use flashlag_spec::profile::Profile;
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn};

use super::axis::Axis;
use super::search::{PULL, Point, Search, cost, profile_at};

/// A finite difference that changes every figure by less is widened: figures have steps of nearly a
/// percent.
const SEEN: f64 = 0.03;
/// Minimum distance of a start from the ends of the range, where the map from the unbounded coordinate
/// is flat.
const EDGE: f64 = 0.03;
/// Damping of a Gauss-Newton step: a parameter whose whole range changes no figure by this much stays.
const DAMPED: f64 = 0.1;
/// Maximum length of such a step, as a share of a range.
const FARTHEST: f64 = 0.3;
/// Minimum expected improvement of a step.
const TOLERANCE: f64 = 1e-3;

/// Maximum looks along an axis: its step is widened three times at most.
const LOOKS: usize = 4;

/// How each figure changes along each axis, over its whole range. Axes along which little changes
/// are given wider steps.
pub(super) fn jacobian(
    search: &mut Search<'_>,
    base: &Profile,
    axes: &mut [Axis],
    point: &Point,
) -> DMatrix<f64> {
    if search.left() >= LOOKS * axes.len() {
        prepare_widened(search, base, axes.to_vec(), point);
    }
    let mut matrix = DMatrix::zeros(point.residuals.len(), axes.len());
    for index in 0..axes.len() {
        axes[index].tried = false;
        while let Some(column) = slope(search, base, axes, index, point) {
            matrix.set_column(index, &column);
            axes[index].tried = true;
            if column.amax() * axes[index].step > SEEN || !axes[index].widen() {
                break;
            }
        }
    }
    matrix
}

/// Simulates side by side what [`jacobian`] looks at.
fn prepare_widened(search: &mut Search<'_>, base: &Profile, mut axes: Vec<Axis>, point: &Point) {
    let mut waiting: Vec<usize> = (0..axes.len()).collect();
    while !waiting.is_empty() {
        prepare(search, base, &axes, &waiting, point);
        waiting.retain(|&index| {
            let there = profile_at(base, &axes, &beside(&axes[index], index, point)).ok();
            let Some(there) = there.and_then(|there| search.glance(&there)) else { return false };
            let change = |(there, here): (&f64, &f64)| (there - here).abs();
            let most = there.iter().zip(&point.residuals).map(change).fold(0.0, f64::max);
            most <= SEEN && axes[index].widen()
        });
    }
}

/// Simulates side by side what the slopes along these axes need.
fn prepare(
    search: &mut Search<'_>,
    base: &Profile,
    axes: &[Axis],
    wanted: &[usize],
    point: &Point,
) {
    let there = |&index: &usize| profile_at(base, axes, &beside(&axes[index], index, point)).ok();
    let profiles: Vec<Profile> = wanted.iter().filter_map(there).collect();
    search.prepare(&profiles);
}

/// The finite difference along an axis: away from the nearer end of its range.
pub(super) fn step(axis: &Axis, here: f64) -> f64 {
    if here <= 0.5 { axis.step } else { -axis.step }
}

/// A point beside another one along one axis.
fn beside(axis: &Axis, index: usize, point: &Point) -> Vec<f64> {
    let mut places = point.places.clone();
    places[index] += step(axis, places[index]);
    places
}

/// How each figure changes along one axis; `None` if no simulation was left.
fn slope(
    search: &mut Search<'_>,
    base: &Profile,
    axes: &[Axis],
    index: usize,
    point: &Point,
) -> Option<DVector<f64>> {
    let step = step(&axes[index], point.places[index]);
    let there = search.at(base, axes, &beside(&axes[index], index, point))?;
    let differences = there.iter().zip(&point.residuals).map(|(there, here)| (there - here) / step);
    Some(DVector::from_iterator(there.len(), differences))
}

/// The same for some axes.
fn slopes(
    search: &mut Search<'_>,
    base: &Profile,
    axes: &[Axis],
    active: &[usize],
    point: &Point,
) -> Option<DMatrix<f64>> {
    prepare(search, base, axes, active, point);
    let columns: Option<Vec<DVector<f64>>> =
        active.iter().map(|&index| slope(search, base, axes, index, point)).collect();
    Some(DMatrix::from_columns(&columns?))
}

/// Where one step of Gauss and Newton leads from a place, by slopes that were taken nearby.
pub(super) fn corrected(
    jacobian: &DMatrix<f64>,
    active: &[usize],
    point: &Point,
) -> Option<Vec<f64>> {
    if active.is_empty() || jacobian.nrows() != point.residuals.len() {
        return None;
    }
    let slopes = jacobian.select_columns(active);
    let mut normal = slopes.transpose() * &slopes;
    for index in 0..active.len() {
        normal[(index, index)] += DAMPED * DAMPED;
    }
    let off = slopes.transpose() * DVector::from_column_slice(&point.residuals);
    let step = normal.cholesky()?.solve(&off);
    let mut places = point.places.clone();
    for (&index, step) in active.iter().zip(step.iter()) {
        places[index] = (places[index] - step.clamp(-FARTHEST, FARTHEST)).clamp(0.0, 1.0);
    }
    Some(places)
}

/// Takes the slopes of some axes anew.
pub(super) fn refresh(
    search: &mut Search<'_>,
    base: &Profile,
    axes: &[Axis],
    active: &[usize],
    point: &Point,
    jacobian: &mut DMatrix<f64>,
) {
    if search.left() <= active.len() || jacobian.nrows() != point.residuals.len() {
        return;
    }
    prepare(search, base, axes, active, point);
    for &index in active {
        if let Some(column) = slope(search, base, axes, index, point) {
            jacobian.set_column(index, &column);
        }
    }
}

/// The best place that can be reached from `start` with at most `share` simulations.
pub(super) fn solve(
    search: &mut Search<'_>,
    base: &Profile,
    axes: &[Axis],
    active: &[usize],
    start: Point,
    share: usize,
) -> Point {
    let until = search.simulations + share;
    if active.is_empty() || !search.affords(active.len() + 1, until) {
        return start;
    }
    let x = DVector::from_iterator(
        active.len(),
        active.iter().map(|&index| unbounded(start.places[index].clamp(EDGE, 1.0 - EDGE))),
    );
    let problem = Problem {
        inner: RefCell::new(Inner { search, best: start.clone(), until }),
        base,
        axes,
        active,
        start: start.places,
        x,
    };
    let (problem, _) = LevenbergMarquardt::new()
        .with_ftol(TOLERANCE)
        .with_xtol(TOLERANCE)
        .with_gtol(TOLERANCE)
        .with_stepbound(1.0)
        .with_patience(20)
        .minimize(problem);
    problem.inner.into_inner().best
}

/// 0 to 1 from any number, as MINUIT does it.
fn bounded(x: f64) -> f64 {
    (x.sin() + 1.0) / 2.0
}

fn unbounded(place: f64) -> f64 {
    (2.0 * place - 1.0).asin().clamp(-FRAC_PI_2, FRAC_PI_2)
}

struct Inner<'a, 'b> {
    search: &'a mut Search<'b>,
    best: Point,
    until: usize,
}

struct Problem<'a, 'b> {
    inner: RefCell<Inner<'a, 'b>>,
    base: &'a Profile,
    axes: &'a [Axis],
    active: &'a [usize],
    start: Vec<f64>,
    x: DVector<f64>,
}

impl Problem<'_, '_> {
    fn places(&self) -> Vec<f64> {
        let mut places = self.start.clone();
        for (&index, x) in self.active.iter().zip(self.x.iter()) {
            places[index] = bounded(*x);
        }
        places
    }

    /// The residuals here; keeps the best.
    fn look(&self) -> Option<Point> {
        let inner = &mut *self.inner.borrow_mut();
        if inner.search.simulations >= inner.until {
            return None;
        }
        let places = self.places();
        let residuals = inner.search.at(self.base, self.axes, &places)?;
        let point = Point { places, residuals };
        if cost(self.axes, &point) < cost(self.axes, &inner.best) {
            inner.best = point.clone();
        }
        Some(point)
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Problem<'_, '_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, x: &DVector<f64>) {
        self.x.copy_from(x);
    }

    fn params(&self) -> DVector<f64> {
        self.x.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let point = self.look()?;
        let pulls = self.active.iter().map(|&index| {
            let axis = &self.axes[index];
            PULL * (point.places[index] - axis.place(axis.start))
        });
        let all: Vec<f64> = point.residuals.iter().copied().chain(pulls).collect();
        Some(DVector::from_vec(all))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let point = self.look()?;
        let inner = &mut *self.inner.borrow_mut();
        if !inner.search.affords(self.active.len(), inner.until) {
            return None;
        }
        let figures = slopes(inner.search, self.base, self.axes, self.active, &point)?;
        let (rows, columns) = figures.shape();
        let mut matrix = DMatrix::zeros(rows + columns, columns);
        for (column, x) in self.x.iter().enumerate() {
            // Never quite flat: an end of the range must not hold a parameter for good.
            let slope = x.cos() / 2.0;
            let slope = if slope.abs() < 0.05 { 0.05_f64.copysign(slope) } else { slope };
            for row in 0..rows {
                matrix[(row, column)] = figures[(row, column)] * slope;
            }
            matrix[(rows + column, column)] = PULL * slope;
        }
        Some(matrix)
    }
}
