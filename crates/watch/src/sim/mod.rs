//! A watch of a simulated device: months of a user's days in minutes of virtual time, with planted
//! waits, planted things that look like waits and are none, and planted ageing, so that it is known
//! what a watch should find.

mod day;
mod disk;
mod error;
mod people;
mod truth;
mod user;

use flashlag_flash::{FlashDevice, aged_by};
use flashlag_iostack::{Stack, StackSpec};
use flashlag_schema::history::{History, Subject};
use flashlag_spec::profile::Model;
use flashlag_spec::target::{Age, MountSpec};
use flashlag_units::{Bytes, Nanos};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::book::{Book, BookError};
use crate::trend::{Day, changes, day_of};
use crate::writer::{Note, put};

pub use error::SimError;
pub use truth::{Planted, Row, Score};

use day::{DAY, acts};
use disk::Disk;
use truth::score;
use user::User;

/// A request can end later than in the model, never sooner. Where no waits are planted, a usual one takes this many times
/// as long as in the model, so that a fast day is as fast as drawn; planted waits keep the profile's own speed, and the
/// fastest days are cut off.
const ROOM: f64 = 1.5;
/// Days differ by this part, and each resembles the one before it.
const NOISE: f64 = 0.1;
const ALIKE: f64 = 0.7;

/// A simulated device, and how it is watched.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The device as the user named it.
    pub name: String,
    pub model: Model,
    pub mount: MountSpec,
    pub age: Age,
    /// The bytes that a day of use wrote on an aged device.
    pub daily: Bytes,
    pub seed: u64,
    pub days: u64,
    /// How often a probe is made.
    pub probe: Nanos,
    pub over: Nanos,
    /// Whether waits are planted.
    pub planted: bool,
    /// Each request takes this many times as long at the end as at the beginning.
    pub grown: f64,
    /// The version of flashlag.
    pub version: String,
}

/// Watches a simulated device and keeps a history of it.
///
/// # Errors
/// The device can't be made or is too small, or the history can't be written.
pub fn simulate(plan: &Plan, mut book: Book) -> Result<Score, SimError> {
    book.subject(&subject(plan))?;
    Ok(followed(plan, &mut |note| put(&mut book, note))?.0)
}

/// What changed over a simulated time: the days that a history would have, without one.
///
/// # Errors
/// The device can't be made or is too small.
pub fn days(plan: &Plan) -> Result<(Score, Vec<Day>), SimError> {
    followed(plan, &mut |_| Ok(()))
}

/// Lets all days pass and looks for what changed over them.
fn followed(
    plan: &Plan,
    keep: &mut dyn FnMut(&Note) -> Result<(), BookError>,
) -> Result<(Score, Vec<Day>), SimError> {
    let mut spans = Vec::new();
    let mut score = watched(plan, &mut |note| {
        keep(&note)?;
        if let Note::Part(span, _) = note {
            spans.push(*span);
        }
        Ok(())
    })?;
    let days = day_of(&History { spans, ..History::default() });
    score.trend = changes(&days).0;
    Ok((score, days))
}

/// Lets all days pass.
fn watched(
    plan: &Plan,
    keep: &mut dyn FnMut(Note) -> Result<(), BookError>,
) -> Result<Score, SimError> {
    let (flash, began) = aged_by(&plan.model, plan.seed, plan.age, plan.daily)?;
    let flash = FlashDevice::new(flash);
    flashlag_device::Device::clock(&flash).advance_to(began);
    let spec = StackSpec::of(&plan.mount)?;
    let stack = Stack::mount(Disk::new(flash), spec, &plan.model.stack)?.seeded(plan.seed);
    // The kernel's count of commits is one of these accounts.
    stack.keep_waits();
    let mut user = User::new(stack, plan.probe, plan.over)?;
    let mut random = Pcg64::seed_from_u64(plan.seed);
    let begin = user.now();
    let mut off = 0.0;
    let usual = if plan.planted { 1.0 } else { ROOM } / plan.grown.min(1.0);
    for day in 0..plan.days {
        off = ALIKE * off + (1.0 - ALIKE * ALIKE).sqrt() * NOISE * normal(&mut random);
        let midnight = begin.plus(Nanos(day * DAY.0));
        let share = day as f64 / (plan.days.max(2) - 1) as f64;
        user.slow(usual * (1.0 + (plan.grown - 1.0) * share) * f64::exp(off));
        for (at, act) in acts(&mut random, day, plan.planted) {
            user.idle_until(midnight.plus(at), keep)?;
            user.does(act, &mut random, keep)?;
        }
        user.idle_until(midnight.plus(DAY), keep)?;
    }
    user.end(keep)?;
    let mut score = score(&user.planted, &user.incidents, plan.over);
    score.grown = plan.grown;
    Ok(score)
}

/// Nearly normal: the sum of twelve even draws.
fn normal(random: &mut Pcg64) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

fn subject(plan: &Plan) -> Subject {
    Subject {
        flashlag: plan.version.clone(),
        directory: plan.name.clone(),
        model: Some(plan.name.clone()),
        size_bytes: Some(plan.model.map.capacity.0),
        filesystem: Some(plan.mount.to_string()),
        over_ns: plan.over,
        probe_ns: Some(plan.probe),
        ..Subject::default()
    }
}
