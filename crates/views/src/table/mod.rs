//! Tables that every view draws: columns, rows of typed cells, notes. Each column is named, and
//! each cell decided, here once.

mod build;
mod cell;
mod column;

pub use build::{
    durable_writes_table, figure_cell, fill_table, has_stages, late_saves_table, phases_table,
    saves_table, side_by_side, tests_table,
};
pub use cell::{Cell, Missing};
pub use column::{Column, LagLimit};

use crate::doubt::Failure;

/// A table of figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What its rows are: `test`, `save`, `full`.
    pub title: &'static str,
    /// The columns after the label.
    pub columns: Vec<Column>,
    /// The rows, under a title each where there are several groups.
    pub groups: Vec<TableGroup>,
    /// Sentences below it.
    pub notes: Vec<String>,
}

/// Rows of a table under one title.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableGroup {
    /// Empty where the table has one group.
    pub title: String,
    /// The rows.
    pub rows: Vec<TableRow>,
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRow {
    /// What the row is about.
    pub label: String,
    /// Index of its phase in the run, where it has one.
    pub phase: Option<usize>,
    /// Whether it shows a part of what the row above it shows.
    pub is_part: bool,
    /// Failed checks that cover it: it may be shown, never judged.
    pub failures: Vec<Failure>,
    /// What has to be said beside its label.
    pub remark: Option<String>,
    /// One cell for each column.
    pub cells: Vec<Cell>,
}

impl Table {
    /// Every row, in order.
    pub fn rows(&self) -> impl Iterator<Item = &TableRow> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// Without some of its columns.
    pub fn without(mut self, columns: &[Column]) -> Table {
        let kept: Vec<bool> = self.columns.iter().map(|it| !columns.contains(it)).collect();
        for row in self.groups.iter_mut().flat_map(|group| &mut group.rows) {
            let mut kept = kept.iter();
            row.cells.retain(|_| kept.next().is_none_or(|kept| *kept));
        }
        self.columns.retain(|column| !columns.contains(column));
        self
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows().next().is_none()
    }
}

impl TableRow {
    /// Whether no failed check covers it.
    pub fn trusted(&self) -> bool {
        self.failures.is_empty()
    }
}
