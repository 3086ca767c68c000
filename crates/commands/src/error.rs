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
    /// A run file that can't be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file without text.
    #[error("cannot read {}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: flashlag_export::fio::TextError,
    },
    /// A file of fio's that can't be imported.
    #[error("{} is fio's, but cannot be imported", path.display())]
    Fio {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: flashlag_export::fio::FioFileError,
    },
    /// A file that is no run.
    #[error("{} is neither a run file nor fio's json+ output", path.display())]
    NoRun {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: RunFileError,
    },
    /// A file that is no run file.
    #[error("{} is no run file", path.display())]
    NoRunFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: RunFileError,
    },
    /// A run file whose figures can't be recomputed.
    #[error("{} cannot be verified", path.display())]
    Verify {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: RunFileError,
    },
    /// A scenario's file that can't be read.
    #[error("cannot read the scenario {name}")]
    ScenarioFile {
        /// The file.
        name: String,
        /// Why not.
        source: io::Error,
    },
    /// A scenario with a fault, or a setting that it lacks.
    #[error("scenario {name}")]
    Scenario {
        /// The scenario's name, or its file.
        name: String,
        /// What is wrong and what is allowed.
        source: Box<ScenarioError>,
    },
    /// An earlier run that can't be continued.
    #[error("cannot resume")]
    Resume(#[source] Box<CommandError>),
    /// Runs that did not do the same.
    #[error("these runs can't be compared")]
    Compare(#[source] CompareError),
    /// A run that could not be made.
    #[error(transparent)]
    Run(Box<RunError>),
    /// A forecast or a fit that could not be made.
    #[error(transparent)]
    Predict(Box<PredictError>),
    /// A device that can't be simulated.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A directory that can't be looked at.
    #[error("the directory {} can't be looked at", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// An option's value that is no filesystem.
    #[error("{option}")]
    Filesystem {
        /// The option, as it is typed.
        option: &'static str,
        /// What is wrong, and what there is.
        source: TargetError,
    },
    /// More is written than was agreed to.
    #[error("not run: it writes more than {ASK_ABOVE}; add --yes to agree, or --budget to cap it")]
    Consent,
    /// Words without a meaning: what is wrong with them, and what there is.
    #[error("{0}")]
    Words(String),
    /// Something else that was asked for can't be done: why, and what to try.
    #[error("{0}")]
    Impossible(String),
}

impl CommandError {
    /// Whether what was asked for has no meaning, whatever the storage: a name, a key or a value that
    /// does not exist.
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
            matches!(**source, VirtualError::Target(_) | VirtualError::Size(_))
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
