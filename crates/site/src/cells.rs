//! The figures of a row of the table.

use flashlag_explain::Figures;
use flashlag_units::Nanos;

use crate::model::Row;
use crate::words::{late, ms};

/// The figures of a row of the table: each as it is shown, and what it is sorted by.
pub(crate) fn cells(row: &Row) -> Vec<(String, Option<f64>)> {
    let time = |figures: &Option<Figures>, of: fn(&Figures) -> Option<Nanos>| {
        let known = figures.as_ref().filter(|figures| !figures.overloaded).and_then(of);
        (ms(figures.as_ref(), of), known.map(|value| value.0 as f64))
    };
    let share = |figures: &Option<Figures>| {
        (late(figures.as_ref()), figures.as_ref().and_then(Figures::late_share))
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
