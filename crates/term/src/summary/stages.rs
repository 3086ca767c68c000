use flashlag_schema::{ChangeKind, Run};
use flashlag_units::InOrder;
use flashlag_views::{
    Column, FillCurve, PhaseChange, PhaseStalls, Stalls, changes, changes_heading, fill_curves,
    fill_table, format, lifecycle, stalls, stalls_table,
};

use super::figures::{Depth, NOT_TO_QUOTE};
use crate::line::{Line, Page};
use crate::style::Role;
use crate::table::{Table, spare};

/// From this many stages on, the short summary has only the heading of a fill.
const MANY_STAGES: usize = 4;

/// Percentiles by fill level.
pub(super) fn fills(page: &mut Page, run: &Run, depth: Depth) {
    let staged = lifecycle(run).is_some_and(|table| table.rows.len() >= MANY_STAGES);
    for curve in fill_curves(run) {
        let FillCurve { heading, what, total_bytes, failures, .. } = &curve;
        if depth == Depth::Full || !staged {
            page.gap();
        }
        let mark = if failures.is_empty() { "" } else { " ✕" };
        page.paragraph(Role::Strong, &format!("{heading}{mark}"));
        if depth == Depth::Short && staged {
            continue;
        }
        let size = format::size(*total_bytes);
        page.paragraph(Role::Muted, &format!("{what}, by share of {size} in use"));
        let model = fill_table(run, &curve);
        let spare = |column| match column {
            Column::Speed => 2,
            Column::Longest => 3,
            Column::P999 => 1,
            other => spare(other),
        };
        let head = Column::title_with_unit;
        Table::of(&model, model.title, head, spare, |row| row.label.clone()).print(page);
        if !failures.is_empty() {
            page.paragraph(Role::Muted, NOT_TO_QUOTE);
        }
        for note in &model.notes {
            page.paragraph(Role::Muted, note);
        }
    }
}

/// The changes over time and the stalls of all phases.
pub(super) fn events(page: &mut Page, run: &Run, depth: Depth) {
    let steady = |change: &PhaseChange<'_>| {
        matches!(change.change.kind, ChangeKind::SteadyState | ChangeKind::NotSteady)
    };
    let mut changes = changes(run);
    if depth == Depth::Short {
        changes.retain(|change| !steady(change));
    }
    if depth == Depth::Short {
        // The headline names the gravest change.
        if changes.len() > 1 {
            page.paragraph(Role::Ink, &changes_heading(run));
        }
        changes.clear();
    }
    if !changes.is_empty() {
        page.paragraph(Role::Strong, &changes_heading(run));
    }
    for PhaseChange { title, name, change, .. } in &changes {
        let mut head = Line::new(page.style());
        head.add(Role::Muted, "▸");
        let at = format::time(change.t_ns);
        page.hanging(&head, 2, Role::Ink, &format!("{title}, at {at}, {name}: {}", change.detail));
    }
    if depth == Depth::Full {
        page.gap();
    }
    if let Some(Stalls { heading, phases }) = stalls(run) {
        if phases.iter().any(|phase| phase.seen > 0) {
            page.paragraph(Role::Strong, &heading);
        }
        if depth == Depth::Full {
            stall_table(page, &phases);
        }
    }
}

fn stall_table(page: &mut Page, phases: &[PhaseStalls]) {
    let mut phases: Vec<&PhaseStalls> = phases.iter().collect();
    // Costliest first; the sort is stable, so equals stay in the order of the run.
    phases.order_by_key(|phase| std::cmp::Reverse(phase.longest));
    let model = stalls_table(phases).without(&[Column::Together, Column::Causes]);
    if model.is_empty() {
        return;
    }
    let spare = |column| match column {
        Column::Limit => 3,
        Column::At => 2,
        Column::Cause => 1,
        _ => 0,
    };
    let head = |column: Column| column.title().to_owned();
    Table::of(&model, "", head, spare, |row| row.label.clone()).print(page);
    for note in &model.notes {
        page.paragraph(Role::Muted, note);
    }
}
