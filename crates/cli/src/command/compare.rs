use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use flashlag_explain::{CompareOptions, Comparison};
use flashlag_schema::Run;

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::load::{name_of, run_from};
use crate::terminal::Terminal;

/// Prints runs side by side.
pub fn compare(args: &CompareArgs, terminal: &Terminal) -> Result<Exit> {
    let (runs, comparison) = compared(&args.runs, args.force)?;
    if let Some(path) = &args.report {
        std::fs::write(
            path,
            flashlag_report::comparison_html(&comparison, &runs, &options(&args.runs)),
        )
        .with_context(|| format!("cannot write the report {}", path.display()))?;
    }
    let text = flashlag_term::comparison(&comparison, terminal.stdout);
    write!(std::io::stdout().lock(), "{text}")?;
    Ok(Exit::Done)
}

/// Reads runs and compares them.
///
/// # Errors
/// A file that is no run; runs that did not do the same.
pub fn compared(paths: &[PathBuf], force: bool) -> Result<(Vec<Run>, Comparison)> {
    let runs = paths.iter().map(|path| run_from(path)).collect::<Result<Vec<_>>>()?;
    let options = CompareOptions { force, ..CompareOptions::default() };
    let comparison = flashlag_explain::compare(&runs, &options)
        .context("these runs can't be compared (--force does it all the same)")?;
    Ok((runs, comparison))
}

/// The report names the files it was made from.
pub fn options(paths: &[PathBuf]) -> flashlag_report::Options {
    let run_files = paths.iter().map(|path| name_of(path)).collect();
    flashlag_report::Options { run_files, banner: None }
}
