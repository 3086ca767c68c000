use std::path::Path;

use flashlag_schema::Run;
use flashlag_schema::verify::{Discrepancy, verify_text};

use crate::error::CommandError;
use crate::files::{run_from, text_from};

/// Figures of a run file that differ from those recomputed from its histograms, and findings that differ
/// from those recomputed from the figures.
pub fn discrepancies(path: &Path) -> Result<Vec<Discrepancy>, CommandError> {
    let text = text_from(path)?;
    if flashlag_export::fio::looks_like_fio(&text) {
        return of_fio(path, &text);
    }
    let refuse = |source| CommandError::Verify { path: path.to_owned(), source };
    let mut found = verify_text(&text).map_err(refuse)?;
    found.extend(flashlag_explain::verify(&Run::from_json(&text).map_err(refuse)?));
    Ok(found)
}

/// The same for fio's own results: its figures that do not follow from its bins, and the figures
/// derived here.
fn of_fio(path: &Path, text: &str) -> Result<Vec<Discrepancy>, CommandError> {
    let run = run_from(path)?;
    let mut found = flashlag_export::fio::check(text)
        .map_err(|source| CommandError::Fio { path: path.to_owned(), source })?;
    found.extend(flashlag_schema::verify::verify(&run));
    found.extend(flashlag_explain::verify(&run));
    Ok(found)
}
