//! How full and how old a device is before it is measured, and how apps save on it.

use flashlag_schema::scenario::{JournalMode, Synchronous};
use flashlag_units::{Bytes, Nanos};

/// The use of a device before it is measured, and how apps save on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Journal mode of saves.
    pub journal: JournalMode,
    /// `synchronous` of saves.
    pub synchronous: Synchronous,
    /// Share of the capacity in use, 0 to 1; `None`: nearly empty.
    pub full: Option<f64>,
    /// Time in use.
    pub age: Nanos,
    /// Bytes written on each day in use.
    pub daily: Bytes,
    /// Whether Android's idle maintenance trims the filesystem.
    pub idle_maintenance: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            journal: JournalMode::Wal,
            synchronous: Synchronous::Full,
            full: None,
            age: Nanos::ZERO,
            daily: Bytes(5_000_000_000),
            idle_maintenance: false,
        }
    }
}

/// Nanoseconds of a day.
pub(super) const DAY: u64 = 86_400_000_000_000;

impl Plan {
    /// Days of use, the last one in part.
    pub(super) fn days(&self) -> u64 {
        self.age.0.div_ceil(DAY)
    }
}

/// The assumptions of a forecast with this plan, a sentence each.
pub(super) fn assumptions(plan: &Plan) -> Vec<String> {
    let mut all = Vec::new();
    if plan.full.is_some() {
        all.push(
            "Storage is filled in one go, front to back; what is measured overwrites its first \
             part."
                .to_owned(),
        );
    }
    if plan.age > Nanos::ZERO {
        all.push(format!(
            "Each day {} are written: a fifth as random 4 KiB over what is measured, two fifths \
             sequentially over four times as much, two fifths as new files that are deleted the \
             next day, as far as they fit.",
            plan.daily
        ));
        all.push(
            "Each day has two hours' rest at noon off the charger, and a night's on it.".to_owned(),
        );
    }
    all
}
