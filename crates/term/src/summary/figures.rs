use flashlag_schema::Run;
use flashlag_spec::Operation;
use flashlag_views::{
    Column, LAG_IS_A_BUDGET, Lifecycle, LifecycleRow, TableRow, brief_label, durable_writes_table,
    for_people, format, late_saves_table, lifecycle, saves_heading, tests_table,
};

use crate::line::{Line, Page};
use crate::picture::Picture;
use crate::style::Role;
use crate::table::{Table, marked, spare, styled};

/// The length of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    Short,
    Full,
}

/// From this many kinds of save on, the picture has their rates instead of a table.
const MANY_SAVES: usize = 9;

/// Whether the run has too many kinds of save for a table beside the picture.
pub(super) fn has_many_saves(run: &Run) -> bool {
    run.phases.iter().filter(|phase| phase.operation == Operation::Save).count() >= MANY_SAVES
}

/// The tests: by stage in a run of several stages, otherwise one row for each test. In the short
/// summary, stages have throughput alone: the picture has the latency.
pub(super) fn tests(page: &mut Page, run: &Run, depth: Depth) {
    match lifecycle(run) {
        Some(table) => stages(page, run, &table, depth),
        None => one_stage(page, run, depth),
    }
}

/// Durable writes by size, which the lifecycle table lacks.
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
    // As many tests side by side as fit.
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
    let mut text = Table::new(if depth == Depth::Short { Column::Speed.title() } else { "" });
    let any = table.rows.iter().flat_map(|row| &row.cells).flatten();
    let beside = any.clone().any(|cell| cell.published.is_some());
    let figures = stage_figures(beside, depth);
    for column in block.iter().filter_map(|index| table.columns.get(*index)) {
        if let [_] = figures.as_slice() {
            text = text.column(&column.title, 0);
            continue;
        }
        text = text.span(&column.title, figures.len());
        for (title, _) in &figures {
            text = text.column(title, 0);
        }
    }
    for row in table.rows.iter().filter(|row| row.skipped.is_none()) {
        // A row whose cells all fail is marked at its label, another one at its failing cells.
        let some = row.cells.iter().flatten().any(|cell| cell.failures.is_empty());
        let trusted = row.failures.is_empty() || some;
        let role = if trusted { Role::Ink } else { Role::Muted };
        let cells = block.iter().flat_map(|index| cells(row, *index, &figures)).collect();
        text.row((role, &marked(&row.label, trusted)), cells);
    }
    text
}

/// The figures of a test in each stage, with their titles; with the published one if the table has
/// any. In the short summary, the titles are so brief that four tests fit beside one another.
fn stage_figures(beside: bool, depth: Depth) -> Vec<(String, Column)> {
    let titled = |column: Column| (column.title_with_unit(), column);
    match (depth, beside) {
        (Depth::Short, false) => vec![titled(Column::Speed)],
        (Depth::Short, true) => {
            vec![("here".to_owned(), Column::Speed), ("reported".to_owned(), Column::Published)]
        }
        _ => {
            let all = [Column::Speed, Column::Published, Column::P50, Column::P99];
            all.into_iter().filter(|it| beside || *it != Column::Published).map(titled).collect()
        }
    }
}

/// One test of one stage.
fn cells(row: &LifecycleRow, test: usize, figures: &[(String, Column)]) -> Vec<(Role, String)> {
    let Some(Some(cell)) = row.cells.get(test) else {
        return vec![(Role::Muted, format::NONE.to_owned()); figures.len()];
    };
    let trusted = cell.failures.is_empty();
    let some = row.cells.iter().flatten().any(|cell| cell.failures.is_empty());
    let figure = |(_, column): &(String, Column)| {
        let value = cell.cell(*column);
        match column {
            Column::Published => (Role::Muted, value.text()),
            Column::Speed => {
                let role = match (trusted, cell.is_low()) {
                    (false, _) => Role::Muted,
                    (true, true) => Role::Late,
                    (true, false) => Role::Ink,
                };
                (role, marked(&value.text(), trusted || !some))
            }
            _ => styled(&value, trusted),
        }
    };
    figures.iter().map(figure).collect()
}

fn one_stage(page: &mut Page, run: &Run, depth: Depth) {
    // In full, saves have a table of their own.
    let model = tests_table(run, depth == Depth::Short && !has_many_saves(run));
    let table = Table::of(&model, "ms", bare, spare, |row: &TableRow| row.label.clone());
    if !table.is_empty() {
        table.print(page);
    }
}

/// The title of a column without the unit, which the table's title has.
fn bare(column: Column) -> String {
    column.title().to_owned()
}

/// The note below a table with a row marked by [`marked`].
pub(super) const NOT_TO_QUOTE: &str = "✕ A failed check covers this: do not quote it.";

/// The ranks of the tests among published devices.
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

/// The latency of the headline test, if the table of tests lacks it.
pub(super) fn durable_writes(page: &mut Page, run: &Run, _: Depth) {
    // A wide picture has it too.
    if lifecycle(run).is_none() || Picture::is_full(page.style()) {
        return;
    }
    let model = durable_writes_table(run);
    let spare = |column| match column {
        Column::P90 => 2,
        Column::P999 => 0,
        Column::N => 3,
        other => spare(other),
    };
    let table = Table::of(&model, "Durable 4 KiB write, ms", bare, spare, |row| row.label.clone());
    if !table.is_empty() {
        table.print(page);
    }
}

/// Saves a second, and how many took longer than each limit.
pub(super) fn saves(page: &mut Page, run: &Run, _: Depth) {
    let model = late_saves_table(run, true);
    if model.groups.is_empty() {
        return;
    }
    page.paragraph(Role::Strong, &saves_heading(run));
    Table::of(&model, "Longer than", bare, spare, |row| brief_label(&row.label)).print(page);
    page.paragraph(Role::Muted, "One frame is 16.7 ms at 60 Hz, 11.1 ms at 90, 8.3 ms at 120.");
    page.paragraph(Role::Muted, LAG_IS_A_BUDGET);
}
