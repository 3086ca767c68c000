//! Findings from the set-up of a machine alone, without a measurement: one rule each, over the
//! environment of a run or of a path.

mod device;
#[cfg(test)]
mod drives;
mod filesystem;
mod limits;
#[cfg(test)]
mod machines;
mod path;
mod rule;
#[cfg(test)]
pub(crate) mod tests;
mod unplugged;

use flashlag_schema::Environment;
use flashlag_schema::finding::Finding;
use flashlag_units::InOrder;

pub use filesystem::FAST_COMMIT;
use rule::{Rule, Seen};

/// Every rule.
fn rules() -> impl Iterator<Item = &'static Rule> {
    let all = [filesystem::RULES, unplugged::RULES, limits::RULES, path::RULES, device::RULES];
    all.into_iter().flatten()
}

/// What the set-up shows: data in danger first, then by importance. Nothing is measured here, so no
/// finding has an effect.
pub fn set_up(environment: &Environment) -> Vec<Finding> {
    let seen = Seen(environment);
    let mut found: Vec<Finding> = rules().filter_map(|rule| rule(&seen)).collect();
    // Equally severe ones stay in the order of the rules.
    found.order_by_key(|finding| finding.severity);
    found
}
