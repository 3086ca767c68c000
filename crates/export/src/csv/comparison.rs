//! A comparison as CSV.

use flashlag_views::{Cell, Column, Comparison, Ratio, RatioKind, Table, comparison_table};

use super::{millis, quoted};

/// Fields that identify the test and side of a line.
const PLACE: &str = "test,state,run,title,side";

/// A comparison as CSV: a line for each test and side, with its figures and its ratios to the side
/// in `against`, each with the ends of its 95 % interval and whether a difference is shown. A value
/// that is unknown is an empty field; so are the times of an overloaded schedule, and the bytes of
/// saves.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    let table = comparison_table(comparison);
    let mut csv = header(&table);
    for (test, group) in comparison.rows.iter().zip(&table.groups) {
        for row in &group.rows {
            let place = [
                quoted(&test.test),
                test.state.name().to_owned(),
                test.run.to_string(),
                quoted(&test.title),
                quoted(&row.label),
            ];
            let cells = table.columns.iter().zip(&row.cells);
            let cells = cells.map(|(column, cell)| field(*column, cell));
            let fields: Vec<String> = place.into_iter().chain(cells).collect();
            csv.push_str(&(fields.join(",") + "\n"));
        }
    }
    csv
}

fn header(table: &Table) -> String {
    let names = table.columns.iter().map(|column| name(*column));
    let names: Vec<&str> = [PLACE].into_iter().chain(names).collect();
    names.join(",") + "\n"
}

/// The name of a column's field, or of its fields.
fn name(column: Column) -> &'static str {
    match column {
        Column::P50 => "p50_ms",
        Column::P90 => "p90_ms",
        Column::P99 => "p99_ms",
        Column::P999 => "p999_ms",
        Column::Longest => "max_ms",
        Column::Late => "late_share",
        Column::Rate => "ops_per_sec",
        Column::Speed => "bytes_per_sec",
        Column::RateSpread => "rate_spread",
        Column::Ratio(RatioKind::P50) => "p50_ratio,p50_low,p50_high,p50_differs",
        Column::Ratio(RatioKind::P99) => "p99_ratio,p99_low,p99_high,p99_differs",
        Column::Ratio(RatioKind::Throughput) => "rate_ratio,rate_low,rate_high,rate_differs",
        other => other.title(),
    }
}

/// A cell in full precision.
fn field(column: Column, cell: &Cell) -> String {
    match cell {
        Cell::Duration(time) | Cell::Time(time) | Cell::Limit(time) => millis(*time),
        Cell::Percentage(share) => format!("{share:.6}"),
        Cell::MeanSpeed(spread) | Cell::MeanRate(spread) => format!("{:.3}", spread.mean),
        Cell::Speed(rate) | Cell::Rate(rate) => format!("{rate:.3}"),
        Cell::Count(count) | Cell::Part { count, .. } => count.to_string(),
        Cell::Ratio(ratio) => fields_of(ratio),
        // As many empty fields as the column has names.
        Cell::Text(_) if matches!(column, Column::Ratio(_)) => ",,,".to_owned(),
        Cell::Text(text) => quoted(text),
        Cell::Verdict(judgement) => judgement.word().to_owned(),
        Cell::Causes(_) => quoted(&cell.text()),
        Cell::Missing(_) => String::new(),
    }
}

fn fields_of(ratio: &Ratio) -> String {
    let (low, high) = ratio.interval.unzip();
    let end = |end: Option<f64>| end.map(|end| format!("{end:.6}")).unwrap_or_default();
    format!("{:.6},{},{},{}", ratio.ratio, end(low), end(high), ratio.differs)
}
