use flashlag_explain::{
    Figures, GroupKind, LAG_IS_A_BUDGET, Lifecycle, LifecycleCell, LifecycleRow, StripGroup,
    StripRow, failures_of, format, lifecycle, phase_title, saves_heading, strip,
};
use flashlag_schema::{Lag, Operation, Phase, Run};
use flashlag_units::Nanos;

use super::Depth;
use crate::line::{Line, Page};
use crate::picture::{Picture, brief};
use crate::style::Role;
use crate::table::Table;

/// The four tests: by stage where there are several, else one row for each test.
pub(super) fn tests(page: &mut Page, run: &Run, _: Depth) {
    match lifecycle(run) {
        Some(table) => stages(page, &table),
        None => one_stage(page, run),
    }
}

/// Durable writes by size, where the table of tests by stage has not got them.
pub(super) fn sizes(page: &mut Page, run: &Run, _: Depth) {
    if let (Some(_), Some(table)) = (lifecycle(run), flashlag_explain::sizes(run)) {
        stages(page, &table);
    }
}

fn stages(page: &mut Page, table: &Lifecycle) {
    page.paragraph(Role::Strong, &table.heading);
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    let fit = |size: &usize| {
        columns.chunks(*size).all(|block| stage_block(table, block).fits(page.style()))
    };
    // As many tests beside one another as fit.
    let size = (2..=columns.len()).rev().find(fit).unwrap_or(1);
    for (index, block) in columns.chunks(size).enumerate() {
        if index > 0 {
            page.gap();
        }
        stage_block(table, block).print(page);
    }
    for row in &table.rows {
        if let Some(reason) = &row.skipped {
            page.paragraph(Role::Muted, &format!("{}: not run, {reason}", row.label));
        }
    }
    if let Some(note) = &table.published {
        page.paragraph(Role::Muted, note);
    }
    if table.rows.iter().any(|row| !row.failures.is_empty()) {
        page.paragraph(Role::Muted, "✕ A failed check covers this row: do not quote it.");
    }
}

fn stage_block(table: &Lifecycle, block: &[usize]) -> Table {
    let mut text = Table::new("");
    let beside = table.published.is_some();
    for column in block.iter().filter_map(|index| table.columns.get(*index)) {
        text = text.span(&column.title, if beside { 4 } else { 3 }).column("MB/s", 0);
        if beside {
            text = text.column("published", 0);
        }
        text = text.column("p50 ms", 0).column("p99 ms", 0);
    }
    for row in table.rows.iter().filter(|row| row.skipped.is_none()) {
        let trusted = row.failures.is_empty();
        let role = if trusted { Role::Ink } else { Role::Muted };
        let cells = block.iter().flat_map(|index| cells(row, *index, beside)).collect();
        text.row((role, &marked(&row.label, trusted)), cells);
    }
    text
}

/// One test of one stage; with what was published beside it where the table has any of that.
fn cells(row: &LifecycleRow, column: usize, beside: bool) -> Vec<(Role, String)> {
    let Some(Some(cell)) = row.cells.get(column) else {
        return vec![(Role::Muted, format::NONE.to_owned()); if beside { 4 } else { 3 }];
    };
    let LifecycleCell { bytes_per_sec, p50, p99, share_of_new, failures, published, .. } = cell;
    let trusted = failures.is_empty();
    // As in the report: rust is below half of New.
    let slow = share_of_new.is_some_and(|share| share < 0.5);
    let role = match (trusted, slow) {
        (false, _) => Role::Muted,
        (true, true) => Role::Late,
        (true, false) => Role::Ink,
    };
    let mut cells = vec![(role, format::mb_per_s(*bytes_per_sec))];
    if beside {
        let published = published.map_or_else(|| format::NONE.to_owned(), format::mb_per_s);
        cells.push((Role::Muted, published));
    }
    cells.extend([time(*p50, trusted), time(*p99, trusted)]);
    cells
}

fn time(value: Option<Nanos>, trusted: bool) -> (Role, String) {
    let late = value.is_some_and(|value| value > Lag::FRAME_60HZ);
    let role = match (trusted, late) {
        (false, _) => Role::Muted,
        (true, true) => Role::Late,
        (true, false) => Role::Ink,
    };
    (role, value.map_or_else(|| format::NONE.to_owned(), format::ms))
}

fn one_stage(page: &mut Page, run: &Run) {
    let mut table = Table::new("ms")
        .column("MB/s", 0)
        .column("per s", 3)
        .column("p50", 0)
        .column("p90", 4)
        .column("p99", 0)
        .column("p99.9", 2)
        .column("longest", 1)
        .column("n", 5);
    let tests = run.phases.iter().filter(|phase| phase.operation != Operation::Save);
    for phase in tests {
        let trusted = failures_of(run, phase).is_empty();
        let figures = Figures::of_phase(phase);
        let role = if trusted { Role::Ink } else { Role::Muted };
        let mut cells = vec![
            (role, format::mb_per_s(phase.bytes_per_sec)),
            (role, format::per_second(phase.ops_per_sec)),
        ];
        cells.extend(times(&figures, trusted));
        cells.push((role, format::count(figures.n)));
        table.row((role, &marked(&phase_title(run, phase), trusted)), cells);
    }
    if !table.is_empty() {
        table.print(page);
    }
}

fn marked(label: &str, trusted: bool) -> String {
    if trusted { label.to_owned() } else { format!("{label} ✕") }
}

fn times(figures: &Figures, trusted: bool) -> Vec<(Role, String)> {
    let values = [figures.p50, figures.p90, figures.p99, figures.p999, figures.max];
    values.into_iter().map(|value| time(value, trusted)).collect()
}

/// Where the tests stand among published devices; in short only the headline test.
pub(super) fn places(page: &mut Page, run: &Run, depth: Depth) {
    let mut places = flashlag_explain::places(run);
    if depth == Depth::Short {
        let headline = |phase: usize| run.phases.get(phase).is_some_and(Phase::is_durable_write);
        places.retain(|place| headline(place.phase));
    }
    if places.is_empty() {
        return;
    }
    page.paragraph(Role::Strong, "Among published devices");
    let mut caveats: Vec<&str> = Vec::new();
    for place in &places {
        let text = format!("{}: {}", place.title, place.sentence);
        page.hanging(&Line::new(page.style()), 2, Role::Ink, &text);
        if !place.caveat.is_empty() && !caveats.contains(&place.caveat.as_str()) {
            caveats.push(&place.caveat);
        }
    }
    for caveat in caveats {
        page.paragraph(Role::Muted, caveat);
    }
}

/// The headline test's latency in full, where the table of tests does not say it.
pub(super) fn durable_writes(page: &mut Page, run: &Run, _: Depth) {
    // A wide picture says it too.
    if lifecycle(run).is_none() || Picture::is_full(page.style()) {
        return;
    }
    let mut table = Table::new("Durable 4 KiB write, ms")
        .column("p50", 0)
        .column("p90", 2)
        .column("p99", 0)
        .column("p99.9", 0)
        .column("longest", 1)
        .column("n", 3);
    let strip = strip(run);
    let groups = strip.groups.iter().filter(|group| group.kind == GroupKind::DurableWrite);
    for row in groups.flat_map(|group| &group.rows) {
        let role = if row.trusted() { Role::Ink } else { Role::Muted };
        let mut cells = times(&row.figures, row.trusted());
        cells.push((role, format::count(row.figures.n)));
        table.row((role, &marked(&row.label, row.trusted())), cells);
    }
    if !table.is_empty() {
        table.print(page);
    }
}

/// Saves a second, and how many were longer than a person's patience.
pub(super) fn saves(page: &mut Page, run: &Run, _: Depth) {
    let strip = strip(run);
    let groups = strip.groups.iter().filter(|group| group.kind != GroupKind::DurableWrite);
    let groups: Vec<&StripGroup> = groups.collect();
    let mut table = Table::new("Longer than")
        .column("saves/s", 0)
        .column("8.3 ms", 4)
        .column("11.1 ms", 3)
        .column("16.7 ms", 0)
        .column("100 ms", 1)
        .column("700 ms", 0)
        .column("5 s", 2)
        .column("of", 0);
    for group in &groups {
        if groups.len() > 1 {
            table.section(&group.title);
        }
        for row in &group.rows {
            if let Some((role, cells)) = save_cells(run, row) {
                table.row((role, &marked(&brief(&row.label), row.trusted())), cells);
            }
        }
    }
    if groups.is_empty() {
        return;
    }
    page.paragraph(Role::Strong, &saves_heading(run));
    table.print(page);
    page.paragraph(Role::Muted, "One frame is 16.7 ms at 60 Hz, 11.1 ms at 90, 8.3 ms at 120.");
    page.paragraph(Role::Muted, LAG_IS_A_BUDGET);
}

fn save_cells(run: &Run, row: &StripRow) -> Option<(Role, Vec<(Role, String)>)> {
    let phase = run.phases.get(row.phase)?;
    let lag = phase.lag.as_ref()?;
    let role = if row.trusted() { Role::Ink } else { Role::Muted };
    let late = |count: u64| {
        let role = if row.trusted() && count > 0 { Role::Late } else { role };
        (role, format::count(count))
    };
    let cells = vec![
        (role, format::per_second(phase.ops_per_sec)),
        late(lag.over_120hz),
        late(lag.over_90hz),
        late(lag.over_60hz),
        late(lag.over_100ms),
        late(lag.over_700ms),
        late(lag.over_5s),
        (role, format::count(lag.saves)),
    ];
    Some((role, cells))
}
