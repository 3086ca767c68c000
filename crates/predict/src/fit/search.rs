//! The search: what the run tells at all, several starts, then what only moves in steps.

use std::collections::BTreeMap;

use flashlag_schema::profile::Profile;
use nalgebra::DMatrix;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::axis::{Axis, axes};
use super::figures::{FAR, misfit};
use super::structure::{self, Free};
use super::{FitOptions, solve};
use crate::PredictError;
use crate::knob::{self, Grain};

/// A parameter by which no figure moves by more than this, from end to end of its range, is not
/// told by the run.
pub(super) const TOLD: f64 = 0.03;
/// Random places looked at for each further start.
const DRAWN: usize = 4;
/// Putting back what no figure depends on may make the sum of squares no more than this much larger.
const NO_WORSE: f64 = 1.02;
/// So many times as many simulations as there are free parameters give the times a first guess.
const FIRST_GUESS: usize = 3;
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
    /// The same by figures of new storage alone, the others being 0; and how many of these cost as
    /// much as one run. `None` where they can't be had for less.
    fn of_new(&mut self, profile: &Profile) -> Option<(Result<Vec<f64>, String>, usize)> {
        let _ = profile;
        None
    }
    /// How much of each residual the search goes by.
    fn counted(&self, residuals: Vec<f64>) -> Vec<f64> {
        residuals
    }
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
    known_new: BTreeMap<Vec<String>, Vec<f64>>,
    /// How many simulations of new storage alone were made since they last counted as one.
    parts: usize,
    /// Whether only figures of new storage count for now.
    only_new: bool,
}

/// What a search came to.
pub(super) struct Found {
    /// The best profile, without new names and sources.
    pub profile: Profile,
    /// What moved freely.
    pub axes: Vec<Axis>,
    /// What moves in steps.
    pub coarse: Vec<Axis>,
    /// What has no order, and was tried in all its forms.
    pub switches: Vec<&'static str>,
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
        // One is kept for what is found at the end.
        let limit = (options.simulations / objective.runs().max(1)).saturating_sub(1).max(1);
        let mut search = Search {
            objective,
            labels,
            seed,
            limit,
            simulations: 0,
            known: BTreeMap::new(),
            known_new: BTreeMap::new(),
            parts: 0,
            only_new: false,
        };
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
        let key = values(profile);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        self.simulations += 1;
        let found = self.objective.residuals(profile)?;
        self.known.insert(key, found.clone());
        Ok(found)
    }

    /// What is new, where that alone can be simulated; it costs a part of a simulation.
    fn simulate_new(&mut self, profile: &Profile) -> Result<Vec<f64>, String> {
        let key = values(profile);
        if let Some(known) = self.known_new.get(&key) {
            return Ok(known.clone());
        }
        let Some((found, whole)) = self.objective.of_new(profile) else {
            return self.simulate(profile);
        };
        self.parts += 1;
        if self.parts >= whole {
            (self.parts, self.simulations) = (0, self.simulations + 1);
        }
        let found = found?;
        self.known_new.insert(key, found.clone());
        Ok(found)
    }

    /// The residuals of a profile; `None` where no simulation is left. What can't be simulated is
    /// as far off as can be.
    pub fn residuals_of(&mut self, profile: &Profile) -> Option<Vec<f64>> {
        if self.simulations >= self.limit {
            return None;
        }
        let far = vec![FAR; self.labels.len()];
        let found = if self.only_new { self.simulate_new(profile) } else { self.simulate(profile) };
        let found = found.unwrap_or(far);
        let mut found = self.objective.counted(found);
        if self.only_new {
            for (residual, _) in
                found.iter_mut().zip(&self.labels).filter(|(_, label)| !is_new(label))
            {
                *residual = 0.0;
            }
        }
        Some(found)
    }

    /// The residuals with the axes at these places.
    pub fn at(&mut self, base: &Profile, axes: &[Axis], places: &[f64]) -> Option<Vec<f64>> {
        match profile_at(base, axes, places) {
            Ok(profile) => self.residuals_of(&profile),
            Err(_) => Some(self.objective.counted(vec![FAR; self.labels.len()])),
        }
    }

    /// The residuals of a profile that was simulated, whatever they count.
    pub fn plain(&mut self, profile: &Profile) -> Vec<f64> {
        self.simulate(profile).unwrap_or_else(|_| vec![FAR; self.labels.len()])
    }

    pub fn seed(&self) -> u64 {
        self.seed
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
        let mut best = self.first(&base, &fine);
        let switches = structure::switches(start, held);
        let of_new = self.fit_new(&mut base, &mut fine, &coarse, &mut best);
        // What is left over is for the last look at which parameters are told.
        let reserve = 2 * (fine.len() + coarse.len());
        // How it collects comes before times are fitted to all figures: to another way of
        // collecting they would be fitted wrongly.
        let until = self.simulations + self.left() / 4;
        let unseen: Vec<usize> = (0..fine.len()).filter(|one| !of_new.contains(one)).collect();
        let free = Free { fine: &fine, coarse: &coarse, switches: &switches, active: &unseen };
        structure::draw(self, &free, &mut base, &mut best, until);
        let mut jacobian = solve::jacobian(self, &base, &mut fine, &best);
        let mut active = told(&jacobian);
        self.put_back(&base, &fine, &jacobian, &mut best);
        let until = self.simulations + self.left() / 3;
        let free = Free { fine: &fine, coarse: &coarse, switches: &switches, active: &active };
        structure::improve(self, &free, &mut base, &mut best, &mut jacobian, false, until);
        let mut starts = Vec::new();
        let mut points = vec![best.clone()];
        points.extend(self.drawn(&base, &fine, &best, &active, options));
        let count = points.len();
        for (index, point) in points.into_iter().enumerate() {
            // Half is for the steps that only show once the times are right.
            let share = self.left().saturating_sub(reserve) / 2 / (count - index).max(1);
            let end = solve::solve(self, &base, &fine, &active, point, share);
            starts.push(misfit(&end.residuals));
            if cost(&fine, &end) < cost(&fine, &best) {
                best = end;
            }
        }
        let free = Free { fine: &fine, coarse: &coarse, switches: &switches, active: &active };
        solve::refresh(self, &base, &fine, &active, &best, &mut jacobian);
        structure::improve(self, &free, &mut base, &mut best, &mut jacobian, true, usize::MAX);
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
        self.put_back(&base, &fine, &jacobian, &mut best);
        let profile = profile_at(&base, &fine, &best.places).unwrap_or(base);
        let residuals = self.plain(&profile);
        Found {
            profile,
            axes: fine,
            coarse,
            switches,
            residuals,
            labels: self.labels.clone(),
            jacobian,
            starts,
            exhausted: self.left() == 0,
        }
    }

    fn first(&mut self, base: &Profile, axes: &[Axis]) -> Point {
        let places: Vec<f64> = axes.iter().map(|axis| axis.place(axis.start)).collect();
        let residuals = self.at(base, axes, &places).unwrap_or_default();
        Point { places, residuals }
    }

    /// Times and units by the figures of new storage alone, where nothing is collected yet. Returns
    /// the axes that these tell.
    fn fit_new(
        &mut self,
        base: &mut Profile,
        fine: &mut [Axis],
        coarse: &[Axis],
        best: &mut Point,
    ) -> Vec<usize> {
        if !self.labels.iter().any(|label| is_new(label)) {
            return Vec::new();
        }
        let before = (base.clone(), best.clone());
        let until = self.simulations + self.left() / 3;
        self.only_new = true;
        let active = self.fit_shown(base, fine, coarse, best, until);
        self.only_new = false;
        match self.at(base, fine, &best.places) {
            Some(residuals) => best.residuals = residuals,
            None => (*base, *best) = before,
        }
        active
    }

    /// Fits to what counts for now, from the axes that it depends on.
    fn fit_shown(
        &mut self,
        base: &mut Profile,
        fine: &mut [Axis],
        coarse: &[Axis],
        best: &mut Point,
        until: usize,
    ) -> Vec<usize> {
        let Some(residuals) = self.at(base, fine, &best.places) else { return Vec::new() };
        best.residuals = residuals;
        let mut jacobian = solve::jacobian(self, base, fine, best);
        let active = told(&jacobian);
        let share = (FIRST_GUESS * (active.len() + 2)).min(self.left() / 6);
        *best = solve::solve(self, base, fine, &active, best.clone(), share);
        solve::refresh(self, base, fine, &active, best, &mut jacobian);
        let free = Free { fine, coarse, switches: &[], active: &active };
        structure::pairs(self, &free, base, best, until);
        solve::refresh(self, base, fine, &active, best, &mut jacobian);
        structure::improve(self, &free, base, best, &mut jacobian, true, until);
        active
    }

    fn look(&mut self, base: &Profile, axes: &mut [Axis], point: &Point) -> Option<DMatrix<f64>> {
        (self.left() >= axes.len()).then(|| solve::jacobian(self, base, axes, point))
    }

    /// What no figure depends on goes back to where it began: where it was drawn means nothing.
    fn put_back(
        &mut self,
        base: &Profile,
        axes: &[Axis],
        jacobian: &DMatrix<f64>,
        best: &mut Point,
    ) {
        let told = told(jacobian);
        let mut places = best.places.clone();
        for index in (0..axes.len()).filter(|index| !told.contains(index)) {
            places[index] = axes[index].place(axes[index].start);
        }
        // None may be left at the end: what was not looked at counts as no worse.
        let residuals = match self.at(base, axes, &places) {
            Some(residuals) => residuals,
            None => best.residuals.clone(),
        };
        let point = Point { places, residuals };
        if cost(axes, &point) <= NO_WORSE * cost(axes, best) {
            *best = point;
        }
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
}

/// What tells a profile from others that were made of the same one.
fn values(profile: &Profile) -> Vec<String> {
    profile.parameters.values().map(|one| knob::written(&one.value)).collect()
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

/// Whether a figure is of new storage.
fn is_new(label: &str) -> bool {
    label.starts_with("new/")
}

/// The axes by which some figure moves.
fn told(jacobian: &DMatrix<f64>) -> Vec<usize> {
    (0..jacobian.ncols()).filter(|index| jacobian.column(*index).amax() >= TOLD).collect()
}
