//! Percentiles by fill level, from the intervals of a fill.

use flashlag_schema::Run;
use flashlag_units::Bytes;

use crate::doubt::Failure;
use crate::figures::Figures;

/// One fill.
#[derive(Clone, Debug, PartialEq)]
pub struct FillCurve {
    /// The result, as a heading: `Past half full the slowest 1% starts to miss frames …`.
    pub heading: String,
    /// What was written: `4 KiB durable random writes`.
    pub what: String,
    /// Index of its phase in the run.
    pub phase: usize,
    /// The size of the filesystem that levels are shares of.
    pub total_bytes: Bytes,
    /// The levels, emptiest first.
    pub levels: Vec<FillLevel>,
    /// Failed checks that cover it.
    pub failures: Vec<Failure>,
}

/// Neighbouring intervals of a fill, joined.
#[derive(Clone, Debug, PartialEq)]
pub struct FillLevel {
    /// Share of the storage in use at its end, 0 to 1.
    pub full: f64,
    /// Bytes in use at its end.
    pub filled_bytes: Bytes,
    /// Its figures, per operation of the fill.
    pub figures: Figures,
    /// Bytes a second over it.
    pub bytes_per_sec: f64,
}

/// The fills of a run.
pub fn fill_curves(run: &Run) -> Vec<FillCurve> {
    let _ = run;
    Vec::new()
}
