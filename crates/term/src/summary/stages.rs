use flashlag_explain::{FillCurve, format};
use flashlag_explain::{fill_curves, stage_of, test_title};
use flashlag_schema::{Lag, Phase, Run};

use crate::line::{Line, Page};
use crate::style::Role;
use crate::table::Table;

/// Percentiles by fill level.
pub(super) fn fills(page: &mut Page, run: &Run) {
    for FillCurve { heading, what, total_bytes, levels, failures, .. } in fill_curves(run) {
        page.gap();
        page.paragraph(Role::Strong, &heading);
        let size = format::size(total_bytes);
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
        for level in &levels {
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
            table.row((ink, &format::share(level.full)), cells);
        }
        table.print(page);
    }
}

/// How many phases' stalls are listed.
const LISTED: usize = 6;

/// What the interval series shows, and the stalls, of the phases that have any.
pub(super) fn events(page: &mut Page, run: &Run) {
    for phase in &run.phases {
        for change in &phase.changes {
            let mut head = Line::new(page.style());
            head.add(Role::Muted, "▸");
            let at = format::time(change.t_ns);
            let text = format!("{}, at {at}: {}", name(run, phase), change.detail);
            page.hanging(&head, 2, Role::Ink, &text);
        }
    }
    let stalled: Vec<&Phase> = run.phases.iter().filter(|phase| phase.stalls_seen > 0).collect();
    if stalled.is_empty() {
        return;
    }
    page.gap();
    let mut table = Table::new("Stalls").column("longer than", 2).column("count", 0);
    table = table.column("longest", 0).column("at", 1).column("waited for", 0);
    for phase in stalled.iter().take(LISTED) {
        let longest = phase.stalls.iter().max_by_key(|stall| stall.ns);
        let cells = vec![
            (Role::Ink, format::time(phase.stall_over_ns)),
            (Role::Ink, format::count(phase.stalls_seen)),
            (Role::Late, longest.map(|stall| format::time(stall.ns)).unwrap_or_default()),
            (Role::Ink, longest.map(|stall| format::time(stall.t_ns)).unwrap_or_default()),
            (Role::Ink, longest.map(|stall| cause(stall.cause)).unwrap_or_default().to_owned()),
        ];
        table.row((Role::Ink, &name(run, phase)), cells);
    }
    table.print(page);
    if stalled.len() > LISTED {
        let more = stalled.len() - LISTED;
        page.paragraph(Role::Muted, &format!("and in {}", format::plural(more, "phase", "phases")));
    }
}

fn name(run: &Run, phase: &Phase) -> String {
    format!("{}, {}", test_title(&phase.name), stage_of(run, phase).to_lowercase())
}

fn cause(cause: flashlag_schema::StallCause) -> &'static str {
    use flashlag_schema::StallCause::{Cpu, Executing, Mixed, Storage, Unknown};
    match cause {
        Storage => "storage",
        Cpu => "a CPU",
        Executing => "itself",
        Mixed => "several",
        Unknown => "unknown",
    }
}
