//! Two or more runs side by side, with the interval of each difference.

mod believe;
mod differs;
mod faster;
mod gate;
mod model;
mod outcome;
mod ratios;
mod rows;
mod scenario;
mod shown;
mod subjects;
mod words;

use flashlag_schema::Run;

pub use gate::{Gate, GateCase, GateError, GateOutcome};
pub use model::{
    CheckDifference, CompareError, CompareOptions, CompareRow, CompareSide, Comparison, Difference,
    Group, Ratio, RatioKind, Subject,
};

/// Compares runs.
///
/// # Errors
/// Fewer than two runs or groups; one run twice; a run in no group, or in two; labels that match
/// neither subjects nor runs, or are equal; different scenarios, unless forced.
pub fn compare(runs: &[Run], options: &CompareOptions) -> Result<Comparison, CompareError> {
    if runs.len() < 2 {
        return Err(CompareError::TooFew { given: runs.len() });
    }
    if let Some((first, second)) = subjects::same(runs) {
        let name = |index: usize| match options.files.get(index) {
            Some(file) => format!("run {} ({file})", index + 1),
            None => format!("run {}", index + 1),
        };
        return Err(CompareError::SameRun { first: name(first), second: name(second) });
    }
    let mut warnings = scenario::warnings(runs, options.force)?;
    let mut subjects = if options.groups.is_empty() {
        subjects::subjects(runs, options)
    } else {
        subjects::grouped(runs, options)?
    };
    subjects::label(&mut subjects, runs.len(), &options.labels)?;
    warnings.extend(subjects::seeds(runs, &subjects));
    warnings.extend(subjects::mixed(runs, &subjects));
    warnings.extend(subjects::alone(runs, &subjects));
    warnings.extend(subjects::unfinished(runs, &subjects, &options.files));
    let rows = rows::rows(runs, &subjects, options.seed);
    let mut ratios = rows.iter().flat_map(|row| &row.ratios).filter(|r| r.interval.is_some());
    warnings.extend(ratios.next().and_then(|_| subjects::singles(&subjects)));
    let differs = differs::differences(runs, &subjects);
    let (sentence, more) = words::headline(runs, &subjects, &rows);
    Ok(Comparison {
        faster: faster::line(&subjects, &rows).unwrap_or_default(),
        largest: words::largest(&rows).unwrap_or_default(),
        believe: believe::believe(runs, &subjects, &rows, &differs),
        checks: differs::checks(runs, &subjects),
        sentence,
        more,
        subjects,
        rows,
        differs,
        warnings,
    })
}
