//! Simulations of changed profiles, and the score of their figures.

use std::collections::BTreeMap;

use flashlag_spec::profile::Profile;
use nalgebra::DMatrix;

use super::axis::Axis;
use super::request::FitOptions;
use super::stage::FitStage;
use crate::nearest::FAR;
use crate::{ModelError, PredictError, SimulationError, knob, parallel};

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

/// The residuals of a profile.
pub(super) type Found = Result<Vec<f64>, SimulationError>;
/// The values of a profile's parameters.
type Key = Vec<String>;

/// The wanted figures of a search.
pub(super) trait Objective: Sync {
    /// The test of each residual: `new/rand_write_4k`.
    fn labels(&self) -> Vec<String>;
    /// Number of runs for the residuals of a profile.
    fn runs(&self) -> usize;
    /// Maximum number of simulations at once.
    fn threads(&self) -> usize;
    /// The residuals: logarithms of simulated over wanted.
    fn residuals(&self, profile: &Profile) -> Found;
    /// The residuals of new storage alone, the others 0, and how many of these simulations cost as much
    /// as a full one. `None` if they cost no less.
    fn of_new(&self, profile: &Profile) -> Option<(Found, usize)> {
        let _ = profile;
        None
    }
    /// The residuals with another seed, which show the scatter of the figures. `None` if there are
    /// none.
    fn by_seed(&self, profile: &Profile, seed: u64) -> Option<Found> {
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
    objective: &'a dyn Objective,
    labels: Vec<String>,
    seed: u64,
    limit: usize,
    /// Number of simulated profiles.
    pub simulations: usize,
    known: BTreeMap<Key, (Profile, Vec<f64>)>,
    known_new: BTreeMap<Key, Vec<f64>>,
    /// Results of profiles that were simulated in parallel and not used yet: all figures, and those
    /// of new storage alone. They count as simulations only when they are used.
    ahead: BTreeMap<Key, Found>,
    ahead_new: BTreeMap<Key, (Found, usize)>,
    /// Whether the user stopped a simulation.
    stopped: bool,
    /// The stages that are left out.
    without: Vec<FitStage>,
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
        objective: &'a dyn Objective,
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
            ahead: BTreeMap::new(),
            ahead_new: BTreeMap::new(),
            stopped: false,
            without: options.without.clone(),
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

    /// Whether a stage is not left out.
    pub fn does(&self, stage: FitStage) -> bool {
        !self.without.contains(&stage)
    }

    /// Whether the user stopped a simulation: the search is over.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    fn simulate(&mut self, profile: &Profile) -> Found {
        let key = values(profile);
        if let Some((_, known)) = self.known.get(&key) {
            return Ok(known.clone());
        }
        self.simulations += 1;
        let found = match self.ahead.remove(&key) {
            Some(found) => found,
            None => self.objective.residuals(profile),
        };
        self.stopped |= matches!(found, Err(SimulationError::Stopped));
        let found = found?;
        self.known.insert(key, (profile.clone(), found.clone()));
        Ok(found)
    }

    /// The residuals of new storage, if it can be simulated alone; counts as a part of a simulation.
    fn simulate_new(&mut self, profile: &Profile) -> Found {
        let key = values(profile);
        if let Some(known) = self.known_new.get(&key) {
            return Ok(known.clone());
        }
        let ahead = self.ahead_new.remove(&key);
        let Some((found, whole)) = ahead.or_else(|| self.objective.of_new(profile)) else {
            return self.simulate(profile);
        };
        self.whole = whole.max(1);
        self.parts += 1;
        if self.parts >= whole {
            (self.parts, self.simulations) = (0, self.simulations + 1);
        }
        self.stopped |= matches!(found, Err(SimulationError::Stopped));
        let found = found?;
        self.known_new.insert(key, found.clone());
        Ok(found)
    }

    /// Simulates in parallel the profiles that are certain to be needed next. Reading the result of
    /// one then takes no time, but counts as a simulation.
    pub fn prepare(&mut self, profiles: &[Profile]) {
        let (objective, only_new) = (self.objective, self.only_new);
        if objective.threads() < 2 || self.left() < profiles.len() {
            return;
        }
        let mut wanted: BTreeMap<Key, &Profile> = BTreeMap::new();
        for profile in profiles {
            let key = values(profile);
            let is_known_new =
                self.known_new.contains_key(&key) || self.ahead_new.contains_key(&key);
            // If new storage alone costs no less, all figures are simulated.
            let is_known = self.known.contains_key(&key) || self.ahead.contains_key(&key);
            if !(is_known || only_new && is_known_new) {
                wanted.insert(key, profile);
            }
        }
        let wanted: Vec<(Key, &Profile)> = wanted.into_iter().collect();
        let found = parallel::map(objective.threads(), &wanted, |(_, profile)| {
            let new = if only_new { objective.of_new(profile) } else { None };
            new.ok_or_else(|| objective.residuals(profile))
        });
        for ((key, _), found) in wanted.into_iter().zip(found) {
            match found {
                Ok(new) => drop(self.ahead_new.insert(key, new)),
                Err(all) => drop(self.ahead.insert(key, all)),
            }
        }
    }

    /// How many profiles are simulated at once; one where its simulations use all threads.
    pub fn side_by_side(&self) -> usize {
        if self.objective.runs() > 1 { 1 } else { self.objective.threads() }
    }

    /// The residuals of a profile that was simulated already; `None` for any other.
    pub fn glance(&self, profile: &Profile) -> Option<Vec<f64>> {
        let key = values(profile);
        let new = || {
            let known = self.known_new.get(&key).cloned().map(Ok);
            known.or_else(|| Some(self.ahead_new.get(&key)?.0.clone()))
        };
        let all = || {
            let known = self.known.get(&key).map(|(_, known)| Ok(known.clone()));
            known.or_else(|| self.ahead.get(&key).cloned())
        };
        let found = if self.only_new { new().or_else(all) } else { all() };
        found.map(|found| self.weighed(found))
    }

    /// The residuals of a profile; `None` if no simulation is left. A profile that can't be simulated
    /// has the largest residuals.
    pub fn residuals_of(&mut self, profile: &Profile) -> Option<Vec<f64>> {
        if self.left() == 0 {
            return None;
        }
        let found = if self.only_new { self.simulate_new(profile) } else { self.simulate(profile) };
        Some(self.weighed(found))
    }

    fn weighed(&self, found: Found) -> Vec<f64> {
        let far = vec![FAR; self.labels.len()];
        let mut found = self.counted(found.unwrap_or(far));
        if self.only_new {
            for (residual, _) in
                found.iter_mut().zip(&self.labels).filter(|(_, label)| !is_new(label))
            {
                *residual = 0.0;
            }
        }
        found
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
        let (objective, seed) = (self.objective, self.seed);
        let affordable = self.left().min(SEEDS as usize) as u64;
        let seeds: Vec<u64> = (1..=affordable).map(|number| seed.wrapping_add(number)).collect();
        let by_seed = |seed: &u64| objective.by_seed(&profile, *seed);
        let mut all = vec![own];
        for found in parallel::map(objective.threads(), &seeds, by_seed) {
            let Some(found) = found else { return };
            self.simulations += 1;
            self.stopped |= matches!(found, Err(SimulationError::Stopped));
            all.extend(found);
        }
        if affordable < SEEDS {
            return;
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

    /// The number of simulations that are left.
    pub fn left(&self) -> usize {
        if self.stopped { 0 } else { self.limit.saturating_sub(self.simulations) }
    }
}

/// The values that differ between profiles made from the same one.
fn values(profile: &Profile) -> Key {
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
