use super::cell::Cell;
use super::column::Column;
use crate::doubt::Failure;

/// A table of figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What its rows are: `test`, `save`, `full`.
    pub title: &'static str,
    /// The columns after the label.
    pub columns: Vec<Column>,
    /// The rows by group.
    pub groups: Vec<TableGroup>,
    /// Sentences below the table.
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
    /// The label.
    pub label: String,
    /// Index of its phase in the run, where it has one.
    pub phase: Option<usize>,
    /// Whether it shows a part of the row above it.
    pub is_part: bool,
    /// Failed checks that cover it: it may be shown, never judged.
    pub failures: Vec<Failure>,
    /// A remark beside its label.
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

    /// With these of its columns, in this order; a column that it lacks is left out.
    pub fn select(mut self, columns: &[Column]) -> Table {
        let place = |column: &Column| self.columns.iter().position(|known| known == column);
        let places: Vec<usize> = columns.iter().filter_map(place).collect();
        for row in self.groups.iter_mut().flat_map(|group| &mut group.rows) {
            row.cells = places.iter().filter_map(|place| row.cells.get(*place)).cloned().collect();
        }
        self.columns =
            places.iter().filter_map(|place| self.columns.get(*place)).copied().collect();
        self
    }

    /// Without the columns that have no value in any row.
    pub fn without_empty_columns(self) -> Table {
        let is_empty =
            |place: usize| self.rows().all(|row| row.cells.get(place).is_none_or(Cell::is_empty));
        let columns = self.columns.iter().enumerate();
        let empty: Vec<Column> =
            columns.filter(|(place, _)| is_empty(*place)).map(|(_, column)| *column).collect();
        self.without(&empty)
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
