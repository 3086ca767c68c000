//! How a device collects: which block, whether copies have blocks of their own, how large blocks
//! are, and the spare area, the low water and the times that go with that.
//!
//! A way of collecting is only as good as the spare area it is tried with, so that steps of one
//! thing each end where no single one helps. Whole devices are bred instead: some of every kind are
//! spread over the ranges, and the better ones are changed a little, over and over, by less and
//! less, while half of the kinds are left after each round.

use flashlag_schema::profile::Profile;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::axis::Axis;
use super::search::{Point, Search, cost};
use super::structure::{Built, Free, forms, options_of, same};
use crate::knob::{self, Grain};

/// So many of each kind are spread over the ranges.
const SPREAD: usize = 6;
/// The spread may take so large a part of what there is: one in so many.
const SPREAD_PART: usize = 2;
/// Children come of the best so many.
const PARENTS: usize = 4;
/// How far a child is from its parent, as a share of a range: at first, and in the end.
const FAR_CHILD: f64 = 0.3;
const NEAR_CHILD: f64 = 0.04;
/// At first, where a way is known.
const CLOSE_CHILD: f64 = 0.12;
/// After so many children in a row that are not worth it, nothing better is expected.
const PATIENCE: usize = 150;
/// A child that is worth it has a sum of squares this much smaller than the best.
const WORTH: f64 = 0.99;
/// What is more off than the best by this factor, in its sum of squares, is not gone on with.
const HOPELESS: f64 = 3.0;

/// What says how much there is to collect and when; the rest, such as what an erase takes, begins
/// where it is.
const AMOUNTS: [&str; 2] = ["map.", "gc."];
/// What moves in steps and shows only where something is collected.
const COLLECTS: [&str; 3] = ["nand.pages_per_block", "gc.choices", "gc.low_water"];

/// A device that collects in some way.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// With what has no order and what moves in steps as it is here.
    pub base: Profile,
    /// The rest.
    pub point: Point,
    kind: usize,
    /// Places of what moves by whole numbers.
    steps: Vec<f64>,
}

/// A device with every switch set, with a size of a block, and the times that go with its units.
#[derive(Clone, Debug)]
struct Kind {
    device: Profile,
    places: Vec<f64>,
}

/// What all ways are made of.
struct Breed<'a, 'b> {
    free: &'a Free<'b>,
    kinds: Vec<Kind>,
    sizes: Vec<&'a Axis>,
    whole: Vec<&'a Axis>,
    random: Pcg64Mcg,
}

/// The best ways to collect that were found, of different kinds, the best first: `wanted` at most,
/// and the device as it was among them where nothing is better.
pub(super) fn ways(
    search: &mut Search<'_>,
    free: &Free<'_>,
    base: &Profile,
    best: &Point,
    built: &[Built],
    wanted: usize,
    until: usize,
) -> Vec<Way> {
    let as_it_is = Way { base: base.clone(), point: best.clone(), kind: usize::MAX, steps: vec![] };
    let random = Pcg64Mcg::seed_from_u64(search.seed());
    let mut breed = Breed::of(free, built, random);
    if breed.kinds.len() < 2 && breed.whole.is_empty() {
        return vec![as_it_is];
    }
    let from = search.simulations;
    let spread_until = from + until.saturating_sub(from) / SPREAD_PART;
    let mut all = breed.spread(search, spread_until);
    rank(&mut all, free.fine);
    if let Some(first) = all.first() {
        search.learn_scatter(&first.base, free.fine, &first.point.places);
        weigh_again(search, free.fine, &mut all);
    }
    breed.halve(search, &mut all, until);
    all.push(Way { point: again(search, free.fine, &as_it_is), ..as_it_is });
    rank(&mut all, free.fine);
    finalists(all, free.fine, wanted)
}

/// Looks for something better near what was found, by small changes of all that tells how a device
/// collects.
pub(super) fn refine(
    search: &mut Search<'_>,
    free: &Free<'_>,
    base: &mut Profile,
    best: &mut Point,
    until: usize,
) {
    let random = Pcg64Mcg::seed_from_u64(search.seed().wrapping_add(1));
    let mut breed = Breed::of(free, &[(base.clone(), best.clone())], random);
    let Some(kind) = breed.kinds.iter().position(|kind| breed.is_of(base, &kind.device)) else {
        return;
    };
    let place = |axis: &&Axis| {
        let value = base.parameters.get(&axis.key).and_then(|one| one.number());
        axis.place(value.unwrap_or(axis.start))
    };
    let steps = breed.whole.iter().map(place).collect();
    let mut all = vec![Way { base: base.clone(), point: best.clone(), kind, steps }];
    let (from, mut barren) = (search.simulations, 0);
    while search.simulations < until && barren < PATIENCE {
        let left = (until - search.simulations) as f64 / (until - from).max(1) as f64;
        let reach = NEAR_CHILD + (CLOSE_CHILD - NEAR_CHILD) * left;
        let parents: Vec<&Way> = all.iter().take(PARENTS).collect();
        let Some(child) = breed.child(search, &parents, reach) else { break };
        let least = cost(free.fine, &all[0].point);
        barren = if cost(free.fine, &child.point) < WORTH * least { 0 } else { barren + 1 };
        all.push(child);
        rank(&mut all, free.fine);
    }
    if let Some(first) = all.into_iter().next() {
        (*base, *best) = (first.base, first.point);
    }
}

/// Every form of what has no order, with every size of a block.
fn kinds(built: &Built, switches: &[&str], sizes: &[&Axis]) -> Vec<Kind> {
    let mut kinds = vec![built.0.clone()];
    for key in switches {
        let with = |kind: &Profile| {
            let options = options_of(key).iter();
            options.filter_map(|option| kind.with(key, option).ok()).collect::<Vec<_>>()
        };
        kinds = kinds.iter().flat_map(with).collect();
    }
    let kinds = kinds.iter().flat_map(|kind| forms(kind, sizes));
    kinds.map(|device| Kind { device, places: built.1.places.clone() }).collect()
}

/// The best first.
fn rank(all: &mut [Way], axes: &[Axis]) {
    all.sort_by(|one, other| cost(axes, &one.point).total_cmp(&cost(axes, &other.point)));
}

/// The same place with figures as they count by now.
fn again(search: &mut Search<'_>, axes: &[Axis], way: &Way) -> Point {
    let places = way.point.places.clone();
    let residuals = search.at(&way.base, axes, &places);
    Point { residuals: residuals.unwrap_or_else(|| way.point.residuals.clone()), places }
}

fn weigh_again(search: &mut Search<'_>, axes: &[Axis], all: &mut [Way]) {
    for way in all.iter_mut() {
        way.point = again(search, axes, way);
    }
    rank(all, axes);
}

/// The kinds of a ranked line, in the order of their best.
fn leading(all: &[Way]) -> Vec<usize> {
    let mut kinds: Vec<usize> = Vec::new();
    for way in all {
        if !kinds.contains(&way.kind) {
            kinds.push(way.kind);
        }
    }
    kinds
}

/// The best of each kind, as long as there is hope for it.
fn finalists(all: Vec<Way>, axes: &[Axis], wanted: usize) -> Vec<Way> {
    let least = all.first().map_or(0.0, |way| cost(axes, &way.point));
    let mut finalists: Vec<Way> = Vec::new();
    for way in all {
        let known = finalists.iter().any(|other| other.kind == way.kind);
        let hope = cost(axes, &way.point) <= HOPELESS * least;
        if finalists.is_empty() || (!known && hope && finalists.len() < wanted) {
            finalists.push(way);
        }
    }
    finalists
}

impl<'a, 'b> Breed<'a, 'b> {
    /// Of all that these can be.
    fn of(free: &'a Free<'b>, built: &[Built], random: Pcg64Mcg) -> Breed<'a, 'b> {
        let collects = |axis: &&Axis| COLLECTS.contains(&axis.key.as_str());
        let coarse = free.coarse.iter().filter(collects);
        let (sizes, whole): (Vec<&Axis>, Vec<&Axis>) =
            coarse.partition(|axis| axis.grain == Grain::Doubled);
        let kinds = built.iter().flat_map(|one| kinds(one, free.switches, &sizes)).collect();
        Breed { free, kinds, sizes, whole, random }
    }

    /// Whether a device is of that kind.
    fn is_of(&self, device: &Profile, kind: &Profile) -> bool {
        let sizes = self.sizes.iter().map(|axis| axis.key.as_str());
        let keys: Vec<&str> = self.free.switches.iter().copied().chain(sizes).collect();
        same(device, kind, &keys)
    }

    /// Evenly over all kinds and ranges: of each kind one in every part of each range.
    fn spread(&mut self, search: &mut Search<'_>, until: usize) -> Vec<Way> {
        let collects = |index: &&usize| {
            let key = &self.free.fine[**index].key;
            AMOUNTS.iter().any(|prefix| key.starts_with(prefix))
        };
        let spread: Vec<usize> = self.free.active.iter().filter(collects).copied().collect();
        let moving = spread.len() + self.whole.len();
        let strata: Vec<Vec<Vec<usize>>> = (0..self.kinds.len())
            .map(|_| (0..moving).map(|_| shuffled(SPREAD, &mut self.random)).collect())
            .collect();
        let mut all = Vec::new();
        for round in 0..SPREAD {
            for kind in shuffled(self.kinds.len(), &mut self.random) {
                if search.simulations >= until {
                    return all;
                }
                let mut drawn = strata[kind].iter().map(|order| {
                    let within: f64 = self.random.random();
                    (order[round] as f64 + within) / SPREAD as f64
                });
                let mut places = self.kinds[kind].places.clone();
                for (&index, place) in spread.iter().zip(&mut drawn) {
                    places[index] = place;
                }
                let steps: Vec<f64> = drawn.collect();
                let Some(way) = self.way(search, kind, steps, places) else { return all };
                all.push(way);
            }
        }
        all
    }

    /// A device of that kind at these places.
    fn way(
        &self,
        search: &mut Search<'_>,
        kind: usize,
        steps: Vec<f64>,
        places: Vec<f64>,
    ) -> Option<Way> {
        let mut base = self.kinds[kind].device.clone();
        for (axis, place) in self.whole.iter().zip(&steps) {
            base = knob::set(&base, &axis.key, axis.nearest(*place)).unwrap_or(base);
        }
        let residuals = search.at(&base, self.free.fine, &places)?;
        Some(Way { base, point: Point { places, residuals }, kind, steps })
    }

    /// Round after round of children, each of which leaves half of the kinds: those whose best comes
    /// nearest. What there is goes in equal parts to the rounds, and in each to the kinds that are
    /// left.
    fn halve(&mut self, search: &mut Search<'_>, all: &mut Vec<Way>, until: usize) {
        let mut kinds = leading(all);
        let rounds = kinds.len().max(2).ilog2() as usize + 1;
        for round in 0..rounds {
            kinds.truncate(kinds.len().div_ceil(2).max(2));
            let part = until.saturating_sub(search.simulations) / (rounds - round);
            let each = part / kinds.len().max(1);
            let done = round as f64 / rounds as f64;
            for kind in kinds {
                for number in 0..each {
                    let within = done + number as f64 / (each * rounds) as f64;
                    let reach = FAR_CHILD + (NEAR_CHILD - FAR_CHILD) * within;
                    let parents: Vec<&Way> =
                        all.iter().filter(|way| way.kind == kind).take(PARENTS).collect();
                    let Some(child) = self.child(search, &parents, reach) else { return };
                    all.push(child);
                    rank(all, self.free.fine);
                }
            }
            kinds = leading(all);
        }
    }

    /// One of the parents, changed a little; better ones have more children.
    fn child(&mut self, search: &mut Search<'_>, parents: &[&Way], reach: f64) -> Option<Way> {
        let luck: f64 = self.random.random();
        let chosen = (luck * luck * parents.len() as f64) as usize;
        let parent = parents.get(chosen.min(parents.len().saturating_sub(1)))?;
        let (mut places, mut steps) = (parent.point.places.clone(), parent.steps.clone());
        let moving = self.free.active.len() + steps.len();
        let always = self.random.random_range(0..moving.max(1));
        for number in 0..moving {
            let moves = number == always || self.random.random::<f64>() < 0.5;
            let normal: f64 = (0..3).map(|_| self.random.random::<f64>() - 0.5).sum::<f64>() * 2.0;
            let place = match self.free.active.get(number) {
                Some(&index) => &mut places[index],
                None => &mut steps[number - self.free.active.len()],
            };
            if moves {
                *place = within(*place + reach * normal);
            }
        }
        self.way(search, parent.kind, steps, places)
    }
}

/// Beyond an end of a range one comes back.
fn within(place: f64) -> f64 {
    let place = if place < 0.0 { -place } else { place };
    (if place > 1.0 { 2.0 - place } else { place }).clamp(0.0, 1.0)
}

/// The numbers up to `count` in an order of chance.
pub(super) fn shuffled(count: usize, random: &mut Pcg64Mcg) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.random_range(0..=last));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(kind: usize, off: f64) -> Way {
        let text = include_str!("../../tests/common/small.toml");
        let point = Point { places: Vec::new(), residuals: vec![off] };
        Way { base: Profile::parse(text).unwrap(), point, kind, steps: Vec::new() }
    }

    #[test]
    fn beyond_an_end_of_its_range_a_place_comes_back() {
        for (place, back) in [(-0.25, 0.25), (1.25, 0.75), (0.5, 0.5), (-3.0, 0.0)] {
            assert_eq!(within(place), back, "{place}");
        }
    }

    #[test]
    fn finalists_are_of_different_kinds_and_none_is_hopeless() {
        let all = [(1, 0.1), (1, 0.11), (2, 0.12), (3, 0.15), (4, 0.9)];
        let all = all.map(|(kind, off)| way(kind, off)).to_vec();
        let kinds = |wanted: usize| -> Vec<usize> {
            finalists(all.clone(), &[], wanted).iter().map(|way| way.kind).collect()
        };
        assert_eq!(kinds(9), [1, 2, 3]);
        assert_eq!(kinds(2), [1, 2]);
    }

    #[test]
    fn kinds_are_in_the_order_of_their_best() {
        let all = [(1, 0.1), (1, 0.2), (3, 0.3), (1, 0.4), (2, 0.5), (3, 0.6)];
        let all = all.map(|(kind, off)| way(kind, off)).to_vec();
        assert_eq!(leading(&all), [1, 3, 2]);
    }
}
