use anyhow::{Context, Result};
use flashlag_schema::verify::{Discrepancy, verify_text};
use flashlag_schema::{Run, RunFileError};

use crate::args::VerifyArgs;
use crate::exit::{Exit, is_closed_pipe};
use crate::say;

/// Figures that differ from those recomputed from the histograms, and findings that differ from those
/// recomputed from the figures.
fn discrepancies(text: &str) -> Result<Vec<Discrepancy>, RunFileError> {
    let mut found = verify_text(text)?;
    found.extend(flashlag_explain::verify(&Run::from_json(text)?));
    Ok(found)
}

/// Recomputes every figure of run files and lists those that differ.
pub fn verify(args: &VerifyArgs) -> Result<Exit> {
    let (mut exit, mut lines) = (Exit::Done, Vec::new());
    for path in &args.runs {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let found = discrepancies(&text)
            .with_context(|| format!("{} cannot be verified", path.display()))?;
        if found.is_empty() {
            lines.push(format!("{}: every figure follows from its histograms", path.display()));
            continue;
        }
        exit = Exit::Crossed;
        let figures = match found.len() {
            1 => "1 figure differs from the recomputed one".to_owned(),
            many => format!("{many} figures differ from the recomputed ones"),
        };
        lines.push(format!("{}: {figures}", path.display()));
        lines.extend(found.iter().map(|discrepancy| format!("  {discrepancy}")));
    }
    // The exit status does not depend on whether the lines could be printed.
    match lines.iter().try_for_each(|line| say::line(line)) {
        Err(error) if !is_closed_pipe(&error) => Err(error),
        _ => Ok(exit),
    }
}
