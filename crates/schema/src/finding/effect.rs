//! The cost of a finding, and how it is known.

use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::cause::{Counted, Estimate};

/// What a finding costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// How it is known.
    pub basis: EffectBasis,
    /// What is counted.
    pub per: Counted,
    /// Mean wait of one operation now.
    pub now_ns: Nanos,
    /// Mean wait of one operation without the finding; absent if only a part of the wait is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_ns: Option<Nanos>,
    /// Seconds of waiting that it adds to 1,000; negative if the change would add them.
    pub cost_s_per_1000: Estimate,
}

/// How an effect is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum EffectBasis {
    /// Two phases of this run; the comparison is among its causes.
    Compared {
        /// Label of the phase with the finding.
        now: String,
        /// Label of the phase without it; absent if one phase shows both.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fixed: Option<String>,
    },
    /// A part of one phase's waits.
    Part {
        /// Label of the phase.
        phase: String,
    },
    /// Before and after a change of speed within one phase.
    Course {
        /// Label of the phase.
        phase: String,
    },
    /// The measured figure against the promised one.
    Promise {
        /// Label of the phase.
        phase: String,
        /// Who promised it.
        by: String,
    },
    /// A simulation of a device with and without.
    Forecast {
        /// Name of the device's profile.
        profile: String,
        /// Why the profile stands for the device.
        of: ProfileOf,
        /// The change, as `flashlag predict --change` takes it.
        change: String,
        /// Capacity of the simulated device, if a smaller one of the same make stands for the
        /// profile's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size_bytes: Option<Bytes>,
    },
}

/// Why a profile stands for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProfileOf {
    /// The run was simulated on it.
    Simulated,
    /// It was fitted to the run.
    Fitted,
    /// The user named it.
    Named,
    /// Of the built-in profiles, it comes nearest to the run's durable writes.
    Nearest,
}
