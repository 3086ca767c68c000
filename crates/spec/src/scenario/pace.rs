//! When operations begin, and defaults that several tables of a scenario have.

use flashlag_units::{Bytes, Text};
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
