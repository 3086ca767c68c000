//! How one side fared in the test that decides its run's headline.

use flashlag_explain::LagVerdict;
use flashlag_schema::Run;
use flashlag_spec::State;

use super::model::{CompareRow, Subject};
use crate::headline::{Deciding, DecidingVerdict, TestVerdict};
use crate::worst::{circumstances, worst};

/// The outcome of one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The worst verdict of the deciding test over all its stages.
    pub alone: LagVerdict,
    /// The verdict of that test when new, if this subject was measured in another stage too.
    pub new: Option<LagVerdict>,
    /// A stage with the worst verdict; only if this subject was measured in another stage than New.
    pub stage: Option<State>,
    /// Whether it was measured in several stages.
    pub several: bool,
    /// Whether something runs beside the deciding test, because there is no test without.
    pub beside: bool,
    /// The worst verdict of the other tests with its circumstances, if it is worse.
    pub worse: Option<(LagVerdict, String)>,
}

/// The stages, in the order in which one of them is named.
pub const STAGES: [State; 5] =
    [State::Filled, State::Deleted, State::Idle, State::Trimmed, State::New];

/// The test that decides for each subject: that of its longest run.
pub fn deciding(runs: &[Run], subjects: &[Subject]) -> Vec<Option<Deciding>> {
    let of_subject = |subject: &Subject| {
        let runs = subject.runs.iter().filter_map(|index| runs.get(*index));
        let longest = runs.rev().max_by_key(|run| run.phases.len())?;
        Deciding::of(longest)
    };
    subjects.iter().map(of_subject).collect()
}

/// The rows of the test that decides for a subject.
pub fn rows_of<'a>(
    rows: &'a [CompareRow],
    deciding: &Deciding,
) -> impl Iterator<Item = &'a CompareRow> + use<'a> {
    let test = deciding.test.clone();
    rows.iter().filter(move |row| row.kind.is_some() && row.test == test)
}

/// The verdict of a row for a subject; `None` if a failed check covers it.
pub fn verdict(row: &CompareRow, subject: usize) -> Option<LagVerdict> {
    row.sides.get(subject)?.as_ref()?.judgement.verdict()
}

impl Outcome {
    /// `None` if what has to be judged cannot be.
    pub fn of(rows: &[CompareRow], subject: usize, deciding: &Deciding) -> Option<Outcome> {
        let tests: Vec<TestVerdict<'_>> = rows
            .iter()
            .filter(|row| row.kind.is_some() && row.sides[subject].is_some())
            .map(|row| TestVerdict {
                test: &row.test,
                state: row.state,
                verdict: verdict(row, subject),
                circumstances: circumstances(row.kind, row.beside, &row.title),
            })
            .collect();
        let DecidingVerdict { alone, worse, stages } = deciding.judge(&tests)?;
        let of_state = |state: State| {
            let stages = stages.iter().filter(|(known, _)| *known == state);
            worst(stages.filter_map(|(_, verdict)| *verdict))
        };
        let measured = STAGES.into_iter().filter(|state| of_state(*state).is_some());
        let later = measured.clone().any(|state| state != State::New);
        let stage = STAGES.into_iter().find(|state| of_state(*state) == Some(alone));
        let mut own = rows_of(rows, deciding).filter(|row| row.sides[subject].is_some());
        Some(Outcome {
            alone,
            new: of_state(State::New).filter(|_| later),
            stage: stage.filter(|_| later),
            several: measured.count() > 1,
            beside: own.all(|row| row.beside),
            worse,
        })
    }
}
