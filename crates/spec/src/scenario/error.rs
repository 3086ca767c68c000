use thiserror::Error;

use super::fault::ScenarioFault;

/// Why a scenario can't be used. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScenarioError {
    #[error("line {line}: {fault}")]
    File {
        line: usize,
        #[source]
        fault: ScenarioFault,
    },
    /// `--set` names a setting that the scenario does not have.
    #[error("`--set {key}=…`: no such setting; {name} has {allowed}")]
    UnknownSetting { key: String, name: String, allowed: String },
    /// `--set` of a setting that is used only by tests which other settings leave out.
    #[error("{set}: no test that is left uses `{key}`: each that does is left out by {left_out}")]
    IdleSetting {
        /// As given: `--set journal=wal`.
        set: String,
        key: String,
        /// The keys that leave the tests out, as in the file: `unless = "$android"`.
        left_out: String,
    },
    /// A value of `--set` that the scenario can't accept: the file itself is valid.
    #[error("{set}: {fault}")]
    Setting {
        /// As given: `--set span=100`.
        set: String,
        #[source]
        fault: ScenarioFault,
    },
}
