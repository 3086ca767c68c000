//! How full and how old a device is before it is measured, and how apps save on it.

use flashlag_spec::scenario::{JournalMode, Synchronous};
use flashlag_units::{Bytes, Nanos};

/// The changes that use makes to a device, in the order in which a forecast adds the causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Files are stored, each written once, sequentially.
    Fill,
    /// The flash's map: stored data was overwritten in random order, and garbage collection has
    /// begun.
    Map,
    /// Files were deleted without a discard, or with a late one: the device copies data that nobody
    /// reads.
    Deleted,
    /// Files that grew are fragmented on the filesystem.
    Fragmentation,
    /// Blocks are worn, and reading them takes retries.
    Wear,
}

/// The use of a device before it is measured, and how apps save on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Journal mode of saves.
    pub journal: JournalMode,
    /// `synchronous` of saves.
    pub synchronous: Synchronous,
    /// Whether saves with SQLite's default journal are measured, too.
    pub rollback: bool,
    /// Whether saves are measured.
    pub saves: bool,
    /// Share of the filesystem's room in use, 0 to 1; `None`: nearly empty.
    pub full: Option<f64>,
    /// Time in use.
    pub age: Nanos,
    /// Bytes written on each day in use.
    pub daily: Bytes,
    /// Whether Android's idle maintenance trims the filesystem.
    pub idle_maintenance: bool,
    /// Whether all free space held files that were deleted but not trimmed.
    pub untrimmed: bool,
    /// Share of the rated cycles that blocks have used, 0 to 1.
    pub worn: f64,
    /// Whether a day's writes follow the tests of a device that was not used before: its figures
    /// without a rest are then known, too.
    pub afterwards: bool,
    /// The last cause that is simulated; [`Cause::Wear`] for all of them. The profile decides about
    /// wear, and fragmentation has its own test.
    pub up_to: Cause,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            journal: JournalMode::Wal,
            synchronous: Synchronous::Full,
            rollback: false,
            saves: true,
            full: None,
            age: Nanos::ZERO,
            daily: Bytes(5_000_000_000),
            idle_maintenance: false,
            untrimmed: false,
            worn: 0.0,
            afterwards: false,
            up_to: Cause::Wear,
        }
    }
}

/// The test that reads a part of the stored data, as large as a database.
pub(super) const READ_FILE: &str = "read_file";
/// The test that reads a file of the same size which grew in pieces.
pub(super) const READ_GROWN: &str = "read_grown";
/// The writes of one day, in rounds; then the first check whether the figures are steady.
pub(super) const ROUNDS_A_DAY: u64 = 10;
/// At most this many days are simulated until the figures are steady.
pub(super) const MOST_DAYS: u64 = 3;

/// Nanoseconds of a day.
pub(super) const DAY: u64 = 86_400_000_000_000;

impl Plan {
    /// Days of use that are simulated, the last one in part.
    pub(super) fn days(&self) -> u64 {
        if self.up_to < Cause::Deleted { 0 } else { self.age.0.div_ceil(DAY) }
    }

    /// Whether the device was used before it is measured.
    pub(super) fn is_used(&self) -> bool {
        self.full.is_some() || self.age > Nanos::ZERO || self.untrimmed || self.worn > 0.0
    }

    /// Whether the device is full, not aged and not worn: what else makes it slower is told apart elsewhere.
    pub(super) fn is_only_full(&self) -> bool {
        let is_older = self.age > Nanos::ZERO || self.untrimmed || self.worn > 0.0;
        self.full.is_some() && !is_older
    }

    /// Whether stored data is overwritten at random before the tests.
    pub(super) fn settles(&self) -> bool {
        self.is_used() && self.up_to >= Cause::Map
    }

    /// Whether a day's writes come after the tests.
    pub(super) fn ends_with_use(&self) -> bool {
        self.afterwards && !self.settles()
    }

    /// Bytes of a round of writes before the tests.
    pub(super) fn round(&self) -> Bytes {
        Bytes((self.daily.0 / ROUNDS_A_DAY).max(1 << 20)).round_down(Bytes(4096))
    }
}

/// The assumptions of a forecast with this plan, one sentence each.
pub(super) fn assumptions(plan: &Plan) -> Vec<String> {
    let mut all = Vec::new();
    if plan.is_used() {
        all.push(format!(
            "All stored data is overwritten equally often, at random, 4 KiB at a time and \
             durably: no data is cold. The flash starts in the state that long random writes \
             leave. Then {} are written, up to {MOST_DAYS} times as much if figures are not \
             steady. \"sustained\" is the end of \
             that; of a new device, of a day's writes over its one file, after the tests.",
            Bytes(plan.round().0 * ROUNDS_A_DAY)
        ));
    }
    if plan.untrimmed {
        all.push(
            "All free space held files that were deleted; nothing was discarded or trimmed, so the \
             flash copies what they held."
                .to_owned(),
        );
    }
    if plan.worn > 0.0 {
        all.push(format!(
            "Every block has {:.0}% of its rated cycles behind it: reads need more retries. \
             Programs and erases take as long as on a new device.",
            plan.worn * 100.0
        ));
    }
    all.push("The tests follow a night's rest, in which the device does its idle work.".to_owned());
    all.push(
        "A save updates one of 1,000 rows and is alone. `flashlag run` inserts rows without that \
         rest, so its rates differ."
            .to_owned(),
    );
    if plan.age > Nanos::ZERO {
        all.push(format!(
            "Each day {} are written: a fifth as random 4 KiB over what is stored, two fifths \
             sequentially over its first part, two fifths as new files that are deleted the \
             next day, as far as they fit.",
            plan.daily
        ));
        all.push(format!(
            "{READ_GROWN} reads a file that grew 4 KiB at a time by turns with a second one, as \
             databases and logs do, and {READ_FILE} as much of what was stored at once; both were \
             then written over at random."
        ));
        all.push(
            "Each day has two hours' rest at noon off the charger, and a night's on it.".to_owned(),
        );
    }
    all
}
