//! When operations begin, and defaults that several tables of a scenario have.

use flashlag_units::{Bytes, Nanos, Text};
use serde::{Deserialize, Serialize};

/// When operations begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "json-schema", schemars(extend("x-inline" = true)))]
pub struct Arrivals {
    /// Operations a second; absent for a closed loop, in which each waits for the previous one.
    pub per_second: Option<f64>,
    /// The distances between them.
    #[serde(default)]
    pub schedule: Schedule,
}

/// The distances between scheduled operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// All equal.
    #[default]
    Fixed,
    /// Exponential: a Poisson process.
    Poisson,
}

/// When the saves of a test begin and when they end, whatever makes them.
#[derive(Clone, Copy, Debug)]
pub struct SavePace {
    /// Ends after this many saves.
    pub saves: Option<u64>,
    /// Ends after this long.
    pub time: Option<Nanos>,
    /// The fewest saves, which may take up to four times `time`.
    pub min_saves: Option<u64>,
    /// Time between the end of a save and the next.
    pub think: Nanos,
    /// When saves begin.
    pub arrivals: Arrivals,
}

pub(super) fn one() -> u32 {
    1
}

pub(super) fn is_one(count: &u32) -> bool {
    *count == 1
}

pub(super) fn yes() -> bool {
    true
}

pub(super) fn hundred_bytes() -> Text<Bytes> {
    Text(Bytes(100))
}
