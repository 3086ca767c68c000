//! The rows of the two tables, and their columns.

mod phase;
mod run;
mod state;

use flashlag_units::Nanos;

use crate::table::{Column, Kind, Value};

pub use phase::{PHASES, PhaseRow};
pub use run::{RUNS, RunFacts, RunRow};

/// The longest text of a cell, in characters: a run file may contain megabytes.
const LONGEST: usize = 200;

/// A column of a table whose rows are `R`.
#[derive(Clone, Copy, Debug)]
pub struct ColumnOf<R: 'static> {
    /// Its name in every form of the table.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its meaning.
    pub about: &'static str,
    /// Its cell in a row.
    pub value: fn(&R) -> Value,
}

/// The columns of its run that a test's row has in addition, in a query of `phases` and in a site.
pub(crate) const JOINED: [&str; 11] = [
    "device",
    "kind",
    "filesystem",
    "age",
    "standing",
    "scenario",
    "started",
    "model",
    "target",
    "no_flush",
    "above",
];

/// The cells of a row.
pub(crate) fn cells<R>(columns: &[ColumnOf<R>], row: &R) -> Vec<Value> {
    columns.iter().map(|column| (column.value)(row)).collect()
}

/// Names and types of columns.
pub(crate) fn heads<R>(columns: &[ColumnOf<R>]) -> Vec<Column> {
    let head = |column: &ColumnOf<R>| Column { name: column.name.to_owned(), kind: column.kind };
    columns.iter().map(head).collect()
}

/// A text for a cell: truncated, and without control characters or characters that hide or reorder
/// text.
pub(crate) fn short(text: &str) -> String {
    let head: String = text.chars().take(4 * LONGEST).collect();
    let clean = flashlag_units::sanitize(&head);
    if clean.chars().count() > LONGEST {
        clean.chars().take(LONGEST - 1).chain(['…']).collect()
    } else {
        clean
    }
}

fn nanos(value: Option<Nanos>) -> Value {
    value.map(|value| value.0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_megabyte_becomes_a_short_one_and_keeps_no_control_characters() {
        let long = short(&"a\u{1b}[31m".repeat(200_000));
        assert_eq!(long.chars().count(), LONGEST);
        assert!(long.chars().all(flashlag_units::is_printable) && long.ends_with('…'));
        assert_eq!(short(" ext4 "), "ext4");
    }

    #[test]
    fn no_column_has_the_name_of_another() {
        for names in [heads(RUNS), heads(PHASES)] {
            let mut sorted: Vec<String> = names.iter().map(|head| head.name.clone()).collect();
            sorted.sort();
            sorted.dedup();
            assert_eq!(sorted.len(), names.len());
        }
    }
}
