use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

/// One line of pressure-stall information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PressureStall {
    /// `some avg10`, in hundredths of a percent.
    pub avg10_hundredths: u64,
    /// `some total`.
    pub total_ns: Nanos,
}
