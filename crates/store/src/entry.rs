//! A run file, as far as it could be read.

use flashlag_schema::StoredHistogram;

use crate::rows::{ColumnOf, JOINED, PHASES, PhaseRow, RUNS, RunRow, cells, heads};
use crate::standing::Standing;
use crate::table::{Column, Table, Value};

/// A run file in a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its row; for an unreadable file only the name, the size and the reason are known.
    pub run: RunRow,
    /// What was measured, in the order of the run file.
    pub phases: Vec<Measured>,
    /// Fields that `flashlag share` would remove, if the file was not shared yet: publishing the
    /// file itself would reveal them.
    pub private: Vec<String>,
}

/// A test of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub row: PhaseRow,
    /// The latencies as users feel them: from the intended start if there was a schedule.
    pub histogram: StoredHistogram,
}

/// Checksum, hash of the measurement, and the file that counts instead.
pub(crate) type Marks = (Option<String>, Option<String>, Option<String>);

impl Entry {
    /// The part of an entry that decides whether it is a copy, as an index stores it.
    pub(crate) fn standing_only(
        file: String,
        standing: &str,
        reason: Option<String>,
        (run, measurement_sha256, copy_of): Marks,
        shared: bool,
    ) -> Entry {
        let run = RunRow {
            file,
            file_sha256: String::new(),
            file_bytes: 0,
            standing: Standing::named(standing).unwrap_or(Standing::Unreadable),
            reason,
            run,
            measurement_sha256,
            copy_of,
            shared,
            facts: None,
        };
        Entry { run, phases: Vec::new(), private: Vec::new() }
    }

    /// Whether the run counts.
    pub fn is_good(&self) -> bool {
        self.run.standing == Standing::Good
    }
}

/// The table of runs: one row per file.
pub fn runs_table<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Table {
    let rows = entries.into_iter().map(|entry| cells(RUNS, &entry.run));
    Table { columns: heads(RUNS), rows: rows.collect() }
}

/// The table of tests: one row per test of a run.
pub fn phases_table<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Table {
    let measured = entries.into_iter().flat_map(|entry| &entry.phases);
    let rows = measured.map(|measured| cells(PHASES, &measured.row));
    Table { columns: heads(PHASES), rows: rows.collect() }
}

/// The table of tests, each with the columns of its run that a query of `phases` adds.
pub fn results_table<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Table {
    let of_run = |name: &&str| RUNS.iter().find(|column| column.name == *name);
    let joined: Vec<&ColumnOf<RunRow>> = JOINED.iter().filter_map(of_run).collect();
    let mut columns = heads(PHASES);
    columns.extend(joined.iter().map(|it| Column { name: it.name.to_owned(), kind: it.kind }));
    let mut rows = Vec::new();
    for entry in entries {
        let run: Vec<Value> = joined.iter().map(|column| (column.value)(&entry.run)).collect();
        rows.extend(entry.phases.iter().map(|measured| {
            let mut row = cells(PHASES, &measured.row);
            row.extend_from_slice(&run);
            row
        }));
    }
    Table { columns, rows }
}
