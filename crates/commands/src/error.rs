use std::error::Error;
use std::io;
use std::path::PathBuf;

use flashlag_predict::{ModelError, PredictError};
use flashlag_runner::{RunError, VirtualError};
use flashlag_schema::RunFileError;
use flashlag_spec::profile::ProfileError;
use flashlag_spec::scenario::ScenarioError;
use flashlag_spec::target::TargetError;
use flashlag_views::CompareError;
use thiserror::Error;

use crate::limits::ASK_ABOVE;

/// Why a command could not be done. [`one_paragraph`] has it with its causes.
#[derive(Debug, Error)]
pub enum CommandError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot read {}", path.display())]
    Text { path: PathBuf, source: flashlag_export::fio::TextError },
    #[error("{} is fio's, but cannot be imported", path.display())]
    Fio { path: PathBuf, source: flashlag_export::fio::FioFileError },
    #[error("{} is neither a run file nor fio's json+ output", path.display())]
    NoRun { path: PathBuf, source: RunFileError },
    #[error("{} is no run file", path.display())]
    NoRunFile { path: PathBuf, source: RunFileError },
    #[error("{} cannot be verified", path.display())]
    Verify { path: PathBuf, source: RunFileError },
    #[error("cannot read the scenario {name}")]
    ScenarioFile { name: String, source: io::Error },
    #[error("scenario {name}")]
    Scenario { name: String, source: Box<ScenarioError> },
    #[error("cannot resume")]
    Resume(#[source] Box<CommandError>),
    #[error("these runs can't be compared")]
    Compare(#[source] CompareError),
    #[error(transparent)]
    Run(Box<RunError>),
    #[error(transparent)]
    Predict(Box<PredictError>),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("the directory {} can't be examined", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("{option}")]
    Filesystem { option: &'static str, source: TargetError },
    #[error("not run: it writes more than {ASK_ABOVE}; add --yes to agree, or --budget to cap it")]
    Consent,
    #[error(
        "not run: on a card that claims more than it has, writing destroys what is stored on it; copy that away, \
         then add --yes"
    )]
    CardConsent,
    /// Invalid words: the mistake, and what is valid.
    #[error("{0}")]
    Words(String),
    /// Another request that can't be fulfilled: why, and what to try.
    #[error("{0}")]
    Impossible(String),
}

impl CommandError {
    /// Whether the request is invalid on any storage: a name, a key or a value that does not exist.
    pub fn is_in_words(&self) -> bool {
        match self {
            CommandError::Words(_)
            | CommandError::Scenario { .. }
            | CommandError::Filesystem { .. } => true,
            CommandError::Resume(cause) => cause.is_in_words(),
            CommandError::Run(error) => is_in_words(error),
            CommandError::Predict(error) => match &**error {
                PredictError::Change { .. } => true,
                PredictError::Model(error) => !matches!(error, ModelError::Profile(_)),
                _ => false,
            },
            CommandError::Model(error) => !matches!(error, ModelError::Profile(_)),
            _ => false,
        }
    }
}

impl From<RunError> for CommandError {
    fn from(error: RunError) -> CommandError {
        CommandError::Run(Box::new(error))
    }
}

impl From<PredictError> for CommandError {
    fn from(error: PredictError) -> CommandError {
        CommandError::Predict(Box::new(error))
    }
}

fn is_in_words(error: &RunError) -> bool {
    match error {
        RunError::Target { .. } | RunError::NotSimulated { .. } | RunError::Option { .. } => true,
        RunError::NoTrace { .. } => true,
        RunError::Profile { source, .. } => matches!(source, ProfileError::NoSuch(_)),
        RunError::Simulation { source, .. } | RunError::Lab { source, .. } => {
            matches!(
                **source,
                VirtualError::Target(_) | VirtualError::Size(_) | VirtualError::NoCard
            )
        }
        _ => false,
    }
}

/// An error and its causes as one paragraph without control characters.
pub fn one_paragraph(error: &(dyn Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        let text = without_errno(&error.to_string());
        // The text of a transparent error is that of its cause; that of others ends with it.
        if !parts.last().is_some_and(|last| last.ends_with(&text)) {
            parts.push(text);
        }
        cause = error.source();
    }
    flashlag_units::sanitize(&parts.join(": "))
}

/// The message of an I/O error without its number: `No such file or directory (os error 2)`.
fn without_errno(text: &str) -> String {
    let Some((before, after)) = text.split_once(" (os error ") else { return text.to_owned() };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before}{}", rest.strip_prefix(')').unwrap_or(rest))
}
