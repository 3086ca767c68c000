//! Children of candidates: one of them, slightly changed. They are simulated before their turn, as many at
//! once as there are threads.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::policies::{Candidate, PARENTS, Population};
use super::search::{Search, cost, profile_at};

/// A child that was not simulated yet.
struct Unborn {
    variant: usize,
    steps: Vec<f64>,
    places: Vec<f64>,
}

impl Population<'_, '_> {
    /// A child of one of the parents; better ones have more children. `reach` is how far it may be from its
    /// parent, for 0 this child, for 1 the next.
    ///
    /// Most children are worse than all parents, so that the next child has the same parents. `ahead`
    /// children are simulated for that case; if it does not come, they are drawn anew, and no result
    /// depends on the number of threads.
    pub(super) fn child(
        &mut self,
        search: &mut Search<'_>,
        parents: &[&Candidate],
        ahead: &mut usize,
        reach: &dyn Fn(usize) -> f64,
    ) -> Option<Candidate> {
        if *ahead == 0 && parents.len() == PARENTS {
            *ahead = self.simulate_ahead(search, parents, reach);
        }
        let Unborn { variant, steps, places } =
            drawn(parents, self.free.active, reach(0), &mut self.random)?;
        let child = self.candidate(search, variant, steps, places)?;
        let own = cost(self.free.fine, &child.point);
        let joins = |last: &&Candidate| own < cost(self.free.fine, &last.point);
        *ahead = if parents.last().is_some_and(joins) { 0 } else { ahead.saturating_sub(1) };
        Some(child)
    }

    /// Simulates the next children of these parents, one on each thread; returns their number.
    fn simulate_ahead(
        &self,
        search: &mut Search<'_>,
        parents: &[&Candidate],
        reach: &dyn Fn(usize) -> f64,
    ) -> usize {
        let mut random = self.random.clone();
        let next = |later| {
            let Unborn { variant, steps, places } =
                drawn(parents, self.free.active, reach(later), &mut random)?;
            profile_at(&self.device(variant, &steps), self.free.fine, &places).ok()
        };
        let count = search.side_by_side();
        let profiles: Vec<_> = (0..count).filter_map(next).collect();
        search.prepare(&profiles);
        count
    }
}

/// A child of one of the parents, in which about half of the coordinates are changed.
fn drawn(
    parents: &[&Candidate],
    active: &[usize],
    reach: f64,
    random: &mut Pcg64Mcg,
) -> Option<Unborn> {
    let luck: f64 = random.random();
    let chosen = (luck * luck * parents.len() as f64) as usize;
    let parent = parents.get(chosen.min(parents.len().saturating_sub(1)))?;
    let (mut places, mut steps) = (parent.point.places.clone(), parent.steps.clone());
    let moving = active.len() + steps.len();
    let always = random.random_range(0..moving.max(1));
    for number in 0..moving {
        let moves = number == always || random.random::<f64>() < 0.5;
        let normal: f64 = (0..3).map(|_| random.random::<f64>() - 0.5).sum::<f64>() * 2.0;
        let place = match active.get(number) {
            Some(&index) => &mut places[index],
            None => &mut steps[number - active.len()],
        };
        if moves {
            *place = within(*place + reach * normal);
        }
    }
    Some(Unborn { variant: parent.variant, steps, places })
}

/// A coordinate reflected at the ends of its range.
fn within(place: f64) -> f64 {
    let place = if place < 0.0 { -place } else { place };
    (if place > 1.0 { 2.0 - place } else { place }).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_an_end_of_its_range_a_place_comes_back() {
        for (place, back) in [(-0.25, 0.25), (1.25, 0.75), (0.5, 0.5), (-3.0, 0.0)] {
            assert_eq!(within(place), back, "{place}");
        }
    }
}
