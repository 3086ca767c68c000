//! The two tables of many runs.

use crate::entry::Entry;
use crate::rows::{PHASES, RUNS, cells, heads};
use crate::table::Table;

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
