use flashlag_schema::{ChangeKind, Run};
use flashlag_views::{
    Column, FillCurve, PhaseChange, PhaseStalls, Stalls, cause_name, changes, changes_heading,
    fill_curves, fill_table, format, lifecycle, stalls,
};

use super::Depth;
use super::figures::NOT_TO_QUOTE;
use crate::line::{Line, Page};
use crate::style::Role;
use crate::table::{Table, spare};

/// From this many rows on, the table of stages is what a run is about: in short its fill has its
/// heading alone.
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

/// What the interval series shows, and the stalls, of the phases that have any.
pub(super) fn events(page: &mut Page, run: &Run, depth: Depth) {
    let steady = |change: &PhaseChange<'_>| {
        matches!(change.change.kind, ChangeKind::SteadyState | ChangeKind::NotSteady)
    };
    let mut changes = changes(run);
    if depth == Depth::Short {
        changes.retain(|change| !steady(change));
    }
    if depth == Depth::Short {
        // The headline has named the gravest.
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
            stall_table(page, run, &phases);
        }
    }
}

fn stall_table(page: &mut Page, run: &Run, phases: &[PhaseStalls]) {
    let mut stalled: Vec<&PhaseStalls> = phases.iter().filter(|phase| phase.seen > 0).collect();
    if stalled.is_empty() {
        return;
    }
    // Costliest first; the sort is stable, so equals stay in the order of the run.
    stalled.sort_by_key(|phase| std::cmp::Reverse(phase.longest));
    let mut table = Table::new("").column("longer than", 3).column("stalls", 0);
    table = table.column("longest", 0).column("at", 2).column("cause", 1);
    for PhaseStalls { phase, title, seen, over, longest, causes, failures, .. } in &stalled {
        let stored = run.phases.get(*phase).map(|phase| phase.stalls.as_slice());
        let at = stored.unwrap_or_default().iter().max_by_key(|stall| stall.ns);
        let (ink, late) = match failures.is_empty() {
            true => (Role::Ink, Role::Late),
            false => (Role::Muted, Role::Muted),
        };
        let cells = vec![
            (ink, format::time(*over)),
            (ink, format::count(*seen)),
            (late, longest.map(format::time).unwrap_or_default()),
            (ink, at.map(|stall| format::time(stall.t_ns)).unwrap_or_default()),
            (ink, causes.first().map(|(cause, _)| cause_name(*cause)).unwrap_or("").to_owned()),
        ];
        table.row((ink, title), cells);
    }
    table.print(page);
}
