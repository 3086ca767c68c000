//! The columns that identify a row's test; they come first in every table of tests.

use flashlag_schema::Phase;

use crate::column::{Column, Signed, text, whole};

/// A row about one test.
pub(crate) trait OfPhase {
    /// The test.
    fn phase(&self) -> &Phase;
}

/// The columns `phase`, `name`, `state` and `run`, and then others.
pub(crate) fn named<R: OfPhase>(others: Vec<Column<R>>) -> Vec<Column<R>> {
    let mut columns = vec![
        text("phase", "Unique in a run: state, repetition and test", |row: &R| {
            Some(row.phase().label())
        }),
        text("name", "Name of the test in the scenario", |row: &R| Some(row.phase().name.clone())),
        text("state", "Where the device was in its life", |row: &R| {
            Some(row.phase().state.name().to_owned())
        }),
        whole("run", "Repetition within that state, from 1", |row: &R| {
            Some(row.phase().run.signed())
        }),
    ];
    columns.extend(others);
    columns
}
