//! The gate of a comparison: which figures of the second side are surely slower than those of the
//! first, for a build that a slower device or program should fail.

use std::fmt;

use thiserror::Error;

use super::model::{CompareRow, CompareSide, Comparison, Ratio, RatioKind};
use crate::format;

/// A judgement of every figure of the second side against the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// By how much a figure may be slower, as a share: 0.05 is 5 %.
    pub tolerance: f64,
    /// The side that must not be slower.
    pub after: String,
    /// The side that is compared against.
    pub before: String,
    /// One for each figure of each test, in the order of the comparison.
    pub cases: Vec<GateCase>,
}

/// One figure of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateCase {
    /// `filled 2: rand_write_4k`, as in the run file.
    pub test: String,
    /// `4K rand write, filled run 2`.
    pub title: String,
    /// `p99`; `schedule` if the figure is whether the schedule was kept.
    pub figure: &'static str,
    /// The outcome for this figure.
    pub outcome: GateOutcome,
    /// The figures behind it, or the reason for having none.
    pub detail: String,
}

/// The gate's outcome for a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateOutcome {
    /// The whole 95 % interval is slower by more than the tolerance.
    Slower,
    /// Not surely slower by more than the tolerance.
    Passed,
    /// There is no evidence to decide by.
    Undecided,
}

/// Why a comparison can't be a gate.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GateError {
    /// The comparison does not have exactly two sides.
    #[error(
        "a gate needs two sides, not {sides}: give the runs after a change, and with --against those \
         before it"
    )]
    Sides {
        /// How many there are.
        sides: usize,
    },
    /// No figure of any test could be compared.
    #[error(
        "no figure of {after} could be compared with {before}'s, so nothing can be said to hold: {reason}"
    )]
    NothingDecided {
        /// The second side.
        after: String,
        /// The first side.
        before: String,
        /// The reason of the first figure.
        reason: String,
    },
}

impl Gate {
    /// Judges the second side of a comparison against the first.
    ///
    /// # Errors
    /// There are not exactly two sides, or no figure could be decided.
    pub fn of(comparison: &Comparison, tolerance: f64) -> Result<Gate, GateError> {
        let [before, after] = comparison.subjects.as_slice() else {
            return Err(GateError::Sides { sides: comparison.subjects.len() });
        };
        let names = [before.name.as_str(), after.name.as_str()];
        let cases: Vec<GateCase> =
            comparison.rows.iter().flat_map(|row| cases(row, names, tolerance)).collect();
        let is_decided = |case: &GateCase| case.outcome != GateOutcome::Undecided;
        if !cases.iter().any(is_decided) {
            let reason = cases.first().map_or_else(
                || "they have no test in common".to_owned(),
                |case| format!("{}: {}", case.test, case.detail),
            );
            let (after, before) = (after.name.clone(), before.name.clone());
            return Err(GateError::NothingDecided { after, before, reason });
        }
        let (before, after) = (before.name.clone(), after.name.clone());
        Ok(Gate { tolerance, after, before, cases })
    }

    /// How many figures have an outcome.
    pub fn count(&self, outcome: GateOutcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }

    /// Whether the second side passes.
    pub fn passes(&self) -> bool {
        self.count(GateOutcome::Slower) == 0
    }
}

impl fmt::Display for Gate {
    /// One sentence, then a line for each figure that is slower.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gate { after, before, .. } = self;
        let limit = match self.tolerance {
            0.0 => String::new(),
            share => format!(" by more than {}", format::share(share)),
        };
        let decided = self.cases.len() - self.count(GateOutcome::Undecided);
        match self.count(GateOutcome::Slower) {
            0 => write!(f, "passed: none of {decided} figures of {after} is surely slower{limit}")?,
            slower => write!(
                f,
                "failed: {slower} of {decided} figures of {after} {} surely slower{limit}",
                if slower == 1 { "is" } else { "are" }
            )?,
        }
        write!(f, " than {before}'s")?;
        match self.count(GateOutcome::Undecided) {
            0 => {}
            undecided => write!(f, "; {undecided} can't be compared")?,
        }
        for case in self.cases.iter().filter(|case| case.outcome == GateOutcome::Slower) {
            write!(f, "\n  {}, {}: {}", case.test, case.figure, case.detail)?;
        }
        Ok(())
    }
}

fn cases(row: &CompareRow, [before, after]: [&str; 2], tolerance: f64) -> Vec<GateCase> {
    let case = |figure, outcome, detail: String| GateCase {
        test: row.label.clone(),
        title: row.title.clone(),
        figure,
        outcome,
        detail,
    };
    let side = |index: usize| row.sides.get(index).and_then(Option::as_ref);
    let (first, second) = match (side(0), side(1)) {
        (Some(first), Some(second)) => (first, second),
        (had, _) => {
            let only = if had.is_some() { before } else { after };
            let detail = format!("only {only} has this test");
            return vec![case("test", GateOutcome::Undecided, detail)];
        }
    };
    if let Some((outcome, detail)) = by_schedule([first, second], [before, after]) {
        return vec![case("schedule", outcome, detail)];
    }
    let kinds = [RatioKind::P50, RatioKind::P99, RatioKind::Throughput];
    let ratios = kinds.into_iter().filter_map(|kind| row.ratios.iter().find(|r| r.kind == kind));
    let found: Vec<GateCase> = ratios
        .map(|ratio| {
            let figure = ratio.kind.name(row.operation);
            case(figure, outcome(ratio, tolerance), format!("{}{}", ratio.words, basis(ratio)))
        })
        .collect();
    if found.is_empty() {
        vec![case("test", GateOutcome::Undecided, why_none([first, second]))]
    } else {
        found
    }
}

/// Whether one side, or both, could not keep the test's schedule, so that there are no times to
/// compare.
fn by_schedule(
    [first, second]: [&CompareSide; 2],
    [before, after]: [&str; 2],
) -> Option<(GateOutcome, String)> {
    match (&first.overload, &second.overload) {
        (None, None) => None,
        (None, Some(now)) => Some((
            GateOutcome::Slower,
            format!("{before} kept the schedule, {after} does not: {}", now.mean.in_words()),
        )),
        (Some(_), None) => Some((
            GateOutcome::Passed,
            format!("{after} keeps the schedule, which {before} did not"),
        )),
        (Some(_), Some(now)) => Some((
            GateOutcome::Undecided,
            format!("no side keeps the schedule, on {after} {}", now.mean.in_words()),
        )),
    }
}

/// The end of the interval that is nearer to no difference decides.
fn outcome(ratio: &Ratio, tolerance: f64) -> GateOutcome {
    let Some((low, high)) = ratio.interval else { return GateOutcome::Undecided };
    let slower = match ratio.kind {
        RatioKind::P50 | RatioKind::P99 => low > 1.0 + tolerance,
        RatioKind::Throughput => high * (1.0 + tolerance) < 1.0,
    };
    if slower && ratio.differs { GateOutcome::Slower } else { GateOutcome::Passed }
}

/// What the interval covers; with single runs, it does not cover how much runs differ.
fn basis(ratio: &Ratio) -> &'static str {
    match (ratio.interval, ratio.between_runs) {
        (Some(_), false) => "; from within single runs: repeat each side (--runs 3) to be surer",
        _ => "",
    }
}

fn why_none(sides: [&CompareSide; 2]) -> String {
    let mut claims: Vec<&str> = Vec::new();
    for failure in sides.iter().flat_map(|side| side.judgement.failures()) {
        let claim = failure.claim.trim_end_matches('.');
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    }
    match claims.as_slice() {
        [] => "too few operations for an interval".to_owned(),
        [one] => format!("a failed check covers it: {one}"),
        several => format!("failed checks cover it: {}", several.join("; ")),
    }
}
