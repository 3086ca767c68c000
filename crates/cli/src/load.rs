//! Reading run files, fio files and scenarios.

use std::path::Path;

use anyhow::{Context, Result, bail};
use flashlag_runner::{BUILTINS, builtin, sim};
use flashlag_schema::Run;
use flashlag_units::did_you_mean;

/// Reads a run file, or fio's `json+` as a run.
///
/// # Errors
/// The file can't be read or is neither; with the accepted formats.
pub fn run_from(path: &Path) -> Result<Run> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    if flashlag_export::fio::looks_like_fio(&text) {
        let mut run = flashlag_export::fio::import(&text)
            .with_context(|| format!("{} is fio's, but cannot be imported", path.display()))?;
        flashlag_explain::attach(&mut run);
        run.seal();
        return Ok(run);
    }
    Run::from_json(&text)
        .with_context(|| format!("{} is neither a run file nor fio's json+ output", path.display()))
}

/// The text of the built-in scenario of that name, or of the file.
///
/// # Errors
/// There is neither; with the built-in names.
pub fn scenario_text(name: &str) -> Result<String> {
    let builtin = builtin(name).map(|builtin| builtin.text);
    match builtin.or_else(|| sim::builtin_protocol(name)) {
        Some(text) => Ok(text.to_owned()),
        None if name.ends_with(".toml") || Path::new(name).exists() => {
            std::fs::read_to_string(name)
                .with_context(|| format!("cannot read the scenario {name}"))
        }
        None => {
            let names: Vec<_> = BUILTINS.iter().map(|one| one.name).collect();
            bail!(
                "no scenario is named `{name}`: there are {}, or give a TOML file{}",
                names.join(", "),
                did_you_mean(name, names.iter().copied())
            );
        }
    }
}

/// The name of a file without its directory, which is private.
pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
