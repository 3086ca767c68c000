use anyhow::{Context, Result};
use flashlag_schema::verify::verify_text;

use crate::args::VerifyArgs;
use crate::exit::Exit;
use crate::say;

/// Recomputes every figure of run files and lists those that differ.
pub fn verify(args: &VerifyArgs) -> Result<Exit> {
    let mut exit = Exit::Done;
    for path in &args.runs {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let found =
            verify_text(&text).with_context(|| format!("{} cannot be verified", path.display()))?;
        if found.is_empty() {
            say::line(&format!("{}: every figure follows from its histograms", path.display()))?;
            continue;
        }
        exit = Exit::Crossed;
        let figures = match found.len() {
            1 => "1 figure does not hold".to_owned(),
            many => format!("{many} figures do not hold"),
        };
        say::line(&format!("{}: {figures}", path.display()))?;
        for discrepancy in &found {
            say::line(&format!("  {discrepancy}"))?;
        }
    }
    Ok(exit)
}
