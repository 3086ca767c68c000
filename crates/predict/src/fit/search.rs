//! The search: what the run tells at all, several starts, then what only moves in steps.

use std::collections::BTreeMap;

use flashlag_schema::profile::Profile;
use nalgebra::DMatrix;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::axis::{Axis, axes};
use super::figures::{FAR, misfit};
use super::{FitOptions, solve};
use crate::PredictError;
use crate::knob::{self, Grain};

/// A parameter by which no figure moves by more than this, from end to end of its range, is not
/// told by the run.
pub(super) const TOLD: f64 = 0.03;
/// Random places looked at for each further start.
const DRAWN: usize = 4;
/// A step of what moves in steps must make the sum of squares this much smaller.
const WORTH: f64 = 0.8;
/// The pull towards the starting values: off by the whole range counts as off by this much.
pub(super) const PULL: f64 = 0.02;

/// What a profile is held against.
pub(super) trait Objective {
    /// What each residual is of: `new/rand_write_4k`.
    fn labels(&self) -> Vec<String>;
    /// How many runs it takes to know a profile's residuals.
    fn runs(&self) -> usize;
    /// The logarithms of simulated over wanted.
    ///
    /// # Errors
    /// Why the profile can't be simulated.
    fn residuals(&mut self, profile: &Profile) -> Result<Vec<f64>, String>;
}

/// Simulations of changed profiles.
pub(super) struct Search<'a> {
    objective: &'a mut dyn Objective,
    labels: Vec<String>,
    seed: u64,
    limit: usize,
    /// How many profiles were simulated.
    pub simulations: usize,
    known: BTreeMap<Vec<String>, Vec<f64>>,
}

/// What a search came to.
pub(super) struct Found {
    /// The best profile, without new names and sources.
    pub profile: Profile,
    /// What moved freely.
    pub axes: Vec<Axis>,
    /// What moves in steps.
    pub coarse: Vec<Axis>,
    /// Its residuals.
    pub residuals: Vec<f64>,
    /// What each of them is of.
    pub labels: Vec<String>,
    /// How they change, by figure and axis, over the axis' whole range.
    pub jacobian: DMatrix<f64>,
    /// The misfit that each start came to.
    pub starts: Vec<f64>,
    /// Whether the search ended for want of simulations.
    pub exhausted: bool,
}

/// A place of all free axes, with what it comes to.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub places: Vec<f64>,
    pub residuals: Vec<f64>,
}

impl<'a> Search<'a> {
    pub fn new(
        objective: &'a mut dyn Objective,
        start: &Profile,
        seed: u64,
        options: &FitOptions,
    ) -> Result<Search<'a>, PredictError> {
        let labels = objective.labels();
        let limit = (options.simulations / objective.runs().max(1)).max(1);
        let known = BTreeMap::new();
        let mut search = Search { objective, labels, seed, limit, simulations: 0, known };
        search.simulate(start).map_err(|reason| PredictError::Simulation {
            what: format!("the profile {}", start.name),
            reason,
        })?;
        Ok(search)
    }

    /// How many runs were made.
    pub fn runs(&self) -> usize {
        self.simulations * self.objective.runs()
    }

    fn simulate(&mut self, profile: &Profile) -> Result<Vec<f64>, String> {
        let key: Vec<String> =
            profile.parameters.values().map(|one| knob::written(&one.value)).collect();
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        self.simulations += 1;
        let found = self.objective.residuals(profile)?;
        self.known.insert(key, found.clone());
        Ok(found)
    }

    /// The residuals of a profile; `None` where no simulation is left. What can't be simulated is
    /// as far off as can be.
    pub fn residuals_of(&mut self, profile: &Profile) -> Option<Vec<f64>> {
        if self.simulations >= self.limit {
            return None;
        }
        let far = vec![FAR; self.labels.len()];
        Some(self.simulate(profile).unwrap_or(far))
    }

    /// The residuals with the axes at these places.
    pub fn at(&mut self, base: &Profile, axes: &[Axis], places: &[f64]) -> Option<Vec<f64>> {
        match profile_at(base, axes, places) {
            Ok(profile) => self.residuals_of(&profile),
            Err(_) => Some(vec![FAR; self.labels.len()]),
        }
    }

    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.simulations)
    }

    /// Seeks the profile that comes nearest, from `start` and from other places.
    pub fn run(
        &mut self,
        start: &Profile,
        held: &[(String, String)],
        options: &FitOptions,
    ) -> Found {
        let (mut fine, coarse): (Vec<Axis>, Vec<Axis>) =
            axes(start, held).into_iter().partition(|axis| axis.grain == Grain::Fine);
        let mut base = start.clone();
        let places: Vec<f64> = fine.iter().map(|axis| axis.place(axis.start)).collect();
        let residuals = self.at(&base, &fine, &places).unwrap_or_default();
        let mut best = Point { places, residuals };
        let mut jacobian = solve::jacobian(self, &base, &mut fine, &best);
        let mut active = told(&jacobian);
        // What is left over is for the last look at which parameters are told.
        let reserve = 2 * (fine.len() + coarse.len());
        let mut starts = Vec::new();
        let mut points = vec![best.clone()];
        points.extend(self.drawn(&base, &fine, &best, &active, options));
        let count = points.len();
        for (index, point) in points.into_iter().enumerate() {
            let share = self.left().saturating_sub(reserve) / (count - index).max(1);
            let end = solve::solve(self, &base, &fine, &active, point, share);
            starts.push(misfit(&end.residuals));
            if cost(&fine, &end) < cost(&fine, &best) {
                best = end;
            }
        }
        self.step(&mut base, &fine, &coarse, &active, &mut best);
        if let Some(last) = self.look(&base, &mut fine, &best) {
            jacobian = last;
        }
        let more = told(&jacobian);
        // What had no effect where the search began may have one where it ended.
        if more.iter().any(|index| !active.contains(index)) && self.left() > fine.len() {
            active = more;
            let share = self.left() - fine.len();
            best = solve::solve(self, &base, &fine, &active, best, share);
            jacobian = self.look(&base, &mut fine, &best).unwrap_or(jacobian);
        }
        let profile = profile_at(&base, &fine, &best.places).unwrap_or(base);
        Found {
            profile,
            axes: fine,
            coarse,
            residuals: best.residuals,
            labels: self.labels.clone(),
            jacobian,
            starts,
            exhausted: self.left() == 0,
        }
    }

    fn look(&mut self, base: &Profile, axes: &mut [Axis], point: &Point) -> Option<DMatrix<f64>> {
        (self.left() >= axes.len()).then(|| solve::jacobian(self, base, axes, point))
    }

    /// Further places to start from: the best of some that are spread evenly over the ranges.
    fn drawn(
        &mut self,
        base: &Profile,
        axes: &[Axis],
        start: &Point,
        active: &[usize],
        options: &FitOptions,
    ) -> Vec<Point> {
        let wanted = options.starts.saturating_sub(1);
        let count = wanted * DRAWN;
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let mut strata: Vec<Vec<usize>> = Vec::new();
        for _ in active {
            let mut order: Vec<usize> = (0..count).collect();
            for last in (1..order.len()).rev() {
                order.swap(last, random.random_range(0..=last));
            }
            strata.push(order);
        }
        let mut points = Vec::new();
        for number in 0..count {
            let mut places = start.places.clone();
            for (&axis, order) in active.iter().zip(&strata) {
                let within: f64 = random.random();
                places[axis] = (order[number] as f64 + within) / count as f64;
            }
            let Some(residuals) = self.at(base, axes, &places) else { break };
            points.push(Point { places, residuals });
        }
        points.sort_by(|one, other| cost(axes, one).total_cmp(&cost(axes, other)));
        points.truncate(wanted);
        points
    }

    /// Tries what moves in steps, one step at a time.
    fn step(
        &mut self,
        base: &mut Profile,
        fine: &[Axis],
        coarse: &[Axis],
        active: &[usize],
        best: &mut Point,
    ) {
        for axis in coarse {
            let Some(parameter) = base.parameters.get(&axis.key).cloned() else { continue };
            for value in axis.steps(&parameter) {
                let Ok(stepped) = knob::set(base, &axis.key, value) else { continue };
                let Some(residuals) = self.at(&stepped, fine, &best.places) else { return };
                let point = Point { places: best.places.clone(), residuals };
                if cost(fine, &point) < WORTH * cost(fine, best) {
                    *base = stepped;
                    let share = self.left().saturating_sub(fine.len()) / 2;
                    *best = solve::solve(self, base, fine, active, point, share);
                    break;
                }
            }
        }
    }
}

/// The profile with the axes at these places.
pub(super) fn profile_at(base: &Profile, axes: &[Axis], places: &[f64]) -> Result<Profile, String> {
    let moved: Vec<(&str, f64)> = axes
        .iter()
        .zip(places)
        // Where it began it keeps its very words.
        .filter(|(axis, place)| (axis.place(axis.start) - **place).abs() > 1e-9)
        .map(|(axis, place)| (axis.key.as_str(), axis.value(*place)))
        .collect();
    knob::set_all(base, &moved)
}

/// What is made small.
pub(super) fn cost(axes: &[Axis], point: &Point) -> f64 {
    let figures: f64 = point.residuals.iter().map(|one| one * one).sum();
    let pulls: f64 = axes
        .iter()
        .zip(&point.places)
        .map(|(axis, place)| (PULL * (place - axis.place(axis.start))).powi(2))
        .sum();
    figures + pulls
}

/// The axes by which some figure moves.
fn told(jacobian: &DMatrix<f64>) -> Vec<usize> {
    (0..jacobian.ncols()).filter(|index| jacobian.column(*index).amax() >= TOLD).collect()
}
