//! The schedule of a search: new storage, then garbage collection, then all parameters.

use flashlag_spec::profile::Profile;
use nalgebra::DMatrix;

use super::axis::{Axis, axes};
use super::policies::{self, Candidate};
use super::request::FitOptions;
use super::search::{Point, Search, SearchResult, cost, determined, is_new, profile_at};
use super::solve;
use super::stage::FitStage;
use super::structure::{self, DeviceFit, Free};
use crate::knob::Grain;
use crate::nearest::misfit;

/// Maximum relative increase of the sum of squares by resetting a parameter to its starting value.
const NO_WORSE: f64 = 1.02;
/// At most this many rounds of small changes and least squares; a round below the share `WORTH_IT` of
/// the sum of squares before is followed by another.
const REFINED: usize = 4;
const WORTH_IT: f64 = 0.97;

impl Search<'_> {
    /// The search for the nearest profile, from `start` and from random points.
    pub fn run(
        &mut self,
        start: &Profile,
        held: &[(String, String)],
        options: &FitOptions,
    ) -> SearchResult {
        let (mut fine, coarse): (Vec<Axis>, Vec<Axis>) =
            axes(start, held).into_iter().partition(|axis| axis.grain == Grain::Fine);
        let mut base = start.clone();
        let mut best = self.first(&base, &fine);
        let switches = structure::switches(start, held);
        let (of_new, built) = self.fit_new(&mut base, &mut fine, &coarse, &mut best);
        // The garbage collection policy comes before times are fitted to all figures: with a wrong
        // policy the times would be wrong.
        let until = self.simulations + self.left() / 2;
        let unseen: Vec<usize> = (0..fine.len()).filter(|one| !of_new.contains(one)).collect();
        let free = Free { fine: &fine, coarse: &coarse, switches: &switches, active: &unseen };
        let candidates =
            policies::candidates(self, &free, &base, &best, &built, options.starts, until);
        if let Some(first) = candidates.first() {
            (base, best) = (first.base.clone(), first.point.clone());
        }
        let mut jacobian = solve::jacobian(self, &base, &mut fine, &best);
        let mut active = determined(&jacobian);
        self.put_back(&base, &fine, &jacobian, &mut best);
        // The remaining simulations show which parameters are determined.
        let reserve = 2 * (fine.len() + coarse.len());
        let free = Free { fine: &fine, coarse: &coarse, switches: &switches, active: &active };
        let starts = self.follow(&free, candidates, &mut base, &mut best, reserve);
        solve::refresh(self, &base, &fine, &active, &best, &mut jacobian);
        structure::improve(self, &free, &mut base, &mut best, &mut jacobian, true, usize::MAX);
        let collecting = Free { active: &unseen, ..free };
        self.refine(&collecting, &free, &mut base, &mut best, reserve);
        if let Some(last) = self.look(&base, &mut fine, &best) {
            jacobian = last;
        }
        let more = determined(&jacobian);
        // A parameter without effect at the start may have one at the end.
        let shows_more = more.iter().any(|index| !active.contains(index));
        if shows_more && self.does(FitStage::Last) && self.left() > fine.len() {
            active = more;
            let share = self.left() - fine.len();
            best = solve::solve(self, &base, &fine, &active, best, share);
            jacobian = self.look(&base, &mut fine, &best).unwrap_or(jacobian);
        }
        self.put_back(&base, &fine, &jacobian, &mut best);
        let profile = profile_at(&base, &fine, &best.places).unwrap_or(base);
        let residuals = self.plain(&profile);
        SearchResult {
            profile,
            axes: fine,
            coarse,
            switches,
            residuals,
            labels: self.labels().to_vec(),
            jacobian,
            starts,
            exhausted: self.left() == 0,
        }
    }

    /// Fits the times to all figures, from the best policies. Returns the final point of each.
    fn follow(
        &mut self,
        free: &Free<'_>,
        candidates: Vec<Candidate>,
        base: &mut Profile,
        best: &mut Point,
        reserve: usize,
    ) -> Vec<f64> {
        let mut points = vec![(base.clone(), best.clone())];
        points.extend(candidates.into_iter().skip(1).map(|way| (way.base, way.point)));
        let (count, mut starts) = (points.len(), Vec::new());
        for (index, (of, point)) in points.into_iter().enumerate() {
            // Half is reserved for the steps that show an effect only once the times are right.
            let share = self.left().saturating_sub(reserve) / 2 / (count - index).max(1);
            let end = solve::solve(self, &of, free.fine, free.active, point, share);
            starts.push(misfit(&end.residuals));
            if cost(free.fine, &end) < cost(free.fine, best) {
                (*base, *best) = (of, end);
            }
        }
        starts
    }

    /// Alternates small changes of the policy and least squares as long as that helps.
    fn refine(
        &mut self,
        collecting: &Free<'_>,
        free: &Free<'_>,
        base: &mut Profile,
        best: &mut Point,
        reserve: usize,
    ) {
        let rounds = if self.does(FitStage::Changes) { REFINED } else { 0 };
        for _ in 0..rounds {
            let before = cost(free.fine, best);
            let until = self.simulations + self.left().saturating_sub(reserve) / 2;
            policies::refine(self, collecting, base, best, until);
            let share = self.left().saturating_sub(reserve) / 3;
            *best = solve::solve(self, base, free.fine, free.active, best.clone(), share);
            if cost(free.fine, best) > WORTH_IT * before {
                return;
            }
        }
    }

    fn first(&mut self, base: &Profile, axes: &[Axis]) -> Point {
        let places: Vec<f64> = axes.iter().map(|axis| axis.place(axis.start)).collect();
        let residuals = self.at(base, axes, &places).unwrap_or_default();
        Point { places, residuals }
    }

    /// Fits times and units to the figures of new storage alone, before any collection. Returns the axes
    /// that these figures determine.
    fn fit_new(
        &mut self,
        base: &mut Profile,
        fine: &mut [Axis],
        coarse: &[Axis],
        best: &mut Point,
    ) -> (Vec<usize>, Vec<DeviceFit>) {
        let has_new = self.labels().iter().any(|label| is_new(label));
        if !has_new || !self.does(FitStage::New) {
            return (Vec::new(), vec![(base.clone(), best.clone())]);
        }
        let before = (base.clone(), best.clone());
        let until = self.simulations + self.left() / 3;
        self.only_new(true);
        let (active, mut built) = self.fit_shown(base, fine, coarse, best, until);
        self.only_new(false);
        match self.at(base, fine, &best.places) {
            Some(residuals) => best.residuals = residuals,
            None => (*base, *best) = before,
        }
        // The first of the equally good ones may have been improved since.
        match built.first_mut() {
            Some(first) => *first = (base.clone(), best.clone()),
            None => built.push((base.clone(), best.clone())),
        }
        (active, built)
    }

    /// Fits the axes that have an effect on the figures that count at this stage.
    fn fit_shown(
        &mut self,
        base: &mut Profile,
        fine: &mut [Axis],
        coarse: &[Axis],
        best: &mut Point,
        until: usize,
    ) -> (Vec<usize>, Vec<DeviceFit>) {
        let Some(residuals) = self.at(base, fine, &best.places) else { return Default::default() };
        best.residuals = residuals;
        let mut jacobian = solve::jacobian(self, base, fine, best);
        let active = determined(&jacobian);
        let free = Free { fine, coarse, switches: &[], active: &active };
        let built = structure::pairs(self, &free, base, best, until);
        solve::refresh(self, base, fine, &active, best, &mut jacobian);
        structure::improve(self, &free, base, best, &mut jacobian, true, until);
        (active, built)
    }

    fn look(&mut self, base: &Profile, axes: &mut [Axis], point: &Point) -> Option<DMatrix<f64>> {
        (self.left() >= axes.len()).then(|| solve::jacobian(self, base, axes, point))
    }

    /// Resets parameters without effect to their starting values.
    fn put_back(
        &mut self,
        base: &Profile,
        axes: &[Axis],
        jacobian: &DMatrix<f64>,
        best: &mut Point,
    ) {
        if !self.does(FitStage::Reset) {
            return;
        }
        let determined = determined(jacobian);
        let mut places = best.places.clone();
        for index in (0..axes.len()).filter(|index| !determined.contains(index)) {
            places[index] = axes[index].place(axes[index].start);
        }
        // None may be left at the end: a profile that was not simulated counts as no worse.
        let residuals = match self.at(base, axes, &places) {
            Some(residuals) => residuals,
            None => best.residuals.clone(),
        };
        let point = Point { places, residuals };
        if cost(axes, &point) <= NO_WORSE * cost(axes, best) {
            *best = point;
        }
    }
}
