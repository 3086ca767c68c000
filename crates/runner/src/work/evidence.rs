//! Evidence for the trust checks that is not in the phases.

use flashlag_trust::{Fill, Verification};

/// Counters around each phase, fills and the result of reading back.
#[derive(Debug)]
pub struct Evidence<C> {
    /// Counters at both edges of each phase, in the order of the run's phases; `None` for phases of
    /// an earlier process.
    pub phases: Vec<Option<(C, C)>>,
    /// The fills that were made.
    pub fills: Vec<Fill>,
    /// The result of reading back.
    pub verified: Option<Verification>,
    /// Free space that fills leave.
    pub leave: flashlag_units::Bytes,
}
