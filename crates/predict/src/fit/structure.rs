//! The structure of a device, apart from its times: parameters that change in steps (units, blocks,
//! candidates for collection) and parameters without an order (which block is collected, whether
//! copies have blocks of their own).

use flashlag_spec::profile::Profile;
use flashlag_units::InOrder;
use nalgebra::DMatrix;

use super::axis::Axis;
use super::search::{Point, Search, cost};
use super::solve;
use super::stage::FitStage;
use crate::knob;

/// A step is kept if it reduces the sum of squares below this share.
const WORTH: f64 = 0.9;
/// Maximum number of rounds over all steps.
const ROUNDS: usize = 4;

/// Parameters without an order, each with its values.
const SWITCHES: [(&str, &[&str]); 2] = [
    ("gc.policy", &["greedy", "d_choices", "cost_benefit", "fifo"]),
    ("gc.hot_cold", &["true", "false"]),
];

/// Parameters that new storage determines only together: other times compensate a smaller unit, and
/// times fitted to a wrong pair are wrong afterwards.
const UNITS: [&str; 2] = ["map.unit", "map.program_unit"];
/// The parameter that changes writes that are not durable; times compensate it too.
const BUFFER: [&str; 1] = ["buffer.size"];
/// Rounds of least squares for each device at first, and for the leading ones.
const FIRST_ROUNDS: usize = 3;
const LAST_ROUNDS: usize = 8;
/// The number of leading devices.
const LEADERS: usize = 4;
/// Candidates whose sum of squares exceeds the best by this factor are dropped.
const HOPELESS: f64 = 8.0;

/// A device whose sum of squares exceeds the best by at most this factor and amount counts as equal:
/// new storage does not distinguish them.
const AS_GOOD: f64 = 1.5;
const AS_GOOD_BY: f64 = 0.005;

/// A device with its best times.
pub(super) type DeviceFit = (Profile, Point);

/// Tries every pair of units within their ranges with its best times, and the leading pairs with
/// every size of the write buffer. Continues with the best and returns all pairs that new storage
/// does not distinguish from it, the best first.
pub(super) fn pairs(
    search: &mut Search<'_>,
    free: &Free<'_>,
    base: &mut Profile,
    best: &mut Point,
    until: usize,
) -> Vec<DeviceFit> {
    let off = |one: &DeviceFit| cost(free.fine, &one.1);
    let rank = |all: &mut Vec<DeviceFit>| {
        all.order_by(|one, other| off(one).total_cmp(&off(other)));
        let least = all.first().map_or(0.0, off);
        all.retain(|one| off(one) <= HOPELESS * least);
    };
    // From the starting values: times fitted to another device may lie on bounds that no step
    // leaves.
    let places = free.fine.iter().map(|axis| axis.place(axis.start)).collect();
    let start = Point { places, residuals: Vec::new() };
    // Simulations for the last rounds are kept.
    let last = search.share_of(LEADERS * LAST_ROUNDS * (free.active.len() + 2));
    let first_until = until.saturating_sub(last);
    let named = |keys: &[&str]| -> Vec<&Axis> {
        free.coarse.iter().filter(|axis| keys.contains(&&*axis.key)).collect()
    };
    let units = if search.does(FitStage::Pairs) { named(&UNITS) } else { Vec::new() };
    let buffers = if search.does(FitStage::Buffers) { named(&BUFFER) } else { Vec::new() };
    let mut built = Vec::new();
    for device in forms(base, &units) {
        built.extend(nearest_times(search, free, device, &start, FIRST_ROUNDS, first_until));
    }
    rank(&mut built);
    for (device, _) in built.clone() {
        let others = forms(&device, &buffers).into_iter();
        for other in others.filter(|other| *other != device) {
            built.extend(nearest_times(search, free, other, &start, FIRST_ROUNDS, first_until));
        }
    }
    rank(&mut built);
    // The best buffer for each pair of units.
    let mut leaders: Vec<DeviceFit> = Vec::new();
    for one in built {
        let known = leaders.iter().any(|other| same(&other.0, &one.0, &UNITS));
        if !known && leaders.len() < LEADERS {
            leaders.push(one);
        }
    }
    for (device, point) in &mut leaders {
        if let Some(last) = nearest_times(search, free, device.clone(), point, LAST_ROUNDS, until) {
            *point = last.1;
        }
    }
    rank(&mut leaders);
    let least = leaders.first().map_or(0.0, off);
    leaders.retain(|one| off(one) <= AS_GOOD * least + AS_GOOD_BY);
    if let Some((device, point)) = leaders.first()
        && cost(free.fine, point) < cost(free.fine, best)
    {
        (*base, *best) = (device.clone(), point.clone());
    }
    leaders
}

/// Whether two devices have equal values of these parameters.
pub(super) fn same(one: &Profile, other: &Profile, keys: &[&str]) -> bool {
    let value = |profile: &Profile, key: &str| {
        profile.parameters.get(key).map(|parameter| knob::written(&parameter.value))
    };
    keys.iter().all(|key| value(one, key) == value(other, key))
}

/// A device with every combination of these parameters within their ranges.
pub(super) fn forms(base: &Profile, axes: &[&Axis]) -> Vec<Profile> {
    let mut devices = vec![base.clone()];
    for axis in axes {
        let with = |device: &Profile| {
            let values = axis.values().into_iter();
            values.filter_map(|value| knob::set(device, &axis.key, value).ok()).collect::<Vec<_>>()
        };
        devices = devices.iter().flat_map(with).collect();
    }
    devices
}

/// A device with its best times, starting from those of a point; `None` if no simulation is left.
fn nearest_times(
    search: &mut Search<'_>,
    free: &Free<'_>,
    device: Profile,
    from: &Point,
    rounds: usize,
    until: usize,
) -> Option<DeviceFit> {
    let looks = rounds * (free.active.len() + 2);
    if !search.affords(looks, until) {
        return None;
    }
    let places = from.places.clone();
    let residuals = search.at(&device, free.fine, &places)?;
    let share = search.share_of(looks);
    let start = Point { places, residuals };
    let point = solve::solve(search, &device, free.fine, free.active, start, share);
    Some((device, point))
}

/// The values of a switch.
pub(super) fn options_of(key: &str) -> &'static [&'static str] {
    SWITCHES.iter().find(|(known, _)| *known == key).map_or(&[], |one| one.1)
}

/// The free switches of a profile.
pub(super) fn switches(profile: &Profile, held: &[(String, String)]) -> Vec<&'static str> {
    let free = |key: &&str| {
        profile.parameters.contains_key(*key) && !held.iter().any(|(known, _)| known == key)
    };
    SWITCHES.iter().map(|(key, _)| *key).filter(free).collect()
}

/// All profiles that differ by one step or one switch.
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

/// Profiles that differ by one step.
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

/// The options of a search over steps.
#[derive(Clone, Copy)]
pub(super) struct Free<'a> {
    pub fine: &'a [Axis],
    pub coarse: &'a [Axis],
    pub switches: &'a [&'static str],
    /// The continuous axes that change some figure.
    pub active: &'a [usize],
}

/// The point after a step: unchanged otherwise, or with the continuous parameters corrected for it,
/// since another mapping unit is better only with other times.
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

/// Takes every sufficient step, in rounds, until a round has none. With `solve`, the continuous
/// parameters are fitted after each, with a share of the remaining simulations.
pub(super) fn improve(
    search: &mut Search<'_>,
    free: &Free<'_>,
    base: &mut Profile,
    best: &mut Point,
    jacobian: &mut DMatrix<f64>,
    solve: bool,
    until: usize,
) {
    let rounds = if search.does(FitStage::Steps) { ROUNDS } else { 0 };
    for _ in 0..rounds {
        let mut better = false;
        let mut taken: Option<usize> = None;
        for (which, step) in neighbours(base, free.coarse, free.switches) {
            // The same parameter was just changed: the next round continues from there.
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
