//! Tables that every view draws: columns, rows of typed cells, notes. Column names and the content
//! of cells are decided here, once.

mod build;
mod cell;
mod column;
mod comparison;
mod growth;
mod model;
mod stalls;

pub use build::{
    durable_writes_table, figure_cell, fill_table, has_stages, late_saves_table, phases_table,
    saves_table, tests_table, verdicts_table,
};
pub use cell::{Cell, Missing};
pub use column::{Column, GrowthFigure, LagLimit};
pub use comparison::comparison_table;
pub use growth::growth_table;
pub use stalls::stalls_table;

pub use model::{Table, TableGroup, TableRow};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use flashlag_explain::Figures;
    use flashlag_schema::Lag;
    use flashlag_units::Nanos;

    use super::*;
    use flashlag_testing::sample::{self, SampleDevice};

    fn tables() -> Vec<Table> {
        let mut tables = Vec::new();
        for run in [sample::quick(), sample::lifecycle(), sample::overloaded(), sample::sqlite()] {
            for saves in [false, true] {
                tables.push(tests_table(&run, saves));
                tables.push(saves_table(&run, saves));
                tables.push(late_saves_table(&run, saves));
            }
            tables.extend([phases_table(&run), durable_writes_table(&run), verdicts_table(&run)]);
            let stalls = crate::stalls(&run).map(|stalls| stalls.phases).unwrap_or_default();
            tables.push(stalls_table(&stalls));
            tables.extend(crate::fill_curves(&run).iter().map(|curve| fill_table(&run, curve)));
        }
        tables.push(compared());
        tables
    }

    fn compared() -> Table {
        let runs =
            [SampleDevice::Tablet, SampleDevice::Phone].map(|it| sample::lifecycle_on(it, 0));
        comparison_table(&crate::compare(&runs, &crate::CompareOptions::default()).unwrap())
    }

    #[test]
    fn columns_that_are_selected_come_in_the_order_they_are_named_in() {
        let whole = compared();
        let part = whole.clone().select(&[Column::Verdict, Column::P99, Column::At]);
        assert_eq!(part.columns, [Column::Verdict, Column::P99]);
        for row in 0..whole.rows().count() {
            for column in [Column::Verdict, Column::P99] {
                assert_eq!(cell(&part, row, column), cell(&whole, row, column));
            }
        }
    }

    #[test]
    fn a_column_without_a_value_in_any_row_is_left_out_as_empty_and_no_other() {
        let run = sample::quick();
        let table = late_saves_table(&run, false);
        assert_eq!(table.clone().without_empty_columns(), table);
        let saves = tests_table(&run, true);
        let mut of_saves = saves.clone();
        for group in &mut of_saves.groups {
            let is_save = |row: &TableRow| {
                row.phase.is_some_and(|index| {
                    run.phases[index].operation == flashlag_spec::Operation::Save
                })
            };
            group.rows.retain(is_save);
        }
        let shown = of_saves.without_empty_columns();
        assert!(saves.columns.contains(&Column::Speed) && !shown.columns.contains(&Column::Speed));
        assert_eq!(shown.columns.len(), saves.columns.len() - 1);
    }

    #[test]
    fn every_row_has_a_cell_for_each_column_and_no_column_stands_twice() {
        for table in tables() {
            let titles: Vec<&str> = table.columns.iter().map(|column| column.title()).collect();
            for row in table.rows() {
                assert_eq!(row.cells.len(), titles.len(), "{}: {titles:?}", row.label);
            }
            let mut unique = titles.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), titles.len(), "{titles:?}");
        }
    }

    /// The cell of a row by its column.
    fn cell(table: &Table, row: usize, column: Column) -> Cell {
        let place = table.columns.iter().position(|known| *known == column).unwrap();
        table.rows().nth(row).unwrap().cells[place].clone()
    }

    #[test]
    fn a_cell_is_the_figure_of_the_phase_that_its_row_names() {
        let run = sample::quick();
        let table = tests_table(&run, true);
        for (index, row) in table.rows().enumerate().filter(|(_, row)| !row.is_part) {
            let phase = &run.phases[row.phase.unwrap()];
            let p99 = phase.response_ns.as_ref().unwrap_or(&phase.latency_ns).p99;
            let shown = cell(&table, index, Column::P99);
            assert_eq!(
                shown == Cell::Duration(p99.unwrap_or_default()),
                p99.is_some(),
                "{shown:?}"
            );
            assert_eq!(cell(&table, index, Column::Rate), Cell::Rate(phase.ops_per_sec));
        }
    }

    #[test]
    fn a_missing_figure_says_why() {
        let missing = |figures: &Figures| figure_cell(Column::P999, figures, None);
        let few = Figures { n: 9, ..Figures::default() };
        assert_eq!(missing(&few), Cell::Missing(Missing::TooFew));
        assert_eq!(missing(&Figures::default()), Cell::Missing(Missing::NotMeasured));
        assert_eq!(missing(&Figures::of_overloaded(500)), Cell::Missing(Missing::Overloaded));
        assert_eq!(missing(&few).in_words(), "n too small");
        assert_eq!(missing(&few).text(), "-");
        // A save is no amount of data.
        let run = sample::quick();
        let table = tests_table(&run, true);
        let save = table.rows().position(|row| {
            run.phases[row.phase.unwrap()].operation == flashlag_spec::Operation::Save
        });
        let speed = cell(&table, save.unwrap(), Column::Speed);
        assert_eq!(speed, Cell::Missing(Missing::NotApplicable));
    }

    #[test]
    fn a_wait_of_more_than_a_frame_is_late_and_one_of_a_frame_is_not() {
        assert!(!Cell::Duration(Lag::FRAME_60HZ).is_late());
        assert!(Cell::Duration(Nanos(Lag::FRAME_60HZ.0 + 1)).is_late());
        assert!(Cell::Part { count: 1, of: 9 }.is_late());
        assert!(!Cell::Part { count: 0, of: 9 }.is_late());
    }

    #[test]
    fn limits_count_as_the_lag_of_a_run_does() {
        let lag = Lag {
            saves: 9,
            over_60hz: 4,
            over_90hz: 5,
            over_120hz: 6,
            over_100ms: 3,
            over_700ms: 2,
            over_5s: 1,
        };
        let counts = LagLimit::ALL.map(|limit| limit.count(&lag));
        assert_eq!(counts, [6, 5, 4, 3, 2, 1]);
        assert!(LagLimit::ALL.is_sorted_by_key(|limit| limit.time()));
    }

    #[test]
    fn leaving_a_column_out_leaves_its_cells_out() {
        let run = sample::quick();
        let whole = tests_table(&run, false);
        let part = whole.clone().without(&[Column::Speed, Column::P90]);
        assert_eq!(part.columns.len(), whole.columns.len() - 2);
        assert_eq!(cell(&part, 0, Column::P99), cell(&whole, 0, Column::P99));
        assert_eq!(cell(&part, 0, Column::N), cell(&whole, 0, Column::N));
    }
}
