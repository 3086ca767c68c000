//! How waits changed over months.

use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::incident::WaitKind;

/// What changed over time: nothing, unless it is no noise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trends {
    /// Days with enough waits to be compared.
    pub days: u32,
    /// What was compared; absent with too few days.
    pub of: Option<WaitKind>,
    /// The slow change, if there is one.
    pub trend: Option<Trend>,
    /// Sudden changes that last.
    pub shifts: Vec<Shift>,
}

/// A slow change of a day's median wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trend {
    /// The line at its first day.
    pub from_ns: Nanos,
    /// The line at its last day.
    pub to_ns: Nanos,
    /// The start of its first day, in seconds since 1970.
    pub since_s: u64,
    /// The last value as a multiple of the first one.
    pub ratio: f64,
    /// The lower end of that ratio's 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A sudden change of a day's median wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shift {
    /// The first day of the new level, in seconds since 1970.
    pub at_s: u64,
    /// The median before.
    pub from_ns: Nanos,
    /// The median after.
    pub to_ns: Nanos,
    /// What else changed at that day or the days beside it.
    pub beside: Vec<Beside>,
}

/// What changed beside a shift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Beside {
    /// Another kernel.
    Kernel {
        /// The one before.
        from: String,
        /// The one after.
        to: String,
    },
    /// Another firmware of the disk.
    Firmware {
        /// The one before.
        from: String,
        /// The one after.
        to: String,
    },
    /// Free space went below or above a tenth of the filesystem.
    FreeSpace {
        /// The share before, in percent.
        from: u8,
        /// The share after, in percent.
        to: u8,
    },
    /// A program that moved many bytes after it and hardly any before.
    Program {
        /// Its name.
        name: String,
    },
    /// A program that moved many bytes before it and hardly any after.
    NoProgram {
        /// Its name.
        name: String,
    },
}
