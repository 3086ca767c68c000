//! The latency of saves that make a file grow.

use flashlag_explain::Figures;
use flashlag_schema::{GrowthPart, Phase, Run};
use flashlag_spec::Operation;
use flashlag_units::InOrder;

use super::build::{figure_cell, one_group};
use super::model::{Table, TableRow};
use super::{Cell, Column, GrowthFigure};
use crate::format;
use crate::outline::phase_title;

/// The saves with the highest cost of growing a file, at most `most`, in the order of the run: their
/// latency where a file grew, and in place. Also the number of others that grew.
pub fn growth_table(run: &Run, most: usize) -> (Table, usize) {
    let both = |phase: &&Phase| {
        let grown = phase.growth.as_ref().filter(|_| phase.operation == Operation::Save);
        grown.is_some_and(|growth| growth.grew.ops > 0 && growth.in_place.ops > 0)
    };
    let all: Vec<&Phase> = run.phases.iter().filter(both).collect();
    let mut costly: Vec<(usize, u128)> = all.iter().map(|phase| cost(phase)).enumerate().collect();
    costly.order_by_key(|(_, cost)| std::cmp::Reverse(*cost));
    let rest = costly.len().saturating_sub(most);
    costly.truncate(most);
    costly.order();
    let rows = costly.iter().filter_map(|(index, _)| row(run, all.get(*index)?));
    let halves =
        GrowthFigure::ALL.into_iter().flat_map(|it| [Column::Grown(it), Column::InPlace(it)]);
    let columns = [Column::N, Column::Grew].into_iter().chain(halves).collect();
    let groups = one_group(rows.collect());
    (Table { title: "save", columns, groups, notes: Vec::new() }, rest)
}

/// The total cost of growth over all saves, in nanoseconds.
fn cost(phase: &Phase) -> u128 {
    let Some(growth) = &phase.growth else { return 0 };
    let mean = |part: &GrowthPart| part.latency_ns.mean.unwrap_or_default();
    let each = mean(&growth.grew).saturating_since(mean(&growth.in_place));
    u128::from(each.0) * u128::from(growth.grew.ops)
}

fn row(run: &Run, phase: &Phase) -> Option<TableRow> {
    let growth = phase.growth.as_ref()?;
    let parts = [&growth.grew, &growth.in_place];
    let figures = parts.map(|part| Figures::of_summary(part.ops, &part.latency_ns));
    let halves = GrowthFigure::ALL.into_iter().flat_map(|figure| {
        figures.iter().map(move |part| figure_cell(figure.column(), part, None))
    });
    let all = growth.grew.ops.saturating_add(growth.in_place.ops);
    let share = Cell::Text(format::share_of(growth.grew.ops, all));
    Some(TableRow {
        label: phase_title(run, phase),
        phase: None,
        is_part: false,
        failures: Vec::new(),
        remark: None,
        cells: [Cell::Count(all), share].into_iter().chain(halves).collect(),
    })
}
