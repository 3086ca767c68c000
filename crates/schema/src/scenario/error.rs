use thiserror::Error;

/// Why a scenario can't be used. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScenarioError {
    /// The text is no TOML, or a field is unknown, missing or of the wrong type.
    #[error("line {line}: {message}")]
    Text {
        /// Where.
        line: usize,
        /// What is wrong and what is allowed.
        message: String,
    },
    /// `--set` names a setting that the scenario does not have.
    #[error("`--set {key}=…`: no such setting; {name} has {allowed}")]
    UnknownSetting {
        /// What was given.
        key: String,
        /// The scenario's name.
        name: String,
        /// The settings there are.
        allowed: String,
    },
    /// A value of `--set` that the scenario can't take: no line that anybody has seen is wrong.
    #[error("{set}: {message}")]
    Setting {
        /// As given: `--set span=100`.
        set: String,
        /// What is wrong and what is allowed.
        message: String,
    },
    /// The parts are fine but do not fit together.
    #[error("line {line}: {message}")]
    Meaning {
        /// Where.
        line: usize,
        /// What is wrong and what is allowed.
        message: String,
    },
}
