use std::collections::BTreeMap;

use flashlag_spec::scenario::Scenario;
use flashlag_spec::{Downgrade, Reading, State};
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::card::CardCheck;
use crate::conditions::{ConditionLimits, Conditions};
use crate::environment::Environment;
use crate::finding::Findings;
use crate::lag::Lag;
use crate::phase::Phase;
use crate::trust::Trust;

/// The version of the run file. A reader refuses other versions.
pub const SCHEMA: &str = "flashlag.run/1";

/// Everything measured in one run of one scenario on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// `flashlag.run/1`.
    #[cfg_attr(feature = "json-schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// What wrote it.
    pub flashlag: Program,
    /// What was done.
    pub scenario: ScenarioRecord,
    /// Where.
    pub target: Target,
    /// What the user calls the device under test (`--label`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The command line, as typed.
    pub command: Vec<String>,
    /// Time at which the run began, RFC 3339, UTC; absent in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Time that passed on a simulated device, from its first step to the end; absent for other
    /// devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_ns: Option<Nanos>,
    /// The way in which the run ended.
    pub status: RunStatus,
    /// What the user or a default decided.
    pub options: Options,
    /// The machine, kernel, filesystem and device.
    pub environment: Environment,
    /// Charge, power and heat before each test and at the end, for a device with a battery.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Conditions>,
    /// What was measured, in order.
    pub phases: Vec<Phase>,
    /// Steps of the scenario that were not run, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Requests that could not be fulfilled exactly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub downgrades: Vec<Downgrade>,
    /// Whether it can be believed.
    pub trust: Trust,
    /// Why the device lagged, as typed causes; absent in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Findings>,
    /// Whether the storage is what it says it is, by the tests that ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<CardCheck>,
    /// All saves of the run.
    pub lag: Lag,
    /// Wear of the device by the run.
    pub wear: Wear,
    /// What `flashlag share` removed for others; absent in a run as measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedRecord>,
    /// A checksum of all of the above.
    #[serde(default)]
    pub integrity: Integrity,
}

impl Run {
    /// A run of which nothing is known yet but who makes it, of what and where: running, unsealed, without phases.
    pub fn begun(
        flashlag: Program,
        scenario: ScenarioRecord,
        target: Target,
        environment: Environment,
    ) -> Run {
        Run {
            schema: SCHEMA.to_owned(),
            flashlag,
            scenario,
            target,
            label: None,
            command: Vec::new(),
            started: None,
            simulated_ns: None,
            status: RunStatus::Running { next_step: 0 },
            options: Options::default(),
            environment,
            conditions: Vec::new(),
            phases: Vec::new(),
            skipped: Vec::new(),
            downgrades: Vec::new(),
            trust: Trust::default(),
            findings: None,
            cards: Vec::new(),
            lag: Lag::default(),
            wear: Wear::default(),
            shared: None,
            integrity: Integrity::default(),
        }
    }
}

/// What was removed from a run before it was passed on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SharedRecord {
    /// The checksum of the run as measured: two shared files with the same one come from one run.
    pub original_sha256: String,
    /// Fields that were removed or changed: `environment.filesystem.mount_point`.
    pub removed: Vec<String>,
}

/// The program that wrote a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its version.
    pub version: String,
    /// The commit it was built from, where that is known.
    pub commit: Reading<String>,
}

/// The scenario of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScenarioRecord {
    /// Its name.
    pub name: String,
    /// SHA-256 of its canonical form with the settings applied: runs with equal hashes did the
    /// same.
    pub hash: String,
    /// The file as it was read.
    pub text: String,
    /// Settings in force, after `--set`.
    pub settings: BTreeMap<String, String>,
    /// What every random choice follows from.
    pub seed: u64,
    /// Assumptions of the scenario without a source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
}

impl ScenarioRecord {
    /// The record of a scenario that runs with this seed.
    pub fn of(scenario: &Scenario, seed: u64) -> ScenarioRecord {
        ScenarioRecord {
            name: scenario.name.clone(),
            hash: scenario.hash(),
            text: scenario.text.clone(),
            settings: scenario.settings.clone(),
            seed,
            assumptions: scenario.assumptions.clone(),
        }
    }
}

/// Where a run ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Its kind.
    pub kind: TargetKind,
    /// The target as it was given on the command line.
    pub name: String,
    /// The directory, for a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The device model, for a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileRecord>,
}

/// The complete device model of a simulated run: the run can be repeated with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProfileRecord {
    /// Its name.
    pub name: String,
    /// The device, in a line.
    pub about: String,
    /// Filesystem and options above it: `ext4,nobarrier`.
    pub filesystem: String,
    /// The profile as a file.
    pub text: String,
    /// Other settings of the device, if any: `state=full`, `time-scale=10`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_options: Vec<String>,
}

/// The kinds of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A directory on real storage.
    Path,
    /// A simulated device in virtual time.
    Simulated,
    /// A real kernel and filesystem on a virtual flash device.
    Lab,
    /// A directory on a phone, reached over a cable or the network.
    Phone,
    /// Imported from another tool's results.
    Imported,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RunStatus {
    /// The run is not finished, or was killed; the phases in the file are complete.
    Running {
        /// The next step of the scenario.
        next_step: u32,
    },
    /// Every step was done or skipped with a reason.
    Complete,
    /// The user stopped it.
    Interrupted {
        /// The next step of the scenario.
        next_step: u32,
    },
    /// An error stopped it.
    Failed {
        /// The next step of the scenario.
        next_step: u32,
        /// The error: what happened, where, and what to try.
        error: String,
    },
}

/// What was decided for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// What a fill spares.
    pub leave_bytes: Bytes,
    /// Why this much.
    pub leave_reason: String,
    /// The most bytes that may be written, if a limit was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_bytes: Option<Bytes>,
    /// Whether every byte was read back.
    pub verify: bool,
    /// Limits of charge and heat, if any were set.
    #[serde(default, skip_serializing_if = "ConditionLimits::is_none")]
    pub limits: ConditionLimits,
    /// `flashlag`; in runs of early versions also the fio that did the I/O, `fio 3.33`.
    pub engine: String,
}

/// A step that was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// What: `trim`, or a test's name.
    pub step: String,
    /// The state in which it would have run.
    pub state: State,
    /// Why not, and what to try.
    pub reason: String,
}

/// What a run cost the device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Wear {
    /// Bytes that this run wrote to the filesystem.
    pub written_bytes: Bytes,
    /// Bytes that the block device took in the meantime, from everyone.
    pub block_bytes: Reading<Bytes>,
    /// The share of rated life, in percent, if the device reports its life and its size.
    pub life_percent: Reading<f64>,
}

/// A checksum against accidents; it is no signature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Integrity {
    /// SHA-256 over the compact JSON of the run with this field empty.
    pub sha256: String,
}
