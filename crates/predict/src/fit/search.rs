//! Simulations of changed profiles, and what their figures count.

use std::collections::BTreeMap;

use flashlag_schema::profile::Profile;
use nalgebra::DMatrix;

use super::FitOptions;
use super::axis::Axis;
use super::figures::FAR;
use crate::knob;
use crate::{ModelError, PredictError, SimulationError};

/// The least effect of a parameter that a run determines: the change of a figure, as a logarithm, from
/// end to end of the parameter's range.
pub(super) const DETERMINED: f64 = 0.03;
/// The number of further seeds by which the scatter of figures is known.
const SEEDS: u64 = 3;
/// The least standard deviation of a figure, and the number of seeds that this prior counts for.
const FINEST: f64 = 0.03;
const BELIEVED: f64 = 2.0;
/// The pull towards the starting values: off by the whole range counts as off by this much.
pub(super) const PULL: f64 = 0.02;

/// The wanted figures of a search.
pub(super) trait Objective {
    /// The test of each residual: `new/rand_write_4k`.
    fn labels(&self) -> Vec<String>;
    /// Number of runs for the residuals of a profile.
    fn runs(&self) -> usize;
    /// The residuals: logarithms of simulated over wanted.
    ///
    /// # Errors
    /// The profile can't be simulated.
    fn residuals(&mut self, profile: &Profile) -> Result<Vec<f64>, SimulationError>;
    /// The residuals of new storage alone, the others 0, and how many of these simulations cost as much
    /// as a full one. `None` if they cost no less.
    fn of_new(&mut self, profile: &Profile) -> Option<(Result<Vec<f64>, SimulationError>, usize)> {
        let _ = profile;
        None
    }
    /// The residuals with another seed, which show the scatter of the figures. `None` if there are
    /// none.
    fn by_seed(
        &mut self,
        profile: &Profile,
        seed: u64,
    ) -> Option<Result<Vec<f64>, SimulationError>> {
        let _ = (profile, seed);
        None
    }
    /// The residuals with their weights.
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
    /// Number of simulated profiles.
    pub simulations: usize,
    known: BTreeMap<Vec<String>, (Profile, Vec<f64>)>,
    known_new: BTreeMap<Vec<String>, Vec<f64>>,
    /// Number of simulations of new storage alone since they last counted as a full one, and the
    /// number that counts as one.
    parts: usize,
    whole: usize,
    /// Whether only figures of new storage count at present.
    only_new: bool,
    /// Weight of each figure by its scatter.
    steady: Vec<f64>,
}

/// The result of a search.
pub(super) struct SearchResult {
    /// The best profile, without new names and sources.
    pub profile: Profile,
    /// The continuous parameters.
    pub axes: Vec<Axis>,
    /// The parameters that move in steps.
    pub coarse: Vec<Axis>,
    /// The switches, whose values have no order: all were tried.
    pub switches: Vec<&'static str>,
    /// Its residuals.
    pub residuals: Vec<f64>,
    /// The test of each residual.
    pub labels: Vec<String>,
    /// Derivatives of the residuals by figure and axis, over the whole range of the axis.
    pub jacobian: DMatrix<f64>,
    /// The final misfit of each start.
    pub starts: Vec<f64>,
    /// Whether the search used up its simulations.
    pub exhausted: bool,
}

/// A point of all free axes with its residuals.
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
        // One simulation is kept for the final profile.
        let limit = (options.simulations / objective.runs().max(1)).saturating_sub(1).max(1);
        let mut search = Search {
            objective,
            steady: vec![1.0; labels.len()],
            labels,
            seed,
            limit,
            simulations: 0,
            known: BTreeMap::new(),
            known_new: BTreeMap::new(),
            parts: 0,
            whole: 1,
            only_new: false,
        };
        search.simulate(start).map_err(|reason| PredictError::Simulation {
            what: format!("the profile {}", start.name),
            reason,
        })?;
        Ok(search)
    }

    /// Number of runs so far.
    pub fn runs(&self) -> usize {
        self.simulations * self.objective.runs()
    }

    fn simulate(&mut self, profile: &Profile) -> Result<Vec<f64>, SimulationError> {
        let key = values(profile);
        if let Some((_, known)) = self.known.get(&key) {
            return Ok(known.clone());
        }
        self.simulations += 1;
        let found = self.objective.residuals(profile)?;
        self.known.insert(key, (profile.clone(), found.clone()));
        Ok(found)
    }

    /// The residuals of new storage, if it can be simulated alone; counts as a part of a simulation.
    fn simulate_new(&mut self, profile: &Profile) -> Result<Vec<f64>, SimulationError> {
        let key = values(profile);
        if let Some(known) = self.known_new.get(&key) {
            return Ok(known.clone());
        }
        let Some((found, whole)) = self.objective.of_new(profile) else {
            return self.simulate(profile);
        };
        self.whole = whole.max(1);
        self.parts += 1;
        if self.parts >= whole {
            (self.parts, self.simulations) = (0, self.simulations + 1);
        }
        let found = found?;
        self.known_new.insert(key, found.clone());
        Ok(found)
    }

    /// The residuals of a profile; `None` if no simulation is left. A profile that can't be simulated
    /// has the largest residuals.
    pub fn residuals_of(&mut self, profile: &Profile) -> Option<Vec<f64>> {
        if self.simulations >= self.limit {
            return None;
        }
        let far = vec![FAR; self.labels.len()];
        let found = if self.only_new { self.simulate_new(profile) } else { self.simulate(profile) };
        let mut found = self.counted(found.unwrap_or(far));
        if self.only_new {
            for (residual, _) in
                found.iter_mut().zip(&self.labels).filter(|(_, label)| !is_new(label))
            {
                *residual = 0.0;
            }
        }
        Some(found)
    }

    /// The residuals with the axes at these coordinates.
    pub fn at(&mut self, base: &Profile, axes: &[Axis], places: &[f64]) -> Option<Vec<f64>> {
        match profile_at(base, axes, places) {
            Ok(profile) => self.residuals_of(&profile),
            Err(_) => Some(self.counted(vec![FAR; self.labels.len()])),
        }
    }

    fn counted(&self, residuals: Vec<f64>) -> Vec<f64> {
        let counted = self.objective.counted(residuals);
        counted.iter().zip(&self.steady).map(|(one, steady)| one * steady).collect()
    }

    /// Simulates a point with other seeds, so that scattering figures weigh less from now on. Earlier
    /// residuals must be read again; the simulations are cached.
    pub fn learn_scatter(&mut self, base: &Profile, axes: &[Axis], places: &[f64]) {
        let Ok(profile) = profile_at(base, axes, places) else { return };
        let Ok(own) = self.simulate(&profile) else { return };
        let mut all = vec![own];
        for number in 1..=SEEDS {
            if self.simulations >= self.limit {
                return;
            }
            let seed = self.seed.wrapping_add(number);
            let Some(found) = self.objective.by_seed(&profile, seed) else { return };
            self.simulations += 1;
            all.extend(found);
        }
        let of = |figure: usize| all.iter().map(move |one| one[figure]);
        self.steady = (0..self.labels.len()).map(|figure| steady(of(figure))).collect();
    }

    /// Sets whether only figures of new storage count from now on.
    pub fn only_new(&mut self, only: bool) {
        self.only_new = only;
    }

    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The residuals of a simulated profile, without weights.
    pub fn plain(&mut self, profile: &Profile) -> Vec<f64> {
        self.simulate(profile).unwrap_or_else(|_| vec![FAR; self.labels.len()])
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether `looks` more profiles can be simulated before `until` simulations are made.
    pub fn affords(&self, looks: usize, until: usize) -> bool {
        self.simulations + self.share_of(looks) <= until.min(self.limit)
    }

    /// The number of simulations that `looks` profiles cost.
    pub fn share_of(&self, looks: usize) -> usize {
        if self.only_new { looks.div_ceil(self.whole) } else { looks }
    }

    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.simulations)
    }
}

/// The values that differ between profiles made from the same one.
fn values(profile: &Profile) -> Vec<String> {
    profile.parameters.values().map(|one| knob::written(&one.value)).collect()
}

/// The profile with the axes at these coordinates.
pub(super) fn profile_at(
    base: &Profile,
    axes: &[Axis],
    places: &[f64],
) -> Result<Profile, ModelError> {
    let moved: Vec<(&str, f64)> = axes
        .iter()
        .zip(places)
        // An unchanged parameter keeps its spelling.
        .filter(|(axis, place)| (axis.place(axis.start) - **place).abs() > 1e-9)
        .map(|(axis, place)| (axis.key.as_str(), axis.value(*place)))
        .collect();
    knob::set_all(base, &moved)
}

/// Weight of a figure with this scatter over seeds; 1 without any.
fn steady(figure: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = figure.clone().count() as f64;
    let mean = figure.clone().sum::<f64>() / count.max(1.0);
    let squares: f64 = figure.map(|one| (one - mean).powi(2)).sum();
    let variance = (squares + BELIEVED * FINEST * FINEST) / (count - 1.0 + BELIEVED);
    FINEST / (FINEST * FINEST + variance).sqrt()
}

/// The minimized sum of squares.
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
pub(super) fn is_new(label: &str) -> bool {
    label.starts_with("new/")
}

/// The axes that change some figure.
pub(super) fn determined(jacobian: &DMatrix<f64>) -> Vec<usize> {
    (0..jacobian.ncols()).filter(|index| jacobian.column(*index).amax() >= DETERMINED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_counts_less_the_more_it_scatters() {
        let counts = |figures: [f64; 4]| steady(figures.into_iter());
        let (none, some, much) =
            (counts([0.1; 4]), counts([0.1, 0.2, 0.0, 0.1]), counts([0.5, -0.5, 0.3, -0.2]));
        assert!(none > some && some > much && none <= 1.0, "{none} {some} {much}");
        assert!(much < none / 5.0, "{much} {none}");
    }
}
