//! SQLite saves: how long they take, how many are late, and what growth costs.

use askama::Template;
use flashlag_schema::finding::CauseId;
use flashlag_schema::{Lag, Phase, Run};
use flashlag_spec::Operation;
use flashlag_spec::scenario::EngineKind;
use flashlag_views::{
    Cell, Column, Figures, LAG_IS_A_BUDGET, LagLimit, TableGroup, TableRow, figure_cell, findings,
    format, is_overloaded, late_saves_table, phase_title, saves_heading, saves_table,
};

use super::Section;
use super::figures::{Cell as Drawn, Frame, table};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/saves.html")]
struct Body {
    times: Markup,
    late: Markup,
    /// Number of rows left out of the second table because none of their saves was long.
    in_time: usize,
    /// Titles of the third table.
    grown: [&'static str; GROWN.len()],
    growth: Vec<GrowthRow>,
    /// Number of rows left out of the third table.
    grew_less: usize,
}

struct GrowthRow {
    title: String,
    share: String,
    n: String,
    /// Median and p99 of saves that grew a file and of others, and the longest of both.
    cells: Vec<Drawn>,
}

/// From more kinds of save than this on, the tables leave out rows without late saves.
const MANY: usize = 12;
/// Saves that grew a file, and saves in place.
const GROWN: [Column; 3] = [Column::P50, Column::P99, Column::Longest];
/// Maximum number of rows about growth: the costliest.
const GROWTH: usize = 8;

/// The section; `None` without saves.
pub(super) fn section(run: &Run) -> Option<Section> {
    let saves: Vec<&Phase> =
        run.phases.iter().filter(|phase| phase.operation == Operation::Save).collect();
    if saves.is_empty() {
        return None;
    }
    let many = saves.len() > MANY;
    // For few kinds of save a finding has the cost of growth.
    let said = !many && says_growth(run);
    let (growth, grew_less) = if said { (Vec::new(), 0) } else { growth(run, &saves) };
    let (late, in_time) = late(run, many, &saves);
    let frame = Frame {
        about: "How long saves take",
        caption: "Saves a second, and the wait for each in ms.".to_owned(),
        class: "fold",
        units: false,
    };
    let times = table(Some(run), &saves_table(run, many), frame);
    let grown = GROWN.map(Column::title);
    let body = Body { times, late, in_time, grown, growth, grew_less };
    Some(Section {
        id: "saves",
        name: if saves.iter().any(|phase| is_of_file(phase)) { "Saves" } else { "SQLite saves" },
        heading: saves_heading(run),
        side: vec![
            what_saves_are(&saves).to_owned(),
            "On a schedule, a save’s wait counts from its intended start.".to_owned(),
            LAG_IS_A_BUDGET.to_owned(),
        ],
        body: Markup::of(&body),
    })
}

/// Whether a phase saved a file without SQLite.
fn is_of_file(phase: &Phase) -> bool {
    phase.engine == EngineKind::Psync && phase.replay.is_none()
}

/// What one save is, in a sentence.
fn what_saves_are(saves: &[&Phase]) -> &'static str {
    if saves.iter().all(|phase| phase.replay.is_some()) {
        "A save is a transaction of the trace, from its first operation to the sync that makes it \
         durable."
    } else if saves.iter().all(|phase| is_of_file(phase)) {
        "A save is all calls by which the app's library makes a file durable."
    } else if saves.iter().any(|phase| is_of_file(phase)) {
        "A save is one transaction through real SQLite, or all calls that make a file durable."
    } else {
        "A save is one transaction of one row, through real SQLite."
    }
}

/// The table of saves longer than each limit, with a row for all; and the number of rows left out
/// because none of their saves was longer than the shortest limit.
fn late(run: &Run, many: bool, saves: &[&Phase]) -> (Markup, usize) {
    let mut model = late_saves_table(run, many).without(&[Column::SaveRate, Column::Of]);
    let all = model.rows().count();
    let in_time = |row: &TableRow| matches!(row.cells.first(), Some(Cell::Part { count: 0, .. }));
    for group in &mut model.groups {
        group.rows.retain(|row| !many || !in_time(row));
        for row in &mut group.rows {
            row.remark = None;
        }
    }
    let left_out = all - model.rows().count();
    if saves.len() > 1 {
        let total = kept(saves);
        let cell = |limit: &LagLimit| Cell::Part { count: limit.count(&total), of: total.saves };
        let row = TableRow {
            label: "All of these saves".to_owned(),
            phase: None,
            is_part: false,
            failures: Vec::new(),
            remark: None,
            cells: LagLimit::ALL.iter().map(cell).collect(),
        };
        model.groups.push(TableGroup { title: String::new(), rows: vec![row] });
    }
    let frame = Frame {
        about: "Late saves",
        caption: "Share of saves that take longer than".to_owned(),
        class: "fold",
        units: false,
    };
    (table(Some(run), &model, frame), left_out)
}

/// All saves whose schedule was kept: the latency of others depends on the length of the test.
fn kept(saves: &[&Phase]) -> Lag {
    let kept = saves.iter().filter(|phase| !is_overloaded(phase));
    kept.filter_map(|phase| phase.lag).fold(Lag::default(), Lag::plus)
}

/// Whether growth is among the findings, as a cause or ruled out.
fn says_growth(run: &Run) -> bool {
    let found = findings(run);
    let causes = found.causes.iter().map(|cause| cause.id);
    causes.chain(found.ruled_out.iter().map(|out| out.id)).any(|id| id == CauseId::GrowingFiles)
}

/// The saves with the highest cost of growing a file, in the order of the run, and the number of
/// others that grew.
fn growth(run: &Run, saves: &[&Phase]) -> (Vec<GrowthRow>, usize) {
    let both = |phase: &&Phase| {
        let grown = phase.growth.as_ref();
        grown.is_some_and(|growth| growth.grew.ops > 0 && growth.in_place.ops > 0)
    };
    let all: Vec<&Phase> = saves.iter().copied().filter(both).collect();
    let mut costly: Vec<(usize, u128)> = all.iter().map(|phase| cost(phase)).enumerate().collect();
    costly.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
    let rest = costly.len().saturating_sub(GROWTH);
    costly.truncate(GROWTH);
    costly.sort_unstable();
    let rows = costly.iter().filter_map(|(index, _)| growth_row(run, all.get(*index)?));
    (rows.collect(), rest)
}

/// The total cost of growth over all saves, in nanoseconds.
fn cost(phase: &Phase) -> u128 {
    let Some(growth) = &phase.growth else { return 0 };
    let mean = |part: &flashlag_schema::GrowthPart| part.latency_ns.mean.unwrap_or_default();
    let each = mean(&growth.grew).saturating_since(mean(&growth.in_place));
    u128::from(each.0) * u128::from(growth.grew.ops)
}

fn growth_row(run: &Run, phase: &Phase) -> Option<GrowthRow> {
    let growth = phase.growth.as_ref()?;
    let parts = [&growth.grew, &growth.in_place];
    let figures = parts.map(|part| Figures::of_summary(part.ops, &part.latency_ns));
    let cells = GROWN.iter().flat_map(|column| {
        figures.iter().map(|part| Drawn::of(*column, &figure_cell(*column, part, None)))
    });
    let all = growth.grew.ops.saturating_add(growth.in_place.ops);
    Some(GrowthRow {
        title: phase_title(run, phase),
        share: format::share_of(growth.grew.ops, all),
        n: format::count(all),
        cells: cells.collect(),
    })
}
