//! The figures of a row of the table.

use flashlag_explain::Figures;
use flashlag_units::Nanos;

use crate::model::Row;
use crate::words::{late, ms};

/// A figure in a row of the table.
pub(crate) struct Cell {
    /// The figure as the table shows it.
    pub(crate) text: String,
    /// The value that the column is sorted by.
    pub(crate) key: Option<f64>,
    /// Whether it is in milliseconds: a narrow screen, which hides the table's header, shows the
    /// unit after the number.
    pub(crate) is_time: bool,
}

/// The figures of a row of the table.
pub(crate) fn cells(row: &Row) -> Vec<Cell> {
    let time = |figures: &Option<Figures>, of: fn(&Figures) -> Option<Nanos>| {
        let known = figures.as_ref().filter(|figures| !figures.overloaded).and_then(of);
        let key = known.map(|value| value.0 as f64);
        Cell { text: ms(figures.as_ref(), of), key, is_time: key.is_some() }
    };
    let share = |figures: &Option<Figures>| {
        let key = figures.as_ref().and_then(Figures::late_share);
        Cell { text: late(figures.as_ref()), key, is_time: false }
    };
    vec![
        time(&row.write, |f| f.p50),
        time(&row.write, |f| f.p99),
        time(&row.write, |f| f.p999),
        share(&row.write),
        time(&row.save, |f| f.p99),
        share(&row.save),
    ]
}
