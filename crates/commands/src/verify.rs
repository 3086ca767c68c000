use std::path::Path;

use flashlag_schema::Run;
use flashlag_schema::verify::{Discrepancy, verify_text};

use crate::error::CommandError;

/// Figures of a run file that differ from those recomputed from its histograms, and findings that differ
/// from those recomputed from the figures.
///
/// # Errors
/// The file can't be read, or is no run file.
pub fn discrepancies(path: &Path) -> Result<Vec<Discrepancy>, CommandError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| CommandError::Read { path: path.to_owned(), source })?;
    let refuse = |source| CommandError::Verify { path: path.to_owned(), source };
    let mut found = verify_text(&text).map_err(refuse)?;
    found.extend(flashlag_explain::verify(&Run::from_json(&text).map_err(refuse)?));
    Ok(found)
}
