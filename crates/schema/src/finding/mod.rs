//! What makes a device lag, what to change, and how much a change gains: typed values without
//! sentences, stored in every run. Fixed rules derive them from the phases, the checks and the
//! set-up.

mod cause;
mod effect;
mod table;

use flashlag_spec::Reading;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;

pub use cause::{
    Cause, CauseId, Counted, Estimate, FindingEffect, FindingEvidence, FindingSide, FindingSides,
    MeasuredWait, RuledOut, SavePart, StallCount, StallFinding, WaitFinding, WaitGroupRecord,
    WaitRange,
};
pub use effect::{Effect, EffectBasis, ProfileOf};
pub use table::{FindingAction, FindingId, FindingRisk, FindingRow, Pair, RULES, Shown};

/// Everything that explains the waits of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Findings {
    /// Version of the rules that derived them. Rules of another version may find something else, so
    /// only findings of the reader's own version are recomputed by `flashlag verify`.
    pub rules: u32,
    /// What to change or to know: risks to data first, then by cost, and what was seen on a fill, for which nobody
    /// waits, after that. Absent in files of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<Finding>,
    /// Causes of waiting with their comparisons, costliest first. Each is in `list`, too.
    pub causes: Vec<Cause>,
    /// Suspected causes that the measurements refute.
    pub ruled_out: Vec<RuledOut>,
    /// What slow and ordinary operations waited for; absent if no operation's time was split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<WaitFinding>,
    /// The stalls of each phase that had any, in the order of the run.
    pub stalls: Vec<StallFinding>,
}

/// Something to change or to know, with the fields that prove it and the gain of a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What was found.
    pub id: FindingId,
    /// How much it matters.
    pub severity: Severity,
    /// The fields that prove it, with their values.
    pub evidence: Vec<Fact>,
    /// Its cost, from a comparison in this run or from a forecast; absent with the reason if there
    /// is neither.
    pub effect: Reading<Effect>,
    /// What would remove it.
    pub action: FindingAction,
    /// The risk of that; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<FindingRisk>,
    /// Commands that give the figure if `effect` has none: a pair of runs to compare, or a forecast
    /// that was not made. The user replaces the words in capitals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The publication or measurement that the rule is based on.
    pub source: String,
}

impl Finding {
    /// Seconds that it adds to 1,000 operations, if known. Negative if the change would cost time,
    /// as flushing does if nothing is flushed now.
    pub fn cost(&self) -> Option<f64> {
        self.effect.value().map(|effect| effect.cost_s_per_1000.value)
    }
}

/// A field and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// Path of the field in the run file: `environment.filesystem.options`, `phases[2].changes`.
    pub field: String,
    /// The relevant part of its value, as text: data, never markup.
    pub value: String,
}

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Data can be lost.
    Danger,
    /// It makes a device lag.
    Costly,
    /// It may.
    Minor,
    /// Figures measured here are not those of the flash.
    Misleading,
}

/// What `flashlag explain --json` prints of a path, a phone or a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Explained {
    /// The path, the phone or the run file, as typed.
    pub subject: String,
    /// What was seen.
    pub environment: Environment,
    /// What to change or to know: risks to data first, then by cost.
    pub findings: Vec<Finding>,
    /// The same with comparisons and waits, as stored in the run; absent for a path, for which
    /// nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Findings>,
}
