//! Full storage, part by part: what the day's writes take, what the wider reach, what the collection; and
//! how far plausible devices differ where nothing was measured full.

use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;

use super::beyond;
use super::figures::{self, Figures, Named, TestFigures};
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
        figures::index_of(situations, wanted, || format!("{name}, {what}"))
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

/// What decides how a full device behaves and is seldom known: less of each makes it slower.
const UNKNOWN: [&str; 3] = ["map.spare", "map.cache", "map.log_blocks"];

/// The slowest and the quickest plausible device: every such parameter at the low end of its range and
/// any block as a victim, and every one at the high end and the emptiest block. Each with what was
/// changed; an end that makes no valid device is left out.
fn extremes(profile: &Profile) -> Vec<(Profile, String)> {
    let ends =
        [extreme(profile, |low, _| low, "random"), extreme(profile, |_, high| high, "greedy")];
    ends.into_iter().flatten().collect()
}

/// The device with every such parameter at one end and with a policy; `None` if that changes nothing.
fn extreme(profile: &Profile, end: fn(f64, f64) -> f64, policy: &str) -> Option<(Profile, String)> {
    let ends = UNKNOWN.iter().filter_map(|key| {
        let parameter = profile.parameters.get(*key)?;
        let ((low, high), now) = parameter.bounds().zip(parameter.number())?;
        let end = end(low, high);
        // A value beyond its range was chosen, as on a device that is simulated smaller.
        ((low..=high).contains(&now) && end != now).then_some((*key, end))
    });
    let set = |device: Profile, (key, end)| knob::set(&device, key, end).unwrap_or(device);
    let mut changed = ends.fold(profile.clone(), set);
    // A map of log blocks reclaims its oldest: the policy says nothing there.
    if !profile.parameters.contains_key("map.log_blocks")
        && profile.parameters.contains_key("gc.policy")
        && let Ok(other) = changed.with("gc.policy", policy)
    {
        changed = other;
    }
    let value = |of: &Profile, key: &str| Some(knob::written(&of.parameters.get(key)?.value));
    let words = UNKNOWN.iter().chain(&["gc.policy"]).filter_map(|key| {
        let now = value(&changed, key)?;
        (value(profile, key).as_ref() != Some(&now)).then(|| format!("{key}={now}"))
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| (changed, words.join(",")))
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
