use anyhow::Result;
use flashlag_commands::discrepancies;

use crate::args::VerifyArgs;
use crate::exit::{Exit, is_closed_pipe};
use crate::say;

/// Recomputes every figure of run files and lists those that differ.
pub fn verify(args: &VerifyArgs) -> Result<Exit> {
    let (mut exit, mut lines) = (Exit::Done, Vec::new());
    for path in &args.runs {
        let found = discrepancies(path)?;
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
