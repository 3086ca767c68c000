//! Reads run files, fio files and scenarios.

use std::path::Path;

use flashlag_runner::{BUILTINS, builtin, sim};
use flashlag_schema::Run;
use flashlag_units::did_you_mean;

use crate::error::CommandError;

/// Reads a run file, or fio's `json+` as a run.
///
/// # Errors
/// The file can't be read or is neither; the error lists the accepted formats.
pub fn run_from(file: &Path) -> Result<Run, CommandError> {
    let path = || file.to_owned();
    let text = text_from(file)?;
    if flashlag_export::fio::looks_like_fio(&text) {
        let mut run = flashlag_export::fio::import(&text)
            .map_err(|source| CommandError::Fio { path: path(), source })?;
        flashlag_explain::attach(&mut run);
        run.seal();
        return Ok(run);
    }
    Run::from_json(&text).map_err(|source| CommandError::NoRun { path: path(), source })
}

/// The text of a results file, unpacked and decoded.
pub(crate) fn text_from(path: &Path) -> Result<String, CommandError> {
    let bytes = std::fs::read(path)
        .map_err(|source| CommandError::Read { path: path.to_owned(), source })?;
    flashlag_export::fio::text_of(bytes)
        .map_err(|source| CommandError::Text { path: path.to_owned(), source })
}

/// The text of the built-in scenario of that name, or of the file.
///
/// # Errors
/// There is neither; the error lists the built-in names.
pub fn scenario_text(name: &str) -> Result<String, CommandError> {
    let builtin = builtin(name).map(|builtin| builtin.text());
    match builtin.or_else(|| sim::builtin_protocol(name)) {
        Some(text) => Ok(text.to_owned()),
        None if Path::new(name).is_dir() => Err(CommandError::Words(format!(
            "{name} is a directory, and no scenario: to measure its storage, `flashlag run --on {name}`"
        ))),
        None if name.ends_with(".json") && run_from(Path::new(name)).is_ok() => {
            Err(CommandError::Words(format!(
                "{name} is a run file, and no scenario: `flashlag report {name}` shows it, `flashlag explain \
                 {name}` says why it lagged"
            )))
        }
        None if name.ends_with(".toml") || Path::new(name).exists() => {
            std::fs::read_to_string(name)
                .map_err(|source| CommandError::ScenarioFile { name: name.to_owned(), source })
        }
        None => {
            let names: Vec<_> = BUILTINS.iter().map(|one| one.name).collect();
            Err(CommandError::Words(format!(
                "no scenario is named `{name}`: there are {}, or give a TOML file{}",
                names.join(", "),
                did_you_mean(name, names.iter().copied())
            )))
        }
    }
}

/// The name of a file without its directory, which is private.
pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The earlier run in a file, to be continued.
pub fn earlier(path: &Path) -> Result<Run, CommandError> {
    let refuse = |source: CommandError| CommandError::Resume(Box::new(source));
    let text = std::fs::read_to_string(path)
        .map_err(|source| refuse(CommandError::Read { path: path.to_owned(), source }))?;
    Run::from_json(&text)
        .map_err(|source| refuse(CommandError::NoRunFile { path: path.to_owned(), source }))
}
