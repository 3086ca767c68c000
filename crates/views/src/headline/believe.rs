use flashlag_explain::failed;
use flashlag_schema::{Check, CheckId, CheckStatus, Run};

use crate::doubt::{CheckCounts, failures_of};
use crate::format::{self, decapitalized};
use crate::naming::stage_of;
use crate::outline::phase_title;
use crate::standing::Model;

/// The answer to "Can you believe it?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Believe {
    /// `Yes`, `Yes, except the Idle row`, `No`; `It is a model: 19 of 22 published rows within 20%`.
    pub answer: String,
    /// `9 checks pass, 1 fails, 2 unknown`; empty for a simulation, to which checks of measuring do
    /// not apply.
    pub counts: String,
    /// Both as an answer, with a full stop: `Yes, except the Idle row: 9 checks pass, …`.
    pub sentence: String,
    /// Both without a question before them: `Believe it, except the Idle row: 9 checks pass, …`.
    pub statement: String,
}

impl Believe {
    pub(super) fn of(run: &Run, no_verdict: bool) -> Believe {
        if let Some(model) = Model::of(run).filter(|_| !no_verdict && !run.phases.is_empty()) {
            return Believe::of_model(run, &model);
        }
        let counts = CheckCounts::of(run);
        let in_words = counts.in_words();
        let (answer, lead) = match () {
            () if run.phases.is_empty() => {
                ("There is nothing to believe".to_owned(), "There is nothing to believe".to_owned())
            }
            () if no_verdict => ("No".to_owned(), "Do not believe it".to_owned()),
            () if counts.passed == 0 && counts.failed == 0 => {
                ("Unknown".to_owned(), "Whether to believe it is unknown".to_owned())
            }
            () => with_exceptions(run),
        };
        let in_words = match counts {
            CheckCounts { passed: 0, failed: 0, unknown: 0 } => "no check was made".to_owned(),
            CheckCounts { passed: 0, failed: 0, unknown: 1 } => {
                "its one check could not be decided".to_owned()
            }
            CheckCounts { passed: 0, failed: 0, unknown } => {
                format!("none of {unknown} checks could be decided")
            }
            _ => in_words,
        };
        Believe {
            sentence: format!("{answer}: {in_words}."),
            statement: format!("{lead}: {in_words}."),
            answer,
            counts: in_words,
        }
    }
}

impl Believe {
    /// The statement of a simulation: it is as good as its model, whatever checks pass.
    fn of_model(run: &Run, model: &Model) -> Believe {
        let but = exceptions(run);
        let but = if but.is_empty() { but } else { format!("; do not rely on {but}") };
        let answer = format!("{}{but}", model.in_words());
        let sentence = format!("{answer}.");
        Believe { statement: sentence.clone(), sentence, answer, counts: String::new() }
    }
}

/// The answer and the statement, with the exceptions.
fn with_exceptions(run: &Run) -> (String, String) {
    let rows = exceptions(run);
    let but = if rows.is_empty() { String::new() } else { format!(", except {rows}") };
    let undecided = |id| {
        let check = run.trust.checks.iter().find(|check: &&Check| check.id == id)?;
        let claim = decapitalized(check.claim.trim_end_matches('.'));
        (check.status == CheckStatus::Unknown).then_some(claim)
    };
    // These two decide whether storage was measured at all: a plain yes needs them to pass.
    let undecided = undecided(CheckId::CacheBypass).or_else(|| undecided(CheckId::FlushIsReal));
    match undecided {
        Some(claim) => {
            let but =
                if rows.is_empty() { String::new() } else { format!("; do not rely on {rows}") };
            (
                format!("Only if {claim}, which is unknown{but}"),
                format!("Believe it only if {claim}, which is unknown{but}"),
            )
        }
        None => (format!("Yes{but}"), format!("Believe it{but}")),
    }
}

/// The rows that a failed check covers: whole stages by name, other rows by their label.
fn exceptions(run: &Run) -> String {
    let mut rows: Vec<String> = Vec::new();
    let mut add = |row: String| {
        if !rows.contains(&row) {
            rows.push(row);
        }
    };
    let doubted = |phase| !failures_of(run, phase).is_empty();
    for phase in run.phases.iter().filter(|phase| doubted(phase)) {
        let stage = stage_of(run, phase);
        let of_stage = || run.phases.iter().filter(|other| stage_of(run, other) == stage);
        let several = of_stage().count() < run.phases.len();
        let whole = several && of_stage().all(doubted);
        add(if whole { stage.clone() } else { phase_title(run, phase) });
    }
    // A failed check may name phases that are not in the file.
    if rows.is_empty() {
        rows.extend(failed(run).map(|check| check.claim.trim_end_matches('.').to_owned()));
        return match rows.len() {
            0 => String::new(),
            _ => format!("for what failed ({})", rows.join("; ")),
        };
    }
    match rows.len() {
        1 => format!("the {} row", rows[0]),
        2 | 3 => format!("the rows {}", format::list(&rows)),
        many => format!("{many} rows"),
    }
}
