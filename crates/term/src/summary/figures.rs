use flashlag_schema::{Lag, Operation, Phase, Run};
use flashlag_units::Nanos;
use flashlag_views::{
    Figures, GroupKind, LAG_IS_A_BUDGET, Lifecycle, LifecycleCell, LifecycleRow, SaveKind,
    StripGroup, StripRow, failures_of, for_people, format, lifecycle, phase_title, save_label,
    saves_heading, strip,
};

use super::Depth;
use crate::line::{Line, Page};
use crate::picture::{Picture, brief};
use crate::style::Role;
use crate::table::Table;

/// The tests: by stage where there are several, else one row for each test. In short, stages have
/// throughput alone: the picture has the waits.
pub(super) fn tests(page: &mut Page, run: &Run, depth: Depth) {
    match lifecycle(run) {
        Some(table) => stages(page, run, &table, depth),
        None => one_stage(page, run, depth),
    }
}

/// Durable writes by size, where the table of tests by stage has not got them.
pub(super) fn sizes(page: &mut Page, run: &Run, _: Depth) {
    if let (Some(_), Some(table)) = (lifecycle(run), flashlag_views::sizes(run)) {
        stages(page, run, &table, Depth::Full);
    }
}

fn stages(page: &mut Page, run: &Run, table: &Lifecycle, depth: Depth) {
    page.paragraph(Role::Strong, &table.heading);
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    let fit = |size: &usize| {
        columns.chunks(*size).all(|block| stage_block(table, block, depth).fits(page.style()))
    };
    // As many tests beside one another as fit.
    let size = (2..=columns.len()).rev().find(fit).unwrap_or(1);
    for (index, block) in columns.chunks(size).enumerate() {
        if index > 0 {
            page.gap();
        }
        stage_block(table, block, depth).print(page);
    }
    for row in &table.rows {
        if let Some(reason) = &row.skipped {
            page.paragraph(Role::Muted, &format!("{}: not run, {reason}", row.label));
        }
    }
    if let Some(note) = &table.published {
        page.paragraph(Role::Muted, &for_people(run, note));
    }
    if table.rows.iter().any(|row| !row.failures.is_empty()) {
        page.paragraph(Role::Muted, NOT_TO_QUOTE);
    }
}

fn stage_block(table: &Lifecycle, block: &[usize], depth: Depth) -> Table {
    let mut text = Table::new(if depth == Depth::Short { "MB/s" } else { "" });
    let any = table.rows.iter().flat_map(|row| &row.cells).flatten();
    let beside = any.clone().any(|cell| cell.published.is_some());
    let titles = titles(beside, depth);
    for column in block.iter().filter_map(|index| table.columns.get(*index)) {
        if let [_] = titles.as_slice() {
            text = text.column(&column.title, 0);
            continue;
        }
        text = text.span(&column.title, titles.len());
        for title in &titles {
            text = text.column(title, 0);
        }
    }
    for row in table.rows.iter().filter(|row| row.skipped.is_none()) {
        // The mark is the row's where all of it fails, else that of cells.
        let some = row.cells.iter().flatten().any(|cell| cell.failures.is_empty());
        let trusted = row.failures.is_empty() || some;
        let role = if trusted { Role::Ink } else { Role::Muted };
        let cells = block.iter().flat_map(|index| cells(row, *index, &titles)).collect();
        text.row((role, &marked(&row.label, trusted)), cells);
    }
    text
}

/// What is said of a test in each stage; with what was published beside it where the table has any
/// of that.
fn titles(beside: bool, depth: Depth) -> Vec<&'static str> {
    match (beside, depth) {
        (false, Depth::Short) => vec![RATE],
        (true, Depth::Short) => vec!["here", REPORTED],
        (false, Depth::Full) => vec![RATE, "p50 ms", "p99 ms"],
        (true, Depth::Full) => vec![RATE, PUBLISHED, "p50 ms", "p99 ms"],
    }
}

const RATE: &str = "MB/s";
const PUBLISHED: &str = "published";
/// As few columns as make four tests fit beside one another.
const REPORTED: &str = "reported";

/// One test of one stage, under these titles.
fn cells(row: &LifecycleRow, column: usize, titles: &[&str]) -> Vec<(Role, String)> {
    let Some(Some(cell)) = row.cells.get(column) else {
        return vec![(Role::Muted, format::NONE.to_owned()); titles.len()];
    };
    let LifecycleCell { bytes_per_sec, p50, p99, share_of_new, failures, published, .. } = cell;
    let trusted = failures.is_empty();
    let some = row.cells.iter().flatten().any(|cell| cell.failures.is_empty());
    // As in the report: rust is below half of the first row.
    let slow = share_of_new.is_some_and(|share| share < 0.5);
    let role = match (trusted, slow) {
        (false, _) => Role::Muted,
        (true, true) => Role::Late,
        (true, false) => Role::Ink,
    };
    let cell = |title: &&str| match *title {
        PUBLISHED | REPORTED => {
            let published = published.map_or_else(|| format::NONE.to_owned(), format::mb_per_s);
            (Role::Muted, published)
        }
        "p50 ms" => time(*p50, trusted),
        "p99 ms" => time(*p99, trusted),
        _ if !trusted && some => (role, marked(&format::mb_per_s(*bytes_per_sec), false)),
        _ => (role, format::mb_per_s(*bytes_per_sec)),
    };
    titles.iter().map(cell).collect()
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

fn one_stage(page: &mut Page, run: &Run, depth: Depth) {
    let mut table = Table::new("ms")
        .column("MB/s", 0)
        .column("ops/s", 3)
        .column("p50", 0)
        .column("p90", 4)
        .column("p99", 0)
        .column("p99.9", 2)
        .column("longest", 1)
        .column("n", 5);
    // In full, saves have a table of their own.
    let saves = depth == Depth::Short && !super::has_many_saves(run);
    let shown = |phase: &&Phase| saves || phase.operation != Operation::Save;
    for phase in run.phases.iter().filter(shown) {
        let trusted = failures_of(run, phase).is_empty();
        let figures = Figures::of_phase(phase);
        let role = if trusted { Role::Ink } else { Role::Muted };
        // A save is no amount of data.
        let rate = match phase.operation {
            Operation::Save => format::NONE.to_owned(),
            _ => format::mb_per_s(phase.bytes_per_sec),
        };
        let mut cells = vec![(role, rate), (role, format::per_second(phase.ops_per_sec))];
        cells.extend(times(&figures, trusted));
        cells.push((role, format::count(figures.n)));
        table.row((role, &marked(&short_title(run, phase), trusted)), cells);
    }
    if !table.is_empty() {
        table.print(page);
    }
}

/// A test in few columns: `4K rand write`, `WAL save`, `Rollback insert`, `WAL save, busy`.
fn short_title(run: &Run, phase: &Phase) -> String {
    let Some(kind) = SaveKind::of(run, phase) else { return phase_title(run, phase) };
    let what = if phase.name.starts_with("save") { "save" } else { kind.statement_name() };
    let busy = if phase.background.is_some() { ", busy" } else { "" };
    format!("{} {what}{busy}", brief(&save_label(&kind)))
}

/// Below a table with a row that bears the mark of [`marked`].
pub(super) const NOT_TO_QUOTE: &str = "✕ A failed check covers this: do not quote it.";

pub(super) fn marked(label: &str, trusted: bool) -> String {
    if trusted { label.to_owned() } else { format!("{label} ✕") }
}

fn times(figures: &Figures, trusted: bool) -> Vec<(Role, String)> {
    let values = [figures.p50, figures.p90, figures.p99, figures.p999, figures.max];
    values.into_iter().map(|value| time(value, trusted)).collect()
}

/// Where the tests stand among published devices.
pub(super) fn places(page: &mut Page, run: &Run, _: Depth) {
    let places = flashlag_views::places(run);
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
        // Of a schedule that was not kept, how late its saves were says how long the test was.
        if row.figures.overloaded {
            return (Role::Muted, format::NONE.to_owned());
        }
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
