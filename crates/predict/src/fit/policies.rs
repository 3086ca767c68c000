//! Garbage collection policies: which block is collected, whether copies have blocks of their own,
//! how large blocks are, and the spare area, the low-water mark and the times that belong to each.
//!
//! How good a policy looks depends on the spare area that it is tried with, so changing one
//! parameter at a time gets stuck. Instead an evolutionary search varies whole devices: candidates
//! of every variant are spread over the ranges, the better ones are changed by smaller and smaller
//! steps, and each round halves the number of variants.

use flashlag_spec::profile::Profile;
use flashlag_units::InOrder;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::axis::Axis;
use super::search::{Point, Search, cost, profile_at};
use super::stage::FitStage;
use super::structure::{DeviceFit, Free, forms, options_of, same};
use crate::knob::{self, Grain};

/// Initial candidates of each variant.
const SPREAD: usize = 6;
/// The initial candidates use at most one in this many of the remaining simulations.
const SPREAD_PART: usize = 2;
/// The number of best candidates that may be parents.
pub(super) const PARENTS: usize = 4;
/// Distance of a child from its parent, as a share of a range: at first and at last.
const FAR_CHILD: f64 = 0.3;
const NEAR_CHILD: f64 = 0.04;
/// The first distance for a known policy.
const CLOSE_CHILD: f64 = 0.12;
/// Children in a row without a sufficient improvement, after which the search ends.
const PATIENCE: usize = 150;
/// The least relative improvement of the sum of squares: a child below this share of the best counts.
const WORTH: f64 = 0.99;
/// A candidate is dropped if its sum of squares exceeds the best by this factor.
const HOPELESS: f64 = 3.0;

/// Prefixes of parameters that say how much is collected and when. Other parameters, such as the time
/// of an erase, begin at their present values.
const AMOUNTS: [&str; 2] = ["map.", "gc."];
/// Parameters that move in steps and matter only while blocks are collected.
const COLLECTS: [&str; 3] = ["nand.pages_per_block", "gc.choices", "gc.low_water"];

/// A device with one policy, and its residuals.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The device with its switches and whole-number parameters set.
    pub base: Profile,
    /// The values of all other parameters.
    pub point: Point,
    pub(super) variant: usize,
    /// Coordinates of the whole-number parameters.
    pub(super) steps: Vec<f64>,
}

/// A device with every switch and the block size set, and the times that were fitted to its units.
#[derive(Clone, Debug)]
struct Variant {
    device: Profile,
    places: Vec<f64>,
}

/// The material of all candidates.
pub(super) struct Population<'a, 'b> {
    pub(super) free: &'a Free<'b>,
    variants: Vec<Variant>,
    sizes: Vec<&'a Axis>,
    whole: Vec<&'a Axis>,
    pub(super) random: Pcg64Mcg,
}

/// The best candidates of different variants, best first, at most `wanted`; includes the given device
/// if nothing is better.
pub(super) fn candidates(
    search: &mut Search<'_>,
    free: &Free<'_>,
    base: &Profile,
    best: &Point,
    built: &[DeviceFit],
    wanted: usize,
    until: usize,
) -> Vec<Candidate> {
    let unchanged =
        Candidate { base: base.clone(), point: best.clone(), variant: usize::MAX, steps: vec![] };
    let random = Pcg64Mcg::seed_from_u64(search.seed());
    let mut population = Population::of(free, built, random);
    if !search.does(FitStage::Policies) {
        return vec![unchanged];
    }
    if population.variants.len() < 2 && population.whole.is_empty() {
        return vec![unchanged];
    }
    let from = search.simulations;
    let spread_until = from + until.saturating_sub(from) / SPREAD_PART;
    let mut all = population.spread(search, spread_until);
    rank(&mut all, free.fine);
    if let (true, Some(first)) = (search.does(FitStage::Scatter), all.first()) {
        search.learn_scatter(&first.base, free.fine, &first.point.places);
        weigh_again(search, free.fine, &mut all);
    }
    population.halve(search, &mut all, until);
    all.push(Candidate { point: again(search, free.fine, &unchanged), ..unchanged });
    rank(&mut all, free.fine);
    finalists(all, free.fine, wanted)
}

/// Searches near the best device for a better one, by small changes of all parameters of garbage
/// collection.
pub(super) fn refine(
    search: &mut Search<'_>,
    free: &Free<'_>,
    base: &mut Profile,
    best: &mut Point,
    until: usize,
) {
    let random = Pcg64Mcg::seed_from_u64(search.seed().wrapping_add(1));
    let mut population = Population::of(free, &[(base.clone(), best.clone())], random);
    let Some(variant) =
        population.variants.iter().position(|variant| population.is_of(base, &variant.device))
    else {
        return;
    };
    let place = |axis: &&Axis| {
        let value = base.parameters.get(&axis.key).and_then(|one| one.number());
        axis.place(value.unwrap_or(axis.start))
    };
    let steps = population.whole.iter().map(place).collect();
    let mut all = vec![Candidate { base: base.clone(), point: best.clone(), variant, steps }];
    let (from, mut barren, mut ahead) = (search.simulations, 0, 0);
    while search.simulations < until && barren < PATIENCE {
        let left = (until - search.simulations) as f64 / (until - from).max(1) as f64;
        let reach = NEAR_CHILD + (CLOSE_CHILD - NEAR_CHILD) * left;
        let parents: Vec<&Candidate> = all.iter().take(PARENTS).collect();
        // The next one's reach is nearly this one's.
        let Some(child) = population.child(search, &parents, &mut ahead, &|_| reach) else { break };
        let least = cost(free.fine, &all[0].point);
        barren = if cost(free.fine, &child.point) < WORTH * least { 0 } else { barren + 1 };
        insert(&mut all, child, free.fine);
    }
    if let Some(first) = all.into_iter().next() {
        (*base, *best) = (first.base, first.point);
    }
}

/// Every combination of switches and block sizes.
fn variants(built: &DeviceFit, switches: &[&str], sizes: &[&Axis]) -> Vec<Variant> {
    let mut variants = vec![built.0.clone()];
    for key in switches {
        let with = |variant: &Profile| {
            let options = options_of(key).iter();
            options.filter_map(|option| variant.with(key, option).ok()).collect::<Vec<_>>()
        };
        variants = variants.iter().flat_map(with).collect();
    }
    let variants = variants.iter().flat_map(|variant| forms(variant, sizes));
    variants.map(|device| Variant { device, places: built.1.places.clone() }).collect()
}

/// Sorts candidates, best first.
fn rank(all: &mut [Candidate], axes: &[Axis]) {
    all.order_by(|one, other| cost(axes, &one.point).total_cmp(&cost(axes, &other.point)));
}

/// Puts a candidate where [`rank`] would: among sorted ones, behind those that are as good.
fn insert(all: &mut Vec<Candidate>, candidate: Candidate, axes: &[Axis]) {
    let own = cost(axes, &candidate.point);
    let place = all.partition_point(|one| cost(axes, &one.point).total_cmp(&own).is_le());
    all.insert(place, candidate);
}

/// The candidate with residuals by the current weights.
fn again(search: &mut Search<'_>, axes: &[Axis], candidate: &Candidate) -> Point {
    let places = candidate.point.places.clone();
    let residuals = search.at(&candidate.base, axes, &places);
    Point { residuals: residuals.unwrap_or_else(|| candidate.point.residuals.clone()), places }
}

fn weigh_again(search: &mut Search<'_>, axes: &[Axis], all: &mut [Candidate]) {
    for candidate in all.iter_mut() {
        candidate.point = again(search, axes, candidate);
    }
    rank(all, axes);
}

/// The variants of sorted candidates, in the order of their best.
fn leading(all: &[Candidate]) -> Vec<usize> {
    let mut variants: Vec<usize> = Vec::new();
    for candidate in all {
        if !variants.contains(&candidate.variant) {
            variants.push(candidate.variant);
        }
    }
    variants
}

/// The best candidate of each variant that is not dropped.
fn finalists(all: Vec<Candidate>, axes: &[Axis], wanted: usize) -> Vec<Candidate> {
    let least = all.first().map_or(0.0, |candidate| cost(axes, &candidate.point));
    let mut finalists: Vec<Candidate> = Vec::new();
    for candidate in all {
        let known = finalists.iter().any(|other| other.variant == candidate.variant);
        let hope = cost(axes, &candidate.point) <= HOPELESS * least;
        if finalists.is_empty() || (!known && hope && finalists.len() < wanted) {
            finalists.push(candidate);
        }
    }
    finalists
}

impl<'a, 'b> Population<'a, 'b> {
    /// All combinations of these switches and block sizes.
    fn of(free: &'a Free<'b>, built: &[DeviceFit], random: Pcg64Mcg) -> Population<'a, 'b> {
        let collects = |axis: &&Axis| COLLECTS.contains(&axis.key.as_str());
        let coarse = free.coarse.iter().filter(collects);
        let (sizes, whole): (Vec<&Axis>, Vec<&Axis>) =
            coarse.partition(|axis| axis.grain == Grain::Doubled);
        let variants = built.iter().flat_map(|one| variants(one, free.switches, &sizes)).collect();
        Population { free, variants, sizes, whole, random }
    }

    /// Whether a device is of that variant.
    fn is_of(&self, device: &Profile, variant: &Profile) -> bool {
        let sizes = self.sizes.iter().map(|axis| axis.key.as_str());
        let keys: Vec<&str> = self.free.switches.iter().copied().chain(sizes).collect();
        same(device, variant, &keys)
    }

    /// Initial candidates, evenly over variants and ranges: for each variant, one in every part of each
    /// range.
    fn spread(&mut self, search: &mut Search<'_>, until: usize) -> Vec<Candidate> {
        let collects = |index: &&usize| {
            let key = &self.free.fine[**index].key;
            AMOUNTS.iter().any(|prefix| key.starts_with(prefix))
        };
        let spread: Vec<usize> = self.free.active.iter().filter(collects).copied().collect();
        let moving = spread.len() + self.whole.len();
        let strata: Vec<Vec<Vec<usize>>> = (0..self.variants.len())
            .map(|_| (0..moving).map(|_| shuffled(SPREAD, &mut self.random)).collect())
            .collect();
        self.prepare(search, &strata, &spread, until);
        let mut all = Vec::new();
        for round in 0..SPREAD {
            for variant in shuffled(self.variants.len(), &mut self.random) {
                if search.simulations >= until {
                    return all;
                }
                let (steps, places) = drawn(
                    &self.variants[variant],
                    &strata[variant],
                    round,
                    &spread,
                    &mut self.random,
                );
                let Some(candidate) = self.candidate(search, variant, steps, places) else {
                    return all;
                };
                all.push(candidate);
            }
        }
        all
    }

    /// Simulates the first candidates in parallel, as many as `spread` will use.
    fn prepare(
        &self,
        search: &mut Search<'_>,
        strata: &[Vec<Vec<usize>>],
        spread: &[usize],
        until: usize,
    ) {
        let mut random = self.random.clone();
        let mut profiles = Vec::new();
        for round in 0..SPREAD {
            for variant in shuffled(self.variants.len(), &mut random) {
                let (steps, places) =
                    drawn(&self.variants[variant], &strata[variant], round, spread, &mut random);
                let device = self.device(variant, &steps);
                profiles.extend(profile_at(&device, self.free.fine, &places));
            }
        }
        profiles.truncate(until.saturating_sub(search.simulations));
        search.prepare(&profiles);
    }

    /// A device of that variant with these whole-number parameters.
    pub(super) fn device(&self, variant: usize, steps: &[f64]) -> Profile {
        let mut device = self.variants[variant].device.clone();
        for (axis, place) in self.whole.iter().zip(steps) {
            device = knob::set(&device, &axis.key, axis.nearest(*place)).unwrap_or(device);
        }
        device
    }

    /// A device of that variant at these coordinates.
    pub(super) fn candidate(
        &self,
        search: &mut Search<'_>,
        variant: usize,
        steps: Vec<f64>,
        places: Vec<f64>,
    ) -> Option<Candidate> {
        let base = self.device(variant, &steps);
        let residuals = search.at(&base, self.free.fine, &places)?;
        Some(Candidate { base, point: Point { places, residuals }, variant, steps })
    }

    /// Rounds of children, each of which keeps the better half of the variants. The simulations are
    /// divided equally among the rounds, and within a round among its variants.
    fn halve(&mut self, search: &mut Search<'_>, all: &mut Vec<Candidate>, until: usize) {
        let mut variants = leading(all);
        let rounds = variants.len().max(2).ilog2() as usize + 1;
        for round in 0..rounds {
            variants.truncate(variants.len().div_ceil(2).max(2));
            let part = until.saturating_sub(search.simulations) / (rounds - round);
            let each = part / variants.len().max(1);
            let done = round as f64 / rounds as f64;
            for variant in variants {
                let mut ahead = 0;
                let reach = |number: usize| {
                    let within = done + number as f64 / (each * rounds) as f64;
                    FAR_CHILD + (NEAR_CHILD - FAR_CHILD) * within
                };
                for number in 0..each {
                    let parents: Vec<&Candidate> = all
                        .iter()
                        .filter(|candidate| candidate.variant == variant)
                        .take(PARENTS)
                        .collect();
                    let reach = |later| reach(number + later);
                    let Some(child) = self.child(search, &parents, &mut ahead, &reach) else {
                        return;
                    };
                    insert(all, child, self.free.fine);
                }
            }
            variants = leading(all);
        }
    }
}

/// Coordinates of an initial candidate: in its part of each range, of whole-number parameters and of all
/// others.
fn drawn(
    variant: &Variant,
    strata: &[Vec<usize>],
    round: usize,
    spread: &[usize],
    random: &mut Pcg64Mcg,
) -> (Vec<f64>, Vec<f64>) {
    let mut drawn = strata.iter().map(|order| {
        let within: f64 = random.random();
        (order[round] as f64 + within) / SPREAD as f64
    });
    let mut places = variant.places.clone();
    for (&index, place) in spread.iter().zip(&mut drawn) {
        places[index] = place;
    }
    (drawn.collect(), places)
}

/// The numbers below `count` in random order.
fn shuffled(count: usize, random: &mut Pcg64Mcg) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.random_range(0..=last));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(variant: usize, off: f64) -> Candidate {
        let text = include_str!("../../tests/it/common/small.toml");
        let point = Point { places: Vec::new(), residuals: vec![off] };
        Candidate { base: Profile::parse(text).unwrap(), point, variant, steps: Vec::new() }
    }

    #[test]
    fn finalists_are_of_different_kinds_and_none_is_hopeless() {
        let all = [(1, 0.1), (1, 0.11), (2, 0.12), (3, 0.15), (4, 0.9)];
        let all = all.map(|(variant, off)| candidate(variant, off)).to_vec();
        let variants = |wanted: usize| -> Vec<usize> {
            finalists(all.clone(), &[], wanted).iter().map(|candidate| candidate.variant).collect()
        };
        assert_eq!(variants(9), [1, 2, 3]);
        assert_eq!(variants(2), [1, 2]);
    }

    #[test]
    fn a_candidate_is_put_where_sorting_would_put_it() {
        let mut all = Vec::new();
        for (variant, off) in (0..).zip([0.3, 0.1, f64::NAN, 0.3, 0.2, 0.1]) {
            insert(&mut all, candidate(variant, off), &[]);
            let mut sorted = all.clone();
            sorted.sort_by_key(|one| one.variant);
            rank(&mut sorted, &[]);
            assert_eq!(kinds(&all), kinds(&sorted));
        }
        assert_eq!(kinds(&all), [1, 5, 4, 0, 3, 2]);
    }

    fn kinds(all: &[Candidate]) -> Vec<usize> {
        all.iter().map(|one| one.variant).collect()
    }

    #[test]
    fn kinds_are_in_the_order_of_their_best() {
        let all = [(1, 0.1), (1, 0.2), (3, 0.3), (1, 0.4), (2, 0.5), (3, 0.6)];
        let all = all.map(|(variant, off)| candidate(variant, off)).to_vec();
        assert_eq!(leading(&all), [1, 3, 2]);
    }
}
