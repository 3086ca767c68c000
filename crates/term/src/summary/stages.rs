use flashlag_schema::{ChangeKind, Lag, Run};
use flashlag_views::{
    FillCurve, PhaseChange, PhaseStalls, Stalls, cause_name, changes, changes_heading, fill_curves,
    format, lifecycle, stalls,
};

use super::Depth;
use super::figures::{NOT_TO_QUOTE, marked};
use crate::line::{Line, Page};
use crate::style::Role;
use crate::table::Table;

/// From this many rows on, the table of stages is what a run is about: in short its fill has its
/// heading alone.
const MANY_STAGES: usize = 4;

/// Percentiles by fill level.
pub(super) fn fills(page: &mut Page, run: &Run, depth: Depth) {
    let staged = lifecycle(run).is_some_and(|table| table.rows.len() >= MANY_STAGES);
    for curve in fill_curves(run) {
        let FillCurve { heading, what, total_bytes, levels, failures, .. } = &curve;
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
        let mut table = Table::new("full")
            .column("MB/s", 2)
            .column("p50 ms", 0)
            .column("p99 ms", 0)
            .column("p99.9 ms", 1)
            .column("longest", 3)
            .column("late", 0)
            .column("n", 4);
        let ink = if failures.is_empty() { Role::Ink } else { Role::Muted };
        for level in levels {
            let figures = &level.figures;
            let times = [figures.p50, figures.p99, figures.p999, figures.max].map(|value| {
                let late = value.is_some_and(|value| value > Lag::FRAME_60HZ);
                let role = if late && failures.is_empty() { Role::Late } else { ink };
                (role, value.map_or_else(|| format::NONE.to_owned(), format::ms))
            });
            let mut cells = vec![(ink, format::mb_per_s(level.bytes_per_sec))];
            cells.extend(times);
            let late = figures.late_share().map(format::share);
            cells.push((ink, late.unwrap_or_else(|| format::NONE.to_owned())));
            cells.push((ink, format::count(figures.n)));
            let label = marked(&format::share(level.full), failures.is_empty());
            table.row((ink, &label), cells);
        }
        table.print(page);
        if !failures.is_empty() {
            page.paragraph(Role::Muted, NOT_TO_QUOTE);
        }
        if let Some(flush) = curve.flush_note() {
            page.paragraph(Role::Muted, &flush);
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
