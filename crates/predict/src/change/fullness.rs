//! Full storage, part by part: what the day's writes take, what the wider reach, what the collection; and
//! how far plausible devices differ where nothing was measured full.

use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;
use flashlag_units::Nanos;

use super::beyond;
use super::figures::{Figures, Named, TestFigures};
use super::plan::{Cause, Plan};
use super::situation::Situation;
use super::spread::Range;
use crate::knob;

/// Why durable writes on full storage are slower than on new storage, and how sure that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Fullness {
    /// Bytes a second on a new device after a rest.
    pub new: f64,
    /// The same after a day's writes over the file under test, without a rest.
    pub used: f64,
    /// The same with the storage filled and each file written once, over all that is stored.
    pub reached: f64,
    /// The same once all that is stored was overwritten at random.
    pub full: f64,
    /// The rates of plausible devices; `None` if the profile was measured full, or if it has no
    /// plausible range of what matters on full storage.
    pub plausible: Option<Plausible>,
}

/// Durable writes of the slowest and the quickest plausible device and of the profile's own, in bytes a
/// second.
#[derive(Clone, Debug, PartialEq)]
pub struct Plausible {
    pub rested: Range,
    pub sustained: Range,
    /// What makes the others: `map.spare=3GiB,gc.policy=random`.
    pub varied: Vec<String>,
}

impl Fullness {
    /// The shares of the fall from `new` to `full`, by logarithms: the day's writes, the wider reach,
    /// the full storage. They sum up to 1. `None` without a fall of a twentieth.
    pub fn shares(&self) -> Option<[f64; 3]> {
        let whole = (self.new / self.full).ln();
        let part = |from: f64, to: f64| (from / to).ln() / whole;
        let shares = [
            part(self.new, self.used),
            part(self.used, self.reached),
            part(self.reached, self.full),
        ];
        (whole > 0.05 && shares.iter().all(|share| share.is_finite())).then_some(shares)
    }
}

/// The indices, among all simulated situations, of those that a full device is compared with.
#[derive(Debug)]
pub(super) struct Chain {
    new: usize,
    reached: usize,
    full: usize,
    plausible: Vec<usize>,
    varied: Vec<String>,
}

/// Adds the situations that a full one is compared with. One that is among `situations` already is
/// reused.
pub(super) fn chain(full: usize, published: &[Published], situations: &mut Vec<Named>) -> Chain {
    let (situation, name) = situations[full].clone();
    let measured = beyond::was_measured_full(&situation.profile, published);
    let mut index_of = |wanted: Situation, what: &str| {
        situations.iter().position(|(one, _)| *one == wanted).unwrap_or_else(|| {
            situations.push((wanted, format!("{name}, {what}")));
            situations.len() - 1
        })
    };
    let plan = situation.plan;
    let with = |plan: Plan| Situation { plan, ..situation.clone() };
    let new = index_of(with(Plan { full: None, ..plan }), "as new");
    let reached = index_of(with(Plan { up_to: Cause::Fill, ..plan }), "filled");
    let extremes = if measured { Vec::new() } else { extremes(&situation.profile) };
    let varied = extremes.iter().map(|(_, what)| what.clone()).collect();
    let plausible = extremes
        .into_iter()
        .map(|(profile, what)| index_of(Situation { profile, ..situation.clone() }, &what))
        .collect();
    Chain { new, reached, full, plausible, varied }
}

/// Whether a plan's device is full, not aged and not worn: what else makes it slower is told apart
/// elsewhere.
pub(super) fn is_only_full(plan: &Plan) -> bool {
    plan.full.is_some() && plan.age == Nanos::ZERO && !plan.untrimmed && plan.worn == 0.0
}

/// What decides how a full device behaves and is seldom known: less of each makes it slower.
const UNKNOWN: [&str; 3] = ["map.spare", "map.cache", "map.log_blocks"];

/// The slowest and the quickest plausible device: every such parameter at the low end of its range and
/// any block as a victim, and every one at the high end and the emptiest block. Each with what was
/// changed; an end that makes no valid device is left out.
fn extremes(profile: &Profile) -> Vec<(Profile, String)> {
    let extreme = |end: fn((f64, f64)) -> f64, policy: &str| {
        let (mut changed, mut words) = (profile.clone(), Vec::new());
        for key in UNKNOWN {
            let Some(parameter) = profile.parameters.get(key) else { continue };
            let Some((range, now)) = parameter.bounds().zip(parameter.number()) else { continue };
            // A value beyond its range was chosen, as on a device that is simulated smaller.
            if now < range.0 || now > range.1 || end(range) == now {
                continue;
            }
            if let Ok(other) = knob::set(&changed, key, end(range)) {
                words.extend(other.parameters.get(key).map(|one| knob::written(&one.value)));
                words.last_mut().into_iter().for_each(|word| *word = format!("{key}={word}"));
                changed = other;
            }
        }
        // A map of log blocks reclaims its oldest: the policy says nothing there.
        let logs = profile.parameters.contains_key("map.log_blocks");
        if let Some(other) = changed.with("gc.policy", policy).ok().filter(|_| !logs)
            && other != changed
        {
            words.push(format!("gc.policy={policy}"));
            changed = other;
        }
        (!words.is_empty()).then(|| (changed, words.join(",")))
    };
    [extreme(|(low, _)| low, "random"), extreme(|(_, high)| high, "greedy")]
        .into_iter()
        .flatten()
        .collect()
}

impl Chain {
    /// The parts and the plausible rates, from the figures of all simulated situations; `None` if one
    /// has no durable writes.
    pub(super) fn fullness(&self, figures: &[Figures]) -> Option<Fullness> {
        let rate = |test: Option<&TestFigures>| Some(test?.bytes_per_second);
        let rested = |index: &usize| rate(figures.get(*index)?.durable());
        let sustained = |index: &usize| rate(figures.get(*index)?.sustained.as_ref());
        let each = || std::iter::once(&self.full).chain(&self.plausible);
        let plausible = (!self.plausible.is_empty())
            .then(|| {
                Some(Plausible {
                    rested: Range::of(each().filter_map(rested))?,
                    sustained: Range::of(each().filter_map(sustained))?,
                    varied: self.varied.clone(),
                })
            })
            .flatten();
        Some(Fullness {
            new: rested(&self.new)?,
            used: sustained(&self.new)?,
            reached: sustained(&self.reached)?,
            full: sustained(&self.full)?,
            plausible,
        })
    }
}
