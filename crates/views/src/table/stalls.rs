//! Stalls by phase.

use super::{Cell, Column, Table, TableRow};
use crate::format;
use crate::outline::PhaseStalls;

const COLUMNS: [Column; 7] = [
    Column::Limit,
    Column::Stalls,
    Column::Longest,
    Column::At,
    Column::Together,
    Column::Cause,
    Column::Causes,
];

/// The stalls of each of these phases, in the given order; a phase without stalls has no row.
pub fn stalls_table<'a>(phases: impl IntoIterator<Item = &'a PhaseStalls>) -> Table {
    let stalled = phases.into_iter().filter(|phase| phase.seen > 0);
    let groups = super::build::one_group(stalled.map(row).collect());
    Table { title: "phase", columns: COLUMNS.to_vec(), groups, notes: Vec::new() }
}

fn row(phase: &PhaseStalls) -> TableRow {
    let none = || Cell::Text(String::new());
    let first = phase.causes.iter().take(1).map(|(cause, _)| (*cause, None));
    let all = phase.causes.iter().map(|(cause, stalls)| (*cause, Some(*stalls as u64)));
    let cell = |column: &Column| match column {
        Column::Limit => Cell::Limit(phase.over),
        Column::Stalls => Cell::Count(phase.seen),
        Column::Longest => phase.longest.map_or_else(none, Cell::Time),
        Column::At => phase.longest_at.map_or_else(none, Cell::Time),
        Column::Together => Cell::Time(phase.total),
        Column::Cause => Cell::Causes(first.clone().collect()),
        Column::Causes => Cell::Causes(all.clone().collect()),
        _ => none(),
    };
    let kept = phase.listed as u64;
    TableRow {
        label: phase.title.clone(),
        phase: Some(phase.phase),
        is_part: false,
        failures: phase.failures.clone(),
        remark: (kept < phase.seen)
            .then(|| format!("the longest {} are listed", format::count(kept))),
        cells: COLUMNS.iter().map(cell).collect(),
    }
}
