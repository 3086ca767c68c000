//! What a device is built like, and not only how quick it is: what moves in steps (units, blocks,
//! candidates for collection) and what has no order at all (which block is collected, whether
//! copies have blocks of their own).

use flashlag_schema::profile::Profile;
use nalgebra::DMatrix;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::axis::Axis;
use super::search::{Point, Search, cost};
use super::solve;
use crate::knob;

/// A step of what moves in steps must make the sum of squares this much smaller.
const WORTH: f64 = 0.9;
/// Rounds over all steps, at most.
const ROUNDS: usize = 4;

/// What has no order, and all that it can be. Ranges are for numbers; these are what there is.
const SWITCHES: [(&str, &[&str]); 2] = [
    ("gc.policy", &["greedy", "d_choices", "cost_benefit", "fifo"]),
    ("gc.hot_cold", &["true", "false"]),
];

/// What moves in steps and shows only where something is collected.
const COLLECTS: [&str; 3] = ["nand.pages_per_block", "gc.choices", "gc.low_water"];

/// What new storage tells, but only together: a smaller unit is made up for by other times, and
/// the times that fit a wrong pair are wrong for all that follows.
const UNITS: [&str; 2] = ["map.unit", "map.program_unit"];

/// Every pair of units within their ranges, each with the times that come nearest with it; the best
/// of them is gone on with.
pub(super) fn pairs(
    search: &mut Search<'_>,
    free: &Free<'_>,
    base: &mut Profile,
    best: &mut Point,
    until: usize,
) {
    let axes: Vec<&Axis> = free.coarse.iter().filter(|axis| UNITS.contains(&&*axis.key)).collect();
    let mut devices = vec![base.clone()];
    for axis in axes {
        let with = |device: &Profile| {
            let values = axis.values().into_iter();
            values.filter_map(|value| knob::set(device, &axis.key, value).ok()).collect::<Vec<_>>()
        };
        devices = devices.iter().flat_map(with).collect();
    }
    let from = best.places.clone();
    for device in devices {
        if search.simulations >= until {
            return;
        }
        let Some(residuals) = search.at(&device, free.fine, &from) else { return };
        let point = Point { places: from.clone(), residuals };
        let share = free.active.len() + 1;
        let point = solve::solve(search, &device, free.fine, free.active, point, share);
        if cost(free.fine, &point) < cost(free.fine, best) {
            (*base, *best) = (device, point);
        }
    }
}

/// All that a switch can be.
fn options_of(key: &str) -> &'static [&'static str] {
    SWITCHES.iter().find(|(known, _)| *known == key).map_or(&[], |one| one.1)
}

/// The switches that a profile has and that are not held.
pub(super) fn switches(profile: &Profile, held: &[(String, String)]) -> Vec<&'static str> {
    let free = |key: &&str| {
        profile.parameters.contains_key(*key) && !held.iter().any(|(known, _)| known == key)
    };
    SWITCHES.iter().map(|(key, _)| *key).filter(free).collect()
}

/// All profiles that are one step, or one switch, away.
fn neighbours(base: &Profile, coarse: &[Axis], switches: &[&str]) -> Vec<(usize, Step)> {
    let mut all = Vec::new();
    for (which, key) in switches.iter().enumerate() {
        let Some(present) = base.parameters.get(*key) else { continue };
        let others =
            options_of(key).iter().filter(|option| knob::written(&present.value) != **option);
        all.extend(others.map(|option| (which, Step::Switch(key.to_string(), option))));
    }
    for (which, axis) in coarse.iter().enumerate() {
        let Some(parameter) = base.parameters.get(&axis.key) else { continue };
        let steps = axis.steps(parameter).into_iter();
        all.extend(steps.map(|to| (switches.len() + which, Step::Number(axis.key.clone(), to))));
    }
    all
}

/// One step away.
enum Step {
    Switch(String, &'static str),
    Number(String, f64),
}

impl Step {
    fn from(&self, base: &Profile) -> Option<Profile> {
        match self {
            Step::Switch(key, option) => base.with(key, option).ok(),
            Step::Number(key, value) => knob::set(base, key, *value).ok(),
        }
    }
}

/// What a search of steps goes by.
pub(super) struct Free<'a> {
    pub fine: &'a [Axis],
    pub coarse: &'a [Axis],
    pub switches: &'a [&'static str],
    /// The fine axes that some figure moves by.
    pub active: &'a [usize],
}

/// So many devices are drawn at random.
const DRAWN: usize = 24;

/// Begins with the best of some that are drawn at random: what has no order, what moves in steps
/// but is not told by new storage, and what of the rest new storage does not tell. A way of
/// collecting is only as good as the spare area it is tried with, so that one step at a time ends
/// where no single one helps.
pub(super) fn draw(
    search: &mut Search<'_>,
    free: &Free<'_>,
    base: &mut Profile,
    best: &mut Point,
    until: usize,
) {
    let mut random = Pcg64Mcg::seed_from_u64(search.seed());
    let as_it_is = (base.clone(), best.places.clone());
    for _ in 0..DRAWN {
        if search.simulations >= until {
            return;
        }
        let (mut drawn, mut places) = as_it_is.clone();
        for key in free.switches {
            let options = options_of(key);
            let Some(option) = options.get(random.random_range(0..options.len().max(1))) else {
                continue;
            };
            drawn = drawn.with(key, option).unwrap_or(drawn);
        }
        for axis in free.coarse.iter().filter(|axis| COLLECTS.contains(&axis.key.as_str())) {
            let place: f64 = random.random();
            let value = axis.nearest(place);
            drawn = knob::set(&drawn, &axis.key, value).unwrap_or(drawn);
        }
        for &index in free.active {
            places[index] = random.random();
        }
        let Some(residuals) = search.at(&drawn, free.fine, &places) else { return };
        let point = Point { places, residuals };
        if cost(free.fine, &point) < cost(free.fine, best) {
            (*base, *best) = (drawn, point);
        }
    }
}

/// The point that a step leads to: as it is, or with what moves freely corrected for it, since
/// another mapping unit is a better device only with other times.
fn stepped_to(
    search: &mut Search<'_>,
    free: &Free<'_>,
    stepped: &Profile,
    jacobian: &DMatrix<f64>,
    best: &Point,
) -> Option<Point> {
    let places = best.places.clone();
    let residuals = search.at(stepped, free.fine, &places)?;
    let plain = Point { places, residuals };
    let Some(places) = solve::corrected(jacobian, free.active, &plain) else { return Some(plain) };
    let Some(residuals) = search.at(stepped, free.fine, &places) else { return Some(plain) };
    let corrected = Point { places, residuals };
    let better = cost(free.fine, &corrected) < cost(free.fine, &plain);
    Some(if better { corrected } else { plain })
}

/// Takes every step that is worth it, round after round, until a round has none. With `solve`, what
/// moves freely follows each of them, at a share of what is left.
pub(super) fn improve(
    search: &mut Search<'_>,
    free: &Free<'_>,
    base: &mut Profile,
    best: &mut Point,
    jacobian: &mut DMatrix<f64>,
    solve: bool,
    until: usize,
) {
    for _ in 0..ROUNDS {
        let mut better = false;
        let mut taken: Option<usize> = None;
        for (which, step) in neighbours(base, free.coarse, free.switches) {
            // Another step of the same was just taken: the next round goes on from there.
            if taken == Some(which) || search.simulations >= until {
                continue;
            }
            let Some(stepped) = step.from(base) else { continue };
            let Some(point) = stepped_to(search, free, &stepped, jacobian, best) else { return };
            if cost(free.fine, &point) >= WORTH * cost(free.fine, best) {
                continue;
            }
            (*base, *best) = (stepped, point);
            (better, taken) = (true, Some(which));
            if solve {
                let share = 3 * (free.active.len() + 2);
                let share = share.min(search.left().saturating_sub(free.fine.len()) / 2);
                let from = best.clone();
                *best = solve::solve(search, base, free.fine, free.active, from, share);
            }
        }
        if !better {
            return;
        }
        solve::refresh(search, base, free.fine, free.active, best, jacobian);
    }
}
