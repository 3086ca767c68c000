use std::collections::BTreeMap;

use serde::Deserialize;

use super::fitted_from::FittedFrom;
use super::parameter::Parameter;
use super::storage::StorageKind;

/// One device: its model's parameters by dotted key (`nand.program`), and their sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The profile's name, as in `sim:NAME`.
    pub name: String,
    /// The device, in a line.
    pub about: String,
    /// The kind of storage that it models; `None` if the profile does not say.
    pub kind: Option<StorageKind>,
    /// The software that ran on the device when it was measured.
    pub os: String,
    /// The default filesystem of `sim:NAME`, with options: `ext4`, `f2fs,nobarrier`.
    pub filesystem: String,
    /// Assumptions of the model without a source.
    pub assumptions: Vec<String>,
    /// The run that the profile was fitted to, if any.
    pub fitted_from: Option<FittedFrom>,
    /// The protocols whose published rows it is checked against.
    pub checks: Vec<ProfileCheck>,
    /// Every parameter, by dotted key, with its source.
    pub parameters: BTreeMap<String, Parameter>,
}

/// A protocol to run on the profile, and the published rows to compare its figures with.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProfileCheck {
    /// The device's name in `profiles/published.csv`.
    pub device: String,
    /// A scenario: built in, or a file in `profiles/protocols/`.
    pub scenario: String,
    /// Settings that differ from the scenario's.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Free space that a fill leaves; the reviewers' 300 MB by default.
    #[serde(default)]
    pub leave: Option<String>,
    /// Filesystem and options; the profile's own by default.
    #[serde(default)]
    pub filesystem: Option<String>,
    /// A second target's filesystem and options: the row is the change from this one to
    /// `filesystem`, in percent.
    #[serde(default)]
    pub against: Option<String>,
    /// Published conditions and the state and run that correspond to them (`in use` = `new/1`); if
    /// any are given, rows of other conditions are no part of this check. Without them, `new`,
    /// `filled-run-N`, `after-delete-run-N` and `after-24h-idle-with-fstrim` have their literal
    /// meaning.
    #[serde(default)]
    pub conditions: BTreeMap<String, String>,
    /// Published workloads whose test has another name in the scenario: `write 4096 B` =
    /// `write_4096`.
    #[serde(default)]
    pub workloads: BTreeMap<String, String>,
    /// Parameters of the model that differ in this check (`{ "host.queue_depth" = 2 }`), by dotted
    /// key in the notation of `value`; also ones that the profile does not have. For the same
    /// device under another host or setting.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(with = "BTreeMap<String, serde_json::Value>"))]
    pub model: BTreeMap<String, toml::Value>,
    /// Bounds of this check in percent, by metric (`{ "latency p50" = 10 }`). A bound counts only
    /// if it is narrower than the usual one.
    #[serde(default)]
    pub bars: BTreeMap<String, f64>,
}
