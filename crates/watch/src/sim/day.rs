//! The scenario `day`: what a user and the machine do from one midnight to the next.

use flashlag_units::{InOrder, Nanos};
use rand::RngExt;
use rand_pcg::Pcg64;

/// A day.
pub(super) const DAY: Nanos = Nanos::from_secs(86_400);
/// What is planted begins at a multiple of this, each at another one, so that no two touch.
const PLACE_S: u64 = 600;

/// A program that moves many bytes beside all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Camera,
    Installer,
    Backup,
}

impl Program {
    /// Its name, as in the kernel.
    pub fn name(self) -> &'static str {
        match self {
            Program::Camera => "camera",
            Program::Installer => "installer",
            Program::Backup => "backup",
        }
    }
}

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// An app starts: it reads.
    Start,
    /// An app saves a little, durably.
    Save,
    /// A program writes for this time.
    Writes(Program, Nanos),
    /// The disk collects garbage for this time while an app saves.
    Freeze(Nanos),
    /// The disk discards for this time.
    Discard(Nanos),
    /// flashlag is stopped, or the machine suspended, for this time.
    Stop(Nanos),
    /// A hypervisor takes the CPU for this time.
    Steal(Nanos),
    /// A probe waits for a CPU for this time.
    BusyCpu(Nanos),
    /// The wall clock is set back or forth by this time.
    Clock(Nanos),
}

/// Draws a day: each act with its time since midnight, in order. Night is idle but for a backup.
pub(super) fn acts(random: &mut Pcg64, day: u64, planted: bool) -> Vec<(Nanos, Act)> {
    let mut acts = Vec::new();
    let seconds = Nanos::from_secs;
    for _ in 0..10 {
        // A session of an app, between 7 and 23 o'clock.
        let mut at = random.random_range(7 * 3600..23 * 3600) * 1000;
        acts.push((Nanos::from_millis(at), Act::Start));
        for _ in 0..random.random_range(20..60) {
            at += random.random_range(500..15_000);
            acts.push((Nanos::from_millis(at), Act::Save));
        }
    }
    if planted {
        let between = |random: &mut Pcg64, least: u64, most: u64| {
            Nanos::from_millis(random.random_range(least..most))
        };
        let mut free: Vec<u64> = (6 * 3600 / PLACE_S..23 * 3600 / PLACE_S).collect();
        // For a time between these, in milliseconds.
        let mut plant = |random: &mut Pcg64, least, most, act: &dyn Fn(Nanos) -> Act| {
            let act = act(between(random, least, most));
            if free.is_empty() {
                return;
            }
            let index = random.random_range(0..free.len());
            acts.push((seconds(free.swap_remove(index) * PLACE_S), act));
        };
        for _ in 0..3 {
            plant(random, 5_000, 15_000, &|time| Act::Writes(Program::Camera, time));
        }
        if day.is_multiple_of(3) {
            plant(random, 20_000, 40_000, &|time| Act::Writes(Program::Installer, time));
        }
        for _ in 0..2 {
            plant(random, 400, 7_000, &Act::Freeze);
        }
        plant(random, 400, 4_000, &Act::Discard);
        plant(random, 1_000, 60_000, &Act::Stop);
        plant(random, 500, 5_000, &Act::Steal);
        plant(random, 500, 5_000, &Act::BusyCpu);
        plant(random, 10_000, 240_000, &Act::Clock);
        let time = between(random, 15_000, 30_000);
        acts.push((seconds(3 * 3600), Act::Writes(Program::Backup, time)));
    }
    acts.order_by_key(|(at, _)| *at);
    acts
}
